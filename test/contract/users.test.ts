/** Users, as applications and as operators see them. Pages: lists.test.ts. What is refused: see events.test.ts. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it, vi } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { insertRecoveryLink } from '../support/samples.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  createTestWebhook,
  logIn,
} from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID, UUID } from './contract-fixture.ts';

const { batchGetUsers, getUser, listUsers } = UserService.method;
const admins = AdminService.method;
const { exchangeToken } = AuthService.method;
const ASTRAL_255 = '\u{1F6AA}'.repeat(255);
const ALREADY_EXISTS = refusal('already_exists', 'User already exists');
const NOT_FOUND = refusal('not_found', 'User not found');
const INVALID_TOKEN = refusal('unauthenticated', 'Invalid or expired token');
const NOW = '2026-03-01T12:00:00.000Z';

const clock = new TestClock(new Date(NOW));
const { service, tenant, other, callWith } = await openContractFixture({ clock: clock.read });
const admin = adminClient(service);
const { sessions, webhooks } = clientsOf(service, tenant);

/** Where the ID of an erased user may stand: in rows that end sessions, expire by themselves, or say what was done. */
const MAY_KEEP_USER_ID = [
  'audit_events',
  'login_intents',
  // They tell the user what was done, and are removed when they are sent.
  'notices',
  'session_cutoffs',
  'session_ids',
  'unfinished_changes',
  'user_cutoffs',
  'users',
  // Whom the attempts were about. They expire.
  'webhook_attempts',
  // It tells applications of the deletion.
  'webhook_messages',
  'webhooks',
];

const newUser = () => ({ email: `${randomUUID()}@example.com`, walletAddress: `0x${randomUUID()}` });

const isActive = async (sessionId: string, as = tenant) =>
  (await clientsOf(service, as).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;

describe('an application', () => {
  it('sees the users who have signed in to it, and no others', async () => {
    const user = await createTestUser(service, { name: 'Ada', profileImage: 'https://img.test/ada.png' });
    const stranger = await createTestUser(service);
    await beginSession(service, other, stranger);
    await logIn(service, tenant, stranger);
    await beginSession(service, tenant, user);
    const shown = { ...user, isActive: true, firstSignedInAt: NOW, groups: [] };
    expect(await callWith(getUser, { userId: user.id })).toMatchObject({
      message: 'User retrieved successfully',
      data: shown,
    });
    for (const userId of [stranger.id, UNKNOWN_ID]) expect(await callWith(getUser, { userId })).toEqual(NOT_FOUND);
    expect(await callWith(listUsers, { email: stranger.email })).toMatchObject({ data: { users: [] } });
    const page = { users: [shown], nextPageToken: '' };
    expect(await callWith(listUsers, {})).toEqual({
      ...success(undefined, 'Users retrieved successfully'),
      data: page,
    });

    clock.advance(20 * MINUTE);
    await beginSession(service, tenant, user);
    expect(await callWith(getUser, { userId: user.id })).toMatchObject({
      message: 'User retrieved successfully',
      data: shown,
    });
  });

  it('sees up to 100 users at once, in the order of the IDs, without those whom it does not see alone', async () => {
    const [user, another, stranger, deleted] = [
      await createTestUser(service, { name: 'Ada' }),
      await createTestUser(service),
      await createTestUser(service),
      await createTestUser(service),
    ];
    for (const each of [user, another, deleted]) await beginSession(service, tenant, each);
    await beginSession(service, other, stranger);
    await admin.deleteUser({ userId: deleted.id });
    const idsOf = async (...userIds: string[]) => {
      const { data } = await callWith(batchGetUsers, { userIds });
      return (data as { users: { id: string }[] }).users.map(({ id }) => id);
    };
    const unseen = [stranger.id, deleted.id, UNKNOWN_ID];
    expect(await idsOf(...unseen)).toEqual([]);
    expect(await idsOf(...unseen, another.id, user.id.toUpperCase(), another.id)).toEqual([another.id, user.id]);
    expect(await idsOf(user.id, another.id)).toEqual([user.id, another.id]);
    const alone = await callWith(getUser, { userId: user.id });
    expect(await callWith(batchGetUsers, { userIds: [user.id] })).toMatchObject({
      message: 'Users retrieved successfully',
      data: { users: [alone.data] },
    });

    expect(await idsOf(...Array.from({ length: 99 }, () => randomUUID()), user.id)).toEqual([user.id]);
    const tooMany = Array.from({ length: 101 }, () => user.id);
    for (const userIds of [[], tooMany, [user.id, 'none']]) {
      expect(await callWith(batchGetUsers, { userIds })).toEqual(validationFailed('userIds'));
    }
  });

  it('sees the present profile and that a user is deactivated, and no deleted user', async () => {
    const user = await createTestUser(service);
    await beginSession(service, tenant, user);
    await admin.updateUser({ userId: user.id, name: 'New name' });
    await admin.deactivateUser({ userId: user.id });
    const shown = { id: user.id, name: 'New name', profileImage: null, isActive: false };
    expect(await callWith(getUser, { userId: user.id })).toMatchObject({ data: shown });
    await admin.deleteUser({ userId: user.id });
    expect(await callWith(getUser, { userId: user.id })).toEqual(NOT_FOUND);
    expect(await callWith(listUsers, { email: user.email })).toMatchObject({ data: { users: [] } });
  });
});

describe.each([
  ['an application', listUsers],
  ['an operator', admins.listUsers],
])('%s', (_, method) => {
  it('finds a user by e-mail address or wallet address, in any case', async () => {
    const user = await createTestUser(service, { email: `Ada.${Date.now()}@Example.com`, walletAddress: '0xAbCdEf01' });
    await beginSession(service, tenant, user);
    const idsOf = async (fields: JsonObject) => {
      const { data } = await callWith(method, fields);
      return (data as { users: { id: string }[] }).users.map(({ id }) => id);
    };
    const { email, walletAddress } = user;
    const found: JsonObject[] = [
      { email: email.toUpperCase() },
      { walletAddress: walletAddress.toLowerCase() },
      { email, walletAddress },
    ];
    for (const fields of found) expect(await idsOf(fields)).toEqual([user.id]);
    const missing: JsonObject[] = [
      { email: `x${email}` },
      { email: email.slice(0, -1) },
      { walletAddress: `${walletAddress}0` },
      { email, walletAddress: 'another' },
    ];
    for (const fields of missing) expect(await idsOf(fields)).toEqual([]);
    await admin.updateUser({ userId: user.id, walletAddress: `${Date.now()}` });
  });
});

describe('an operator', () => {
  it('sees a user who has signed in nowhere', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const createdAt = clock.read().toISOString().replace('.000Z', 'Z');
    const { profileImage: _, ...shown } = user;
    expect(await callWith(admins.getUser, { userId: user.id })).toEqual({
      ...success(undefined),
      data: { user: { ...shown, createdAt } },
    });
  });

  it.each([
    [{ email: 'new@example.com' }, { email: 'new@example.com' }],
    [{ name: 'Grace' }, { name: 'Grace' }],
    [{ profileImage: 'https://img.test/new.png' }, { profileImage: 'https://img.test/new.png' }],
    [{ walletAddress: '0xnew' }, { walletAddress: '0xnew' }],
    [{ walletAddress: '' }, { walletAddress: '' }],
    [{ updateMask: 'name,profileImage' }, { name: undefined, profileImage: undefined }],
    [{ updateMask: 'walletAddress' }, { walletAddress: '' }],
    [{}, {}],
  ])('changes what %o names, and nothing else', async (fields, changes) => {
    const before = await createTestUser(service, { name: 'Ada', profileImage: 'https://img.test/ada.png' });
    const { data } = await callWith(admins.updateUser, { userId: before.id, ...fields });
    const { createdAt: _, ...user } = (data as { user: JsonObject }).user as JsonObject;
    expect(user).toEqual(JSON.parse(JSON.stringify({ ...before, ...changes })));
    expect((await callWith(admins.getUser, { userId: before.id })).data).toEqual(data);
    await admin.updateUser({ userId: before.id, email: before.email, walletAddress: before.walletAddress });
  });

  it('cannot give a user the addresses of another', async () => {
    const [user, another] = [await createTestUser(service), await createTestUser(service)];
    for (const fields of [{ email: another.email.toUpperCase() }, { walletAddress: another.walletAddress }]) {
      expect(await callWith(admins.updateUser, { userId: user.id, ...fields })).toEqual(ALREADY_EXISTS);
    }
  });

  it('cannot clear the e-mail address, nor change the ID', async () => {
    const { id: userId } = await createTestUser(service);
    for (const [updateMask, violation] of [
      ['email', 'email'],
      ['id', 'updateMask'],
    ] as const) {
      expect(await callWith(admins.updateUser, { userId, updateMask })).toEqual(validationFailed(violation));
    }
  });

  it('deactivates a user: sessions and tokens end everywhere, and nothing begins until the user is active again', async () => {
    const user = await createTestUser(service);
    const userId = user.id;
    const [here, there] = [await beginSession(service, tenant, user), await beginSession(service, other, user)];
    const unused = await logIn(service, await createTenant(service), user);
    const authToken = await logIn(service, tenant, user);
    const { user: deactivated } = await admin.deactivateUser({ userId });
    expect(deactivated?.deactivatedAt).toBeDefined();
    expect((await admin.deactivateUser({ userId })).user).toEqual(deactivated);
    expect([await isActive(here), await isActive(there, other)]).toEqual([false, false]);
    expect(await callWith(exchangeToken, { authToken })).toEqual(NOT_FOUND);
    await expect(logIn(service, tenant, user)).rejects.toThrow('User not found');
    expect((await sessions.listSessions({ userId })).sessions).toEqual([]);

    const { user: reactivated } = await admin.reactivateUser({ userId });
    clock.advance(1);
    expect(reactivated?.deactivatedAt).toBeUndefined();
    expect([await isActive(here), await isActive(there, other)]).toEqual([false, false]);
    expect(await callWith(exchangeToken, { authToken })).toEqual(INVALID_TOKEN);
    expect(unused).not.toBe('');
    expect(await isActive(await beginSession(service, tenant, user))).toBe(true);
  });

  it('erases a user from every table, and keeps the ID', async () => {
    const mark = `erased-${Date.now()}`;
    const profile = {
      email: `${mark}@example.com`,
      name: mark,
      profileImage: `https://img.test/${mark}`,
      walletAddress: mark,
    };
    const user = await createTestUser(service, profile);
    const { sql } = service.database;
    await beginSession(service, tenant, user);
    await sql`update sessions set ip_address = ${mark}, user_agent = ${mark} where user_id = ${user.id}`;
    // At a login that is not the user's, because anybody may enter an address.
    const intentId = await createLoginIntent(service, tenant);
    await sql`
      insert into login_codes (application_id, login_intent_id, id, browser_digest, code_digest, email, created_at, expires_at)
      values (${tenant.id}, ${intentId}, ${intentId}, '', '', ${profile.email}, now(), now())`;
    await sql`
      insert into wallet_challenges (application_id, login_intent_id, id, browser_digest, address, message, created_at, expires_at)
      values (${tenant.id}, ${intentId}, ${intentId}, '', ${mark}, ${mark}, now(), now())`;
    expect(await tablesWith(mark)).toEqual(['login_codes', 'sessions', 'users', 'wallet_challenges']);

    for (let time = 0; time < 2; time++) await admin.eraseUser({ userId: user.id });
    expect(await tablesWith(mark)).toEqual([]);
    expect(await sql`select id from users where id = ${user.id}`).toHaveLength(1);
    expect(await callWith(admins.getUser, { userId: user.id })).toEqual(NOT_FOUND);
    expect(await callWith(getUser, { userId: user.id })).toEqual(NOT_FOUND);
    await createTestUser(service, profile);
  });

  it('erases a user whose ID is left in few tables, and in none that lists the users of an application', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const { id: userId, email } = user;
    const { sql } = service.database;
    for (const application of [tenant, other]) await beginSession(service, application, user);
    const { webhookId } = await createTestWebhook(service, tenant, { ownerId: userId });
    await webhooks.updateWebhook({ webhookId, eventTypes: ['*'] });
    await admin.updateUser({ userId, name: 'Grace' });
    const [cutoffAt, expiresAt] = ['2000-01-01T00:00:00Z', '2100-01-01T00:00:00Z'];
    await sql`insert into user_cutoffs values (${userId}, ${cutoffAt}, ${expiresAt})`;
    await sql`insert into session_cutoffs values (${tenant.id}, ${userId}, ${cutoffAt}, ${expiresAt})`;
    await sql`insert into browser_cutoffs values (${userId}, '', ${cutoffAt}, ${expiresAt})`;
    await sql`insert into known_origins (key, user_id, expires_at) values (${Buffer.from(userId)}, ${userId}, ${expiresAt})`;
    await sql`
      insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
        is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
      values (${userId}, ${userId}, ${Buffer.from(userId)}, 'usher.test', '', 0, '{}', ${randomUUID()}, true, true, true,
        ${email}, now())`;
    await sql`
      insert into user_identities (issuer, subject, user_id, provider, created_at)
      values ('https://provider.test', ${email}, ${userId}, 'acme', now())`;
    await sql`
      insert into remembered_sign_ins (token_digest, user_id, method, authenticated_at, expires_at)
      values (${Buffer.from(userId)}, ${userId}, 'email', ${cutoffAt}, ${expiresAt})`;
    await sql`
      insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
        rotation, created_at, expires_at)
      values (${tenant.id}, ${userId}, ${userId}, ${randomUUID()}, 1, 'email', '', '', ${cutoffAt}, 0, ${cutoffAt}, ${expiresAt})`;
    await sql`
      insert into totp_secrets (user_id, id, sealed, last_step, created_at) values (${userId}, ${userId}, '', 0, now())`;
    await sql`insert into recovery_codes (user_id, digest, created_at) values (${userId}, '', now())`;
    await sql`
      insert into held_sign_ins (application_id, login_intent_id, user_id, method, browser_digest, proved_at, expires_at)
      values (${tenant.id}, ${userId}, ${userId}, 'email', '', now(), ${expiresAt})`;
    await sql`
      with created as (
        insert into groups (id, name, created_at) values (gen_random_uuid(), 'people', now()) returning id)
      insert into group_members (group_id, user_id, added_at) select id, ${userId}, now() from created`;
    const intent = sql`select application_id, id from login_intents where user_id = ${userId} limit 1`;
    await sql`
      insert into login_codes (application_id, login_intent_id, id, user_id, browser_digest, code_digest, email, created_at, expires_at)
      select application_id, id, id, ${userId}, '', '', ${email}, now(), now() from (${intent}) as intent`;
    await sql`
      insert into webhook_attempts (application_id, webhook_id, message_id, attempted_at, duration_ms, response_body, user_id)
      values (${tenant.id}, ${webhookId}, 1, now(), 1, ${email}, ${userId})`;
    await sql`
      insert into notices (application_id, id, kind, user_id, recipient, value, language, changed_at, due_at, expires_at)
      values (${tenant.id}, ${userId}, 'addressChanged', ${userId}, ${email}, '', 'en', now(), ${expiresAt}, ${expiresAt})`;
    await sql`
      insert into invitations (application_id, id, email, user_id, created_user, added_user, created_at, expires_at)
      values (${tenant.id}, ${userId}, ${email}, ${userId}, false, false, now(), ${expiresAt})`;
    await sql`
      insert into consents (application_id, user_id, client_id, client_name, scope_names, created_at)
      values (${tenant.id}, ${userId}, 'https://client.test/', ${email}, '{}', now())`;
    await insertRecoveryLink(service.database, userId);
    // A new table of users needs a row here.
    const tables = await sql`
      select distinct table_name from information_schema.columns
      where table_schema = 'usher' and column_name ~ '(user|owner)_id$' order by table_name`;
    const mentioning = await tablesWith(userId);
    expect(mentioning).toEqual(expect.arrayContaining(tables.map(({ table_name }) => table_name)));

    await admin.eraseUser({ userId });
    expect(MAY_KEEP_USER_ID).toEqual(expect.arrayContaining(await tablesWith(userId)));
  });

  it('erases a user who was deleted before', async () => {
    const mark = `deleted-${Date.now()}`;
    const { id: userId } = await createTestUser(service, { email: `${mark}@example.com`, walletAddress: mark });
    await admin.deleteUser({ userId });
    // The notice to the user is sent first.
    await vi.waitFor(async () => expect(await tablesWith(mark)).toEqual(['users']), { timeout: 30_000, interval: 100 });
    await admin.eraseUser({ userId });
    expect(await tablesWith(mark)).toEqual([]);
  });
});

describe('AddApplicationUser and RemoveApplicationUser', () => {
  const { createWebhook, updateWebhook } = WebhookService.method;
  const newHook = (ownerId: string) =>
    callWith(createWebhook, { url: 'https://hooks.test', ownerId, eventTypes: ['webhook.test'] });

  it('make a user one who may own webhooks of the application, and none', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const fields = { applicationId: tenant.id, userId: user.id };
    expect(await newHook(user.id)).toEqual(NOT_FOUND);
    for (let time = 0; time < 2; time++) expect(await callWith(admins.addApplicationUser, fields)).toEqual(success({}));
    const { data } = await newHook(user.id);
    const webhook = data as { webhookId: string };
    expect(webhook).toMatchObject({ owner: { id: user.id, name: 'Ada', email: user.email } });
    expect(await callWith(getUser, { userId: user.id })).toEqual(NOT_FOUND);

    for (let time = 0; time < 2; time++) {
      expect(await callWith(admins.removeApplicationUser, fields)).toEqual(success({}));
    }
    expect(await newHook(user.id)).toEqual(NOT_FOUND);
    // The webhook keeps its owner, also when it changes.
    const change = { webhookId: webhook.webhookId, ownerId: user.id, description: 'Kept' };
    expect(await callWith(updateWebhook, change)).toMatchObject({ code: 'ok', data: { owner: { id: user.id } } });
    const { id: ownerId } = await createTestUser(service);
    expect(await callWith(updateWebhook, { ...change, ownerId })).toEqual(NOT_FOUND);
  });

  it('end the sessions and auth tokens of who is removed, in that application, until the next sign-in', async () => {
    const user = await createTestUser(service);
    const [here, there] = [await beginSession(service, tenant, user), await beginSession(service, other, user)];
    const authToken = await logIn(service, tenant, user);
    await admin.removeApplicationUser({ applicationId: tenant.id, userId: user.id });
    expect(await isActive(here)).toBe(false);
    expect(await isActive(there, other)).toBe(true);
    expect(await callWith(AuthService.method.exchangeToken, { authToken })).toMatchObject({ code: 'unauthenticated' });
    expect(await callWith(getUser, { userId: user.id })).toEqual(NOT_FOUND);
    clock.advance(1);
    await beginSession(service, tenant, user);
    expect(await callWith(getUser, { userId: user.id })).toMatchObject({ code: 'ok' });
  });

  it('have an event each, of the application, unless nothing changes', async () => {
    const { id: userId } = await createTestUser(service);
    const fields = { applicationId: tenant.id, userId };
    for (const act of [admin.removeApplicationUser, admin.addApplicationUser]) {
      for (let time = 0; time < 2; time++) await act(fields);
    }
    clock.advance(1);
    for (let time = 0; time < 2; time++) await admin.removeApplicationUser(fields);
    const events = await service.database.sql`
      select action, application_id from audit_events where resource = ${userId} and action like '%ApplicationUser'
      order by occurred_at`;
    expect(events).toEqual([
      { action: 'AdminService/AddApplicationUser', application_id: tenant.id },
      { action: 'AdminService/RemoveApplicationUser', application_id: tenant.id },
    ]);
  });
});

describe('CreateUser', () => {
  it('makes the user one of the given applications, or of none if one is unknown', async () => {
    const create = (applicationIds: string[], fields = newUser()) =>
      callWith(admins.createUser, { ...fields, applicationIds });
    const answer = await create([tenant.id, other.id, tenant.id]);
    const { id: ownerId } = (answer.data as { user: { id: string } }).user;
    for (const { apiKey } of [tenant, other]) {
      const fields = { url: 'https://hooks.test', ownerId, eventTypes: ['*'] };
      const created = await callWith(WebhookService.method.createWebhook, fields, { 'x-api-key': apiKey });
      expect(created).toMatchObject({ code: 'ok' });
    }
    const fields = newUser();
    expect(await create([tenant.id, UNKNOWN_ID], fields)).toEqual(refusal('not_found', 'Application not found'));
    expect(await create(Array(101).fill(tenant.id), fields)).toEqual(validationFailed('applicationIds'));
    expect(await create([], fields)).toMatchObject({ code: 'ok' });
  });

  it.each([
    { name: 'Ada – Lovelace', profileImage: 'https://img.test/ada.png?size=1' },
    {},
    { walletAddress: '' },
    { walletAddress: undefined },
  ])('returns the user: %j', async (changes) => {
    const fields = { ...newUser(), ...changes };
    const user = { walletAddress: '', ...JSON.parse(JSON.stringify(fields)) };
    expect(await callWith(admins.createUser, user)).toEqual(
      success({ user: { id: expect.stringMatching(UUID), createdAt: expect.any(String), ...user } }),
    );
  });

  it('returns AlreadyExists for an address or a wallet that another user has, in whatever case', async () => {
    const { email, walletAddress } = await createTestUser(service);
    for (const taken of [
      ...[email, email.toUpperCase()].map((spelling) => ({ email: spelling })),
      ...[walletAddress, walletAddress.toUpperCase()].map((spelling) => ({ walletAddress: spelling })),
    ]) {
      expect(await callWith(admins.createUser, { ...newUser(), ...taken })).toEqual(ALREADY_EXISTS);
    }
  });

  it('gives the addresses of a deleted user to another', async () => {
    const deleted = await createTestUser(service);
    await admin.deleteUser({ userId: deleted.id });
    const { email, walletAddress } = deleted;
    const answer = await callWith(admins.createUser, { email, walletAddress });
    expect(answer).toMatchObject({ code: 'ok', data: { user: { email, walletAddress } } });
    expect(answer.data).not.toHaveProperty('user.id', deleted.id);
  });

  it('takes 255 characters for name and wallet address, 254 for the e-mail address, 2,048 for the image', async () => {
    const domain = `@${randomUUID()}.example.com`;
    const fields = {
      email: 'a'.repeat(254 - domain.length) + domain,
      name: ASTRAL_255,
      profileImage: 'https://img.test/'.padEnd(2_048, 'a'),
      walletAddress: randomUUID().padEnd(255, 'a'),
    };
    expect(await callWith(admins.createUser, fields)).toMatchObject({ code: 'ok', data: { user: fields } });
  });
});

it('DeleteUser deletes the user and leaves the others', async () => {
  const [{ id }, kept] = [await createTestUser(service), await createTestUser(service)];
  expect(await callWith(admins.deleteUser, { userId: id })).toEqual(success({}));
  const left = await service.database.sql`
    select id from users where id in (${id}, ${kept.id}) and deleted_at is null`;
  expect(left).toEqual([{ id: kept.id }]);
});

/** Returns the tables with a row that has the text in any column. */
async function tablesWith(text: string): Promise<string[]> {
  const { sql } = service.database;
  const tables = await sql`
    select table_schema, table_name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by table_name`;
  const found: string[] = [];
  for (const { table_schema, table_name } of tables) {
    const rows =
      await sql`select from ${sql(table_schema)}.${sql(table_name)} as each where each::text like ${`%${text}%`}`;
    if (rows.length > 0) found.push(table_name);
  }
  return found;
}
