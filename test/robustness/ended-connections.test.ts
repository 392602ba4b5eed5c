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
import { ADMIN_KEY } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { UsherProcess } from '../support/usher-process.ts';

const KILLS = quickOrLong(40, 500);
/** The longest pause between two of them. */
const MAX_PAUSE_MS = quickOrLong(200, 300);
const CALLERS = quickOrLong(9, 24);
const PAUSE_MS = quickOrLong(10, 2);

/** What has been answered with success, and so must be in the database. */
interface Acknowledged {
  readonly created: string[];
  readonly deleted: string[];
  readonly attendees: string[];
  readonly applications: string[];
}

test('pg_terminate_backend at random moments: nothing escapes, and nothing is written in part', async (context) => {
  await using database = await cloneDatabase();
  await using usher = await UsherProcess.start(database.url);
  const subjects = await createSubjects(usher);
  using calls = new MixedCalls(usher, subjects);
  const acknowledged: Acknowledged = { created: [], deleted: [], attendees: [], applications: [] };
  const writes = recordedWrites(createGrpcTransport({ baseUrl: usher.url }), subjects, acknowledged);
  const load = startLoad({ ...calls.over(...PROTOCOLS), ...writes }, { callers: CALLERS, pauseMs: PAUSE_MS });

  let killed = 0;
  while (killed < KILLS) {
    await sleep(Math.random() * MAX_PAUSE_MS);
    killed += await endOneConnection(database);
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
    tried: `${killed} times pg_terminate_backend, ${answers.length} calls`,
    lost: `${odd.length} odd answers, ${missing.length} of ${writesAcknowledged} acknowledged writes, ${partial?.count} partial writes`,
    figures: `${failed.length} calls unavailable`,
  });
  expect(usher.isRunning, usher.complaints).toBe(true);
  expect(odd).toEqual([]);
  expect(missing).toEqual([]);
  expect(partial?.count).toBe(0);
  expect(acknowledged.applications.length).toBeGreaterThan(0);
  expect(failed.length).toBeGreaterThan(0);
  expect(usher.complaints).toBe('');
});

function recordedWrites(transport: Transport, { tenant, eventId }: Subjects, acknowledged: Acknowledged) {
  const headers = { 'x-api-key': tenant.apiKey };
  const events = createClient(EventService, transport);
  const admin = createClient(AdminService, transport);
  return {
    'create, then delete': async () => {
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

/** Of one of the service's connections, any, as long as there is one; resolves to how many that were. */
async function endOneConnection({ sql }: TestDatabase): Promise<number> {
  const ended = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'usher %' order by random() limit 1`;
  return ended.length;
}

async function findMissing({ sql }: TestDatabase, { eventId }: Subjects, acknowledged: Acknowledged) {
  const events = await sql<{ id: string; isDeleted: boolean }[]>`
    select id, deleted_at is not null as "isDeleted" from events`;
  const attendees = await sql<{ id: string }[]>`select attendee_id as id from check_ins where event_id = ${eventId}`;
  const applications = await sql<{ id: string }[]>`select id from applications`;
  const idsOf = (rows: readonly { id: string }[]) => new Set(rows.map(({ id }) => id));
  const pairs: [string[], Set<string>][] = [
    [acknowledged.created, idsOf(events)],
    [acknowledged.deleted, idsOf(events.filter(({ isDeleted }) => isDeleted))],
    [acknowledged.attendees, idsOf(attendees)],
    [acknowledged.applications, idsOf(applications)],
  ];
  return pairs.flatMap(([ids, found]) => ids.filter((id) => !found.has(id)));
}
