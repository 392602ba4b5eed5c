/** Hostile texts in every stored field, on every page of the console. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { createSampleWays, fillPath } from '../../../support/console-samples.ts';
import { TEXTS } from '../../../support/hostile-texts.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser } from '../../../support/service.ts';

/** Ends elements, attributes and isolation, and begins scripts. */
const MARKUP = `</title></textarea></pre>"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u2066`;

let fixture: ConsoleFixture;
let browser: ConsoleBrowser;

beforeAll(async () => {
  fixture = await ConsoleFixture.open();
  browser = await fixture.signIn(OPERATORS.admin);
});

afterAll(() => fixture.close());

const PAGES = ROUTES.filter(({ method, role }) => method === 'GET' && role !== 'anyone');

/** Returns whether the domain takes the text. */
async function takes(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

function expectInert(body: string): void {
  expect(/<script(?! type="module">).{0,50}/.exec(body)).toBeNull();
  expect(/<img.{0,50}/i.exec(body)).toBeNull();
  // Bars of figures have the time and the count as title.
  expect(body.replace(/<title>[\d :-]+<\/title><\/rect>/g, '').match(/<title>/g)).toHaveLength(1);
  // What opens a direction is isolated, and cannot end that.
  const shown = body.replace(/ [\w-]+="[^"]*"/g, '').replace(/<textarea.*?<\/textarea>/gs, '');
  expect(/.{0,80}[\u202a-\u202e\u2066-\u2069]/.exec(shown)?.[0]).toBeUndefined();
}

test('markup in every field is text on every page', async () => {
  const { service } = fixture;
  const admin = adminClient(service);
  const tenant = await createTenant(service, { name: MARKUP });
  const user = await createTestUser(service, {
    email: `"'><script>@example.com`.replace(/[<>"]/g, '!'),
    name: MARKUP,
    walletAddress: MARKUP,
    profileImage: 'https://app.test/"onerror=alert(1)',
  });
  await service.database.sql`update users set email = ${`${MARKUP}@x`} where id = ${user.id}`;
  await beginSession(service, tenant, user);
  await service.database.sql`update sessions set user_agent = ${MARKUP}, ip_address = ${MARKUP}`;
  const { webhooks, events } = clientsOf(service, tenant);
  const { webhook } = await webhooks.createWebhook({
    url: `https://hooks.test/?<script>'"`.replace(/[<>"]/g, encodeURIComponent),
    ownerId: user.id,
    eventTypes: ['*'],
    description: MARKUP,
  });
  const webhookId = webhook?.webhookId ?? '';
  await service.database.sql`update webhooks set url = ${`https://hooks.test/${MARKUP}`}`;
  const { messageId } = await webhooks.sendTestMessage({ webhookId });
  const [{ number } = { number: '0' }] = await service.database.sql<{ number: string }[]>`
    select message_id as number from webhook_deliveries limit 1`;
  await service.database.sql`
    insert into webhook_attempts
      (application_id, webhook_id, message_id, attempted_at, duration_ms, status_code, error, response_body)
    values (${tenant.id}, ${webhookId}, ${number}, now(), 1, 500, ${MARKUP}, ${MARKUP})`;
  await service.database.sql`update webhook_deliveries set last_error = ${MARKUP}`;
  await service.database.sql`update webhook_messages set payload = ${JSON.stringify({ text: MARKUP })}`;
  await events.createEvent({ eventId: MARKUP, name: MARKUP });
  await events.checkIn({ eventId: MARKUP, attendeeId: MARKUP, gate: MARKUP.slice(0, 64) });
  await events.checkIn({ eventId: MARKUP, attendeeId: 'grace', gate: 'North' });
  await events.batchPutAttendees({
    eventId: MARKUP,
    attendees: [{ attendeeId: `${MARKUP}2`, label: MARKUP.slice(0, 100), isBlocked: true }],
  });
  const gate = MARKUP.slice(0, 64);
  const scans = [{ scanId: randomUUID(), attendeeId: `${MARKUP}2`, gate }];
  await events.batchCheckIn({ eventId: MARKUP, scans });
  const { apiKeyId } = await admin.createApiKey({ applicationId: tenant.id, name: MARKUP });
  await service.database.sql`
    update audit_events set actor = ${MARKUP}, action = ${MARKUP}, resource = ${MARKUP}, ip_address = ${MARKUP}
    where actor_type <> 'console'`;
  const { group } = await admin.createGroup({ name: 'hostile' });
  const groupId = group?.groupId ?? '';
  await admin.addGroupMember({ groupId, userId: user.id });
  await admin.setGroupAccess({ groupId, applicationId: tenant.id, allowsAccess: true });
  await service.database.sql`update groups set name = ${MARKUP}, display_name = ${MARKUP}`;
  const ways = await createSampleWays(service, user.id, { name: MARKUP, subject: MARKUP });
  const params = { a: tenant.id, k: apiKeyId, u: user.id, ...ways, g: groupId, w: webhookId, m: messageId, e: MARKUP };
  const query = new URLSearchParams(
    ['email', 'prefix', 'wallet', 'q', 'actor', 'resource', 'done', 'form', 'lang', 'theme', 'already'].map(
      (name): [string, string] => [name, MARKUP],
    ),
  );
  for (const { path } of PAGES) {
    for (const search of ['', `?${query}`]) {
      const { status, body, headers } = await browser.open(fillPath(path, params) + search);
      expect({ path, isError: status >= 500 }).toEqual({ path, isError: false });
      if (headers['content-disposition']?.startsWith('attachment')) {
        expect(headers).toMatchObject({
          'content-type': expect.stringMatching(/^(text\/csv; charset=utf-8|application\/jsonl)$/),
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
        });
        continue;
      }
      if (headers['content-type'] === 'application/json') continue;
      // The texts of the login page have tests of their own, and isolate by characters.
      if (body !== '') expectInert(path.endsWith('/preview') ? body.replace(/[\u2066-\u2069]/g, '') : body);
    }
  }
});

test('every text that the API takes has a page, and every other text is refused', async () => {
  const { tenant } = fixture;
  const { events } = clientsOf(fixture.service, tenant);
  for (const text of TEXTS.filter(({ length }) => length < 4_000)) {
    if (!text.isWellFormed() || !(await takes(events.createEvent({ eventId: text, name: text || 'x' })))) continue;
    const { status, body } = await browser.open(`/applications/${tenant.id}/events/${encodeURIComponent(text)}`);
    expect({ text, status }).toEqual({ text, status: 200 });
    expectInert(body);
  }
  for (const text of TEXTS.filter(({ length }) => length < 4_000)) {
    const query = new URLSearchParams({
      q: text.toWellFormed(),
      resource: text.toWellFormed(),
      page: text.toWellFormed(),
    });
    for (const path of ['/search', '/users', '/audit', '/applications']) {
      const { status, body } = await browser.open(`${path}?${query}`);
      expect({ path, text, isError: status >= 500 }).toEqual({ path, text, isError: false });
      expectInert(body || '<title>');
    }
    for (const path of ['/users/new', '/applications/new']) {
      const { status, body } = await browser.post(path, { email: text.toWellFormed(), name: text.toWellFormed() });
      expect({ path, text, isError: status >= 500 }).toEqual({ path, text, isError: false });
      expectInert(body || '<title>');
    }
  }
});
