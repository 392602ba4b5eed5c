/** Statements that cut off many users lock them in one order, so that no two of them wait for each other. */
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { cutOffRefused } from '../../../../src/domain/lifecycle/lost-access.ts';
import { LAYOUT } from '../../../support/database.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { adminClient, createTestUser, startTestService } from '../../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql } = service.database;

async function createRestricted(): Promise<string> {
  const { application } = await adminClient(service).createApplication({
    name: 'Restricted',
    redirectUris: ['http://127.0.0.1/callback'],
    restrictAccess: true,
  });
  return application?.id ?? '';
}

// Rows of several servers are locked one server after the other.
test.runIf(LAYOUT === 'whole').each([
  { of: 'one application', applications: 1, users: 2 },
  { of: 'several applications', applications: 2, users: 1 },
])('users of $of', async ({ applications, users }) => {
  const applicationIds = await Promise.all(Array.from({ length: applications }, createRestricted));
  const userIds = await Promise.all(Array.from({ length: users }, async () => (await createTestUser(service)).id));
  const pairs = applicationIds.flatMap((applicationId) => userIds.map((userId) => [applicationId, userId] as const));
  const [first = ['', ''], last = ['', '']] = pairs.toSorted((a, b) => (a.join() < b.join() ? -1 : 1));
  const now = new Date();
  const call = { now, run: withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now }) };
  await cutOffRefused(call, pairs);
  const row = ([applicationId, userId]: readonly [string, string]) =>
    `select from session_cutoffs where application_id = '${applicationId}' and user_id = '${userId}' for update nowait`;
  await using lock = await holdLock(service.database, row(first));
  const cutOff = cutOffRefused(call, [last, first]);
  await waitForLockOf(service.database, cutOff);
  expect(await sql.unsafe(row(last))).toHaveLength(1);
  await lock.release();
  await cutOff;
});
