import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { HttpPool } from '../support/http-pool.ts';
import { startLoad } from '../support/load.ts';
import { startUsher } from '../support/process.ts';
import { createTenant, createTestUser, logIn } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';
import { quickOrLong, report } from '../support/soak.ts';

const ROUNDS = quickOrLong(2, 20);
const WRITES_IN_FLIGHT = 300;
const USERS = 4;

let database: TestDatabase;

beforeAll(async () => {
  database = await cloneDatabase();
});

afterAll(() => database[Symbol.asyncDispose]());

test('kill -9 with hundreds of writes in flight loses no acknowledged write and leaves no partial one', async (context) => {
  const acknowledged = { events: new Set<string>(), webhooks: new Set<string>(), sessions: new Map<string, string>() };
  const secondSessions: string[] = [];
  let inFlight = 0;
  for (let round = 0; round < ROUNDS; round++) {
    await using service = await startUsher(database.url);
    const tenant = await createTenant(service);
    const users = await Promise.all(Array.from({ length: USERS }, () => createTestUser(service)));
    const tokens = await Promise.all(users.map((user) => logIn(service, tenant, user)));
    using pool = new HttpPool(service, { 'x-api-key': tenant.apiKey }, { connections: WRITES_IN_FLIGHT });

    const createEvent = async () => {
      const eventId = `${round}-${randomBytes(8).toString('hex')}`;
      const { status } = await pool.call('POST', '/usher.v1.EventService/CreateEvent', { eventId });
      if (status === 200) acknowledged.events.add(eventId);
      return String(status);
    };
    const createWebhook = async () => {
      const request = { url: 'https://example.com/hooks', ownerId: users[0]?.id };
      type Created = { webhook: { webhookId: string } };
      const { status, body } = await pool.call<Created>('POST', '/usher.v1.WebhookService/CreateWebhook', request);
      if (status === 200) acknowledged.webhooks.add(body.webhook.webhookId);
      return String(status);
    };
    const exchange = async () => {
      const at = Math.floor(Math.random() * USERS);
      type Exchanged = { data: { session: { id: string } } };
      const { status, body } = await pool.call<Exchanged>('POST', '/api/oauth/exchange', { authToken: tokens[at] });
      if (status === 200) {
        const owner = `${tenant.id} ${users[at]?.id}`;
        const { id } = body.data.session;
        if ((acknowledged.sessions.get(owner) ?? id) !== id) secondSessions.push(owner);
        acknowledged.sessions.set(owner, id);
      }
      return String(status);
    };
    const load = startLoad({ createEvent, createWebhook, exchange }, { callers: WRITES_IN_FLIGHT });
    // Each round kills at another moment.
    await sleep(200 + 30 * round);
    await expect.poll(() => load.answers.length, { interval: 5 }).toBeGreaterThan(WRITES_IN_FLIGHT);
    inFlight += load.waits().length;
    expect(await service.end('SIGKILL')).toBeNull();
    await load.stop();
  }

  const { events, webhooks, sessions } = acknowledged;
  report(context, {
    tried: `${ROUNDS} times kill -9 with ${Math.round(inFlight / ROUNDS)} writes in flight`,
    figures: `${events.size} events, ${webhooks.size} webhooks, ${sessions.size} sessions acknowledged`,
  });
  expect(secondSessions).toEqual([]);
  await expectAllExist('events', [...events]);
  await expectAllExist('webhooks', [...webhooks]);
  await expectSessions(sessions);
  await expectNoPartialRows();
  // The killed processes have left no locks.
  await using service = await startUsher(database.url);
  await runSmokeTest(service);
});

async function expectAllExist(table: 'events' | 'webhooks', ids: readonly string[]): Promise<void> {
  expect(ids.length).toBeGreaterThan(0);
  const rows = await database.sql<{ id: string }[]>`select id from ${database.sql(table)}`;
  const existing = new Set(rows.map(({ id }) => id));
  expect(ids.filter((id) => !existing.has(id))).toEqual([]);
}

/** Expects the acknowledged sessions, and at most one live session per application and user. */
async function expectSessions(acknowledged: ReadonlyMap<string, string>): Promise<void> {
  expect(acknowledged.size).toBeGreaterThan(0);
  const rows = await database.sql<{ owner: string; id: string }[]>`
    select application_id || ' ' || user_id as owner, id from sessions where expires_at > now()`;
  const live = new Map(rows.map(({ owner, id }) => [owner, id]));
  expect(live.size).toBe(rows.length);
  for (const [owner, id] of acknowledged) expect(live.get(owner)).toBe(id);
}

/** Expects every row to have the rows it refers to and all its values. */
async function expectNoPartialRows(): Promise<void> {
  const [row] = await database.sql`
    select
      (select count(*)::int from webhooks w left join users u on u.id = w.owner_id
        where u.id is null or length(w.signing_key) < 32) as webhooks,
      (select count(*)::int from sessions s left join users u on u.id = s.user_id
        where u.id is null or s.email <> u.email or s.expires_at <> s.created_at + interval '15 minutes') as sessions,
      (select count(*)::int from events e left join applications a on a.id = e.application_id
        where a.id is null or e.deleted_at is not null) as events`;
  expect(row).toEqual({ webhooks: 0, sessions: 0, events: 0 });
}
