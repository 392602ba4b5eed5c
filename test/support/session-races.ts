/** Revocations that race with everything else on two replicas, in a short form for every commit and in a long one. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { HttpPool, type JsonReply } from './http.ts';
import { createTenant, createTestUser, logIn, startTestService } from './service.ts';

const CALLERS = 16;

interface Reply {
  readonly message?: string;
  readonly data?: { readonly id?: string; readonly active?: boolean; readonly session?: { readonly id: string } };
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
  await using fixture = await openReplicas();
  const { pools, poolOf, signIn, setDue, sql } = fixture;
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
      for (let waited = 0; waited < caller % 4; waited++) await new Promise(setImmediate);
      const pool = poolOf(caller);
      if (caller % 3 === 0) note(await pool.call('POST', '/api/sessions/renew', { sessionId }));
      else if (caller % 3 === 1) note(await pool.call('POST', '/api/oauth/exchange', { authToken }));
      else expect((await check(pool, sessionId)).status).toBe(200);
    });
    const revocation = (async () => {
      for (let waited = 0; waited < round % 8; waited++) await new Promise(setImmediate);
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
  await using fixture = await openReplicas();
  const { pools, poolOf, signIn, setDue } = fixture;
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

function check(pool: HttpPool, sessionId: string): Promise<JsonReply<Reply>> {
  return pool.call('POST', '/api/sessions/check', { sessionId, maxStalenessMs: 0 });
}

async function openReplicas() {
  const first = await startTestService();
  const second = await startTestService({ database: first.database, like: first.config });
  const tenant = await createTenant(first);
  const headers = { 'x-api-key': tenant.apiKey };
  const pools = [new HttpPool(first, headers), new HttpPool(second, headers)] as const;
  const { sql } = first.database;
  return {
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
    /** Makes the user's session ten minutes older. */
    async setDue(userId: string) {
      const [session] = await sql`
        select id, created_at - interval '10 min' as created_at, expires_at - interval '10 min' as expires_at
        from sessions where user_id = ${userId}`;
      for (const table of ['sessions', 'session_ids'])
        await sql`update ${sql(table)} set ${sql(session ?? {}, 'created_at', 'expires_at')} where id = ${session?.id}`;
    },
    async [Symbol.asyncDispose]() {
      for (const pool of pools) pool[Symbol.dispose]();
      await second.close();
      await first.close();
    },
  };
}
