/** Each condition of the statements that end a user, a row each. What people see: test/contract/users.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../../src/domain/core/call.ts';
import { deactivateUser, deleteUser, eraseUser, reactivateUser } from '../../../../src/domain/lifecycle/end-user.ts';
import { endUserSessions } from '../../../../src/domain/lifecycle/end-user-sessions.ts';
import { cutOffRefused } from '../../../../src/domain/lifecycle/lost-access.ts';
import { removeApplicationUser } from '../../../../src/domain/lifecycle/remove-application-user.ts';
import { at, DAY, HOUR, NOW, openDomain, reasonOf } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();

let here: string;
let other: string;
let userId: string;
let stranger: string;
beforeEach(async () => {
  [here, other] = [await createApplication(), await createApplication()];
  [userId, stranger] = [await createUser({ wallet_address: `0x${randomUUID()}` }), await createUser()];
  for (const id of [here, other]) await insert('webhooks', { application_id: id });
  readTold();
});

type Columns = Readonly<Record<string, unknown>>;
type Table = Parameters<typeof insert>[0];
const own = (columns: Columns = {}) => ({ application_id: here, user_id: userId, ...columns });
const readUser = async (id = userId) => (await sql`select * from users where id = ${id}`)[0];
const setUser = (columns: object, id = userId) =>
  sql`update users set ${sql({ id, ...columns } as never)} where id = ${id}`;
const count = async (table: Table, id = userId) =>
  (await sql`select from ${sql(table as string)} where user_id = ${id}`).length;
const readTypes = async (applicationId = here) =>
  (await sql`select type from webhook_messages where application_id = ${applicationId} order by id`).map(
    (row) => row.type,
  );
const countEvents = async () => (await sql`select from audit_events where resource = ${userId}`).length;

type End = (call: Call) => Promise<unknown>;
const ENDINGS: readonly [string, End][] = [
  ['EndUserSessions', (call) => endUserSessions(call, { userId })],
  ['DeactivateUser', (call) => deactivateUser(call, { userId })],
  ['DeleteUser', (call) => deleteUser(call, { userId })],
  ['EraseUser', (call) => eraseUser(call, { userId })],
  [
    'ReactivateUser',
    async (call) => {
      await setUser({ deactivated_at: at(-DAY) });
      await reactivateUser(call, { userId });
    },
  ],
];

describe.each(ENDINGS)('%s', (name, end) => {
  const ENDED: readonly Table[] = ['sessions', 'held_sign_ins', 'consents', 'remembered_sign_ins'];
  const insertAll = async (of: Columns) => {
    for (const table of ENDED) {
      const { application_id: _, ...user } = of;
      await insert(table, table === 'remembered_sign_ins' ? user : of);
    }
    await insert('application_users', of);
  };

  test('ends all that the user has, in every application, and nothing of others', async () => {
    await insertAll(own());
    await insertAll(own({ application_id: other }));
    await insertAll(own({ user_id: stranger }));
    const before = await readUser(stranger);
    await end(callAt());
    for (const table of ENDED) expect([table, await count(table)]).toEqual([table, 0]);
    for (const table of ENDED) expect([table, await count(table, stranger)]).toEqual([table, 1]);
    expect([await readUser(stranger), (await readUser())?.cutoff_count]).toEqual([before, 1]);
    if (name !== 'ReactivateUser') expect(await readTypes(other)).toContain('session.revoked');
    expect(new Set(readTold())).toEqual(new Set([here, other]));
    const cutoffs = await sql`select user_id from user_cutoffs where user_id in (${userId}, ${stranger})`;
    expect(cutoffs).toEqual([{ user_id: userId }]);
  });

  test.each<[string, sessions: readonly number[], held: readonly number[], latest: number]>([
    ['the latest session', [HOUR, 2 * HOUR], [], 2 * HOUR],
    ['the latest held sign-in', [HOUR], [3 * HOUR, 2 * HOUR], 3 * HOUR],
  ])('cuts off %s, if a clock is ahead', async (_, sessions, held, latest) => {
    for (const [index, ms] of sessions.entries())
      await insert('sessions', own({ application_id: index ? other : here, authenticated_at: at(ms) }));
    for (const ms of held) await insert('held_sign_ins', own({ proved_at: at(ms) }));
    await end(callAt());
    expect(await sql`select cutoff_at from user_cutoffs where user_id = ${userId}`).toEqual([
      { cutoff_at: at(latest) },
    ]);
  });

  test('ends what is stored meanwhile', async () => {
    await end(callAt(NOW, () => insert('sessions', own())));
    expect(await count('sessions')).toBe(0);
  });

  test('finds nobody who is deleted, unless it erases, or does not exist', async () => {
    if (name !== 'EraseUser') {
      await setUser({ deleted_at: at(-DAY) });
      const before = await readUser();
      expect(await end(callAt()).catch(reasonOf)).toBe('USER_NOT_FOUND');
      if (name !== 'ReactivateUser') expect(await readUser()).toEqual(before);
    }
    userId = randomUUID();
    expect(await end(callAt()).catch(reasonOf)).toBe('USER_NOT_FOUND');
  });
});

test.each(ENDINGS.filter(([name]) => /EndUserSessions|EraseUser/.test(name)))(
  '%s is refused after a cut-off that the user has not seen',
  async (_, end) => {
    await setUser({ cutoff_count: 4 });
    expect(await end({ ...callAt(), cutoffCount: 3 }).catch(reasonOf)).toBe('USER_NOT_FOUND');
    expect((await readUser())?.cutoff_count).toBe(4);
    await end({ ...callAt(), cutoffCount: 4 });
    expect((await readUser())?.cutoff_count).toBe(5);
  },
);

test('a second deactivation changes nothing, and says nothing', async () => {
  await insert('application_users', own());
  await deactivateUser(callAt(at(-1)), { userId });
  await deactivateUser(callAt(), { userId });
  expect(await readUser()).toMatchObject({ deactivated_at: at(-1), cutoff_count: 2 });
  expect([await countEvents(), await readTypes()]).toEqual([1, ['user.deactivated']]);
});

test('a reactivation of one who is active changes nothing', async () => {
  await insert('application_users', own());
  const before = await readUser();
  await reactivateUser(callAt(), { userId });
  expect([await readUser(), await countEvents(), await readTypes()]).toEqual([before, 0, []]);
  await setUser({ deactivated_at: at(-DAY) });
  const shown = await reactivateUser(callAt(), { userId });
  expect([shown.deactivatedAt, (await readUser())?.deactivated_at]).toEqual([null, null]);
});

describe('a deletion', () => {
  const OWNED: readonly Table[] = ['passkeys', 'totp_secrets', 'recovery_codes', 'user_identities'];

  test('takes the credentials, also those that are stored meanwhile, and a notice tells of it', async () => {
    const insertAll = async (id: string) => {
      for (const table of OWNED) await insert(table, { user_id: id });
      await setUser({ has_second_factor: true }, id);
    };
    const gone = await createUser({ deleted_at: NOW });
    for (const other of [stranger, gone]) await insertAll(other);
    const { id } = await insert('passkeys', { user_id: userId });
    let woken = 0;
    let left = -1;
    const meanwhile = async () => {
      left = (await sql`select from passkeys where id = ${id}`).length;
      await insertAll(userId);
    };
    const notices = { toLanguage: () => 'en', wake: () => void woken++ };
    await deleteUser({ ...callAt(NOW, meanwhile), notices }, { userId });
    for (const table of OWNED) expect([table, await count(table)]).toEqual([table, 0]);
    for (const other of [stranger, gone])
      for (const table of OWNED) expect([table, await count(table, other)]).toEqual([table, 1]);
    expect(await readUser()).toMatchObject({ deleted_at: NOW, has_second_factor: false });
    expect(await readUser(stranger)).toMatchObject({ deleted_at: null, has_second_factor: true });
    const sent = await sql`select kind from notices where user_id = ${userId}`;
    expect([left, woken, sent]).toEqual([0, 1, [{ kind: 'accountDeleted' }]]);
  });

  test('writes a user without a second factor once', async () => {
    const version = async () => (await sql`select xmin::text from users where id = ${userId}`)[0]?.xmin;
    let first = '';
    await deleteUser(
      callAt(NOW, async () => {
        first = await version();
      }),
      { userId },
    );
    expect(await version()).toBe(first);
  });
});

describe('an erasure', () => {
  test('empties the profile, and deletes what others have begun with it', async () => {
    const full = {
      ...{ name: 'Ada', profile_image: 'https://img.test', external_id: randomUUID(), attributes: sql.json({ a: 1 }) },
      ...{ email_verified_at: NOW, wallet_linked_at: NOW, passkey_removed_at: NOW, email_changed_at: NOW },
      void_undo_links: '{[2026-01-01,2026-01-02]}',
    };
    await setUser({ ...full, email: 'Ada@Example.com', wallet_address: '0xAB', has_second_factor: true });
    await insert('application_users', own());
    for (const email of ['aDA@example.com', 'bob@example.com'])
      await insert('login_codes', { application_id: here, email });
    for (const address of ['0xab', '0xac']) await insert('wallet_challenges', { application_id: here, address });
    await eraseUser(
      callAt(NOW, () => insert('remembered_sign_ins', { user_id: userId })),
      { userId },
    );
    const row = await readUser();
    for (const column of Object.keys(full)) expect([column, row?.[column]]).toEqual([column, null]);
    expect(row).toMatchObject({ email: '', wallet_address: '', has_second_factor: false, deleted_at: NOW });
    expect(await sql`select email from login_codes where application_id = ${here}`).toEqual([
      { email: 'bob@example.com' },
    ]);
    expect(await sql`select address from wallet_challenges where application_id = ${here}`).toEqual([
      { address: '0xac' },
    ]);
    expect([await count('remembered_sign_ins'), await readTypes()]).toEqual([0, ['user.deleted']]);
  });

  test.each<[string, Columns, events: number, types: string[], deletedAt: Date]>([
    ['of a user', {}, 1, ['user.deleted'], NOW],
    ['of one who was deleted', { deleted_at: at(-DAY), email: '' }, 1, [], at(-DAY)],
    ['of one who was deleted without a wallet', { deleted_at: at(-DAY), wallet_address: '' }, 1, [], at(-DAY)],
    ['of one who was erased', { deleted_at: at(-DAY), email: '', wallet_address: '' }, 0, [], at(-DAY)],
    ['of one without an address', { email: '', wallet_address: '' }, 1, ['user.deleted'], NOW],
  ])('%s is recorded and told once', async (_, columns, events, types, deletedAt) => {
    await insert('application_users', own());
    await setUser(columns);
    await eraseUser(callAt(), { userId });
    expect([await countEvents(), await readTypes(), (await readUser())?.deleted_at]).toEqual([
      events,
      types,
      deletedAt,
    ]);
  });
});

describe('RemoveApplicationUser', () => {
  const remove = (call = callAt()) => removeApplicationUser(call, { applicationId: here, userId });

  test('takes what the user has in the application, and nothing else', async () => {
    const tables: readonly Table[] = ['sessions', 'added_users', 'application_users', 'consents'];
    for (const table of tables)
      for (const columns of [{}, { application_id: other }, { user_id: stranger }]) await insert(table, own(columns));
    await remove();
    for (const table of tables) {
      const left = await sql`select application_id, user_id from ${sql(table as string)}
        where application_id in (${here}, ${other}) order by user_id = ${userId}`;
      const others = [own({ user_id: stranger }), own({ application_id: other })];
      expect([table, left]).toEqual([table, others]);
    }
    expect([await countEvents(), readTold()]).toEqual([1, [here]]);
  });

  test('ends what is stored meanwhile, and the first entry with it', async () => {
    const meanwhile = async () => {
      await insert('sessions', own());
      await insert('application_users', own({ first_signed_in_at: at(-HOUR) }));
    };
    await remove(callAt(NOW, meanwhile));
    expect([await count('sessions'), await count('application_users')]).toEqual([0, 0]);
  });

  test('looks for an access that is restricted meanwhile', async () => {
    const meanwhile = async () => {
      await sql`update applications set restrict_access = true where id = ${here}`;
      await sql`delete from session_cutoffs where user_id = ${userId}`;
    };
    await remove(callAt(NOW, meanwhile));
    expect(await count('session_cutoffs')).toBe(1);
  });

  test.each<[string, columns: () => Columns, Date]>([
    ['one that is open', () => ({}), NOW],
    ['none that was accepted', () => ({ accepted_at: at(-1) }), at(DAY)],
    ['none that has expired', () => ({ expires_at: at(-1) }), at(-1)],
    ['none elsewhere', () => ({ application_id: other }), at(DAY)],
    ['none of another one', () => ({ user_id: stranger }), at(DAY)],
  ])('lets an invitation expire: %s', async (_, columns, expiresAt) => {
    const { id } = await insert('invitations', own(columns()));
    await remove();
    expect(await sql`select expires_at from invitations where id = ${id}`).toEqual([{ expires_at: expiresAt }]);
  });

  test('cuts off nobody who is deleted', async () => {
    await setUser({ deleted_at: NOW });
    expect(await remove().catch(reasonOf)).toBe('USER_NOT_FOUND');
    expect(await count('session_cutoffs')).toBe(0);
  });
});

describe.each([
  ['of one application', false],
  ['of several', true],
])('a look at who may enter: %s', (_, isOfSeveral) => {
  const restrict = (id: string) => sql`update applications set restrict_access = true where id = ${id}`;
  const look = () => cutOffRefused(callAt(), [[here, userId], ...(isOfSeveral ? [[other, userId] as const] : [])]);
  const join = async ({ member = userId, application = here, allows = true, joined = true } = {}) => {
    const [{ id }, { id: another }] = [await insert('groups', {}), await insert('groups', {})];
    await insert('application_groups', { application_id: application, group_id: id, allows_access: allows });
    await insert('group_members', { group_id: joined ? id : another, user_id: member });
  };

  test.each<[string, change: () => Promise<unknown>, isCutOff: boolean]>([
    ['refused', async () => undefined, true],
    ['not restricted', async () => sql`update applications set restrict_access = false where id = ${here}`, false],
    ['deleted', async () => sql`update applications set deleted_at = ${NOW} where id = ${here}`, false],
    ['added', () => insert('added_users', own()), false],
    ['added elsewhere', () => insert('added_users', own({ application_id: other })), true],
    ['another one added', () => insert('added_users', own({ user_id: stranger })), true],
    ['by a group', () => join(), false],
    ['by a group that gives no access', () => join({ allows: false }), true],
    ['by a group of another application', () => join({ application: other }), true],
    ['by a group of somebody else', () => join({ member: stranger }), true],
    ['by another group', () => join({ joined: false }), true],
  ])('%s', async (_what, change, isCutOff) => {
    await restrict(here);
    await change();
    await insert('sessions', own());
    for (const columns of [{ application_id: other }, { user_id: stranger }]) await insert('sessions', own(columns));
    await look();
    const ended = await sql`select application_id from session_cutoffs where user_id = ${userId}`;
    expect(ended).toEqual(isCutOff ? [{ application_id: here }] : []);
    expect([await count('sessions'), await count('sessions', stranger)]).toEqual([isCutOff ? 1 : 2, 1]);
    expect(readTold()).toEqual(isCutOff ? [here] : []);
  });

  test('leaves a session of a clock that is ahead', async () => {
    await restrict(here);
    await insert('sessions', own({ authenticated_at: at(HOUR) }));
    await look();
    expect(await count('sessions')).toBe(1);
    // Unless the cut-off is as late.
    await sql`update session_cutoffs set cutoff_at = ${at(HOUR)} where user_id = ${userId}`;
    await look();
    expect(await count('sessions')).toBe(0);
  });

  test('of two users, the one who may enter stays', async () => {
    await restrict(here);
    await insert('added_users', own({ user_id: stranger }));
    const both = [
      [here, stranger],
      [here, userId],
    ] as const;
    await cutOffRefused(callAt(), isOfSeveral ? [...both, [other, userId]] : both);
    const ended = await sql`select user_id from session_cutoffs where application_id = ${here}`;
    expect(ended).toEqual([{ user_id: userId }]);
  });
});

test('a look at nobody asks nothing', async () => {
  const run = () => Promise.reject(new Error('A statement in vain'));
  await cutOffRefused({ run, now: NOW }, []);
});
