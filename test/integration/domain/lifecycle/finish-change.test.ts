/** Changes that concern many users: what they end is ended at once, also if the process ends before it is done with them. */
import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { Database, type Run } from '../../../../src/database/pool/database.ts';
import { updateApplication } from '../../../../src/domain/applications/update-application.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import { deleteGroup } from '../../../../src/domain/groups/delete-group.ts';
import { setGroupAccess } from '../../../../src/domain/groups/set-group-access.ts';
import { updateGroup } from '../../../../src/domain/groups/update-group.ts';
import { inviteUserAsOperator } from '../../../../src/domain/invitations/invite-user.ts';
import { revokeInvitation } from '../../../../src/domain/invitations/revoke-invitation.ts';
import { deactivateUser, deleteUser, eraseUser } from '../../../../src/domain/lifecycle/end-user.ts';
import { endUserSessions } from '../../../../src/domain/lifecycle/end-user-sessions.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { finishChanges } from '../../../../src/jobs/unfinished-changes.ts';
import { LAYOUT } from '../../../support/database.ts';
import { dumpDatabase, tablesWith } from '../../../support/dump.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, getUserinfo, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import { restrict } from '../../../support/restricted-access.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTestUser,
  createTestWebhook,
  logIn,
  startTestService,
} from '../../../support/service.ts';

const service = await startTestService({ oidcSigningKeys: [createRsaJwk()], config: { webhookDelivery: false } });
const replica = await startTestService({ database: service.database, like: service.config });
const open = () => new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
const databases = [open(), open()] as const;
afterAll(async () => {
  for (const database of databases) await database.close();
  await replica.close();
  await service.close();
});
const { sql } = service.database;
const admin = adminClient(service);
/** More than two batches. */
const CROWD = 1_100;
const MINUTE = 60_000;

type Held = Awaited<ReturnType<typeof prepare>>;

/** Each changes much for many, and leaves it at that. */
const CHANGES: Readonly<Record<string, (call: Call, held: Held) => Promise<unknown>>> = {
  'UpdateApplication with restrictAccess': (call, { applicationId }) =>
    updateApplication(call, { applicationId, restrictAccess: true }),
  DeleteGroup: (call, { groupId }) => deleteGroup(call, { groupId }),
  SetGroupAccess: (call, { groupId, applicationId }) => setGroupAccess(call, { groupId, applicationId, inClaim: true }),
};
const OF_GROUPS = ['DeleteGroup', 'SetGroupAccess'];

/** Returns a call whose process ends after its first statement. */
function dyingCall(): Call & { readonly statements: string[] } {
  const statements: string[] = [];
  const now = new Date();
  const run: Run = (statement, parameters) => {
    statements.push(statement.name);
    if (statements.length > 1) return Promise.reject(new Error('The process has ended'));
    return databases[0].within(Number.POSITIVE_INFINITY)(statement, parameters);
  };
  return { run: withAudit(run, { ...BY_USHER, action: 'test', now }), now, statements };
}

function livingCall(): Call {
  const now = new Date();
  return { run: withAudit(databases[0].within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now }), now };
}

/** Runs the job of two replicas at the same time. */
async function finish(inMs = 0) {
  const clock = () => new Date(Date.now() + inMs + MINUTE);
  await Promise.all(databases.map((database) => finishChanges(database, { clock })));
}

async function prepare(isOfGroup: boolean) {
  const tenant = await createOidcTenant(service);
  const applicationId = tenant.id;
  await admin.updateApplication({ applicationId, backchannelLogoutUri: 'https://app.test/logout', singleSignOn: true });
  const { webhookId } = await createTestWebhook(service, tenant);
  await clientsOf(service, tenant).webhooks.updateWebhook({
    webhookId,
    eventTypes: ['session.revoked', 'user.updated'],
  });
  const { groupId, give } = await restrict(service, applicationId);
  if (!isOfGroup) await admin.updateApplication({ applicationId, restrictAccess: false });
  const [user, stays] = [await createTestUser(service), await createTestUser(service)];
  await admin.addApplicationUser({ applicationId, userId: stays.id });
  for (const { id } of isOfGroup ? [user, stays] : []) await give(id, 'in a group');
  if (isOfGroup) await admin.setGroupAccess({ groupId, applicationId, allowsAccess: true, inClaim: true });
  // What has restricted the application.
  await finish(21 * MINUTE);
  const [sessionId, kept] = [await beginSession(service, tenant, user), await beginSession(service, tenant, stays)];
  const tokens = (await redeem(service, tenant, await signInForCode(service, tenant, user))).body;
  const code = await signInForCode(service, tenant, user);
  const authToken = await logIn(service, tenant, user);
  const people = await sql<{ id: string }[]>`
    insert into users (id, email, wallet_address, created_at)
    select gen_random_uuid(), gen_random_uuid() || '@example.com', '', now() from generate_series(1, ${CROWD}) returning id`;
  const ids = people.map(({ id }) => id);
  if (isOfGroup) await sql`insert into group_members select ${groupId}, id, now() from unnest(${ids}::uuid[]) id`;
  await sql`insert into application_users select ${applicationId}, id, now() from unnest(${ids}::uuid[]) id`;
  await sql`
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
      authenticated_at, began_at, created_at, expires_at)
    select ${applicationId}, id, gen_random_uuid(), '', '', '', '', 'email', now(), now(), now(), now() + interval '15 min'
    from unnest(${ids}::uuid[]) id`;
  await sql`delete from webhook_messages where application_id = ${applicationId}`;
  return { tenant, applicationId, groupId, user, stays, sessionId, kept, tokens, code, authToken };
}

const sessionsOf = async ({ applicationId }: Held) =>
  (await sql`select user_id from sessions where application_id = ${applicationId}`).length;

const cutoffsOf = async ({ applicationId }: Held) =>
  (await sql`select user_id from session_cutoffs where application_id = ${applicationId}`).length;

/** Returns how many messages of the type about how many users there are. */
async function messagesOf({ applicationId }: Held, type: string) {
  const rows = await sql`
    select coalesce(payload::json -> 'data' ->> 'sub', payload::json -> 'data' ->> 'userId', payload::json -> 'data' ->> 'id') as who
    from webhook_messages
    where application_id = ${applicationId} and type = ${type} and payload::json -> 'data' -> 'sid' is null`;
  return { messages: rows.length, users: new Set(rows.map(({ who }) => who)).size };
}

describe.each(Object.entries(CHANGES))('%s whose process ends after the statement', (name, change) => {
  test('lets nobody in any more, before another replica has ended the sign-ins and told of each once', async () => {
    const held = await prepare(OF_GROUPS.includes(name));
    const { tenant, user, stays, sessionId, kept, tokens, code, authToken } = held;
    const call = dyingCall();
    const cutoffsBefore = await cutoffsOf(held);
    await change(call, held);

    // However many there are, the statement has stored one cut-off and one change, and touched no session.
    expect(call.statements.length).toBeGreaterThan(1);
    expect(await cutoffsOf(held)).toBe(cutoffsBefore + 1);
    expect(await sessionsOf(held)).toBe(CROWD + 2);
    for (const at of [service, replica]) {
      const { sessions, auth } = clientsOf(at, tenant);
      expect(await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).toMatchObject({ active: false });
      expect(await sessions.checkSession({ sessionId: kept, maxStalenessMs: 0 })).toMatchObject({ active: true });
      expect((await sessions.listSessions({ userId: user.id })).sessions).toEqual([]);
      const listed = [];
      let pageToken = '';
      do {
        // A page looks through some hundred rows at most, and may be empty.
        const page = await sessions.listSessions({ pageSize: 10, pageToken });
        listed.push(...page.sessions.map(({ userId }) => userId));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(listed).toEqual([stays.id]);
      await expect(sessions.renewSession({ sessionId })).rejects.toThrow('Session expired');
      await expect(auth.exchangeToken({ authToken })).rejects.toThrow('Invalid or expired token');
      expect((await refresh(at, tenant, tokens.refresh_token ?? '')).body.error).toBe('invalid_grant');
      expect((await redeem(at, tenant, code)).body.error).toBe('invalid_grant');
      await expect.poll(() => getUserinfo(at, tokens.access_token), { timeout: 60_000 }).toMatchObject({ status: 401 });
    }
    expect((await admin.listUserSessions({ userId: user.id })).sessions).toEqual([]);
    expect((await admin.listUserGrants({ userId: user.id })).grants).toEqual([]);

    await finish();
    expect(await sessionsOf(held)).toBe(1);
    const all = { messages: CROWD + 1, users: CROWD + 1 };
    expect(await messagesOf(held, 'session.revoked')).toEqual(all);
    expect(await messagesOf(held, 'logout')).toEqual(all);
    if (OF_GROUPS.includes(name))
      expect(await messagesOf(held, 'user.updated')).toEqual({ messages: CROWD + 2, users: CROWD + 2 });

    await finish(21 * MINUTE);
    expect(await sql`select from unfinished_changes where ${held.applicationId} = any(losing_ids)`).toEqual([]);
    expect(await messagesOf(held, 'logout')).toEqual(all);
    const ofAll = await sql`
      select from session_cutoffs where application_id = ${held.applicationId} and cutoff_at = 'infinity'`;
    expect(ofAll).toEqual([]);
    const { sessions } = clientsOf(replica, tenant);
    expect(await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).toMatchObject({ active: false });
    expect(await sessions.checkSession({ sessionId: kept, maxStalenessMs: 0 })).toMatchObject({ active: true });
  });
});

test('a session that begins while an application becomes restricted ends by the second look', async () => {
  const held = await prepare(false);
  await admin.updateApplication({ applicationId: held.applicationId, restrictAccess: true });
  // What the call has left to the job on a busy machine.
  await finish();
  await sql`
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
      authenticated_at, began_at, created_at, expires_at)
    select ${held.applicationId}, ${(await createTestUser(service)).id}, gen_random_uuid(), '', '', '', '', 'email',
      now(), now(), now(), now() + interval '15 min'`;
  expect(await sessionsOf(held)).toBe(2);
  await finish(21 * MINUTE);
  expect(await sessionsOf(held)).toBe(1);
});

test('a deleted group is gone at once, its name is free, and a job removes its memberships', async () => {
  const { groupId, user } = await prepare(true);
  const { group } = await admin.getGroup({ groupId });
  await deleteGroup(dyingCall(), { groupId });
  await expect(admin.getGroup({ groupId })).rejects.toThrow('Group not found');
  await expect(admin.deleteGroup({ groupId })).rejects.toThrow('Group not found');
  await expect(admin.addGroupMember({ groupId, userId: user.id })).rejects.toThrow('Group not found');
  expect((await admin.listUserGroups({ userId: user.id })).groups.map((each) => each.groupId)).not.toContain(groupId);
  expect((await admin.listGroups({})).groups.map((each) => each.groupId)).not.toContain(groupId);
  await admin.createGroup({ name: group?.name ?? '' });
  await finish();
  expect(await sql`select from group_members where group_id = ${groupId}`).toEqual([]);
  expect(await sql`select from groups where id = ${groupId}`).toEqual([]);
});

test('applications learn of the new name of a group of many, also after the process has ended', async () => {
  const held = await prepare(true);
  const { groupId, applicationId } = held;
  await admin.setGroupAccess({ groupId, applicationId, allowsAccess: true, inClaim: true });
  await finish();
  await sql`delete from webhook_messages where application_id = ${applicationId}`;
  await updateGroup(dyingCall(), { groupId, name: `renamed-${groupId}` });
  expect(await messagesOf(held, 'user.updated')).toEqual({ messages: 0, users: 0 });
  await finish();
  expect(await messagesOf(held, 'user.updated')).toEqual({ messages: CROWD + 2, users: CROWD + 2 });
});

/** Each ends a user, and leaves something that it removes in a later statement, if its process lives. */
const ENDINGS: Readonly<Record<string, (call: Call, request: { userId: string }) => Promise<unknown>>> = {
  EraseUser: eraseUser,
  DeleteUser: deleteUser,
  DeactivateUser: deactivateUser,
  EndUserSessions: endUserSessions,
};

/** Returns a user with a row in every table that an erasure empties, and texts by which they are found. */
async function createTraced() {
  const mark = randomBytes(8).toString('hex');
  const tenant = await createOidcTenant(service);
  const { webhookId } = await createTestWebhook(service, tenant);
  await clientsOf(service, tenant).webhooks.updateWebhook({ webhookId, eventTypes: ['*'] });
  const user = await createTestUser(service, { email: `${mark}@example.com`, name: `Ada ${mark}` });
  await beginSession(service, tenant, user);
  await redeem(service, tenant, await signInForCode(service, tenant, user));
  await sql`update oidc_grants set user_agent = ${mark} where user_id = ${user.id}`;
  await sql`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
    values (${user.id}, gen_random_uuid(), ${randomBytes(16)}, 'usher.test', '\\x00', 0, '{}', gen_random_uuid(), true,
      true, true, ${mark}, now())`;
  await sql`
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    values ('https://acme.test', ${mark}, ${user.id}, 'acme', now())`;
  return { tenant, userId: user.id, mark };
}

const tracesOf = async (mark: string) => tablesWith(await dumpDatabase(service.database), [mark]);

test('EraseUser whose process ends after the statement leaves nothing of the person, once another replica has run its job', async () => {
  const { userId, mark } = await createTraced();
  const call = dyingCall();
  await expect(eraseUser(call, { userId })).rejects.toThrow('The process has ended');
  expect(await tracesOf(mark)).toContain('oidc_grants');
  await finish();
  expect(await tracesOf(mark)).toEqual([]);
});

test.each(Object.entries(ENDINGS))(
  'what a statement has half stored when %s comes goes, although both processes end',
  async (name, end) => {
    const { tenant, userId, mark } = await createTraced();
    await expect(end(dyingCall(), { userId })).rejects.toThrow('The process has ended');
    await finish();
    // As a statement does that has not seen the end, and whose process ends with it.
    await sql`
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
      authenticated_at, began_at, created_at, expires_at)
    select ${tenant.id}, ${userId}, gen_random_uuid(), ${mark}, '', '', '', 'email', now() - interval '1 minute', now(), now(),
      now() + interval '1 hour'`;
    await sql`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
    values (${userId}, gen_random_uuid(), ${randomBytes(16)}, 'usher.test', '\\x00', 0, '{}', gen_random_uuid(), true,
      true, true, 'late', now())`;
    await sql`
    insert into totp_secrets (user_id, id, sealed, last_step, created_at)
    values (${userId}, gen_random_uuid(), '\\x00', 0, now())`;
    await sql`delete from webhook_messages where application_id = ${tenant.id}`;
    await finish(21 * MINUTE);
    expect(await sql`select from sessions where user_id = ${userId}`).toEqual([]);
    const told = await sql`
    select from webhook_messages where application_id = ${tenant.id} and type = 'session.revoked'`;
    expect(told).toHaveLength(1);
    const isDeleted = name.endsWith('eUser') && name !== 'DeactivateUser';
    expect(await sql`select from passkeys where user_id = ${userId} and name = 'late'`).toHaveLength(isDeleted ? 0 : 1);
    expect(await sql`select from totp_secrets where user_id = ${userId}`).toHaveLength(isDeleted ? 0 : 1);
    if (name === 'EraseUser') expect(await tracesOf(mark)).toEqual([]);
    expect(await sql`select from unfinished_changes where subject_id = ${userId}`).toEqual([]);
  },
);

test('a revoked invitation whose process ends after the statement leaves neither a stranger nor a sign-in', async () => {
  const tenant = await createOidcTenant(service);
  const applicationId = tenant.id;
  const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);
  const user = await createTestUser(service);
  const inviting: Call = { ...livingCall(), notices: { toLanguage: () => 'en', wake: () => {} } };
  const invite = (email: string) => inviteUserAsOperator(inviting, keys, { applicationId, email });
  const mark = randomBytes(8).toString('hex');
  const [ofUser, ofStranger] = [await invite(user.email), await invite(`${mark}@example.com`)];
  await admin.updateApplication({ applicationId, restrictAccess: true });
  await finish(21 * MINUTE);
  const sessionId = await beginSession(service, tenant, user);
  for (const { invitationId } of [ofUser, ofStranger]) {
    const application = { ...tenant, id: applicationId, name: '', redirectUris: [] };
    await revokeInvitation({ ...dyingCall(), application }, { invitationId });
  }
  expect(await tracesOf(mark)).toContain('users');
  await finish();
  expect(await tracesOf(mark)).toEqual([]);
  expect(await clientsOf(replica, tenant).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).toMatchObject({
    active: false,
  });
});
