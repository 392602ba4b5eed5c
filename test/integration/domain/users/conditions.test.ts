/** Each condition of the statements about users, a row each. What people see: test/contract/users.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { sql as fragment, type SQL } from 'drizzle-orm';
import { beforeEach, describe, expect, test } from 'vitest';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import { maySignIn } from '../../../../src/domain/access/has-access.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../../src/domain/core/own-applications.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { addApplicationUser } from '../../../../src/domain/users/add-application-user.ts';
import {
  ageParameters,
  isCounting,
  isStrongEnough,
  isYoung,
  showYoung,
} from '../../../../src/domain/users/counts-from.ts';
import {
  findUserByEmail,
  findUserToSignIn,
  spellingsOf,
  userByEmail,
} from '../../../../src/domain/users/find-user-by-email.ts';
import { getUser } from '../../../../src/domain/users/get-user.ts';
import { listUserAccess, mayEnter } from '../../../../src/domain/users/list-user-access.ts';
import { listUsers } from '../../../../src/domain/users/list-users.ts';
import { markEmailVerified } from '../../../../src/domain/users/mark-email-verified.ts';
import { followNoticeLink } from '../../../../src/domain/users/still-signed-in.ts';
import { at, DAY, HOUR, NOW, openDomain, reasonOf } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);
const call = callAt();

let here: string;
let other: string;
let userId: string;
let stranger: string;
let email: string;
beforeEach(async () => {
  [here, other] = [await createApplication(), await createApplication()];
  email = `${randomUUID()}@example.com`;
  [userId, stranger] = [await createUser({ email }), await createUser()];
  await insert('webhooks', { application_id: here });
  readTold();
});

type Columns = Readonly<Record<string, unknown>>;
const own = (columns: Columns = {}) => ({ application_id: here, user_id: userId, ...columns });
const readUser = async (id = userId) => (await sql`select * from users where id = ${id}`)[0];
const setUser = (columns: object, id = userId) =>
  sql`update users set ${sql({ id, ...columns } as never)} where id = ${id}`;
const setHere = (columns: object) => sql`update applications set ${sql(columns as never)} where id = ${here}`;

/** Returns the value of the condition about the user. */
async function holds(condition: SQL, parameters: object = {}): Promise<boolean | undefined> {
  const select = statement('evaluate_user', { value: t.boolean })`
    select (${condition}) as value from users where id = ${p.uuid('userId')}`;
  const [row] = await call.run(select, { applicationId: here, userId, ...parameters });
  return row?.value;
}

async function join({ member = userId, application = here, ...columns }: Record<string, unknown> = {}) {
  const { id } = await insert('groups', {});
  await insert('application_groups', { application_id: application, group_id: id, ...columns });
  await insert('group_members', { group_id: id, user_id: member });
  return id;
}

const invite = (columns: Columns = {}) => insert('invitations', own({ added_user: true, expires_at: NOW, ...columns }));

describe('who may enter', () => {
  test.each<[string, prepare: () => Promise<unknown>, boolean]>([
    ['nobody', async () => undefined, false],
    ['added', () => insert('added_users', own()), true],
    ['added elsewhere', () => insert('added_users', own({ application_id: other })), false],
    ['somebody else', () => insert('added_users', own({ user_id: stranger })), false],
    ['by a group', () => join(), true],
    ['by a group without access', () => join({ allows_access: false }), false],
    ['by a group elsewhere', () => join({ application: other }), false],
    ['somebody else by a group', () => join({ member: stranger }), false],
  ])('%s', async (_, prepare, expected) => {
    await prepare();
    expect(await holds(maySignIn)).toBe(expected);
  });

  test.each<[string, Columns, boolean]>([
    ['that expires now', {}, false],
    ['that expires next', { expires_at: at(1) }, true],
    ['that was accepted', { accepted_at: NOW }, true],
    ['that has not added the user', { added_user: false }, true],
    ['to another application', { application_id: 'other' }, true],
    ['of another user', { user_id: 'stranger' }, true],
  ])('nobody by an invitation %s', async (_, columns, expected) => {
    await insert('added_users', own());
    const ids = { other, stranger } as Readonly<Record<string, string>>;
    await invite(Object.fromEntries(Object.entries(columns).map(([key, value]) => [key, ids[String(value)] ?? value])));
    expect(await holds(maySignIn)).toBe(expected);
    expect(await listUserAccess(call, userId)).toHaveLength(expected ? 1 : 0);
  });
});

describe('the applications of a user', () => {
  const list = async () => (await listUserAccess(call, userId)).map((row) => ({ ...row, enters: mayEnter(row) }));

  test.each<[string, prepare: () => Promise<unknown>, shown: Columns | undefined]>([
    [
      'signed in',
      () => insert('application_users', own()),
      { hasSignedIn: true, lastSignedInAt: at(-DAY), addedAt: null },
    ],
    ['added', () => insert('added_users', own()), { hasSignedIn: false, addedAt: at(-DAY), groupId: null }],
    ['by a group', () => join(), { hasSignedIn: false, addedAt: null, groupName: expect.any(String) }],
    ['by a group without access', () => join({ allows_access: false }), undefined],
    ['somebody else signed in', () => insert('application_users', own({ user_id: stranger })), undefined],
    ['somebody else added', () => insert('added_users', own({ user_id: stranger })), undefined],
    ['somebody else by a group', () => join({ member: stranger }), undefined],
    [
      'by a deleted group',
      async () => sql`update groups set deleted_at = ${NOW} where id = ${await join()}`,
      undefined,
    ],
    [
      'deleted',
      async () => {
        await insert('added_users', own());
        await setHere({ deleted_at: NOW });
      },
      undefined,
    ],
  ])('%s', async (_, prepare, shown) => {
    await prepare();
    // Others of the user have nothing to do with it.
    await insert('application_users', { application_id: other, user_id: stranger });
    expect(await list()).toMatchObject(shown ? [{ id: here, enters: true, ...shown }] : []);
  });

  test('come by name, with the first of their groups, and say who may enter', async () => {
    await sql`update applications set name = 'b' where id = ${here}`;
    await sql`update applications set name = 'a', restrict_access = true where id = ${other}`;
    const ids = [await join(), await join()];
    for (const [index, id] of ids.entries())
      await sql`update groups set name = ${`${1 - index} ${id}`} where id = ${id}`;
    await insert('application_users', own({ application_id: other }));
    expect((await list()).map(({ id, groupId, hasSignedIn, enters }) => [id, groupId, hasSignedIn, enters])).toEqual([
      [other, null, true, false],
      [here, ids[1], false, true],
    ]);
    await sql`update applications set restrict_access = true where id = ${here}`;
    expect((await list())[1]?.enters).toBe(true);
    await insert('added_users', own({ application_id: other }));
    expect((await list()).map(({ addedAt, enters }) => [addedAt, enters])).toEqual([
      [at(-DAY), true],
      [null, true],
    ]);
  });

  test('are 100 at most, by ID where they have the same name, and none of Usher itself', async () => {
    await sql`
      with named as (
        insert into applications (id, name, client_id, redirect_uris, created_at)
        select gen_random_uuid(), 'Same', 'many ' || ${userId}::text || n, '{}', ${NOW} from generate_series(1, 101) n
        returning id
      )
      insert into application_users (application_id, user_id, first_signed_in_at, last_signed_in_at)
      select id, ${userId}::uuid, ${NOW}::timestamptz, ${NOW}::timestamptz from named
      union all select ${ACCOUNT_APPLICATION_ID}::uuid, ${userId}::uuid, ${NOW}::timestamptz, ${NOW}::timestamptz`;
    const all = await sql`select id from applications where client_id like ${`many ${userId}%`} order by id`;
    expect((await list()).map(({ id }) => id)).toEqual(all.slice(0, 100).map(({ id }) => id));
    await sql`delete from application_users where user_id = ${userId} and application_id <> ${ACCOUNT_APPLICATION_ID}`;
    expect(await list()).toEqual([]);
  });
});

describe('a credential', () => {
  const strong = (assurance: number | null, level: number) =>
    holds(isStrongEnough(fragment.raw(String(level))), ageParameters(call, { assurance, isVouchedFor: false }));

  test.each<[string, prepare: () => Promise<unknown>, enough: number]>([
    ['of a user with one factor', async () => undefined, 1],
    ['of a user with a second factor', async () => setUser({ has_second_factor: true }), 2],
    ['of a user with a passkey', () => insert('passkeys', { user_id: userId }), 3],
    ['beside a passkey of somebody else', () => insert('passkeys', { user_id: stranger }), 1],
    ['less than 7 days after the last went', async () => setUser({ passkey_removed_at: at(1 - 7 * DAY) }), 3],
    ['7 days after', async () => setUser({ passkey_removed_at: at(-7 * DAY) }), 1],
  ])('%s counts at once from level %#', async (_, prepare, enough) => {
    await prepare();
    for (const level of [1, 2, 3]) expect([level, await strong(level, 3)]).toEqual([level, level >= enough]);
    expect([await strong(null, 3), await strong(null, 1)]).toEqual([enough === 1, true]);
  });

  test.each<[string, Date | null, boolean]>([
    ['at once', null, true],
    ['from now on', NOW, true],
    ['from later on', at(1), false],
  ])('counts %s', async (_, instant, counts) => {
    await setUser({ wallet_linked_at: instant });
    expect([await holds(isCounting(fragment`wallet_linked_at`)), isYoung(instant, NOW)]).toEqual([counts, !counts]);
    expect(showYoung([{ countsFrom: instant }], NOW)).toEqual([{ countsFrom: counts ? null : instant }]);
  });
});

describe('a link in a notice', () => {
  const follow = () => followNoticeLink(call, { userId, at: at(-DAY) });

  test('is refused after a later cut-off, and of a deleted user, and while it is void', async () => {
    await setUser({ cutoff_count: 7 });
    expect((await follow()).cutoffCount).toBe(7);
    await sql`update users set void_undo_links = tstzmultirange(tstzrange(${at(-HOUR)}, null)) where id = ${userId}`;
    expect((await follow()).cutoffCount).toBe(7);
    await sql`update users set void_undo_links = tstzmultirange(tstzrange(null, ${at(-DAY)}, '[]')) where id = ${userId}`;
    expect(await follow().catch(reasonOf)).toBe('USER_NOT_FOUND');
    await setUser({ void_undo_links: null, deleted_at: NOW });
    expect(await follow().catch(reasonOf)).toBe('USER_NOT_FOUND');
  });
});

describe('a proof of the address', () => {
  test.each<[string, Columns, after: Date | null]>([
    ['is stored', {}, NOW],
    ['is kept', { email_verified_at: at(-DAY) }, at(-DAY)],
    ['is none of another address', { email: 'Another@example.com' }, null],
    ['is none of a deleted user', { deleted_at: NOW }, null],
  ])('%s', async (_, columns, after) => {
    await setUser(columns);
    // It may be that of somebody else by now.
    if (columns.email) await setUser({ email }, stranger);
    await markEmailVerified(call, { userId, email: email.toUpperCase() });
    expect([(await readUser())?.email_verified_at, (await readUser(stranger))?.email_verified_at]).toEqual([
      after,
      null,
    ]);
  });
});

describe('an added user', () => {
  const add = () => addApplicationUser(call, { applicationId: here, userId });
  const isAdded = async () => (await sql`select from added_users where application_id = ${here}`).length;

  test('is told of once, unless the user has signed in before', async () => {
    await insert('application_users', own({ application_id: other }));
    await insert('application_users', own({ user_id: stranger }));
    await add();
    await add();
    expect([await isAdded(), readTold()]).toEqual([1, [here]]);
    const known = await createUser();
    await insert('application_users', own({ user_id: known }));
    await addApplicationUser(call, { applicationId: here, userId: known });
    expect([await isAdded(), readTold()]).toEqual([2, []]);
  });

  test.each<[string, change: () => Promise<unknown>, reason: string]>([
    ['user is deleted', async () => setUser({ deleted_at: NOW }), 'USER_NOT_FOUND'],
    ['application is deleted', async () => setHere({ deleted_at: NOW }), 'APPLICATION_NOT_FOUND'],
  ])('is nobody if the %s', async (_, change, reason) => {
    await invite({ created_user: true, expires_at: at(DAY) });
    await change();
    expect([await add().catch(reasonOf), await isAdded()]).toEqual([reason, 0]);
  });

  test.each<[string, find: () => Promise<string>]>([
    ['an unknown application', async () => randomUUID()],
    ['a deleted application', async () => createApplication({ deleted_at: NOW })],
  ])('of %s is nobody, and keeps invitations as they are', async (_, find) => {
    await invite({ created_user: true, expires_at: at(DAY) });
    const added = addApplicationUser(call, { applicationId: await find(), userId });
    expect(await added.catch(reasonOf)).toBe('APPLICATION_NOT_FOUND');
    const kept = await sql`select created_user, added_user from invitations where user_id = ${userId}`;
    expect(kept).toEqual([{ created_user: true, added_user: true }]);
  });

  test('who is erased meanwhile is nobody, and leaves nothing', async () => {
    const erased = { deleted_at: NOW, email: '', wallet_address: '' };
    const added = addApplicationUser(
      callAt(NOW, () => setUser(erased)),
      { applicationId: here, userId },
    );
    expect([await added.catch(reasonOf), await isAdded()]).toEqual(['USER_NOT_FOUND', 0]);
  });

  test.each<[string, given: Columns, isWritten: boolean]>([
    ['has created the user', { created_user: true, added_user: false }, true],
    ['has given the access', { created_user: false, added_user: true }, true],
    ['has given neither', { created_user: false, added_user: false }, false],
  ])('changes an invitation that %s', async (_, given, isWritten) => {
    await invite(given);
    const read = () => sql`select created_user, added_user, xmin::text from invitations where user_id = ${userId}`;
    const [before] = await read();
    await add();
    const after = { created_user: false, added_user: false };
    expect(await read()).toEqual([
      { ...after, xmin: isWritten ? expect.not.stringMatching(`^${before?.xmin}$`) : before?.xmin },
    ]);
  });

  test('is more than an invitation, which no longer takes the access away', async () => {
    const rows: readonly (readonly [string, Columns, Columns])[] = [
      ['here', {}, { created_user: false, added_user: false }],
      ['elsewhere', { application_id: other }, { created_user: false, added_user: true }],
      ['somebody', { user_id: stranger }, { created_user: true, added_user: true }],
    ];
    for (const [name, columns] of rows)
      await invite({ email: name, created_user: true, expires_at: at(DAY), ...columns });
    await add();
    for (const [name, , after] of rows)
      expect(
        await sql`select created_user, added_user from invitations
        where email = ${name} and application_id in (${here}, ${other})`,
      ).toEqual([after]);
  });
});

describe('an address', () => {
  const filter = async (fields: object) => (await listUsers(call, tokens, fields)).rows.map(({ id }) => id);
  test('is found in its first spelling, and of nobody who is deleted', async () => {
    await setUser({ email: 'a@xn--bcher-kva.test' });
    const twin = await createUser({ email: 'a@bücher.test' });
    const find = async () => (await findUserByEmail(call, 'A@bücher.test'))?.id;
    const get = async () => (await getUser(call, { email: 'A@bücher.test' }).catch(() => undefined))?.id;
    expect([await find(), await get(), await filter({ email: 'A@bücher.test' })]).toEqual([userId, userId, [userId]]);
    const owners = statement('owners', { id: t.uuid })`select id from (${userByEmail}) owner`;
    expect(await call.run(owners, spellingsOf('A@bücher.test'))).toEqual([{ id: userId }]);
    await setUser({ deleted_at: NOW });
    expect([await find(), await get()]).toEqual([twin, twin]);
    await setUser({ deactivated_at: NOW }, twin);
    expect([await find(), await get()]).toEqual([undefined, twin]);
    // Whoever has proved to own the address may learn of it.
    expect(await findUserToSignIn(call, 'A@bücher.test').catch(reasonOf)).toBe('ACCOUNT_CLOSED');
    await setUser({ deleted_at: NOW }, twin);
    expect([await find(), await get()]).toEqual([undefined, undefined]);
  });

  test('must be that of the user with the ID', async () => {
    const get = (fields: object) => getUser(call, { userId, ...fields }).then((user) => user.id, reasonOf);
    expect([await get({ email }), await get({}), await get({ email: 'b@example.com' })]).toEqual([
      userId,
      userId,
      'USER_NOT_FOUND',
    ]);
    expect([await get({ userId: '', email }), await get({ userId: '' })]).toEqual([userId, 'VALIDATION_FAILED']);
    await setUser({ deleted_at: NOW });
    expect(await get({})).toBe('USER_NOT_FOUND');
  });

  test('begins with a prefix, in pages by address', async () => {
    const key = randomUUID();
    for (const name of ['c', 'a', 'B']) await createUser({ email: `${key}${name}@example.com` });
    await createUser({ email: `${key}d@example.com`, deleted_at: NOW });
    const read = async (fields: object) => {
      const page = await listUsers(call, tokens, { emailPrefix: key.toUpperCase(), ...fields });
      return { names: page.rows.map((row) => row.email.slice(key.length, key.length + 1)), next: page.nextPageToken };
    };
    const first = await read({ pageSize: 2 });
    expect([first.names, (await read({ pageSize: 2, pageToken: first.next })).names]).toEqual([['a', 'B'], ['c']]);
  });

  test('and a wallet filter a list, each or both', async () => {
    const wallet = `0xAB${randomUUID()}`;
    await setUser({ wallet_address: wallet });
    const is = { email, walletAddress: wallet.toLowerCase() };
    expect(await filter(is)).toEqual([userId]);
    expect(await filter({ walletAddress: is.walletAddress })).toEqual([userId]);
    expect(await filter({ ...is, walletAddress: '0x' })).toEqual([]);
    expect(await filter({ ...is, emailPrefix: 'zz' })).toEqual([]);
    expect([await filter({ ...is, emailPrefix: email.slice(0, 5) }), await filter({ emailPrefix: email })]).toEqual([
      [userId],
      [userId],
    ]);
    const emailPrefix = (await readUser(stranger))?.email;
    expect([await filter({ email, emailPrefix }), await filter({ walletAddress: wallet, emailPrefix })]).toEqual([
      [],
      [],
    ]);
    expect(await filter({ pageSize: 1 })).toHaveLength(1);
    expect(await filter({ walletAddress: is.walletAddress, emailPrefix: 'zz' })).toEqual([]);
    await setUser({ deleted_at: NOW });
    expect([...(await filter({ email })), ...(await filter({ walletAddress: wallet }))]).toEqual([]);
  });
});
