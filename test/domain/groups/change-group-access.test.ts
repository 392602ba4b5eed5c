import { afterAll, expect, test } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import { changeGroupAccess } from '../../../src/domain/groups/set-group-access.ts';
import { LAYOUT } from '../../support/database.ts';
import { holdLock, waitForLockWaiters } from '../../support/lock.ts';
import { adminClient, createTenant, createTestGroup, startTestService } from '../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const admin = adminClient(service);
const now = new Date();
const audit = { ...BY_USHER, action: 'test', now };

test('a group that had no meaning gets the one that is given', async () => {
  const [{ id: applicationId }, { groupId }] = [await createTenant(service), await createTestGroup(service)];
  const run = withAudit(database.within(Number.POSITIVE_INFINITY), audit);
  await changeGroupAccess({ run, now }, { applicationId, groupId, inClaim: true });
  const { groups } = await admin.listApplicationGroups({ applicationId });
  expect(groups).toMatchObject([{ groupId, allowsAccess: false, inClaim: true }]);
});

test('of two changes at the same time, each keeps what the other has changed', async () => {
  const [{ id: applicationId }, { groupId }] = [await createTenant(service), await createTestGroup(service)];
  await admin.setGroupAccess({ applicationId, groupId, allowsAccess: true, inClaim: true });
  // In a transaction a statement waits for a lock in one go. Others are sent again, and then see what has changed.
  const change = (meaning: { allowsAccess: boolean } | { inClaim: boolean }) =>
    database.transact({ applicationId, deadline: performance.now() + 60_000 }, (run) =>
      changeGroupAccess({ run: withAudit(run, audit), now }, { applicationId, groupId, ...meaning }),
    );
  const lock = await holdLock(
    service.database,
    `select from application_groups where group_id = '${groupId}' for update`,
  );
  const changes = [change({ allowsAccess: false }), change({ inClaim: false })];
  await waitForLockWaiters(service.database, changes.length);
  await lock.release();
  await Promise.all(changes);
  expect(await admin.listApplicationGroups({ applicationId })).toMatchObject({ groups: [] });
});
