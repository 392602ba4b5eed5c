/** The clients of a resource, on the page of its application. */
import { afterAll, expect, test } from 'vitest';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { openSampledConsole } from '../../../support/console-samples.ts';
import { adminClient, clientsOf, createTenant, createTestUser } from '../../../support/service.ts';

const { fixture, browser } = await openSampledConsole(OPERATORS.admin);
afterAll(() => fixture.close());
const { service, clock } = fixture;
const { sql } = service.database;

async function grant(applicationId: string, clientId: string, clientName: string | null): Promise<string> {
  const { id: userId } = await createTestUser(service);
  const now = clock.read();
  const [{ id }] = await sql<[{ id: string }]>`
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
      rotation, created_at, expires_at, client_id, client_name, needs_consent)
    values (${applicationId}, gen_random_uuid(), ${userId}, gen_random_uuid(), 1, 'email', '', '', ${now}, 1, ${now},
      ${new Date(now.getTime() + 3_600_000)}, ${clientId}, ${clientName}, true)
    returning id`;
  await sql`
    insert into consents (application_id, user_id, client_id, client_name, scope_names, created_at)
    values (${applicationId}, ${userId}, ${clientId}, 'Claude', '{}', ${now})`;
  return id;
}

test('a resource is set in the form, and shows its clients, which end for everybody', async () => {
  const tenant = await createTenant(service, { openIdConnect: true });
  const { id } = tenant;
  const path = `/applications/${id}`;
  expect((await browser.open(path)).text).not.toContain('Clients with access');
  const refused = await browser.submit(await browser.open(path), path, {
    resourceUri: 'http://shop.test',
    resourceScopes: 'a"b',
  });
  expect([refused.status, refused.body]).toEqual([422, expect.stringContaining('id="resourceScopes-wrong"')]);
  const typed = {
    resourceUri: 'https://shop.test/mcp',
    resourceScopes: 'orders:read See your orders',
    allowMetadataClients: 'on',
  };
  await browser.submit(refused, path, typed);
  const { application } = await adminClient(service).getApplication({ applicationId: id });
  expect(application).toMatchObject({
    resourceUri: 'https://shop.test/mcp',
    resourceScopes: [{ name: 'orders:read', description: 'See your orders' }],
    allowMetadataClients: true,
  });

  const [ended, kept] = ['https://claude.ai/client', 'https://other.test/client'];
  const grants = await Promise.all([grant(id, ended, 'Claude'), grant(id, ended, 'Claude'), grant(id, kept, 'Other')]);
  const { sessions } = clientsOf(service, tenant);
  const { until: since } = await sessions.listRevocations({});
  const page = await browser.open(path);
  expect(page.text).toContain(`${ended} · 2 grants`);
  const seen = await (await fixture.signIn(OPERATORS.viewer)).open(path);
  expect([seen.text.includes(`${ended} · 2 grants`), seen.text.includes('End all')]).toEqual([true, false]);
  const after = await browser.submit(page, `${path}/clients/end`);
  expect(after.text).toContain('The client has no access any more.');
  expect(after.text).not.toContain(ended);
  expect(after.text).toContain(`${kept} · 1 grant`);
  const { revocations } = await sessions.listRevocations({ since });
  const told = new Set(revocations.map(({ subject }) => subject.value));
  expect(grants.map((grantId) => told.has(grantId))).toEqual([true, true, false]);
  expect(await sql`select client_id from consents where application_id = ${id}`).toEqual([{ client_id: kept }]);
  expect(await fixture.readAudit()).toContainEqual(expect.objectContaining({ action: 'EndClient' }));
  const none = 'No client acts for anybody at the moment.';
  expect(after.text).not.toContain(none);
  await browser.submit(after, `${path}/clients/end`);
  expect((await browser.open(path)).text).toContain(none);
});
