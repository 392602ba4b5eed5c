/** BatchCreateUsers. What a line may have, and the rules of conflicts: test/integration/contract/import-users.test.ts. */
import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { afterAll, describe, expect, test } from 'vitest';
import { holdLock, waitForLockWaiters } from '../../support/lock.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestGroup,
  createTestUser,
  startTestService,
} from '../../support/service.ts';

const service = await startTestService();
afterAll(service.close);
const admin = adminClient(service);

const newEmail = () => `${randomUUID()}@example.com`;

test('BatchCreateUsers answers each user in order, and one who is refused refuses no other', async () => {
  const stored = await createTestUser(service);
  const [first, last] = [newEmail(), newEmail()];
  const { results } = await admin.batchCreateUsers({
    users: [
      { email: first },
      { email: 'none' },
      { email: stored.email.toUpperCase() },
      { email: newEmail(), groups: ['nobody'] },
      { email: newEmail(), applications: ['x'] },
      { email: first },
      { email: last, name: 'Ada' },
    ],
  });
  expect(results.map(({ status, reason, field }) => [status, reason, field].filter(Boolean).join(' '))).toEqual([
    'created',
    'failed VALIDATION_FAILED email',
    'failed USER_ALREADY_EXISTS email',
    'failed GROUP_NOT_FOUND groups',
    'failed VALIDATION_FAILED applications',
    'failed USER_ALREADY_EXISTS email',
    'created',
  ]);
  const users = await Promise.all([first, last].map((email) => admin.getUser({ email })));
  expect(users.map(({ user }) => user?.id)).toEqual([results[0]?.id, results[6]?.id]);
  expect(results[2]?.id).toBe(stored.id);
});

test('BatchCreateUsers skips or updates users who are there, and stores nothing in a dry run', async () => {
  const stored = await createTestUser(service, { name: 'Ada' });
  const users = [{ email: stored.email, attributes: { plan: 'pro' } }, { email: newEmail() }];
  const statuses = async (fields: { onConflict?: string; dryRun?: boolean }) =>
    (await admin.batchCreateUsers({ users, ...fields })).results.map(({ status }) => status);
  expect(await statuses({ onConflict: 'update', dryRun: true })).toEqual(['updated', 'created']);
  expect(await statuses({ onConflict: 'skip' })).toEqual(['skipped', 'created']);
  expect((await admin.getUser({ userId: stored.id })).user?.attributes).toBeUndefined();
  expect(await statuses({ onConflict: 'update' })).toEqual(['updated', 'updated']);
  // What a user has not been given stays.
  expect((await admin.getUser({ userId: stored.id })).user).toMatchObject({
    name: 'Ada',
    walletAddress: stored.walletAddress,
    attributes: { plan: 'pro' },
  });
});

test('a user whom BatchCreateUsers deactivates is signed out at once, and each user has an audit event', async () => {
  const application = await createTenant(service);
  const user = { email: newEmail(), applications: [application.id] };
  const { results } = await admin.batchCreateUsers({ users: [user] });
  const [id = ''] = results.map((result) => result.id);
  const sessionId = await beginSession(service, application, { id });
  const { sessions } = clientsOf(service, application);
  expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: true });
  await admin.batchCreateUsers({ users: [{ ...user, isActive: false }], onConflict: 'update' });
  expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: false });
  const { auditEvents } = await admin.listAuditEvents({ resource: id });
  // Newest first. Between the two is the sign-in.
  expect(auditEvents.map(({ action }) => action)).toEqual([
    'AdminService/BatchCreateUsers',
    'AuthService/ExchangeToken',
    'AdminService/CompleteLogin',
    'AdminService/BatchCreateUsers',
  ]);
});

describe('beside a change that commits after the look-up', () => {
  test('a user who is stored meanwhile is refused alone', async () => {
    const emails = [newEmail(), newEmail(), newEmail()];
    const [, taken] = emails;
    const lock = await holdLock(
      service.database,
      `insert into users (id, email, wallet_address, created_at) values ('${randomUUID()}', '${taken}', '', now())`,
    );
    const reply = admin.batchCreateUsers({ users: emails.map((email) => ({ email })) });
    await waitForLockWaiters(service.database);
    await lock.release();
    expect((await reply).results.map(({ status, reason }) => reason ?? status)).toEqual([
      'created',
      'USER_ALREADY_EXISTS',
      'created',
    ]);
  });

  test('a group that is deleted meanwhile refuses its users alone', async () => {
    const { groupId, name } = await createTestGroup(service);
    const lock = await holdLock(service.database, `delete from groups where id = '${groupId}'`);
    const reply = admin.batchCreateUsers({ users: [{ email: newEmail() }, { email: newEmail(), groups: [name] }] });
    await waitForLockWaiters(service.database);
    await lock.release();
    expect((await reply).results.map(({ status, reason }) => reason ?? status)).toEqual(['created', 'GROUP_NOT_FOUND']);
  });
});

describe('BatchCreateUsers refuses', () => {
  test.each([
    ['no user', { users: [] }],
    ['101 users', { users: Array.from({ length: 101 }, () => ({ email: newEmail() })) }],
    ['another way to solve conflicts', { users: [{ email: newEmail() }], onConflict: 'replace' }],
  ])('%s', async (_, request) => {
    await expect(admin.batchCreateUsers(request)).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});
