/** Calls that race on two replicas. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { TestDatabase } from './database.ts';
import { HttpPool, type JsonReply } from './http.ts';
import {
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  logIn,
  startTestService,
  type TestService,
} from './service.ts';

export const CALLERS = 16;
const CHECK_IN = '/usher.v1.EventService/CheckIn';

export interface Reply {
  readonly message?: string;
  readonly data?: { readonly id?: string; readonly active?: boolean; readonly session?: { readonly id: string } };
}

/** Deletes an event in each round while 16 callers check in to it: after the delete has answered, none commits. */
export async function raceCheckInsWithDeletes(rounds: number): Promise<void> {
  await using replicas = await openReplicas({ databaseConnections: 8 });
  const { tenant, pools, poolOf, sql } = replicas;
  await sql`
    insert into events (application_id, id, created_at)
    select ${tenant.id}, 'event-' || n, now() from generate_series(0, ${rounds - 1}) n`;
  // Check-ins take up to 3 ms, so that deletes come while they are half-way.
  await slowCheckIns(sql, 'random() * 0.003');
  const attendeesOf = async (eventId: string): Promise<string[]> => {
    const rows = await sql`select attendee_id from check_ins where event_id = ${eventId} order by attendee_id`;
    return rows.map(({ attendee_id }) => attendee_id);
  };

  let admissions = 0;
  for (let round = 0; round < rounds; round++) {
    const eventId = `event-${round}`;
    const admitted: string[] = [];
    const tryCheckIn = async (attendeeId: string, pool: HttpPool) => {
      const reply = await pool.call<{ message?: string }>('POST', CHECK_IN, { eventId, attendeeId });
      if (reply.status === 200) admitted.push(attendeeId);
      else expect(reply).toMatchObject({ status: 404, body: { code: 'not_found', message: 'Event not found' } });
    };
    const racing: Promise<void>[] = [];
    const deletion = (async () => {
      await waitTurns(round % 8);
      const reply = await poolOf(round).call('DELETE', `/api/events/${eventId}`);
      expect(reply).toEqual({ status: 200, body: { status: true, message: 'Event deleted successfully' } });
      const whenDeleted = await attendeesOf(eventId);
      await Promise.all(pools.map((pool, index) => tryCheckIn(`late-${index}`, pool)));
      return whenDeleted;
    })();
    for (let caller = 0; caller < CALLERS; caller++) {
      racing.push(tryCheckIn(`attendee-${String(caller).padStart(2, '0')}`, poolOf(caller)));
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
  await using replicas = await openReplicas({ databaseConnections: 8 });
  const { tenant, services, poolOf, sql } = replicas;
  await createTestEvent(services[0], tenant, 'event');
  const path = '/api/events/event/check-ins';
  const counts = { created: 0, repeated: 0, undone: 0, missed: 0 };
  const checkedIn: Readonly<Record<number, keyof typeof counts>> = { 201: 'created', 200: 'repeated' };
  const undone: Readonly<Record<number, keyof typeof counts>> = { 200: 'undone', 404: 'missed' };
  for (let round = 0; round < rounds; round++) {
    const attendeeId = `attendee-${round}`;
    const answers = await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        const pool = poolOf(Math.floor(caller / 2));
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
    const left = await sql`select from check_ins where attendee_id = ${attendeeId}`;
    expect(counts.created - counts.undone - before, `round ${round}`).toBe(left.length);
  }
  // Otherwise there was no race.
  for (const [answer, times] of Object.entries(counts)) expect(times, answer).toBeGreaterThan(0);
}

/** Deletes an event while that many callers on two replicas check in to it without a pause. */
export async function deleteWhileCheckingIn(callers: number): Promise<void> {
  await using replicas = await openReplicas({ databaseConnections: 8 });
  const { tenant, services, sql } = replicas;
  await createTestEvent(services[0], tenant, 'event');
  // They overlap, so that there is always one in flight.
  await slowCheckIns(sql, '0.01 + random() * 0.02');
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
  const crowd = Array.from({ length: callers }, (_, caller) =>
    keepCheckingIn(services[caller % 2 === 0 ? 0 : 1], caller),
  );
  await expect.poll(() => admitted).toBeGreaterThan(2 * callers);
  const outcome = await clientsOf(services[0], tenant)
    .events.deleteEvent({ eventId: 'event' })
    .then(
      () => 'deleted',
      (error: Error) => error.message,
    );
  isOver = true;
  await Promise.all(crowd);
  expect(outcome).toBe('deleted');
}

/** Exchanges one token 16 times at once in each round: all get the one session, and a webhook is told of it once. */
export async function raceExchanges(rounds: number): Promise<void> {
  await using replicas = await openReplicas();
  const { poolOf, services, signIn, sql, tenant } = replicas;
  const { authToken, userId } = await signIn();
  const winners: string[] = [];
  const subscribesAt = Math.floor(rounds / 2);
  for (let round = 0; round < rounds; round++) {
    if (round === subscribesAt) {
      const fields = { url: 'https://h.test', ownerId: userId, eventTypes: ['session.created'] };
      await clientsOf(services[0], tenant).webhooks.createWebhook(fields);
    }
    const replies = await Promise.all(
      Array.from({ length: CALLERS }, (_, caller) =>
        poolOf(caller).call<Reply>('POST', '/api/oauth/exchange', { authToken }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(CALLERS).fill(200));
    const [session, ...others] = new Set(replies.map(({ body }) => JSON.stringify(body.data?.session)));
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
  const [told] = await sql`select count(*)::int as count from webhook_messages`;
  expect(told).toEqual({ count: rounds - subscribesAt });
}

/** How to end what a user has. */
const REVOCATIONS = [
  (pool: HttpPool, sessionId: string) => pool.call('POST', '/api/sessions/revoke', { sessionId }),
  (pool: HttpPool, _: string, userId: string) => pool.call('DELETE', `/api/users/${userId}/sessions`),
] as const;

/**
 * Revokes a session in each round while callers on two replicas exchange, renew and check. Once the revocation has
 * answered, no older token is accepted. No session that a caller was given can be renewed or is active. Then the user
 * signs in again.
 */
export async function raceRevocations(rounds: number): Promise<void> {
  await using replicas = await openReplicas();
  const { pools, poolOf, signIn, setDue, sql } = replicas;
  let begun = 0;
  for (let round = 0; round < rounds; round++) {
    const { userId, authToken, sessionId } = await signIn();
    // A third of the rounds renews, a third overwrites what has expired.
    if (round % 3 === 0) await setDue(userId);
    if (round % 3 === 1) await sql`delete from sessions where user_id = ${userId}`;
    const given = new Set([sessionId]);
    const note = ({ status, body: { data } }: JsonReply<Reply>) => {
      const id = data?.session?.id ?? data?.id;
      if (status === 200 && id) given.add(id);
    };
    const racing = Array.from({ length: CALLERS }, async (_, caller) => {
      await waitTurns(caller % 4);
      const pool = poolOf(caller);
      if (caller % 3 === 0) note(await pool.call('POST', '/api/sessions/renew', { sessionId }));
      else if (caller % 3 === 1) {
        const reply = await pool.call<Reply>('POST', '/api/oauth/exchange', { authToken });
        expect([200, 401], `round ${round}: ${JSON.stringify(reply.body)}`).toContain(reply.status);
        note(reply);
      } else expect((await check(pool, sessionId)).status).toBe(200);
    });
    const revocation = (async () => {
      await waitTurns(round % 8);
      const revoke = REVOCATIONS[Math.floor(round / 8) % 2] ?? REVOCATIONS[0];
      expect((await revoke(poolOf(round), sessionId, userId)).status).toBe(200);
      const late = pools.map(async (pool) => {
        const exchanged = await pool.call<Reply>('POST', '/api/oauth/exchange', { authToken });
        expect(exchanged, `round ${round}`).toMatchObject({
          status: 401,
          body: { message: 'Invalid or expired token' },
        });
        const renewed = await pool.call<Reply>('POST', '/api/sessions/renew', { sessionId });
        expect(renewed, `round ${round}`).toMatchObject({ status: 401, body: { message: 'Session expired' } });
        expect((await check(pool, sessionId)).body.data, `round ${round}`).toEqual({ active: false });
      });
      await Promise.all(late);
    })();
    await Promise.all([revocation, ...racing]);
    for (const id of given) {
      for (const pool of pools) expect((await check(pool, id)).body.data, `round ${round}`).toEqual({ active: false });
    }
    // A session that lives and is not due is the only one that the user can have.
    if (round % 3 === 2) expect([...given], `round ${round}`).toEqual([sessionId]);
    begun += given.size - 1;

    const next = await signIn(userId);
    expect(given).not.toContain(next.sessionId);
    expect((await check(pools[0], next.sessionId)).body.data?.active).toBe(true);
  }
  // Otherwise there was no race.
  expect(begun).toBeGreaterThan(0);
}

/** Renews a session 16 times at once in each round: all get the one successor. */
export async function raceRenewals(rounds: number): Promise<void> {
  await using replicas = await openReplicas();
  const { pools, poolOf, signIn, setDue } = replicas;
  for (let round = 0; round < rounds; round++) {
    const { userId, sessionId, authToken } = await signIn();
    await setDue(userId);
    const replies = await Promise.all(
      Array.from({ length: CALLERS }, (_, caller) =>
        poolOf(caller).call<Reply>('POST', '/api/sessions/renew', { sessionId }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(CALLERS).fill(200));
    const [successor, ...others] = new Set(replies.map(({ body }) => body.data?.id));
    expect(others, `round ${round}`).toEqual([]);
    expect(successor).not.toBe(sessionId);
    const exchanged = await pools[0].call<Reply>('POST', '/api/oauth/exchange', { authToken });
    expect(exchanged.body.data?.session?.id).toBe(successor);
    expect((await check(pools[1], sessionId)).body.data?.active).toBe(true);
  }
}

export function check(pool: HttpPool, sessionId: string): Promise<JsonReply<Reply>> {
  return pool.call('POST', '/api/sessions/check', { sessionId, maxStalenessMs: 0 });
}

/** Starts two replicas with an application, and opens connections to each. */
export async function openReplicas(config: Partial<Config> = {}) {
  await using stack = new AsyncDisposableStack();
  const first = stack.use(await startTestService({ config }));
  const second = stack.use(await startTestService({ database: first.database, like: first.config }));
  const tenant = await createTenant(first);
  const headers = { 'x-api-key': tenant.apiKey };
  const pools = [stack.use(new HttpPool(first, headers)), stack.use(new HttpPool(second, headers))] as const;
  const { sql } = first.database;
  const all = stack.move();
  return {
    services: [first, second] as const,
    tenant,
    pools,
    poolOf: (number: number) => pools[number % 2 === 0 ? 0 : 1],
    sql,
    /** Signs a user in, a new one where none is given. */
    async signIn(known?: string) {
      const userId = known ?? (await createTestUser(first)).id;
      const authToken = await logIn(first, tenant, { id: userId });
      const { body } = await pools[0].call<Reply>('POST', '/api/oauth/exchange', { authToken });
      return { userId, authToken, sessionId: body.data?.session?.id ?? randomUUID() };
    },
    /** Makes the user's session older. */
    async setDue(userId: string, minutes = 10) {
      const age = sql`${minutes}::int * interval '1 min'`;
      const [session] = await sql`
        select id, created_at - ${age} as created_at, expires_at - ${age} as expires_at
        from sessions where user_id = ${userId}`;
      for (const table of ['sessions', 'session_ids'])
        await sql`update ${sql(table)} set ${sql(session ?? {}, 'created_at', 'expires_at')} where id = ${session?.id}`;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Lets other work begin so many times. */
export async function waitTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
}

/** Waits until so many of them have settled, or all. */
export async function waitForSome(promises: readonly Promise<unknown>[], count: number): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  let settled = 0;
  const onSettled = () => ++settled >= Math.min(count, promises.length) && resolve();
  for (const promise of promises) void promise.finally(onSettled);
  if (count > 0) await enough;
}

async function slowCheckIns(sql: TestDatabase['sql'], seconds: string): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`set local citus.enable_unsafe_triggers = on`;
    await transaction.unsafe(`
      create function sleep_a_little() returns trigger language plpgsql as $$
      begin perform pg_sleep(${seconds}); return new; end $$`);
    await transaction`
      create trigger sleep_a_little before insert on check_ins for each row execute function sleep_a_little()`;
  });
}
