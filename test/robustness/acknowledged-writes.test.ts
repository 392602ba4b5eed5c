/** No write that the service has acknowledged is lost, and none is partial, when it or its connections are killed. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { startLoad } from '../support/load.ts';
import { createSubjects, MixedCalls, PROTOCOLS, type Subjects } from '../support/mixed-calls.ts';
import { startUsher } from '../support/process.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';
import { quickOrLong, report } from '../support/soak.ts';

const KILLS = quickOrLong(2, 20);
const WRITES_IN_FLIGHT = 300;
const TERMINATIONS = quickOrLong(40, 500);
const MAX_PAUSE_MS = quickOrLong(200, 300);
const LONG = { timeout: quickOrLong(120_000, 900_000) };

let database: TestDatabase;

beforeEach(async () => {
  database = await cloneDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

test('kill -9 of the service with hundreds of writes in flight', LONG, async (context) => {
  const acknowledged = createAcknowledged();
  let inFlight = 0;
  for (let round = 0; round < KILLS; round++) {
    await using usher = await startUsher(database.url);
    const writes = writesTo(usher, await createSubjects(usher), acknowledged);
    const load = startLoad(writes, { callers: WRITES_IN_FLIGHT });
    // Each round kills at another moment.
    await sleep(200 + 30 * round);
    await waitForEveryKind(acknowledged);
    inFlight += load.waits().length;
    expect(await usher.end('SIGKILL')).toBeNull();
    await load.stop();
  }
  const { missing, lost } = await findMissing(acknowledged);
  report(context, {
    tried: `${KILLS} times kill -9 with ${Math.round(inFlight / KILLS)} writes in flight`,
    lost,
  });
  expect(missing).toEqual([]);
  await expectNoPartialWrites();
  // The killed processes have left no locks.
  await using usher = await startUsher(database.url);
  await runSmokeTest(usher);
});

test('pg_terminate_backend at random moments under mixed load', LONG, async (context) => {
  await using usher = await startUsher(database.url);
  const subjects = await createSubjects(usher);
  using calls = new MixedCalls(usher, subjects);
  const acknowledged = createAcknowledged();
  const load = startLoad(
    { ...writesTo(usher, subjects, acknowledged), ...calls.over(...PROTOCOLS) },
    { callers: quickOrLong(12, 24), pauseMs: quickOrLong(10, 2) },
  );
  let terminated = 0;
  while (terminated < TERMINATIONS) {
    await sleep(Math.random() * MAX_PAUSE_MS);
    const rows = await database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'usher %' order by random() limit 1`;
    terminated += rows.length;
  }
  await waitForEveryKind(acknowledged);
  const answers = await load.stop();

  const odd = answers.filter(({ outcome }) => !/^(ok|unavailable|failed: .*Service unavailable)$/.test(outcome));
  const failed = answers.filter(({ outcome }) => outcome !== 'ok');
  const { missing, lost } = await findMissing(acknowledged);
  report(context, {
    tried: `${terminated} times pg_terminate_backend, ${answers.length} calls`,
    lost: `${odd.length} undocumented replies, ${lost}`,
    figures: `${failed.length} calls unavailable`,
  });
  expect(usher.isRunning, usher.errors).toBe(true);
  expect(odd).toEqual([]);
  expect(missing).toEqual([]);
  expect(failed.length).toBeGreaterThan(0);
  expect(usher.errors).toBe('');
  await expectNoPartialWrites();
});

/** What must be in the database: the IDs, by the query that finds them. */
const createAcknowledged = () => ({
  'select id from events': new Set<string>(),
  'select id from events where deleted_at is not null': new Set<string>(),
  'select attendee_id as id from check_ins': new Set<string>(),
  'select id from webhooks': new Set<string>(),
  'select id from sessions': new Set<string>(),
  'select id from applications': new Set<string>(),
});
type Acknowledged = ReturnType<typeof createAcknowledged>;

const sizesOf = (ids: Acknowledged) => Object.values(ids).map(({ size }) => size);

async function waitForEveryKind(ids: Acknowledged): Promise<void> {
  await expect.poll(() => sizesOf(ids).every((size) => size > 0), { timeout: 20_000, interval: 5 }).toBe(true);
}

/** Returns what is missing, and a line for the report. */
async function findMissing(acknowledged: Acknowledged) {
  const missing: string[] = [];
  for (const [query, ids] of Object.entries(acknowledged)) {
    const found = new Set((await database.sql.unsafe(query)).map(({ id }) => id));
    missing.push(...[...ids].filter((id) => !found.has(id)).map((id) => `${query}: ${id}`));
  }
  const count = sizesOf(acknowledged).reduce((sum, size) => sum + size, 0);
  return { missing, lost: `${missing.length} of ${count} acknowledged writes` };
}

/** Returns calls that write and note what is acknowledged. */
function writesTo(usher: { url: string }, { tenant, user, eventId, authToken }: Subjects, ids: Acknowledged) {
  const transport = createGrpcTransport({ baseUrl: usher.url });
  const asTenant = { headers: { 'x-api-key': tenant.apiKey } };
  const asAdmin = { headers: { 'x-admin-key': ADMIN_KEY } };
  const [events, webhooks] = [createClient(EventService, transport), createClient(WebhookService, transport)];
  const [auth, admin] = [createClient(AuthService, transport), createClient(AdminService, transport)];
  const writes: Record<string, () => Promise<unknown>> = {
    'create and delete an event': async () => {
      const id = randomUUID();
      await events.createEvent({ eventId: id }, asTenant);
      ids['select id from events'].add(id);
      await events.deleteEvent({ eventId: id }, asTenant);
      ids['select id from events where deleted_at is not null'].add(id);
    },
    'check in': async () => {
      const attendeeId = randomUUID();
      await events.checkIn({ eventId, attendeeId }, asTenant);
      ids['select attendee_id as id from check_ins'].add(attendeeId);
    },
    'create a webhook': async () => {
      const { webhook } = await webhooks.createWebhook({ url: 'https://hooks.test', ownerId: user.id }, asTenant);
      ids['select id from webhooks'].add(webhook?.webhookId ?? '');
    },
    // Finds the same session every time, since one that lives is not replaced.
    'exchange a token': async () => {
      const { session } = await auth.exchangeToken({ authToken }, asTenant);
      ids['select id from sessions'].add(session?.id ?? '');
    },
    'create an application': async () => {
      const fields = { name: 'Shop', redirectUris: ['https://shop.test/callback'] };
      const { application } = await admin.createApplication(fields, asAdmin);
      ids['select id from applications'].add(application?.id ?? '');
    },
  };
  return Object.fromEntries(Object.entries(writes).map(([name, write]) => [name, () => write().then(() => 'ok')]));
}

/** Expects every row to have all that was written with it. */
async function expectNoPartialWrites(): Promise<void> {
  const [row] = await database.sql`
    select
      (select count(*)::int from applications a
        where not exists (select from api_keys k where k.application_id = a.id)) as applications,
      (select count(*)::int from webhooks where length(signing_key) < 32) as webhooks,
      (select count(*)::int from sessions s left join users u on u.id = s.user_id
        where s.email is distinct from u.email or s.expires_at <> s.created_at + interval '15 minutes') as sessions`;
  expect(row).toEqual({ applications: 0, webhooks: 0, sessions: 0 });
}
