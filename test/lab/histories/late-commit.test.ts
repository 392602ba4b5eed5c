/** A revocation whose commit waits for the standby. Needs the Postgres of Debian, or PG_BIN. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { describe, expect, test, vi } from 'vitest';
import { ignoreUnavailable, SessionChecks } from '../../../src/client/session-checks.ts';
import { createUsherClient } from '../../../src/client/usher-client.ts';
import { Database } from '../../../src/database/pool/database.ts';
import { Revocations } from '../../../src/domain/sessions/list-revocations.ts';
import { SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { beginSession, clientsOf, createTenant, createTestUser } from '../../support/service.ts';
import { report } from '../../support/soak.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, Replicas } from './cluster/replicas.ts';

const WAIT_MS = 30_000;
const BOUND_MS = 500;
/** `REQUEST_TIMEOUT_MS` of the replicas. */
const TIMEOUT_MS = 2_000;
/** On a busy machine. */
const PATIENCE_MS = 60_000;

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('a revocation whose commit waits 30 s for the standby', () => {
  // With both, no read is answered: another primary may have been promoted.
  test.for([
    { name: 'the primary', urlOf: ({ primaryUrl }: PrimaryWithStandby) => primaryUrl, isAnswered: true },
    { name: 'both servers', urlOf: ({ url }: PrimaryWithStandby) => url, isAnswered: false },
  ])('is refused, holds, and is seen within the bound of its commit ($name in the URL)', async (row, context) => {
    await using servers = await PrimaryWithStandby.start();
    await using replicas = await Replicas.start(alike(row.urlOf(servers)));
    const signIn = async () => {
      const [tenant, user] = [await createTenant(replicas), await createTestUser(replicas)];
      return { tenant, user, sessionId: await beginSession(replicas, tenant, user) };
    };
    const { tenant, user, sessionId } = await vi.waitFor(signIn, PATIENCE_MS);
    const client = createUsherClient({ baseUrl: `http://127.0.0.1:${replicas.ports[1]}`, apiKey: tenant.apiKey });
    const checkSession = vi.spyOn(client.sessions, 'checkSession');
    const checks = new SessionChecks({ client, boundMs: BOUND_MS, timeoutMs: TIMEOUT_MS });
    /** Undefined if Usher does not answer in time. */
    const isLive = () => checks.find(sessionId).then((session) => session !== undefined, ignoreUnavailable);
    const isLiveInMemory = async () => {
      checkSession.mockClear();
      return (await isLive()) && checkSession.mock.calls.length === 0;
    };
    await expect.poll(isLiveInMemory).toBe(true);

    await using stack = new AsyncDisposableStack();
    const database = new Database(servers.primaryUrl, { connections: 2, statementTimeoutMs: PATIENCE_MS });
    stack.defer(() => database.close());
    const windowed = new Revocations(database.eachWithin(PATIENCE_MS), TIMEOUT_MS);
    let known = (await windowed.find(tenant.id, undefined))?.until;
    /** Returns whether a reader is told of the user that forgets which transactions were open. */
    const isTold = async () => {
      const answer = await windowed.find(tenant.id, known && { ...known, oldestAt: known.at });
      if (!answer?.rows) throw new Error('The cursor has expired');
      known = answer.until;
      return answer.rows.some(({ userId }) => userId === user.id);
    };

    await servers.standby.pause();
    const revoked = clientsOf(replicas, tenant).sessions.revokeUserSessions({ userId: user.id });
    await expect(revoked).rejects.toMatchObject({ code: Code.Unavailable });
    const [answers, until] = [{ kept: 0, asked: 0, none: 0 }, performance.now() + WAIT_MS];
    while (performance.now() < until) {
      checkSession.mockClear();
      const live = await isLive();
      expect(live).not.toBe(false);
      answers[live === undefined ? 'none' : checkSession.mock.calls.length > 0 ? 'asked' : 'kept']++;
      expect(await isTold()).toBe(false);
      await sleep(BOUND_MS / 8);
    }
    expect([answers.kept > 0, answers.kept + answers.asked > 0]).toEqual([row.isAnswered, row.isAnswered]);
    await servers.standby.resume();

    const { sessions } = clientsOf(replicas, tenant);
    const isActive = async () => (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;
    await expect.poll(isActive, { interval: 10 }).toBe(false);
    await sleep(BOUND_MS);
    // The first answer counts, however long it takes.
    let last = await isLive();
    while (last === undefined) last = await isLive();
    expect(last).toBe(false);
    expect(await isTold()).toBe(false);
    report(context, {
      tried: `a commit that waited ${WAIT_MS / 1_000} s, ${row.name} in the URL`,
      lost: '0 late answers',
      figures: `meanwhile ${answers.kept} checks from memory, ${answers.asked} by a call, ${answers.none} without an answer`,
    });
  });
});
