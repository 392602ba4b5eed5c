/** The browsers of applications that use OpenID Connect, on the account page. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { beginSession, openAccount } from '../../../support/account-page.ts';
import { type LoginPage, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, getUserinfo, redeem, signInForCode } from '../../../support/oidc-client.ts';
import { adminClient, createTenant, createTestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { clock, service, tenant } = fixture;
afterAll(() => fixture.close());

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

async function addGrant(userId: string, { sid = randomUUID() as string, of = tenant } = {}): Promise<string> {
  const now = clock.read();
  await service.database.sql`
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
      rotation, created_at, expires_at)
    values (${of.id}, ${randomUUID()}, ${userId}, ${sid}, 1, 'email', '192.0.2.1', ${FIREFOX}, ${now}, 0, ${now},
      ${new Date(now.getTime() + 3_600_000)})`;
  return sid;
}

const listed = async (userId: string) => (await adminClient(service).listUserGrants({ userId })).grants;

test('each browser is listed once, and ends alone', async () => {
  const user = await createTestUser(service);
  await beginSession(fixture, user);
  const [here, there] = [await addGrant(user.id), await addGrant(user.id)];
  await addGrant(user.id, { sid: there });
  const { browser, page } = await openAccount(fixture, user);
  expect(page.body.match(/action="[^"]*\/sessions\/end"/g)).toHaveLength(2);
  expect(textOf(page.body)).toContain('Firefox');

  const application = tenant.id;
  await browser.submit(page, '/account/sessions/end', { application, sid: there });
  expect((await listed(user.id)).map(({ sid }) => sid)).toEqual([here]);
  expect((await adminClient(service).listUserSessions({ userId: user.id })).sessions).toHaveLength(1);

  const rest = await browser.open('/account');
  await browser.submit(rest, '/account/sessions/end', { application, sid: here });
  expect(await listed(user.id)).toEqual([]);
  expect((await adminClient(service).listUserSessions({ userId: user.id })).sessions).toEqual([]);
});

test.each(['/account/sessions/end', '/account/sessions/end-all'])('%s ends the access tokens at once', async (path) => {
  const of = await createOidcTenant(service);
  const user = await createTestUser(service);
  const browser = 'a cookie';
  const { body } = await redeem(service, of, await signInForCode(service, of, user, { browser }));
  // The answer is kept for some seconds.
  expect(await getUserinfo(service, body.access_token)).toMatchObject({ status: 200 });
  const [grant] = await listed(user.id);
  const at = await openAccount(fixture, user);
  await at.browser.submit(at.page, path, { application: of.id, sid: grant?.sid ?? '' });
  expect(await getUserinfo(service, body.access_token)).toMatchObject({ status: 401 });
});

test('the application gets a logout token of each browser that is ended, and of the user with the last', async () => {
  const of = await createOidcTenant(service);
  const backchannelLogoutUri = 'https://app.test/logout';
  await adminClient(service).updateApplication({ applicationId: of.id, backchannelLogoutUri });
  const user = await createTestUser(service);
  for (const browser of ['a cookie', 'another']) {
    await redeem(service, of, await signInForCode(service, of, user, { browser }));
  }
  const [here = '', there = ''] = (await listed(user.id)).map(({ sid }) => sid);
  const { browser, page } = await openAccount(fixture, user);
  const ended = async (from: LoginPage, sid: string) => {
    await browser.submit(from, '/account/sessions/end', { application: of.id, sid });
    const rows = await service.database.sql`
      delete from webhook_messages where application_id = ${of.id} returning type, payload::jsonb -> 'data' as data`;
    return rows.map(({ type, data }) => ({ type, ...data }));
  };
  const logout = { type: 'logout', sub: user.id, aud: of.clientId };
  expect(await ended(page, there)).toEqual([{ ...logout, sid: there }]);
  const rest = await browser.open('/account');
  expect(await ended(rest, here)).toEqual([{ ...logout, sid: here }, logout]);
});

test('nobody ends the browser of another user', async () => {
  const [user, other] = [await createTestUser(service), await createTestUser(service)];
  const sid = await addGrant(other.id);
  await addGrant(user.id);
  const { browser, page } = await openAccount(fixture, user);
  await browser.submit(page, '/account/sessions/end', { application: tenant.id, sid });
  expect(await listed(other.id)).toHaveLength(1);
});

test('all end with "Sign out everywhere", and are in the export without what names the browser', async () => {
  const user = await createTestUser(service);
  const sid = await addGrant(user.id);
  const { browser, page } = await openAccount(fixture, user);
  const { body } = await browser.open('/account/data');
  expect(JSON.parse(body).sessions).toMatchObject([{ applicationId: tenant.id, userAgent: FIREFOX }]);
  expect(body).not.toContain(sid);
  await browser.submit(page, '/account/sessions/end-all');
  expect(await listed(user.id)).toEqual([]);
});

test('those of a deleted application are not listed', async () => {
  const gone = await createTenant(service);
  const user = await createTestUser(service);
  await addGrant(user.id, { of: gone });
  await adminClient(service).deleteApplication({ applicationId: gone.id });
  expect(await listed(user.id)).toEqual([]);
});
