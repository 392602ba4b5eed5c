/** Each condition of the statements about groups, a row each. What people see: test/contract/groups.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { addGroupMember } from '../../../../src/domain/groups/add-group-member.ts';
import { createGroup } from '../../../../src/domain/groups/create-group.ts';
import { deleteGroup } from '../../../../src/domain/groups/delete-group.ts';
import { getGroup, getGroupByName, readGroupVersion } from '../../../../src/domain/groups/get-group.ts';
import { listApplicationGroups } from '../../../../src/domain/groups/list-application-groups.ts';
import { listGroupMembers } from '../../../../src/domain/groups/list-group-members.ts';
import { listGroups } from '../../../../src/domain/groups/list-groups.ts';
import { listUserGroups } from '../../../../src/domain/groups/list-user-groups.ts';
import { removeGroupMember } from '../../../../src/domain/groups/remove-group-member.ts';
import { changeGroupAccess, setGroupAccess } from '../../../../src/domain/groups/set-group-access.ts';
import { updateGroup } from '../../../../src/domain/groups/update-group.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { at, NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();
/** What a change leaves to the job stays to be read. */
const call = { ...callAt(), isUncommitted: true } as const;

let here: string;
let other: string;
let userId: string;
/** Has signed in to both applications, as the user has. */
let stranger: string;
let groupId: string;
let another: string;
beforeEach(async () => {
  [here, other] = [await createApplication({ restrict_access: true }), await createApplication()];
  [userId, stranger] = [await createUser(), await createUser()];
  [groupId, another] = [(await insert('groups', {})).id, (await insert('groups', {})).id];
  for (const id of [here, other]) await insert('webhooks', { application_id: id });
  for (const application_id of [here, other])
    for (const user_id of [stranger, userId]) await insert('application_users', { application_id, user_id });
  readTold();
});

type Columns = Readonly<Record<string, unknown>>;
const mean = (columns: Columns = {}) =>
  insert('application_groups', { application_id: here, group_id: groupId, ...columns });
const member = (columns: Columns = {}) => insert('group_members', { group_id: groupId, user_id: userId, ...columns });
const readMeaning = async () =>
  (
    await sql`select allows_access, in_claim from application_groups where application_id = ${here} and group_id = ${groupId}`
  )[0];
const readLeft = () =>
  sql`select losing_ids, seeing_ids, is_removal from unfinished_changes where subject_id = ${groupId}`;
const set = (columns: object, table = 'groups', id = groupId) =>
  sql`update ${sql(table)} set ${sql(columns as never)} where id = ${id}`;
/** 100 other groups. */
async function fill(insertOf: (ids: readonly string[]) => PromiseLike<unknown>, count: number) {
  const rows = await sql`insert into groups (id, name, created_at)
    select gen_random_uuid(), gen_random_uuid()::text, ${NOW} from generate_series(1, ${count}) returning id`;
  await insertOf(rows.map((row) => row.id));
}

describe('the meaning of a group', () => {
  const [ACCESS, CLAIM, BOTH] = [
    { allows_access: true, in_claim: false },
    { allows_access: false, in_claim: true },
    { allows_access: true, in_claim: true },
  ];
  test.each<
    [
      string,
      before: Columns | undefined,
      given: object,
      keeps: boolean,
      after: Columns | undefined,
      loses: boolean | undefined,
    ]
  >([
    ['is stored', undefined, { allowsAccess: true }, false, ACCESS, false],
    ['is none', undefined, {}, false, undefined, undefined],
    ['stays', ACCESS, { allowsAccess: true }, false, ACCESS, undefined],
    ['is another one', ACCESS, { inClaim: true }, false, CLAIM, true],
    ['is more', CLAIM, { allowsAccess: true, inClaim: true }, false, BOTH, false],
    ['goes', ACCESS, {}, false, undefined, true],
    ['goes without access', CLAIM, {}, false, undefined, false],
    ['keeps the rest', ACCESS, { inClaim: true }, true, BOTH, false],
    ['keeps the access alone', BOTH, { inClaim: false }, true, ACCESS, false],
    ['keeps the claim alone', BOTH, { allowsAccess: false }, true, CLAIM, true],
    ['goes with its last part', ACCESS, { allowsAccess: false }, true, undefined, true],
    ['keeps all', BOTH, {}, true, BOTH, undefined],
  ])('%s', async (_, before, given, keeps, after, loses) => {
    if (before) await mean(before);
    // Neither the other group, nor the group elsewhere.
    const others = [await mean({ group_id: another, ...BOTH }), await mean({ application_id: other, ...BOTH })];
    await (keeps ? changeGroupAccess : setGroupAccess)(call, { applicationId: here, groupId, ...given });
    expect(await readMeaning()).toEqual(after);
    const seeing = expect.arrayContaining([here, other]);
    const left = { losing_ids: loses ? [here] : [], seeing_ids: seeing, is_removal: false };
    expect(await readLeft()).toEqual(loses === undefined ? [] : [left]);
    const cutoffs = await sql`select application_id from session_cutoffs where application_id in (${here}, ${other})`;
    expect(cutoffs).toEqual(loses ? [{ application_id: here }] : []);
    const kept = await sql`select count(*)::integer from application_groups
      where allows_access and in_claim and (application_id, group_id) in ((${here}, ${another}), (${other}, ${groupId}))`;
    expect(kept).toEqual([{ count: others.length }]);
  });

  const store = () => reason(setGroupAccess(call, { applicationId: here, groupId, allowsAccess: true }));
  test.each<[string, prepare: () => PromiseLike<unknown>, answer: string]>([
    ['of a deleted group', () => set({ deleted_at: NOW }), 'GROUP_NOT_FOUND'],
    ['to a deleted application', () => set({ deleted_at: NOW }, 'applications', here), 'APPLICATION_NOT_FOUND'],
    ['to one of the file', () => set({ declared_by_file: true }, 'applications', here), 'MANAGED_BY_FILE'],
    ['to one that was of the file', () => set({ declared_by_file: false }, 'applications', here), 'done'],
    ['to one beside one of the file', () => set({ declared_by_file: true }, 'applications', other), 'done'],
  ])('%s', async (_, prepare, answer) => {
    await prepare();
    expect([await store(), await readMeaning()]).toEqual([answer, answer === 'done' ? expect.anything() : undefined]);
  });

  test('is not restricted: nobody loses anything', async () => {
    await set({ restrict_access: false }, 'applications', here);
    await mean();
    await setGroupAccess(call, { applicationId: here, groupId });
    expect(await readLeft()).toMatchObject([{ losing_ids: [] }]);
  });

  test('is looked at again only if it has changed, and says who may have lost the access', async () => {
    await mean();
    await member();
    const names: string[] = [];
    const { run, ...rest } = callAt();
    const noted: typeof run = (asked, parameters) => {
      names.push(asked.name);
      return run(asked, parameters);
    };
    const ids = { applicationId: here, groupId };
    expect(await setGroupAccess({ ...rest, run: noted }, { ...ids, allowsAccess: true })).toEqual(new Set());
    expect(names).not.toContain('selectUnfinishedChange');
    expect(await setGroupAccess({ ...rest, run: noted }, ids)).toEqual(new Set([userId]));
    expect(names).toContain('selectUnfinishedChange');
  });

  test('is one of 100 of an application', async () => {
    const insertOf = (ids: readonly string[]) => sql`
      insert into application_groups select ${here}, unnest(${ids as string[]}::uuid[]), true, false`;
    await fill(insertOf, 99);
    await insert('application_groups', { application_id: other, group_id: another });
    expect([await store(), await store()]).toEqual(['done', 'done']);
    const next = (await insert('groups', {})).id;
    expect(await reason(setGroupAccess(call, { applicationId: here, groupId: next, inClaim: true }))).toBe(
      'TOO_MANY_GROUPS',
    );
    expect(await reason(setGroupAccess(call, { applicationId: here, groupId: next }))).toBe('done');
  });
});

describe('a member', () => {
  const add = () => addGroupMember(call, { groupId, userId });
  const remove = () => removeGroupMember(call, { groupId, userId });
  const isMember = async () =>
    (await sql`select from group_members where group_id = ${groupId} and user_id = ${userId}`).length === 1;

  test.each<[string, prepare: () => PromiseLike<unknown>, answer: string]>([
    ['of a deleted group', () => set({ deleted_at: NOW }), 'GROUP_NOT_FOUND'],
    ['who is deleted', () => set({ deleted_at: NOW }, 'users', userId), 'USER_NOT_FOUND'],
    ['of a group', async () => undefined, 'done'],
  ])('%s', async (_, prepare, answer) => {
    await prepare();
    expect([await reason(add()), await isMember()]).toEqual([answer, answer === 'done']);
    expect(await reason(remove())).toBe(answer);
  });

  test('who is erased meanwhile is none', async () => {
    const erase = () => set({ deleted_at: NOW, email: '' }, 'users', userId);
    const meanwhile = { ...callAt(NOW, erase), isUncommitted: true } as const;
    expect(await reason(addGroupMember(meanwhile, { groupId, userId }))).toBe('USER_NOT_FOUND');
    expect(await isMember()).toBe(false);
  });

  test('is told of to the applications that see the group, once', async () => {
    await mean({ in_claim: true });
    await mean({ application_id: other });
    await mean({ application_id: other, group_id: another, in_claim: true });
    await add();
    await add();
    expect(readTold()).toEqual([here]);
    await remove();
    await remove();
    expect(readTold()).toEqual([here]);
  });

  test('is in 100 groups', async () => {
    const insertOf = (ids: readonly string[]) => sql`
      insert into group_members select unnest(${ids as string[]}::uuid[]), ${userId}, ${NOW}`;
    await fill(insertOf, 99);
    await member({ user_id: await createUser(), group_id: another });
    expect([await reason(add()), await reason(add())]).toEqual(['done', 'done']);
    expect(await reason(addGroupMember(call, { groupId: another, userId }))).toBe('TOO_MANY_GROUPS');
  });

  test.each<[string, prepare: () => Promise<unknown>, isCutOff: boolean]>([
    ['and loses the access', () => mean(), true],
    ['and loses none that the group has not given', () => mean({ allows_access: false }), false],
    [
      'and loses none that a group of others gives',
      async () => mean({ group_id: (await insert('groups', {})).id }),
      false,
    ],
    ['and keeps that by another group', () => mean().then(() => mean({ group_id: another })), false],
    ['and loses none where nothing is restricted', () => mean({ application_id: other }), false],
  ])('goes %s', async (_, prepare, isCutOff) => {
    await prepare();
    await member();
    await member({ group_id: another });
    await member({ user_id: stranger });
    await remove();
    const cutoffs = await sql`select user_id from session_cutoffs where application_id in (${here}, ${other})`;
    expect([cutoffs, await isMember()]).toEqual([isCutOff ? [{ user_id: userId }] : [], false]);
    expect(await sql`select from group_members where group_id = ${another} or user_id = ${stranger}`).toHaveLength(2);
  });

  test('who is deleted is told of to nobody', async () => {
    await mean({ in_claim: true });
    await member();
    await set({ deleted_at: NOW }, 'users', userId);
    expect(await reason(remove())).toBe('USER_NOT_FOUND');
    expect(await sql`select from webhook_messages where application_id = ${here}`).toEqual([]);
  });
});

describe('a deletion', () => {
  test('is told of to the applications that see the group, and to no other', async () => {
    await mean({ in_claim: true, allows_access: false });
    await mean({ application_id: other, allows_access: false });
    await member();
    await deleteGroup(callAt(), { groupId });
    expect(readTold()).toEqual([here]);
    const messages = await sql`select application_id from webhook_messages where application_id in (${here}, ${other})`;
    expect(messages).toEqual([{ application_id: here }]);
  });

  test.each<[string, prepare: () => PromiseLike<unknown>, answer: string]>([
    ['of a deleted group', () => set({ deleted_at: at(-1) }), 'GROUP_NOT_FOUND'],
    ['of a group of the file', () => set({ declared_by_file: true }), 'MANAGED_BY_FILE'],
    ['of any group', async () => undefined, 'done'],
  ])('%s', async (_, prepare, answer) => {
    await prepare();
    await mean();
    await mean({ group_id: another });
    expect(await reason(deleteGroup(call, { groupId }))).toBe(answer);
    const rows = await sql`select deleted_at = ${NOW} as is_deleted, starts_with(name, '~') as is_free from groups
      where id in (${groupId}, ${another}) order by id = ${another}`;
    const isDone = answer === 'done';
    expect(rows[0]?.is_free).toBe(isDone);
    expect(rows[1]).toEqual({ is_deleted: null, is_free: false });
    expect(await sql`select from application_groups where application_id = ${here}`).toHaveLength(isDone ? 1 : 2);
    expect(await readLeft()).toEqual(isDone ? [{ losing_ids: [here], seeing_ids: [], is_removal: true }] : []);
  });

  test.each<[string, prepare: () => Promise<unknown>]>([
    ['gave no access', () => mean({ allows_access: false })],
    ['was of an application that is not restricted', () => mean({ application_id: other })],
    ['was of a deleted application', () => mean().then(() => set({ deleted_at: NOW }, 'applications', here))],
  ])('of one that %s takes nothing', async (_, prepare) => {
    await prepare();
    await deleteGroup(call, { groupId });
    expect(await readLeft()).toMatchObject([{ losing_ids: [] }]);
    expect(await sql`select from session_cutoffs where application_id in (${here}, ${other})`).toEqual([]);
  });
});

describe('an update', () => {
  const readGroups = () => sql`
    select id, name, display_name from groups where id in (${groupId}, ${another}) order by id = ${another}`;
  const version = (id: string) => readGroupVersion(call, { groupId: id });

  test.each<
    [string, prepare: () => PromiseLike<unknown>, given: object, answer: string, isTold: boolean, seen?: () => string]
  >([
    ['to another name', async () => undefined, { name: 'new' }, 'done', true],
    ['to another name that is displayed', async () => undefined, { displayName: 'New' }, 'done', false],
    ['of one that was of the file', () => set({ declared_by_file: false }), { name: 'new' }, 'done', true],
    ['of one of the file', () => set({ declared_by_file: true }), { name: 'new' }, 'MANAGED_BY_FILE', false],
    ['beside one of the file', () => set({ declared_by_file: true }, 'groups', another), { name: 'new' }, 'done', true],
    ['of a deleted one', () => set({ deleted_at: NOW }), { name: 'new' }, 'GROUP_NOT_FOUND', false],
    [
      'to the name of another one',
      () => set({ name: 'new' }, 'groups', another),
      { name: 'new' },
      'GROUP_ALREADY_EXISTS',
      false,
    ],
    ['of the version that was seen', async () => undefined, { name: 'new' }, 'done', true, () => groupId],
    ['of another version', async () => undefined, { name: 'new' }, 'CHANGED_MEANWHILE', false, () => another],
  ])('%s', async (_, prepare, given, answer, isTold, seen) => {
    await sql`delete from groups where name = 'new'`;
    await prepare();
    await mean({ in_claim: true });
    await mean({ application_id: other });
    await mean({ application_id: other, group_id: another, in_claim: true });
    const [own, theirs] = await readGroups();
    const ifVersion = seen && (await version(seen()));
    expect(await reason(updateGroup({ ...call, ifVersion }, { groupId, ...given }))).toBe(answer);
    const after = { id: groupId, name: own?.name, display_name: null };
    const changed = 'name' in given ? { ...after, name: 'new' } : { ...after, display_name: 'New' };
    expect(await readGroups()).toEqual([answer === 'done' ? changed : after, theirs]);
    expect(await readLeft()).toEqual(isTold ? [{ losing_ids: [], seeing_ids: [here], is_removal: false }] : []);
    const events = await sql`select from audit_events where resource in (${groupId}, ${another})`;
    expect(events).toHaveLength(answer === 'done' ? 1 : 0);
  });

  test('to what is there is none, and goes on with the members only when it is named', async () => {
    const name = String((await readGroups())[0]?.name);
    await updateGroup(call, { groupId, name, displayName: null });
    expect(await sql`select from audit_events where resource = ${groupId}`).toEqual([]);
    expect(await readLeft()).toEqual([]);
    await mean({ in_claim: true });
    await member();
    await updateGroup(callAt(), { groupId, name: randomUUID() });
    expect(readTold()).toEqual([here]);
  });
});

test('an update that fails for another reason says so', async () => {
  const failing = { ...call, run: () => Promise.reject(new Error('gone')) };
  await expect(updateGroup(failing, { groupId, name: 'new' })).rejects.toThrow('gone');
});

describe('only what is there is read', () => {
  const tokens = new PageTokens([randomBytes(32)]);

  test('of groups', async () => {
    await sql`delete from groups where id not in (${groupId}, ${another})`;
    const name = String((await getGroup(call, { groupId })).name);
    expect((await getGroupByName(call, name)).groupId).toBe(groupId);
    const ids = async () => (await listGroups(call, tokens, {})).rows.map((row) => row.groupId);
    expect((await ids()).toSorted()).toEqual([groupId, another].toSorted());
    expect(await readGroupVersion(call, { groupId })).not.toBe(await readGroupVersion(call, { groupId: another }));
    await set({ deleted_at: NOW });
    expect(await reason(getGroup(call, { groupId }))).toBe('GROUP_NOT_FOUND');
    expect(await reason(getGroupByName(call, randomUUID()))).toBe('GROUP_NOT_FOUND');
    expect(await readGroupVersion(call, { groupId })).toBeUndefined();
    expect(await ids()).toEqual([another]);
  });

  test('of members', async () => {
    const gone = await createUser({ deleted_at: NOW });
    for (const id of [userId, gone]) await member({ user_id: id });
    await member({ group_id: another, user_id: await createUser() });
    const { rows } = await listGroupMembers(call, tokens, { groupId });
    expect(rows.map((row) => row.userId)).toEqual([userId]);
    const deleted = (await insert('groups', { deleted_at: NOW })).id;
    await member({ group_id: deleted });
    const found = await listUserGroups(call, tokens, { userId });
    expect(found.rows.map((row) => row.groupId)).toEqual([groupId]);
    const nobody = randomUUID();
    const empty = (await insert('groups', { deleted_at: NOW })).id;
    expect(await reason(listGroupMembers(call, tokens, { groupId: empty }))).toBe('GROUP_NOT_FOUND');
    expect(await reason(listUserGroups(call, tokens, { userId: nobody }))).toBe('USER_NOT_FOUND');
    expect((await listUserGroups(call, tokens, { userId: await createUser() })).rows).toEqual([]);
  });

  test('of applications, by name', async () => {
    const list = async (applicationId: string) =>
      (await listApplicationGroups(call, { applicationId })).map((row) => row.groupId);
    await set({ name: 'b' });
    await set({ name: 'a' }, 'groups', another);
    await mean();
    await mean({ group_id: another });
    await mean({ application_id: other });
    expect([await list(here), await list(other)]).toEqual([[another, groupId], [groupId]]);
    expect(await list(await createApplication())).toEqual([]);
    await set({ deleted_at: NOW }, 'applications', here);
    expect(await reason(list(here))).toBe('APPLICATION_NOT_FOUND');
  });

  test('of a new group: it has a name of its own, and room among the others', async () => {
    const name = `n${randomUUID()}`.slice(0, 40);
    expect(await createGroup(call, { name })).toMatchObject({ name, displayName: null, declaredByFile: null });
    expect(await reason(createGroup(call, { name }))).toBe('GROUP_ALREADY_EXISTS');
    const declared = await sql`select declared_by_file from groups where name = ${name}`;
    expect(declared).toEqual([{ declared_by_file: null }]);
  });
});
