import { describe, expect, test, vi } from 'vitest';
import { checkIn } from '../../../src/domain/events/check-in.ts';
import { deleteEvent } from '../../../src/domain/events/delete-event.ts';
import { HttpPool } from '../../support/http-pool.ts';
import { waitForLockWaiters } from '../../support/lock.ts';
import { RecordingDatabase } from '../../support/recording-database.ts';
import { clientsOf, createTenant, startTestService, type TestService } from '../../support/service.ts';

const ROUNDS = 300;
const CALLERS = 16;
const CHECK_IN = '/usher.v1.EventService/CheckIn';

test('after a delete has answered no check-in commits, on either of two instances', { timeout: 120_000 }, async () => {
  await using first = await startTestService({ config: { databaseConnections: 8 } });
  await using second = await startTestService({ database: first.database, like: first.config });
  const tenant = await createTenant(first);
  const headers = { 'x-api-key': tenant.apiKey };
  using atFirst = new HttpPool(first, headers);
  using atSecond = new HttpPool(second, headers);
  const pools = [atFirst, atSecond];
  const { sql } = first.database;
  await sql`
    insert into events (application_id, id, created_at)
    select ${tenant.id}, 'event-' || n, now() from generate_series(0, ${ROUNDS - 1}) n`;
  // Check-ins take up to 3 ms, so that deletes come while they are half-way.
  await sql`
    create function dawdle() returns trigger language plpgsql as $$
    begin runUnary pg_sleep(random() * 0.003); return new; end $$`;
  await sql`create trigger dawdle before insert on check_ins for each row execute function dawdle()`;
  const admittedTo = async (eventId: string): Promise<string[]> => {
    const rows = await sql`select attendee_id from check_ins where event_id = ${eventId} order by attendee_id`;
    return rows.map(({ attendee_id }) => attendee_id);
  };

  let admissions = 0;
  let refusals = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const eventId = `event-${round}`;
    const admitted: string[] = [];
    const tryCheckIn = async (attendeeId: string, pool: HttpPool | undefined) => {
      const reply = await pool?.call<{ message?: string }>('POST', CHECK_IN, { eventId, attendeeId });
      if (reply?.status === 200) admitted.push(attendeeId);
      else expect(reply).toEqual({ status: 404, body: { code: 'not_found', message: 'Event not found' } });
    };
    const racing: Promise<void>[] = [];
    const deletion = (async () => {
      for (let waited = 0; waited < round % 8; waited++) await new Promise(setImmediate);
      const reply = await pools[round % 2]?.call('DELETE', `/api/events/${eventId}`);
      expect(reply).toEqual({ status: 200, body: { status: true, message: 'Event deleted successfully' } });
      const whenDeleted = await admittedTo(eventId);
      const late = pools.map((pool, index) => tryCheckIn(`late-${index}`, pool));
      await Promise.all(late);
      return whenDeleted;
    })();
    for (let caller = 0; caller < CALLERS; caller++) {
      racing.push(tryCheckIn(`attendee-${String(caller).padStart(2, '0')}`, pools[caller % 2]));
      if (caller % 4 === 3) await new Promise(setImmediate);
    }
    const [whenDeleted] = await Promise.all([deletion, ...racing]);
    const inTheEnd = await admittedTo(eventId);
    expect(inTheEnd, `round ${round}`).toEqual(whenDeleted);
    expect(admitted.sort(), `round ${round}`).toEqual(inTheEnd);
    admissions += admitted.length;
    refusals += CALLERS - admitted.length;
  }
  // Else there was no race.
  expect(admissions).toBeGreaterThan(0);
  expect(refusals).toBeGreaterThan(0);
});

describe('whichever comes first', () => {
  test('a delete does not answer while a check-in has yet to commit', async () => {
    await using service = await startTestService();
    const { sql } = service.database;
    const { events, call } = await createEvent(service);
    await using recording = new RecordingDatabase(service.database.url);
    await checkIn({ ...call, run: recording.within(0) }, { eventId: 'event', attendeeId: 'early' });

    let hasAnswered = false;
    let deletion: Promise<void> | undefined;
    await sql.begin(async (transaction) => {
      expect(await transaction.unsafe(...recording.lastStatement({ early: 'slow' }))).toHaveLength(1);
      deletion = events.deleteEvent({ eventId: 'event' }).then(() => {
        hasAnswered = true;
      });
      await waitForLockWaiters(service.database);
      expect(hasAnswered).toBe(false);
    });
    await deletion;
    expect(await sql`select attendee_id from check_ins order by attendee_id`).toEqual([
      { attendee_id: 'early' },
      { attendee_id: 'slow' },
    ]);
  });

  test('a delete gets its turn, however many check in without a pause', async () => {
    await using service = await startTestService({ config: { databaseConnections: 8 } });
    await using replica = await startTestService({ database: service.database, like: service.config });
    const { sql } = service.database;
    const { tenant, events } = await createEvent(service);
    // They overlap, so that there is always one under way.
    await sql`
      create function dawdle() returns trigger language plpgsql as $$
      begin runUnary pg_sleep(0.01 + random() * 0.02); return new; end $$`;
    await sql`create trigger dawdle before insert on check_ins for each row execute function dawdle()`;
    let isOver = false;
    let admitted = 0;
    const turnUp = async (at: TestService, caller: number) => {
      const { events } = clientsOf(at, tenant);
      for (let turn = 0; !isOver; turn++) {
        await events.checkIn({ eventId: 'event', attendeeId: `${caller} ${turn}` }).then(
          () => admitted++,
          () => {},
        );
      }
    };
    const crowd = Array.from({ length: 48 }, (_, caller) => turnUp(caller % 2 ? service : replica, caller));
    await vi.waitFor(() => expect(admitted).toBeGreaterThan(100), 10_000);
    const outcome = await events.deleteEvent({ eventId: 'event' }).then(
      () => 'deleted',
      (error: Error) => error.message,
    );
    isOver = true;
    await Promise.all(crowd);
    expect(outcome).toBe('deleted');
  });

  test('a check-in that meets a delete waits for it to commit and is refused', async () => {
    await using service = await startTestService();
    const { sql } = service.database;
    const { events, call } = await createEvent(service);
    await using recording = new RecordingDatabase(service.database.url);
    await deleteEvent({ ...call, run: recording.within(0) }, { eventId: 'missing' }).catch(() => {});

    let outcome: Promise<string> | undefined;
    await sql.begin(async (transaction) => {
      expect(await transaction.unsafe(...recording.lastStatement({ missing: 'event' }))).toHaveLength(1);
      outcome = events.checkIn({ eventId: 'event', attendeeId: 'attendee' }).then(
        () => 'admitted',
        (error: Error) => error.message,
      );
      await waitForLockWaiters(service.database);
    });
    expect(await outcome).toBe('[not_found] Event not found');
    expect(await sql`select * from check_ins`).toEqual([]);
  });

  test('a check-in that meets a delete which is given up goes on', async () => {
    await using service = await startTestService();
    const { sql } = service.database;
    const { events } = await createEvent(service);

    let outcome: Promise<boolean> | undefined;
    const abandoned = sql.begin(async (transaction) => {
      await transaction`update events set deleted_at = now()`;
      outcome = events.checkIn({ eventId: 'event', attendeeId: 'attendee' }).then((reply) => reply.alreadyCheckedIn);
      await waitForLockWaiters(service.database);
      throw new Error('given up');
    });
    await expect(abandoned).rejects.toThrow('given up');
    expect(await outcome).toBe(false);
    expect(await sql`select attendee_id from check_ins`).toEqual([{ attendee_id: 'attendee' }]);
  });
});

async function createEvent(service: TestService) {
  const tenant = await createTenant(service);
  const { events } = clientsOf(service, tenant);
  await events.createEvent({ eventId: 'event' });
  const application = { id: tenant.id, name: tenant.name, clientId: tenant.clientId, redirectUris: [] };
  return { tenant, events, call: { application, now: new Date() } };
}
