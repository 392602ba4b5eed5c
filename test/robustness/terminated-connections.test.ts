import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Transport } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect, test } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { startLoad } from '../support/load.ts';
import { createSubjects, MixedCalls, PROTOCOLS, type Subjects } from '../support/mixed-calls.ts';
import { startUsher } from '../support/process.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const TERMINATIONS = quickOrLong(40, 500);
const MAX_PAUSE_MS = quickOrLong(200, 300);
const CALLERS = quickOrLong(9, 24);
const PAUSE_MS = quickOrLong(10, 2);

/** IDs of what the service has acknowledged, and which must be in the database. */
interface Acknowledged {
  readonly created: string[];
  readonly deleted: string[];
  readonly attendees: string[];
  readonly applications: string[];
}

test('pg_terminate_backend at random moments: no acknowledged write is lost, and none is partial', async (context) => {
  await using database = await cloneDatabase();
  await using usher = await startUsher(database.url);
  const subjects = await createSubjects(usher);
  using calls = new MixedCalls(usher, subjects);
  const acknowledged: Acknowledged = { created: [], deleted: [], attendees: [], applications: [] };
  const writes = recordedWrites(createGrpcTransport({ baseUrl: usher.url }), subjects, acknowledged);
  const load = startLoad({ ...calls.over(...PROTOCOLS), ...writes }, { callers: CALLERS, pauseMs: PAUSE_MS });

  let terminated = 0;
  while (terminated < TERMINATIONS) {
    await sleep(Math.random() * MAX_PAUSE_MS);
    terminated += await terminateOneConnection(database);
  }
  const answers = await load.stop();

  const odd = answers.filter(({ outcome }) => !/^(ok|unavailable|failed: .*Service unavailable)$/.test(outcome));
  const failed = answers.filter(({ outcome }) => outcome !== 'ok');
  const missing = await findMissing(database, subjects, acknowledged);
  const [partial] = await database.sql<{ count: number }[]>`
    select count(*)::int as count from applications
    where not exists (select from api_keys where api_keys.application_id = applications.id)`;
  const writesAcknowledged = Object.values(acknowledged).flat().length;
  report(context, {
    tried: `${terminated} times pg_terminate_backend, ${answers.length} calls`,
    lost: `${odd.length} undocumented replies, ${missing.length} of ${writesAcknowledged} acknowledged writes, ${partial?.count} partial writes`,
    figures: `${failed.length} calls unavailable`,
  });
  expect(usher.isRunning, usher.errors).toBe(true);
  expect(odd).toEqual([]);
  expect(missing).toEqual([]);
  expect(partial?.count).toBe(0);
  expect(acknowledged.applications.length).toBeGreaterThan(0);
  expect(failed.length).toBeGreaterThan(0);
  expect(usher.errors).toBe('');
});

function recordedWrites(transport: Transport, { tenant, eventId }: Subjects, acknowledged: Acknowledged) {
  const headers = { 'x-api-key': tenant.apiKey };
  const events = createClient(EventService, transport);
  const admin = createClient(AdminService, transport);
  return {
    'create and delete an event': async () => {
      const id = randomUUID();
      await events.createEvent({ eventId: id }, { headers });
      acknowledged.created.push(id);
      await events.deleteEvent({ eventId: id }, { headers });
      acknowledged.deleted.push(id);
      return 'ok';
    },
    'check in': async () => {
      const attendeeId = randomUUID();
      await events.checkIn({ eventId, attendeeId }, { headers });
      acknowledged.attendees.push(attendeeId);
      return 'ok';
    },
    'create an application': async () => {
      const request = { name: 'Shop', redirectUris: ['https://shop.test/callback'] };
      const { application } = await admin.createApplication(request, { headers: { 'x-admin-key': ADMIN_KEY } });
      acknowledged.applications.push(application?.id ?? '');
      return 'ok';
    },
  };
}

/** Resolves to 1, or to 0 if the service has no connection open. */
async function terminateOneConnection({ sql }: TestDatabase): Promise<number> {
  const terminated = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'usher %' order by random() limit 1`;
  return terminated.length;
}

/** Resolves to the acknowledged IDs that are not in the database. */
async function findMissing({ sql }: TestDatabase, { eventId }: Subjects, acknowledged: Acknowledged) {
  const idsOf = async (rows: Promise<readonly { id: string }[]>) => new Set((await rows).map(({ id }) => id));
  const pairs: [string[], Set<string>][] = [
    [acknowledged.created, await idsOf(sql`select id from events`)],
    [acknowledged.deleted, await idsOf(sql`select id from events where deleted_at is not null`)],
    [acknowledged.attendees, await idsOf(sql`select attendee_id as id from check_ins where event_id = ${eventId}`)],
    [acknowledged.applications, await idsOf(sql`select id from applications`)],
  ];
  return pairs.flatMap(([ids, found]) => ids.filter((id) => !found.has(id)));
}
