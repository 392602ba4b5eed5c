/** Sessions that have expired and can still be renewed, under calls that race on two replicas. */
import { expect } from 'vitest';
import type { HttpPool, JsonReply } from './http.ts';
import { CALLERS, check, openReplicas, type Reply } from './races.ts';
import { adminClient } from './service.ts';

const IDLE_SECONDS = 3_600;
/** The sessions have expired half an hour ago. */
const AGE_MINUTES = 45;

/**
 * Several devices renew a session that has expired, its predecessor, or one of each, 16 times at once in each round: all
 * get the one successor.
 */
export async function raceRenewalsOfExpired(rounds: number): Promise<void> {
  await using replicas = await openIdleReplicas();
  const { poolOf, signIn, setDue, pools } = replicas;
  for (let round = 0; round < rounds; round++) {
    const { userId, sessionId } = await signIn();
    await setDue(userId);
    const { body } = await renew(poolOf(round), sessionId);
    const devices = [sessionId, body.data?.id ?? ''];
    await setDue(userId, AGE_MINUTES);
    await replicas.sql`
      update session_ids set created_at = created_at - interval '30 min', expires_at = expires_at - interval '30 min'
      where id = ${sessionId}`;
    const replies = await Promise.all(
      Array.from({ length: CALLERS }, (_, caller) => renew(poolOf(caller), devices[(caller >> (round % 3)) % 2] ?? '')),
    );
    expect(
      replies.map(({ status }) => status),
      `round ${round}`,
    ).toEqual(Array(CALLERS).fill(200));
    const [successor = '', ...others] = new Set(replies.map(({ body }) => body.data?.id));
    expect(others, `round ${round}`).toEqual([]);
    expect(devices).not.toContain(successor);
    for (const pool of pools) expect((await check(pool, successor)).body.data?.active).toBe(true);
  }
}

/**
 * Ends what a user has in each round, while 16 callers on two replicas renew the session that has expired, and one more
 * exchanges the token. Once the revocation has answered, nothing that a caller was given lives or can be renewed, and
 * neither when the user has signed in again.
 */
export async function raceRevocationsOfExpired(rounds: number): Promise<void> {
  await using replicas = await openIdleReplicas();
  const { services, tenant, pools, poolOf, signIn, setDue } = replicas;
  const admin = adminClient(services[0]);
  const revocations: readonly ((pool: HttpPool, userId: string, sessionId: string) => Promise<unknown>)[] = [
    (pool, _, sessionId) => pool.call('POST', '/api/sessions/revoke', { sessionId }),
    (pool, userId) => pool.call('DELETE', `/api/users/${userId}/sessions`),
    (_, userId) => admin.removeApplicationUser({ applicationId: tenant.id, userId }),
    (_, userId) => admin.deactivateUser({ userId }),
    (_, userId) => admin.deleteUser({ userId }),
    (_, userId) => admin.eraseUser({ userId }),
  ];
  let begun = 0;
  for (let round = 0; round < rounds; round++) {
    const { userId, authToken, sessionId } = await signIn();
    await setDue(userId, AGE_MINUTES);
    const given = new Set([sessionId]);
    const note = ({ status, body: { data } }: JsonReply<Reply>) => {
      const id = data?.session?.id ?? data?.id;
      if (status === 200 && id) given.add(id);
      else expect([401, 404], `round ${round}`).toContain(status);
    };
    const wait = async (ticks: number) => {
      for (let waited = 0; waited < ticks; waited++) await new Promise(setImmediate);
    };
    const racing = Array.from({ length: CALLERS }, async (_, caller) => {
      await wait(caller % 4);
      note(await renew(poolOf(caller), sessionId));
    });
    racing.push(
      wait(round % 5).then(async () =>
        note(await poolOf(round).call<Reply>('POST', '/api/oauth/exchange', { authToken })),
      ),
    );
    const revocation = (async () => {
      await wait(round % 7);
      await revocations[round % revocations.length]?.(poolOf(round >> 3), userId, sessionId);
      const late = await Promise.all(pools.map((pool) => renew(pool, sessionId)));
      expect(
        late.map(({ status }) => status),
        `round ${round}`,
      ).toEqual([401, 401]);
    })();
    await Promise.all([revocation, ...racing]);
    const expectEnded = async () => {
      for (const id of given) {
        expect((await check(poolOf(round), id)).body.data, `round ${round}`).toEqual({ active: false });
        expect((await renew(poolOf(round), id)).status, `round ${round}`).toBe(401);
      }
    };
    await expectEnded();
    begun += given.size - 1;
    if (round % revocations.length > 2) continue;
    const next = await signIn(userId);
    expect(given).not.toContain(next.sessionId);
    expect((await check(pools[0], next.sessionId)).body.data?.active).toBe(true);
    await expectEnded();
  }
  // Otherwise there was no race.
  expect(begun).toBeGreaterThan(0);
}

async function openIdleReplicas() {
  const replicas = await openReplicas();
  const { services, tenant } = replicas;
  // The other replica learns of it with the key, which it has not seen yet.
  await adminClient(services[0]).updateApplication({ applicationId: tenant.id, sessionIdleSeconds: IDLE_SECONDS });
  return replicas;
}

function renew(pool: HttpPool, sessionId: string): Promise<JsonReply<Reply>> {
  return pool.call<Reply>('POST', '/api/sessions/renew', { sessionId });
}
