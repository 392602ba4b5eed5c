/** Which sign-ins a revocation ends. Races: test/robustness/races.test.ts and prompt-sign-ins.test.ts. Clocks that are off: test/robustness/clocks.test.ts. */
import { afterAll, expect, test } from 'vitest';
import type { Run } from '../../../src/database/pool/database.ts';
import { statement } from '../../../src/database/sql/template.ts';
import { runCutoff } from '../../../src/domain/sessions/cutoffs.ts';
import { MINUTE, TestClock } from '../../support/clock.ts';
import { holdLock, waitForLockWaiters } from '../../support/lock.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
} from '../../support/service.ts';

const service = await startTestService();
const replica = await startTestService({ database: service.database, like: service.config });
const tenant = await createTenant(service);
const admin = adminClient(service);
const { auth, sessions } = clientsOf(replica, tenant);

afterAll(async () => {
  await replica.close();
  await service.close();
});

const isActive = async (sessionId: string) => (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;
const INVALID_TOKEN = 'Invalid or expired token';

test('a sign-in while DeactivateUser waits for the user is ended for good', async () => {
  const user = await createTestUser(service);
  await using lock = await holdLock(service.database, `select from users where id = '${user.id}' for no key update`);
  const deactivation = admin.deactivateUser({ userId: user.id });
  await waitForLockWaiters(service.database);
  const authToken = await logIn(replica, tenant, user);
  const { session } = await auth.exchangeToken({ authToken });
  await lock.release();
  await deactivation;
  // Without the cut-off of the reactivation.
  await service.database.sql`update users set deactivated_at = null where id = ${user.id}`;
  expect(await isActive(session?.id ?? '')).toBe(false);
  await expect(auth.exchangeToken({ authToken })).rejects.toThrow(INVALID_TOKEN);
});

test('a sign-in while DeactivateUser waits after it has taken its instant is ended by ReactivateUser', async () => {
  const user = await createTestUser(service);
  await service.database.sql`insert into user_cutoffs values (${user.id}, 'epoch', 'epoch')`;
  await using lock = await holdLock(
    service.database,
    `select from user_cutoffs where user_id = '${user.id}' for update`,
  );
  const deactivation = admin.deactivateUser({ userId: user.id });
  await waitForLockWaiters(service.database);
  const authToken = await logIn(replica, tenant, user);
  const { session } = await auth.exchangeToken({ authToken });
  await lock.release();
  await deactivation;
  await admin.reactivateUser({ userId: user.id });
  expect(await isActive(session?.id ?? '')).toBe(false);
  await expect(auth.exchangeToken({ authToken })).rejects.toThrow(INVALID_TOKEN);
  expect(await isActive(await beginSession(service, tenant, user))).toBe(true);
});

test('a sign-in that succeeds after ReactivateUser is later than it, although its statement began no later', async () => {
  const clock = new TestClock();
  await using behind = await startTestService({ database: service.database, like: service.config, clock: clock.read });
  const user = await createTestUser(service);
  const operator = adminClient(behind);
  const loginIntentId = await createLoginIntent(behind, tenant);
  await operator.deactivateUser({ userId: user.id });
  await operator.reactivateUser({ userId: user.id });
  const { redirectUrl } = await operator.completeLogin({ loginIntentId, userId: user.id });
  const authToken = new URL(redirectUrl).searchParams.get('authToken') ?? '';
  clock.advance(1);
  const { user: signedIn } = await clientsOf(behind, tenant).auth.exchangeToken({ authToken });
  expect(signedIn).toMatchObject({ email: user.email });
});

test('ReactivateUser of a user who is active changes nothing and ends nothing', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  const sessionId = await beginSession(service, tenant, user);
  const before = await service.database.sql`select count(*)::int from audit_events`;
  const { user: shown } = await admin.reactivateUser({ userId: user.id });
  expect(shown).toMatchObject({ id: user.id, name: 'Ada' });
  expect(await isActive(sessionId)).toBe(true);
  expect(await service.database.sql`select count(*)::int from audit_events`).toEqual(before);
});

test('DeactivateUser ends a session from a clock that is ahead, also after ReactivateUser', async () => {
  const user = await createTestUser(service);
  const sessionId = await beginSession(service, tenant, user);
  const { sql } = service.database;
  for (const table of ['sessions', 'session_ids'])
    await sql`update ${sql(table)} set authenticated_at = ${new Date(Date.now() + MINUTE)} where id = ${sessionId}`;
  await admin.deactivateUser({ userId: user.id });
  await sql`update users set deactivated_at = null where id = ${user.id}`;
  expect(await isActive(sessionId)).toBe(false);
});

test('every sign-in after a cut-off is later than it', async () => {
  for (let round = 0; round < 5; round++) {
    let writtenAt = Number.POSITIVE_INFINITY;
    const run = (async () => {
      writtenAt = Date.now();
    }) as unknown as Run;
    await runCutoff({ run, now: new Date() }, statement('any', {})`select`, {});
    expect(Date.now()).toBeGreaterThan(writtenAt);
  }
});
