/** The search box: what an operator pastes from a log or a page, and where it leads. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { openSampledConsole } from '../../../support/console-samples.ts';
import { adminClient, clientsOf, createTenant, createTestUser } from '../../../support/service.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.viewer);

afterAll(() => fixture.close());

const search = (text: string) => browser.open(`/search?${new URLSearchParams({ q: text })}`);

test('leads from every ID to its page', async () => {
  const { a, u, w, e } = samples.params;
  const webhookPath = `/applications/${a}/webhooks/${w}`;
  // A key is known by what was done with it.
  await clientsOf(fixture.service, fixture.tenant).events.createEvent({ eventId: 'by the first key' });
  for (const act of ['createEvent', 'deleteEvent'] as const)
    await clientsOf(fixture.service, fixture.tenant).events[act]({ eventId: 'gone' });
  const [event] = await fixture.service.database
    .sql`select actor from audit_events where resource = 'by the first key'`;
  const key = String(event?.actor);
  const closed = await createTenant(fixture.service);
  await clientsOf(fixture.service, closed).events.createEvent({ eventId: 'of a closed application' });
  await adminClient(fixture.service).deleteApplication({ applicationId: closed.id });
  const international = await createTestUser(fixture.service, { email: 'ada@bücher.example' });
  for (const [text, path] of [
    [u, `/users/${u}`],
    [u.toUpperCase(), `/users/${u}`],
    [` "userId": "${u}",`.slice(11), `/users/${u}`],
    [samples.email, `/users/${u}`],
    ['ada@BÜCHER.example', `/users/${international.id}`],
    ['ada@xn--bcher-kva.example', `/users/${international.id}`],
    [a, `/applications/${a}`],
    [fixture.tenant.clientId, `/applications/${a}`],
    [w, webhookPath],
    [`'${w}'`, webhookPath],
    [e, `/applications/${a}/events/${encodeURIComponent(e)}`],
    ['gone', '/audit?resource=gone'],
    ['of a closed application', '/audit?resource=of+a+closed+application'],
    [key, `/audit?actor=${key}`],
    [samples.email.slice(0, 5), `/users?prefix=${samples.email.slice(0, 5)}`],
  ] as const) {
    expect((await search(text)).location, text).toBe(path);
  }
  expect((await browser.open(`/audit?actor=${key}`)).text).toContain('by the first key');
});

test.each([
  '',
  '""',
  randomUUID(),
  `client_${'0'.repeat(32)}`,
  `wh_${'0'.repeat(32)}`,
  'usher-console/',
  'msg_1',
  'x'.repeat(300),
  'a\u0000b',
])('finds nothing by %j, and says where IDs are found', async (text) => {
  const { status, heading, text: shown } = await search(text);
  expect({ status, heading }).toEqual({ status: 404, heading: 'Nothing found' });
  expect(shown).toContain('To find a message, open its webhook');
});
