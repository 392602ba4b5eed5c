/** Calls that race on two replicas. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { HttpPool } from './http.ts';
import { clientsOf, createTenant, createTestUser, logIn, startTestService, type TestService } from './service.ts';

const CALLERS = 16;
const CHECK_IN = '/usher.v1.EventService/CheckIn';

/** Deletes an event in each round while 16 callers check in to it: after the delete has answered, none commits. */
export async function raceCheckInsWithDeletes(rounds: number): Promise<void> {
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
    select ${tenant.id}, 'event-' || n, now() from generate_series(0, ${rounds - 1}) n`;
  // Check-ins take up to 3 ms, so that deletes come while they are half-way.
  await slowCheckIns(first, 'random() * 0.003');
  const attendeesOf = async (eventId: string): Promise<string[]> => {
    const rows = await sql`select attendee_id from check_ins where event_id = ${eventId} order by attendee_id`;
    return rows.map(({ attendee_id }) => attendee_id);
  };

  let admissions = 0;
  for (let round = 0; round < rounds; round++) {
    const eventId = `event-${round}`;
    const admitted: string[] = [];
    const tryCheckIn = async (attendeeId: string, pool: HttpPool | undefined) => {
      const reply = await pool?.call<{ message?: string }>('POST', CHECK_IN, { eventId, attendeeId });
      if (reply?.status === 200) admitted.push(attendeeId);
      else expect(reply).toMatchObject({ status: 404, body: { code: 'not_found', message: 'Event not found' } });
    };
    const racing: Promise<void>[] = [];
    const deletion = (async () => {
      for (let waited = 0; waited < round % 8; waited++) await new Promise(setImmediate);
      const reply = await pools[round % 2]?.call('DELETE', `/api/events/${eventId}`);
      expect(reply).toEqual({ status: 200, body: { status: true, message: 'Event deleted successfully' } });
      const whenDeleted = await attendeesOf(eventId);
      await Promise.all(pools.map((pool, index) => tryCheckIn(`late-${index}`, pool)));
      return whenDeleted;
    })();
    for (let caller = 0; caller < CALLERS; caller++) {
      racing.push(tryCheckIn(`attendee-${String(caller).padStart(2, '0')}`, pools[caller % 2]));
      if (caller % 4 === 3) await new Promise(setImmediate);
    }
    const [whenDeleted] = await Promise.all([deletion, ...racing]);
    const inTheEnd = await attendeesOf(eventId);
    expect(inTheEnd, `round ${round}`).toEqual(whenDeleted);
    expect(admitted.sort(), `round ${round}`).toEqual(inTheEnd);
    admissions += admitted.length;
  }
  // Otherwise there was no race.
  expect(admissions).toBeGreaterThan(0);
  expect(admissions).toBeLessThan(rounds * CALLERS);
}

/** Checks an attendee in and undoes it, 8 callers each at once in every round: the answers add up to what is left. */
export async function raceCheckInsWithUndos(rounds: number): Promise<void> {
  await using first = await startTestService({ config: { databaseConnections: 8 } });
  await using second = await startTestService({ database: first.database, like: first.config });
  const tenant = await createTenant(first);
  const headers = { 'x-api-key': tenant.apiKey };
  using atFirst = new HttpPool(first, headers);
  using atSecond = new HttpPool(second, headers);
  await clientsOf(first, tenant).events.createEvent({ eventId: 'event' });
  const path = '/api/events/event/check-ins';
  const counts = { created: 0, repeated: 0, undone: 0, missed: 0 };
  const checkedIn: Readonly<Record<number, keyof typeof counts>> = { 201: 'created', 200: 'repeated' };
  const undone: Readonly<Record<number, keyof typeof counts>> = { 200: 'undone', 404: 'missed' };
  for (let round = 0; round < rounds; round++) {
    const attendeeId = `attendee-${round}`;
    const answers = await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        const pool = caller % 4 < 2 ? atFirst : atSecond;
        return caller % 2 === 0
          ? checkedIn[(await pool.call('POST', path, { attendeeId })).status]
          : undone[(await pool.call('DELETE', `${path}/${attendeeId}`)).status];
      }),
    );
    const before = counts.created - counts.undone;
    for (const answer of answers) {
      if (!answer) throw new Error('An answer is not documented');
      counts[answer]++;
    }
    const left = await first.database.sql`select from check_ins where attendee_id = ${attendeeId}`;
    expect(counts.created - counts.undone - before, `round ${round}`).toBe(left.length);
  }
  // Otherwise there was no race.
  for (const [answer, times] of Object.entries(counts)) expect(times, answer).toBeGreaterThan(0);
}

/** Deletes an event while that many callers on two replicas check in to it without a pause. */
export async function deleteWhileCheckingIn(callers: number): Promise<void> {
  await using service = await startTestService({ config: { databaseConnections: 8 } });
  await using replica = await startTestService({ database: service.database, like: service.config });
  const tenant = await createTenant(service);
  const { events } = clientsOf(service, tenant);
  await events.createEvent({ eventId: 'event' });
  // They overlap, so that there is always one in flight.
  await slowCheckIns(service, '0.01 + random() * 0.02');
  let isOver = false;
  let admitted = 0;
  const keepCheckingIn = async (at: TestService, caller: number) => {
    const client = clientsOf(at, tenant).events;
    for (let turn = 0; !isOver; turn++) {
      await client.checkIn({ eventId: 'event', attendeeId: `${caller} ${turn}` }).then(
        () => admitted++,
        () => sleep(1),
      );
    }
  };
  const crowd = Array.from({ length: callers }, (_, caller) => keepCheckingIn(caller % 2 ? service : replica, caller));
  await expect.poll(() => admitted).toBeGreaterThan(2 * callers);
  const outcome = await events.deleteEvent({ eventId: 'event' }).then(
    () => 'deleted',
    (error: Error) => error.message,
  );
  isOver = true;
  await Promise.all(crowd);
  expect(outcome).toBe('deleted');
}

/** Exchanges one token 16 times at once in each round: all get the one session. */
export async function raceExchanges(rounds: number): Promise<void> {
  await using first = await startTestService();
  await using second = await startTestService({ database: first.database, like: first.config });
  const tenant = await createTenant(first);
  const authToken = await logIn(first, tenant, await createTestUser(first));
  const headers = { 'x-api-key': tenant.apiKey };
  using atFirst = new HttpPool(first, headers);
  using atSecond = new HttpPool(second, headers);
  const { sql } = first.database;
  const winners: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const replies = await Promise.all(
      Array.from({ length: CALLERS }, (_, caller) =>
        (caller % 2 === 0 ? atFirst : atSecond).call<{ data: { session: { id: string } } }>(
          'POST',
          '/api/oauth/exchange',
          { authToken },
        ),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(CALLERS).fill(200));
    const [session, ...others] = new Set(replies.map(({ body }) => JSON.stringify(body.data.session)));
    expect(others, `round ${round}`).toEqual([]);

    // Every other session expires, the rest are deleted: taking over and inserting both race.
    const kept =
      round % 2 === 0
        ? await sql`update sessions set expires_at = now() - interval '1 second' returning id`
        : await sql`delete from sessions returning id`;
    expect(kept).toEqual([{ id: JSON.parse(session ?? '').id }]);
    winners.push(kept[0]?.id);
  }
  expect(new Set(winners).size).toBe(rounds);
}

async function slowCheckIns({ database: { sql } }: TestService, seconds: string): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`set local citus.enable_unsafe_triggers = on`;
    await transaction.unsafe(`
      create function sleep_a_little() returns trigger language plpgsql as $$
      begin perform pg_sleep(${seconds}); return new; end $$`);
    await transaction`
      create trigger sleep_a_little before insert on check_ins for each row execute function sleep_a_little()`;
  });
}
