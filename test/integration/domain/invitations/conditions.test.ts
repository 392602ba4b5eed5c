/** Each condition of the statements of invitations, a row each. What people see: test/integration/contract/invitations.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { ApplicationCall, Call } from '../../../../src/domain/core/call.ts';
import { expireInvitations } from '../../../../src/domain/invitations/expire-invitations.ts';
import { inviteUser, inviteUserAsOperator } from '../../../../src/domain/invitations/invite-user.ts';
import { revokeInvitation } from '../../../../src/domain/invitations/revoke-invitation.ts';
import { acceptInvitation, noteEntryOnBehalf } from '../../../../src/domain/login/accept-invitation.ts';
import { completeLogin } from '../../../../src/domain/login/complete-login.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { LAYOUT } from '../../../support/database.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import {
  adminClient,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestGroup,
  createTestUser,
  createTestWebhook,
  PUBLIC_URL,
  startTestService,
  type Tenant,
} from '../../../support/service.ts';

const NOW = new Date();
const service = await startTestService({ clock: () => NOW });
const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql } = service.database;
const admin = adminClient(service);
const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);
const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);

const DAY = 86_400_000;
const at = (ms: number) => new Date(NOW.getTime() + ms);
const [CREATED, LATER] = [at(-DAY), at(DAY)];
const AUDIT = { ...BY_USHER, action: 'test', now: NOW };

/** @param meanwhile runs after the statements of these names */
function callAt(now = NOW, meanwhile: Readonly<Record<string, () => Promise<unknown>>> = {}): Call {
  const inner = withAudit(database.within(Number.POSITIVE_INFINITY), { ...AUDIT, now });
  const run: Call['run'] = async (statement, parameters) => {
    const rows = await inner(statement, parameters);
    await meanwhile[statement.name]?.();
    return rows;
  };
  return { run, now, notices: { toLanguage: () => 'en', wake: () => {} } };
}

const callOf = ({ id, ...rest }: Tenant, call = callAt()): ApplicationCall => ({
  ...call,
  application: { ...rest, id, redirectUris: [] },
});

async function createInviter(fields: Parameters<typeof createTenant>[1] = {}): Promise<Tenant> {
  const created = await createTenant(service, fields);
  await admin.updateApplication({ applicationId: created.id, allowInvitations: true });
  return created;
}

const newEmail = () => `${randomUUID()}@example.com`;
const [here, elsewhere] = [await createInviter(), await createInviter()];

/** Inserts a user who has nothing but an address. */
async function createStranger(email = newEmail()): Promise<{ id: string; email: string }> {
  const id = randomUUID();
  await sql`insert into users (id, email, wallet_address, created_at) values (${id}, ${email}, '', ${CREATED})`;
  return { id, email };
}

/** Inserts an invitation, which is open if nothing else is said. */
async function insertInvitation(userId: string, columns: object = {}): Promise<string> {
  const row = {
    ...{ id: randomUUID(), application_id: here.id, user_id: userId, email: newEmail() },
    ...{ created_user: false, added_user: false, created_at: CREATED, expires_at: LATER },
    ...columns,
  };
  await sql`insert into invitations ${sql(row as never)}`;
  return row.id;
}

const insertAdded = (userId: string, { id } = here) =>
  sql`insert into added_users values (${id}, ${userId}, ${CREATED})`;

const insertEntry = (userId: string, firstSignedInAt = CREATED, { id } = here) => sql`
  insert into application_users (application_id, user_id, first_signed_in_at) values (${id}, ${userId}, ${firstSignedInAt})`;

const invitationsOf = (userId: string, { id } = here) => sql`
  select * from invitations where user_id = ${userId} and application_id = ${id} order by created_at`;

const isAdded = async (userId: string, { id } = here) =>
  (await sql`select from added_users where application_id = ${id} and user_id = ${userId}`).length === 1;

const GROUPS = (await Promise.all([1, 2, 3].map(() => createTestGroup(service)))).map(({ groupId }) => groupId);
const [KNOWN, NEW, [GONE]] = [GROUPS.slice(0, 1), GROUPS.slice(1, 2), GROUPS.slice(2)];
await sql`update groups set deleted_at = ${CREATED} where id = ${GONE ?? ''}`;

describe('another invitation of a user', () => {
  const RENEWED = at(30 * DAY);
  const kept = { created_at: CREATED, on_behalf_at: CREATED };
  const replaced = { created_at: NOW, on_behalf_at: null, expires_at: RENEWED };

  test.each<[string, before: object, by: 'application' | 'operator', groupIds: string[], after: object]>([
    ['prolongs one that is open', {}, 'application', [], { ...kept, expires_at: RENEWED, group_ids: [] }],
    [
      'prolongs one to groups by an operator',
      { group_ids: KNOWN },
      'operator',
      [],
      { ...kept, group_ids: KNOWN, expires_at: RENEWED },
    ],
    [
      'leaves one to groups by an application',
      { group_ids: KNOWN },
      'application',
      [],
      { ...kept, group_ids: KNOWN, expires_at: LATER },
    ],
    ['gets the groups of the operator', { group_ids: KNOWN }, 'operator', NEW, { ...kept, group_ids: NEW }],
    [
      'replaces one that ends now',
      { group_ids: KNOWN, expires_at: NOW },
      'application',
      [],
      { ...replaced, group_ids: [] },
    ],
    [
      'keeps one that ends then',
      { group_ids: KNOWN, expires_at: at(1) },
      'application',
      [],
      { ...kept, expires_at: at(1) },
    ],
    ['keeps that it has given the access', { added_user: true }, 'application', [], { added_user: true }],
    ['keeps that it has created the user', { created_user: true }, 'application', [], { created_user: true }],
  ])('%s', async (_, before, by, groupIds, after) => {
    const { id, email } = await createStranger();
    await insertAdded(id);
    const invitationId = await insertInvitation(id, { on_behalf_at: CREATED, ...before });
    const invited =
      by === 'operator'
        ? await inviteUserAsOperator(callAt(), keys, { applicationId: here.id, email, groupIds })
        : await inviteUser(callOf(here), keys, { email });
    const rows = await invitationsOf(id);
    expect(rows).toMatchObject([{ email, ...after }]);
    expect(invited.invitationId === invitationId).toBe(!('on_behalf_at' in after) || after.on_behalf_at !== null);
  });

  test.each<[string, boolean, (userId: string) => Promise<unknown>]>([
    ['of nobody who had the access', true, async () => {}],
    ['of somebody whom an operator has let in', false, (id) => insertAdded(id)],
    ['of somebody whose access has gone since the last one', true, (id) => insertInvitation(id)],
    [
      'after an accepted one that has given it',
      true,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(id, { added_user: true, accepted_at: CREATED });
      },
    ],
    [
      'after an accepted one that has not',
      false,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(id, { accepted_at: CREATED });
      },
    ],
    [
      'after one to another application',
      false,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(id, { application_id: elsewhere.id, added_user: true });
      },
    ],
    [
      'after one of another user',
      false,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(randomUUID(), { added_user: true });
      },
    ],
  ])('gives the access or not: %s, %s', async (_, addedUser, prepare) => {
    const { id, email } = await createStranger();
    await prepare(id);
    await inviteUser(callOf(here), keys, { email });
    const [open] = (await invitationsOf(id)).filter(({ accepted_at }) => accepted_at === null);
    expect(open).toMatchObject({ added_user: addedUser, created_user: false });
    expect(await isAdded(id)).toBe(true);
  });

  test('that meets one which is just being stored keeps that this has given the access', async () => {
    const { id, email } = await createStranger();
    const lock = await holdLock(
      service.database,
      `insert into added_users values ('${here.id}', '${id}', now());
       insert into invitations (application_id, id, email, user_id, created_user, added_user, created_at, expires_at)
       values ('${here.id}', gen_random_uuid(), '', '${id}', false, true, now(), now() + interval '1 day')`,
    );
    // In a transaction a statement waits for a lock in one go. Others are sent again, and then see what has changed.
    const inviting = database.transact({ applicationId: here.id, deadline: performance.now() + 60_000 }, (run) =>
      inviteUser(callOf(here, { ...callAt(), run: withAudit(run, AUDIT) }), keys, { email }),
    );
    await waitForLockOf(service.database, inviting);
    await lock.release();
    await inviting;
    expect(await invitationsOf(id)).toMatchObject([{ email, added_user: true }]);
  });

  test.each<[string, object, isNew: boolean]>([
    ['is of the user with the address', {}, false],
    ['is of a new user after a deletion', { deleted_at: CREATED }, true],
  ])('%s', async (_, columns, isNew) => {
    const { id, email } = await createStranger();
    if ('deleted_at' in columns) await sql`update users set ${sql(columns as never)} where id = ${id}`;
    await inviteUser(callOf(here), keys, { email: email.toUpperCase() });
    expect((await invitationsOf(id)).length).toBe(isNew ? 0 : 1);
    const users = await sql`select id from users where lower(email) = ${email}`;
    expect(users).toHaveLength(isNew ? 2 : 1);
  });
});

describe('an application', () => {
  const full = async (columns: (place: number) => object) => {
    const inviter = await createInviter();
    const rows = Array.from({ length: 1_000 }, (_, place) => ({
      ...{ application_id: inviter.id, id: randomUUID(), email: `${place}@full.example`, user_id: randomUUID() },
      ...{ created_user: false, added_user: false, created_at: CREATED, expires_at: LATER, accepted_at: null },
      ...columns(place),
    }));
    await sql`insert into invitations ${sql(rows as never)}`;
    return inviter;
  };

  test.each<[string, (place: number) => object, string]>([
    ['that is full', () => ({}), 'Too many invitations'],
    ['one of whose invitations is accepted', (place) => (place > 0 ? {} : { accepted_at: CREATED }), 'invited'],
    ['one of whose invitations has just expired', (place) => (place > 0 ? {} : { expires_at: NOW }), 'invited'],
    [
      'one of whose invitations is of another one',
      (place) => (place > 0 ? {} : { application_id: here.id }),
      'invited',
    ],
    ['that renews an invitation', (place) => (place > 0 ? {} : { email: 'ADA@full.example' }), 'invited'],
  ])('may have 1,000 open invitations: %s', async (_, columns, expected) => {
    const invited = inviteUser(callOf(await full(columns)), keys, { email: 'ada@full.example' });
    expect(await invited.then(() => 'invited', String)).toContain(expected);
  });

  test.each<[string, string, (applicationId: string) => Promise<unknown>, string[]]>([
    ['is gone', 'Application not found', (applicationId) => admin.deleteApplication({ applicationId }), []],
    ['lacks one of two groups', 'Group not found', async () => {}, [...KNOWN, randomUUID()]],
    ['lacks a group since', 'Group not found', async () => {}, [GONE ?? '', ...KNOWN]],
  ])('%s: %s', async (_, reason, prepare, groupIds) => {
    const { id: applicationId } = await createInviter();
    await prepare(applicationId);
    const invited = inviteUserAsOperator(callAt(), keys, { applicationId, email: newEmail(), groupIds });
    await expect(invited).rejects.toThrow(reason);
  });

  test.each<[string, object, string]>([
    ['no language', { locale: '' }, 'invited'],
    ['a long list of languages', { locale: 'x'.repeat(201) }, 'Validation failed'],
    ['as many groups as there may be', { groupIds: Array(100).fill(KNOWN[0]) }, 'invited'],
    ['a day more than there may be', { expiresInDays: 91 }, 'Validation failed'],
    ['more', { groupIds: Array(101).fill(KNOWN[0]) }, 'Validation failed'],
  ])('names %s', async (_, fields, expected) => {
    const invited = inviteUserAsOperator(callAt(), keys, { applicationId: here.id, email: newEmail(), ...fields });
    expect(await invited.then(() => 'invited', String)).toContain(expected);
  });

  test.each([
    [2, 'invited'],
    [3, 'Service unavailable'],
  ])('tries again, and then gives up, where others create the user meanwhile: %s times', async (times, expected) => {
    const call = callAt();
    let left = times;
    const run: Call['run'] = async (statement, parameters) => {
      if (statement.name === 'insertInvitation' && left-- > 0) return [] as never;
      return call.run(statement, parameters);
    };
    const invited = inviteUser(callOf(here, { ...call, run }), keys, { email: newEmail() });
    expect(await invited.then(() => 'invited', String)).toContain(expected);
  });

  test('wakes what sends e-mails, for the first invitation of a day', async () => {
    let woken = 0;
    const notices = { toLanguage: () => 'en', wake: () => void woken++ };
    const email = newEmail();
    for (let turn = 0; turn < 2; turn++) await inviteUser(callOf(here, { ...callAt(), notices }), keys, { email });
    expect(woken).toBe(1);
  });

  test('leaves no invitation of a user who is erased meanwhile', async () => {
    const { id, email } = await createStranger();
    const call = callAt(NOW, {
      insertInvitation: () => sql`update users set email = '', deleted_at = now() where id = ${id}`,
    });
    await inviteUser(callOf(here, call), keys, { email });
    expect(await invitationsOf(id)).toEqual([]);
  });

  test.each([
    [['xn--bcher-kva', 'bücher'], 0],
    [['bücher', 'xn--bcher-kva'], 1],
    [['bücher'], 0],
  ])('invites the user whose address is spelled best, of %j', async (spellings, best) => {
    const name = randomUUID();
    const users = [];
    for (const host of spellings) users.push(await createStranger(`${name}@${host}.example`));
    await inviteUser(callOf(here), keys, { email: `${name}@BÜCHER.example` });
    expect(await sql`select user_id from invitations where email like ${`${name}%`}`).toEqual([
      { user_id: users[best]?.id },
    ]);
  });

  test('lists and revokes what is open or accepted, whenever it has ended, and not what has expired', async () => {
    const inviter = await createInviter();
    const { users } = clientsOf(service, inviter);
    const ended = { application_id: inviter.id, expires_at: NOW };
    const ids = {
      open: await insertInvitation(randomUUID(), { application_id: inviter.id }),
      accepted: await insertInvitation(randomUUID(), { ...ended, accepted_at: CREATED }),
      expired: await insertInvitation(randomUUID(), ended),
    };
    const listed = (await users.listInvitations({})).invitations.map(({ invitationId }) => invitationId);
    expect(listed.sort()).toEqual([ids.open, ids.accepted].sort());
    await expect(users.revokeInvitation({ invitationId: ids.expired })).rejects.toThrow('Invitation not found');
    for (const invitationId of listed) await users.revokeInvitation({ invitationId });
    expect((await users.listInvitations({})).invitations).toEqual([]);
  });
});

describe('a revocation', () => {
  const revoke = (invitationId: string, call = callAt()) => revokeInvitation(callOf(here, call), { invitationId });

  test('takes away what the invitation has given, and nothing of others', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    const invitationId = await insertInvitation(id, { added_user: true });
    await insertInvitation(other, { added_user: true });
    // Operators may restore one application from the data of another.
    await insertInvitation(other, { application_id: elsewhere.id, id: invitationId, added_user: true });
    for (const userId of [id, other]) for (const of of [here, elsewhere]) await insertAdded(userId, of);
    const notices = [
      { user_id: id, application_id: here.id, kind: 'invitation' },
      { user_id: id, application_id: here.id, kind: 'newDevice' },
      { user_id: id, application_id: elsewhere.id, kind: 'invitation' },
      { user_id: other, application_id: here.id, kind: 'invitation' },
    ];
    for (const notice of notices) {
      const row = { ...notice, id: randomUUID(), recipient: 'a@b.test', value: '', language: 'en', changed_at: NOW };
      await sql`insert into notices ${sql({ ...row, due_at: LATER, expires_at: LATER } as never)}`;
    }
    expect(await revoke(invitationId)).toBe(id);
    expect(await sql`select user_id, application_id, kind from notices where user_id = any(${[id, other]})`).toEqual(
      expect.arrayContaining(notices.slice(1)),
    );
    expect(await sql`select from notices where user_id = ${id} and application_id = ${here.id}`).toHaveLength(1);
    expect([await isAdded(id), await isAdded(id, elsewhere)]).toEqual([false, true]);
    expect([await isAdded(other), await isAdded(other, elsewhere)]).toEqual([true, true]);
    expect([await invitationsOf(id), await invitationsOf(other)].map(({ length }) => length)).toEqual([0, 1]);
    expect(await invitationsOf(other, elsewhere)).toHaveLength(1);
  });

  test('leaves the access that it has not given', async () => {
    const { id } = await createStranger();
    await insertAdded(id);
    await revoke(await insertInvitation(id));
    expect(await isAdded(id)).toBe(true);
  });

  const addressOf = async (id: string) => (await sql`select email from users where id = ${id}`)[0]?.email;

  test.each<[string, object, isErased: boolean]>([
    ['erases the user whom it has created', { created_user: true }, true],
    ['leaves a user from before', {}, false],
    ['leaves a user who has accepted it', { created_user: true, accepted_at: CREATED }, false],
  ])('%s', async (_, columns, isErased) => {
    const { id, email } = await createStranger();
    await revoke(await insertInvitation(id, columns));
    expect(await addressOf(id)).toBe(isErased ? '' : email);
  });

  const profile = (columns: object) => (id: string) => sql`update users set ${sql(columns as never)} where id = ${id}`;

  /** Gets a row in the table, with the columns that it must have. */
  const rowIn =
    (table: string, columns: (userId: string) => object, owner = 'user_id') =>
    async (id: string) =>
      sql`insert into ${sql(table)} ${sql({ [owner]: id, ...columns(id) } as never)}`;

  const ofApplication = { application_id: elsewhere.id };
  const named = { ...ofApplication, id: randomUUID() };

  test.each<[string, (userId: string) => Promise<unknown>]>([
    ['a deletion', profile({ deleted_at: NOW })],
    ['a deactivation', profile({ deactivated_at: NOW })],
    ['a wallet', profile({ wallet_address: `0x${'1'.repeat(40)}` })],
    ['an address that is verified', profile({ email_verified_at: NOW })],
    ['another address', profile({ email_changed_at: NOW })],
    ['a picture', profile({ profile_image: 'https://img.test/ada' })],
    ['an external ID', profile({ external_id: randomUUID() })],
    ['attributes', profile({ attributes: { plan: 'pro' } })],
    [
      'an entry in another application',
      rowIn('application_users', () => ({ ...ofApplication, first_signed_in_at: NOW })),
    ],
    ['the access to another application', rowIn('added_users', () => ({ ...ofApplication, added_at: NOW }))],
    ['an invitation to another application', (id) => insertInvitation(id, ofApplication)],
    ['a group', rowIn('group_members', () => ({ group_id: GROUPS[0], added_at: NOW }))],
    [
      'a login',
      rowIn('login_intents', () => ({ ...named, redirect_uri: '', state: '', created_at: NOW, expires_at: LATER })),
    ],
    [
      'a session',
      rowIn('sessions', () => ({
        ...{ ...named, email: '', wallet_address: '', ip_address: '', user_agent: '', method: 'email' },
        ...{ authenticated_at: NOW, began_at: NOW, created_at: NOW, expires_at: LATER },
      })),
    ],
    [
      'a grant',
      rowIn('oidc_grants', () => ({
        ...{ ...named, sid: randomUUID(), scope: 0, method: 'email', ip_address: '', user_agent: '', rotation: 0 },
        ...{ authenticated_at: NOW, created_at: NOW, expires_at: LATER },
      })),
    ],
    [
      'a passkey',
      rowIn('passkeys', () => ({
        ...{ id: randomUUID(), credential_id: randomBytes(16), rp_id: 'usher.test', public_key: Buffer.of(0) },
        ...{ sign_count: 0, transports: [], aaguid: randomUUID(), name: 'Key', created_at: NOW },
        ...{ is_backup_eligible: true, is_backed_up: true, is_user_verified: true },
      })),
    ],
    [
      'an account at a provider',
      rowIn('user_identities', (id) => ({
        ...{ issuer: 'https://acme.test', subject: id, provider: 'acme', created_at: NOW },
      })),
    ],
    [
      'a webhook',
      rowIn(
        'webhooks',
        () => ({
          ...{ ...ofApplication, id: randomUUID(), url: 'https://hooks.test', signing_key: Buffer.of(0) },
          ...{ event_types: [], created_at: NOW, updated_at: NOW },
        }),
        'owner_id',
      ),
    ],
  ])('leaves a user who meanwhile gets %s', async (_, give) => {
    const { id, email } = await createStranger();
    const invitationId = await insertInvitation(id, { created_user: true });
    await revoke(invitationId, callAt(NOW, { revokeInvitation: () => give(id) }));
    expect(await addressOf(id)).toBe(email);
  });
});

describe('the job that withdraws expired invitations', () => {
  const EXPIRED = at(-1);

  const run = async (call = callAt()) => {
    while (await expireInvitations(call));
  };
  const stateOf = async (userId: string) => {
    const [row] = await invitationsOf(userId);
    return row ? (row.accepted_at ? 'accepted' : 'open') : 'withdrawn';
  };

  test.each<[string, columns: object, prepare: (userId: string) => Promise<unknown>, state: string]>([
    ['withdraws one that ends now', { expires_at: NOW }, async () => {}, 'withdrawn'],
    ['leaves one that ends then', { expires_at: at(1) }, async () => {}, 'open'],
    ['leaves one that is accepted', { accepted_at: CREATED }, async () => {}, 'accepted'],
    ['leaves the date of one that is accepted', { accepted_at: CREATED }, (id) => insertEntry(id), 'accepted'],
    ['accepts one whose user came with it', {}, (id) => insertEntry(id, CREATED), 'accepted'],
    ['accepts one whose user came at last', {}, (id) => insertEntry(id, at(-2)), 'accepted'],
    ['withdraws one whose user came before', {}, (id) => insertEntry(id, at(-DAY - 1)), 'withdrawn'],
    ['withdraws one whose user came too late', {}, (id) => insertEntry(id, EXPIRED), 'withdrawn'],
    ['withdraws one whose user came elsewhere', {}, (id) => insertEntry(id, CREATED, elsewhere), 'withdrawn'],
    ['withdraws one where somebody else came', {}, () => insertEntry(randomUUID()), 'withdrawn'],
    [
      'withdraws one where somebody came on behalf of the user',
      { on_behalf_at: CREATED },
      (id) => insertEntry(id),
      'withdrawn',
    ],
  ])('%s', async (_, columns, prepare, state) => {
    const { id } = await createStranger();
    await insertInvitation(id, { expires_at: EXPIRED, added_user: true, ...columns });
    await insertAdded(id);
    await prepare(id);
    await run();
    expect([await stateOf(id), await isAdded(id)]).toEqual([state, state !== 'withdrawn']);
    if ('accepted_at' in columns) expect(await invitationsOf(id)).toMatchObject([columns]);
    await sql`delete from invitations where application_id = ${here.id}`;
  });

  test.each<[string, columns: object, prepare: (userId: string) => Promise<unknown>]>([
    ['accepted', { accepted_at: CREATED }, async () => {}],
    ['accepted by a user who has come', { accepted_at: CREATED }, (id) => insertEntry(id)],
    ['renewed', { accepted_at: null, expires_at: at(1) }, async () => {}],
  ])('leaves one that is %s meanwhile', async (_, columns, prepare) => {
    const { id } = await createStranger();
    await insertInvitation(id, { expires_at: EXPIRED });
    await prepare(id);
    const change = () => sql`update invitations set ${sql(columns as never)} where user_id = ${id}`;
    await run(callAt(NOW, { selectExpiredInvitations: change }));
    expect(await invitationsOf(id)).toMatchObject([columns]);
  });

  test('leaves the date of one that is accepted before it is accepted late', async () => {
    const { id } = await createStranger();
    await insertInvitation(id, { expires_at: EXPIRED });
    await insertEntry(id);
    const accept = () => sql`update invitations set accepted_at = ${CREATED} where user_id = ${id}`;
    await run(callAt(NOW, { selectInvitedSignIn: accept }));
    expect(await invitationsOf(id)).toMatchObject([{ accepted_at: CREATED }]);
  });

  test('accepts late no other invitation', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    const invitationId = await insertInvitation(id, { expires_at: EXPIRED });
    await insertEntry(id);
    await insertInvitation(other);
    await insertInvitation(other, { application_id: elsewhere.id, id: invitationId });
    await run();
    expect([await stateOf(id), await stateOf(other)]).toEqual(['accepted', 'open']);
    expect(await invitationsOf(other, elsewhere)).toMatchObject([{ accepted_at: null }]);
  });

  test('goes on as long as there are more than it takes at once, those that have ended first', async () => {
    await run();
    for (let open = 0; open < 100; open++) {
      await insertInvitation(randomUUID());
      await insertInvitation(randomUUID(), { accepted_at: CREATED, expires_at: EXPIRED });
    }
    const users = await Promise.all(Array.from({ length: 101 }, () => createStranger()));
    for (const [place, { id }] of users.toReversed().entries())
      await insertInvitation(id, { expires_at: at(-1_000 * place - 1) });
    await insertInvitation(randomUUID(), { accepted_at: CREATED, expires_at: at(-DAY) });
    expect(await expireInvitations(callAt())).toBe(true);
    expect(await stateOf(users.at(-2)?.id ?? '')).toBe('withdrawn');
    expect(await stateOf(users.at(-1)?.id ?? '')).toBe('open');
    expect(await expireInvitations(callAt())).toBe(false);
    expect(await stateOf(users.at(-1)?.id ?? '')).toBe('withdrawn');
  });
});

describe('a sign-in', () => {
  const signIn = async (userId: string) => {
    const woken: string[] = [];
    const call = { ...callAt(), onMessage: (applicationId: string) => void woken.push(applicationId) };
    await acceptInvitation(call, { applicationId: here.id, userId });
    return woken;
  };

  test.each<[string, columns: object, after: object]>([
    ['accepts the open one', {}, { accepted_at: NOW }],
    ['leaves one that ends now', { expires_at: NOW }, { accepted_at: null }],
    ['leaves one that was accepted', { accepted_at: CREATED }, { accepted_at: CREATED }],
    ['leaves one to another application', { application_id: elsewhere.id }, { accepted_at: null }],
    ['leaves one of another user', { user_id: randomUUID() }, { accepted_at: null }],
  ])('%s', async (_, columns, after) => {
    const { id } = await createStranger();
    const invitationId = await insertInvitation(id, columns);
    await signIn(id);
    expect(await sql`select accepted_at from invitations where id = ${invitationId}`).toEqual([after]);
  });

  test.each<[string, columns: object, isAccepting: boolean]>([
    ['one that is open', {}, true],
    ['one that ends now', { expires_at: NOW }, false],
    ['one that was accepted', { accepted_at: CREATED }, false],
    ['one to another application', { application_id: elsewhere.id }, false],
    ['one of another user', { user_id: randomUUID() }, false],
  ])('costs a statement more with %s, or does not', async (_, columns, isAccepting) => {
    const { id } = await createStranger();
    await insertInvitation(id, columns);
    const loginIntentId = await createLoginIntent(service, here);
    let count = 0;
    const call = callAt(NOW, { acceptInvitation: async () => count++ });
    await completeLogin(call, tokens, { loginIntentId, userId: id });
    expect(count).toBe(isAccepting ? 1 : 0);
  });

  test('brings the groups by name that there is room for, and none that is deleted or known', async () => {
    const { id } = await createStranger();
    const mark = randomUUID().slice(0, 8);
    const rows = Array.from({ length: 102 }, (_, place) => ({
      ...{ id: randomUUID(), name: `${mark}-${String(place).padStart(3, '0')}`, created_at: CREATED },
      ...{ deleted_at: place === 99 ? CREATED : null },
    }));
    await sql`insert into groups ${sql(rows as never)}`;
    const members = rows.slice(0, 99).map((group) => ({ group_id: group.id, user_id: id, added_at: CREATED }));
    members.push({ group_id: rows[100]?.id ?? randomUUID(), user_id: (await createStranger()).id, added_at: CREATED });
    await sql`insert into group_members ${sql(members as never)}`;
    const wanted = [101, 100, 99, 98].map((place) => rows[place]?.id);
    await insertInvitation(id, { group_ids: wanted });
    await signIn(id);
    const joined = await sql`
      select g.name from group_members join groups g on g.id = group_id where user_id = ${id} and added_at = ${NOW}`;
    expect(joined).toEqual([{ name: `${mark}-100` }]);
  });

  const told = async (userId: string) =>
    (await sql`select application_id from webhook_messages where type = 'user.created' and user_id = ${userId}`).map(
      ({ application_id }) => application_id,
    );

  test.each<[string, columns: object, prepare: (userId: string) => Promise<unknown>, isTold: boolean]>([
    ['whom the invitation has let in', { added_user: true }, async () => {}, true],
    ['who had been let in before', {}, async () => {}, false],
    ['who had signed in before', { added_user: true }, (id) => insertEntry(id), false],
    ['who had signed in elsewhere', { added_user: true }, (id) => insertEntry(id, CREATED, elsewhere), true],
    ['beside others who had signed in', { added_user: true }, () => insertEntry(randomUUID()), true],
  ])('tells of a user %s, or does not', async (_, columns, prepare, isTold) => {
    const { webhookId } = await createTestWebhook(service, here);
    await sql`update webhooks set event_types = '{user.created}' where id = ${webhookId}`;
    const { id } = await createStranger();
    await insertInvitation(id, columns);
    await prepare(id);
    const woken = await signIn(id);
    expect([woken, await told(id)]).toEqual(Array(2).fill(isTold ? [here.id] : []));
  });

  test('on behalf of a user is noted of the invitation to this application alone', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    await insertInvitation(id);
    await insertInvitation(id, { application_id: elsewhere.id });
    await insertInvitation(other);
    await noteEntryOnBehalf(callAt(), { applicationId: here.id, userId: id });
    const rows = await sql`
      select user_id, application_id from invitations
      where on_behalf_at = ${NOW} and user_id = any(${[id, other]})`;
    expect(rows).toEqual([{ user_id: id, application_id: here.id }]);
  });
});

describe('what an operator gives makes an invitation take away less', () => {
  const both = { created_user: true, added_user: true };

  test.each<[string, (userId: string) => Promise<unknown>, object]>([
    [
      'the same access',
      (userId) => admin.addApplicationUser({ applicationId: here.id, userId }),
      { created_user: false, added_user: false },
    ],
    [
      'another access',
      (userId) => admin.addApplicationUser({ applicationId: elsewhere.id, userId }),
      { created_user: false, added_user: true },
    ],
    ['a name', (userId) => admin.updateUser({ userId, name: 'Ada' }), { created_user: false, added_user: true }],
    ['nothing new', (userId) => admin.updateUser({ userId, externalId: '' }).catch(() => {}), both],
    [
      'an access to an application that is gone',
      async (userId) => {
        const { id: applicationId } = await createInviter();
        await admin.deleteApplication({ applicationId });
        await admin.addApplicationUser({ applicationId, userId }).catch(() => {});
      },
      both,
    ],
    [
      'the same to somebody else',
      async () => {
        const { id: userId } = await createTestUser(service);
        await admin.addApplicationUser({ applicationId: here.id, userId });
        await admin.updateUser({ userId, name: 'Ada' });
      },
      both,
    ],
  ])('%s', async (_, give, after) => {
    const { id } = await createStranger();
    await insertAdded(id);
    await insertInvitation(id, { created_at: at(-2 * DAY), accepted_at: CREATED });
    await insertInvitation(id, both);
    await give(id);
    expect(await invitationsOf(id)).toMatchObject([{ created_user: false, added_user: false }, after]);
  });

  test('and a removal ends the open invitation of the user to this application', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    for (const userId of [id, other])
      for (const of of [here, elsewhere]) {
        await insertAdded(userId, of);
        await insertInvitation(userId, { application_id: of.id });
      }
    await insertInvitation(id, { accepted_at: CREATED });
    await admin.removeApplicationUser({ applicationId: here.id, userId: id });
    const ended = await sql`
      select user_id, application_id, accepted_at from invitations where expires_at <> ${LATER} and user_id = any(${[id, other]})`;
    expect(ended).toEqual([{ user_id: id, application_id: here.id, accepted_at: null }]);
  });
});
