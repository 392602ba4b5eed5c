/** Whoever signs in as soon as a revocation has answered is signed in: its cut-off is of an earlier millisecond. */
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import type { ApplicationCall } from '../../src/domain/core/call.ts';
import { reactivateUser } from '../../src/domain/lifecycle/end-user.ts';
import { completeLogin } from '../../src/domain/login/complete-login.ts';
import { revokeSession } from '../../src/domain/sessions/revoke-session.ts';
import { revokeUserSessions } from '../../src/domain/sessions/revoke-user-sessions.ts';
import { AuthTokens } from '../../src/domain/tokens/auth-tokens.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  startTestService,
} from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

/** Without the pause after a cut-off, some of a hundred are refused on a quiet machine. */
const ROUNDS = quickOrLong(30, 2_000);

const service = await startTestService();
const tenant = await createTenant(service);
const admin = adminClient(service);
const { auth } = clientsOf(service, tenant);

afterAll(() => service.close());

test.each([
  [
    'RevokeSession',
    (call: ApplicationCall, sessionId: string) => revokeSession(call, { sessionMaxAgeSeconds: 43_200 }, { sessionId }),
  ],
  ['RevokeUserSessions', (call: ApplicationCall, _: string, userId: string) => revokeUserSessions(call, { userId })],
  [
    'ReactivateUser',
    async (call: ApplicationCall, _: string, userId: string) => {
      await admin.deactivateUser({ userId });
      await reactivateUser(call, { userId });
    },
  ],
])('a user who signs in within the millisecond in which %s has answered is signed in', async (_, revoke) => {
  // Without HTTP, which takes longer than a millisecond.
  const database = new Database(service.database.url, { connections: 1, statementTimeoutMs: 60_000 });
  const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);
  const user = await createTestUser(service);
  let sessionId = await beginSession(service, tenant, user);
  let refused = 0;
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const loginIntentId = await createLoginIntent(service, tenant);
    const now = new Date();
    const run = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
    const call = { application: { ...tenant, redirectUris: [] }, run, now };
    // From the answer of its first statement, which writes the cut-off, to whatever comes next.
    let answeredAt: number | undefined;
    let pausedMs: number | undefined;
    const proceed = () => {
      if (answeredAt !== undefined) pausedMs ??= performance.now() - answeredAt;
    };
    const timed: typeof run = async (statement, parameters) => {
      proceed();
      const rows = await run(statement, parameters);
      answeredAt ??= performance.now();
      return rows;
    };
    await revoke({ ...call, run: timed }, sessionId, user.id);
    proceed();
    shortestMs = Math.min(shortestMs, pausedMs ?? 0);
    const { authToken } = await completeLogin(call, tokens, { loginIntentId, userId: user.id });
    const { session } = await auth.exchangeToken({ authToken }).catch(() => ({ session: undefined }));
    if (session) sessionId = session.id;
    else refused++;
  }
  await database.close();
  expect(refused).toBe(0);
  // A sign-in that comes next is of a later millisecond. On a busy machine this shows more surely.
  expect(shortestMs).toBeGreaterThanOrEqual(1);
});
