/** How many users are cut off at once: in which order they are locked, by which statement, and who hears of it. */
import { afterAll, expect, test } from 'vitest';
import { Database, type Run } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import { cutOffRefused, endLostAccess } from '../../../../src/domain/lifecycle/lost-access.ts';
import { LAYOUT } from '../../../support/database.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { adminClient, createTestUser, startTestService } from '../../../support/service.ts';

const service = await startTestService({ oidcSigningKeys: [createRsaJwk()] });
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

/** Returns a call that adds the names of its statements to the list, and the applications of its messages. */
function createCall(sent: string[] = [], told: string[] = []): Call {
  const now = new Date();
  const run = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  const record: typeof run = (statement, parameters) => {
    sent.push(statement.name);
    return run(statement, parameters);
  };
  return { now, run: record, onMessage: (applicationId) => void told.push(applicationId) };
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
  const call = createCall();
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

test('users of one application are cut off by a statement of its own, those of several together', async () => {
  const [first, second] = [await createRestricted(), await createRestricted()];
  const users = [(await createTestUser(service)).id, (await createTestUser(service)).id];
  const sentFor = async (...applicationIds: string[]) => {
    const sent: string[] = [];
    await cutOffRefused(
      createCall(sent),
      users.map((userId, index) => [applicationIds[index] ?? '', userId] as const),
    );
    return sent;
  };
  expect(await sentFor(first, first)).toEqual(['cutOffRefusedOfApplication']);
  expect(await sentFor(first, second)).toEqual(['cutOffRefused']);
});

test('logouts are told where the user who has lost the access has signed in', async () => {
  const [lost, neighbor, open] = [await createRestricted(), await createRestricted(), await createRestricted()];
  for (const applicationId of [lost, neighbor, open])
    await adminClient(service).updateApplication({
      ...{ applicationId, openIdConnect: true, backchannelLogoutUri: 'https://app.test/logout' },
      restrictAccess: applicationId !== open,
    });
  const [user, stranger] = [(await createTestUser(service)).id, (await createTestUser(service)).id];
  const known = [
    [lost, user],
    [open, user],
    [neighbor, stranger],
  ] as const;
  for (const [applicationId, userId] of known)
    await sql`insert into application_users values (${applicationId}, ${userId}, now(), now())`;
  const told: string[] = [];
  await cutOffRefused(createCall([], told), [
    [lost, user],
    [open, user],
    [neighbor, user],
  ]);
  expect(told).toEqual([lost]);
});

test('a statement that takes access away is announced, and its users are looked at once more', async () => {
  const [applicationId, other] = [await createRestricted(), await createRestricted()];
  const { id: userId } = await createTestUser(service);
  const told: string[] = [];
  const row = { affected: [[applicationId, userId] as const], notifiedIds: [other] };
  expect(await endLostAccess(createCall([], told), [row])).toBe(row);
  expect(told).toEqual([other]);
  expect(
    await sql`select from session_cutoffs where application_id = ${applicationId} and user_id = ${userId}`,
  ).toHaveLength(1);
  expect(await endLostAccess(createCall(), [])).toBeUndefined();
});

test.each([
  [500, 1],
  [501, 2],
])('%i users of an application are cut off by %i statements', async (users, statements) => {
  let sent = 0;
  const run = (async () => {
    sent++;
    return [];
  }) as unknown as Run;
  const pairs = Array.from({ length: users }, (_, at) => ['application', String(at)] as const);
  await cutOffRefused({ run, now: new Date() }, pairs);
  expect(sent).toBe(statements);
});
