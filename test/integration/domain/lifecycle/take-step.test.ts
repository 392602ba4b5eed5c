/** What each step of an unfinished change does, a row for each condition. Processes that end meanwhile: finish-change.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Run } from '../../../../src/database/pool/database.ts';
import { findUnfinished, type UnfinishedChange } from '../../../../src/domain/core/unfinished-changes.ts';
import { goOn, isWaiting, takeStep } from '../../../../src/domain/lifecycle/finish-change.ts';
import { at, DAY, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();
const [SECOND, MINUTE] = [1_000, 60_000];
/** Before every ID. */
const START = '00000000-0000-0000-0000-000000000000';
const EVERY_REFUSED = '00000000-0000-0000-0000-000000000001';

type Columns = Readonly<Record<string, unknown>>;

const changeOf = (fields: Partial<UnfinishedChange> = {}): UnfinishedChange => ({
  id: randomUUID(),
  kind: 'group',
  subjectId: randomUUID(),
  losingIds: [],
  isRemoval: false,
  step: 0,
  after: START,
  createdAt: NOW,
  dueAt: NOW,
  ...fields,
});
const ids = (count: number) => Array.from({ length: count }, () => randomUUID());

/** Returns a call whose statements answer what is given by their name, and otherwise no row. */
function recordCall(answers: Readonly<Record<string, readonly unknown[]>>, now = NOW) {
  const sent: { readonly name: string; readonly parameters: Columns }[] = [];
  const told: string[] = [];
  const run = (async ({ name }, parameters) => {
    sent.push({ name, parameters });
    return answers[name] ?? [];
  }) as Run;
  return { run, now, sent, told, onMessage: (applicationId: string) => void told.push(applicationId) };
}

describe('a call goes on with its change', () => {
  const DONE = { endGroupMembers: [{ userIds: ['ada'], notifiedIds: ['app'] }] };
  const [FIND, READ, END, REMOVE] = [
    'selectUnfinishedChange',
    'selectMembersToCheck',
    'endGroupMembers',
    'removeUnfinishedChange',
  ];

  test.each<[string, change: UnfinishedChange | undefined, answers: typeof DONE | object, sent: string[]]>([
    ['to its end', changeOf(), DONE, [FIND, READ, END, REMOVE]],
    ['not if it is finished', undefined, DONE, [FIND]],
    ['not before its next step is due', changeOf({ kind: 'user', step: 1 }), DONE, [FIND]],
    ['not if another process has gone on with it', changeOf(), {}, [FIND, READ, END]],
  ])('%s', async (_, change, answers, sent) => {
    const call = recordCall({ [FIND]: change ? [change] : [], ...answers });
    const userIds = await goOn(call, 'change');
    expect(call.sent.map(({ name }) => name)).toEqual(sent);
    expect([[...userIds], call.told]).toEqual(sent.includes(REMOVE) ? [['ada'], ['app']] : [[], []]);
  });

  test('for less than a second, and not before it has committed', async () => {
    const call = recordCall({ [FIND]: [changeOf()], ...DONE });
    expect(await goOn({ ...call, isUncommitted: true }, 'change')).toEqual(new Set());
    expect(call.sent).toEqual([]);
    const clock = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValueOnce(SECOND);
    expect(await goOn(call, 'change')).toEqual(new Set());
    clock.mockRestore();
    expect(call.sent.map(({ name }) => name)).toEqual([FIND]);
  });

  test('and leaves what fails to the job', async () => {
    const failing = (() => Promise.reject(new Error('no connection'))) as Run;
    expect(await goOn({ run: failing, now: NOW }, 'change')).toEqual(new Set());
  });

  test.each<[string, fields: Partial<UnfinishedChange>, ms: number, waits: boolean]>([
    ['begins at once', { kind: 'user' }, 0, false],
    ['begins again after 20 minutes', { kind: 'user', step: 1 }, 20 * MINUTE, false],
    ['does not begin again before', { kind: 'user', step: 1 }, 20 * MINUTE - 1, true],
    ['ends at once', { kind: 'user', step: 2 }, 0, false],
  ])('which %s', (_, fields, ms, waits) => {
    expect(isWaiting(callAt(at(ms)), changeOf(fields))).toBe(waits);
  });
});

describe('a batch', () => {
  const ROW = { id: randomUUID(), userId: 'ada' };
  /** Of so many applications, a batch has one user. */
  const FULL = { kind: 'application', losingIds: ids(500) } as const;
  const LATER = 20 * MINUTE;

  test.each<[string, fields: Partial<UnfinishedChange>, rows: object[], ms: number, next: [number, string, number]]>([
    ['that is full is followed by another', FULL, [ROW], 0, [0, ROW.id, 5 * SECOND]],
    ['with few users, by the next step', { ...FULL, losingIds: [] }, [ROW], 0, [1, START, 5 * SECOND]],
    ['without users, too', FULL, [], 0, [1, START, 5 * SECOND]],
    ['before the second look, by a pause', { ...FULL, step: 1 }, [], SECOND, [2, START, LATER]],
    ['of the second look, by another', { ...FULL, step: 2 }, [ROW], LATER, [2, ROW.id, LATER + 5 * SECOND]],
  ])('%s', async (_, fields, rows, ms, [step, after, dueMs]) => {
    const done = [{ userIds: ['ada'], notifiedIds: ['app'] }];
    const read = { selectSessionsToCheck: rows, selectGrantsToCheck: rows, endRefusedUsers: done };
    const call = recordCall(read, at(ms));
    const change = changeOf(fields);
    const next = { ...change, step, after, dueAt: at(dueMs) };
    expect(await takeStep(call, change)).toEqual({ change: next, userIds: ['ada'] });
    expect(call.sent.at(-1)?.parameters).toMatchObject({ nextStep: step, nextAfter: after, dueAt: at(dueMs) });
    expect(call.told).toEqual(['app']);
  });

  test.each([
    [0, 500],
    [1, 500],
    [2, 250],
    [501, 1],
  ])('of %i applications has %i users', async (applications, limit) => {
    const call = recordCall({});
    expect(await takeStep(call, changeOf({ losingIds: ids(applications) }))).toEqual({ userIds: [] });
    expect(call.sent[0]?.parameters).toMatchObject({ limit });
  });

  test('has each user once, and none of a row that is done', async () => {
    const rows = [ROW, { id: randomUUID(), userId: null }, { id: randomUUID(), userId: 'ada' }];
    const call = recordCall({ selectGrantsToCheck: rows });
    await takeStep(call, changeOf({ kind: 'application', step: 1 }));
    expect(call.sent.at(-1)?.parameters.userIds).toEqual(['ada']);
  });
});

let here: string;
let other: string;
let stranger: string;
let userId: string;
beforeEach(async () => {
  [here, other] = [await createApplication({ restrict_access: true }), await createApplication()];
  [stranger, userId] = [await createUser(), await createUser()];
  for (const application_id of [here, other]) await insert('webhooks', { application_id });
  readTold();
});

const own = (columns: Columns = {}) => ({ application_id: here, user_id: userId, ...columns });
const setUser = (columns: object, id = userId) => sql`update users set ${sql(columns as never)} where id = ${id}`;
const usersOf = async (table: string, applicationId = here) =>
  (await sql`select user_id from ${sql(table)} where application_id = ${applicationId} order by user_id`).map(
    (row) => row.user_id,
  );

/** Stores a change, and returns what is left to do. */
async function store(fields: Columns): Promise<UnfinishedChange> {
  const row = { id: randomUUID(), kind: 'group', created_at: NOW, due_at: NOW, losing_ids: [here], ...fields };
  await sql`insert into unfinished_changes ${sql(row as never)}`;
  const change = await findUnfinished(callAt(), row.id);
  if (!change) throw new Error('It is not stored');
  return change;
}

const AFTER = '00000001-0000-0000-0000-000000000000';
/** With so many, a batch has one user. */
const many = () => [here, ...ids(499)];

describe('of an application that is restricted now', () => {
  test('sessions end one after the other, of those who may not enter', async () => {
    const [first = '', second = '', third = '', elsewhere = ''] = ids(4).sort();
    for (const id of [first, second, third, elsewhere]) {
      await createUser({ id });
      await insert('sessions', own({ user_id: id, application_id: id === elsewhere ? other : here }));
    }
    await insert('added_users', own({ user_id: third }));
    const change = await store({ kind: 'application', subject_id: here, after: first, losing_ids: many() });
    const { change: next = change, userIds } = await takeStep(callAt(), change);
    expect([userIds, next.after]).toEqual([[second], second]);
    const { change: last = change } = await takeStep(callAt(), next);
    expect([last.after, (await takeStep(callAt(), last)).change?.step]).toEqual([third, 1]);
    expect([await usersOf('sessions'), await usersOf('sessions', other)]).toEqual([[first, third], [elsewhere]]);
    expect(await usersOf('session_cutoffs')).toEqual([second]);
    // Of two processes at one step, one does it.
    await sql`delete from session_cutoffs where application_id = ${here}`;
    expect(await takeStep(callAt(), change)).toEqual({ userIds: [] });
    expect(await usersOf('session_cutoffs')).toEqual([]);
  });

  test('grants end one after the other', async () => {
    const [first, second] = ids(2).sort();
    for (const id of [second, first]) await insert('oidc_grants', own({ id }));
    const change = await store({ kind: 'application', subject_id: here, step: 1, losing_ids: many() });
    expect((await takeStep(callAt(), change)).change?.after).toBe(first);
  });

  test.each<[string, columns: () => Columns, isEnded: boolean]>([
    ['that is live', () => ({}), true],
    ['that ends next', () => ({ expires_at: at(1) }), true],
    ['that has ended', () => ({ expires_at: NOW }), false],
    ['from before a cut-off', () => ({ user_id: stranger }), false],
    ['that was looked at', () => ({ id: `00000000${randomUUID().slice(8)}` }), false],
    ['that was looked at last', () => ({ id: AFTER }), false],
    ['of another application', () => ({ application_id: other }), false],
  ])('a grant ends %s', async (_, columns, isEnded) => {
    await insert('user_cutoffs', { user_id: stranger });
    await insert('oidc_grants', own(columns()));
    const change = await store({ kind: 'application', subject_id: here, step: 1, after: AFTER });
    expect((await takeStep(callAt(), change)).userIds).toEqual(isEnded ? [userId] : []);
  });
});

describe.each([
  ['stays', false],
  ['goes', true],
])('of a group that %s', (_, isRemoval) => {
  let group: string;
  let neighbor: string;
  beforeEach(async () => {
    [{ id: group }, { id: neighbor }] = [await insert('groups', {}), await insert('groups', {})];
    for (const group_id of [group, neighbor]) {
      await insert('group_members', { group_id, user_id: userId });
      await insert('application_groups', { application_id: other, group_id });
    }
  });
  const groupsOf = async (table: string) =>
    (await sql`select group_id from ${sql(table)} where group_id in (${group}, ${neighbor})`).map(
      (row) => row.group_id,
    );

  test('members lose their access, and the applications that see it learn of them', async () => {
    const [silent, deleted] = [await createApplication(), await createUser({ deleted_at: NOW })];
    await insert('webhooks', { application_id: silent });
    await insert('group_members', { group_id: group, user_id: deleted });
    for (const user_id of [userId, stranger, deleted])
      for (const application_id of [other, silent]) await insert('application_users', { application_id, user_id });
    for (const user_id of [userId, stranger]) await insert('sessions', own({ user_id }));
    const change = await store({ subject_id: group, seeing_ids: [other], is_removal: isRemoval });
    expect((await takeStep(callAt(), change)).userIds.toSorted()).toEqual([userId, deleted].sort());
    expect(await usersOf('sessions')).toEqual([stranger]);
    const updated = () =>
      sql`select application_id, user_id from webhook_messages where type = 'user.updated' and application_id in (${other}, ${silent})`;
    expect(await updated()).toEqual([{ application_id: other, user_id: userId }]);
    expect([await groupsOf('group_members'), await groupsOf('application_groups')]).toEqual(
      isRemoval ? [[neighbor], [neighbor]] : [expect.arrayContaining([group, group, neighbor]), [group, neighbor]],
    );
    expect(await takeStep(callAt(), change)).toEqual({ userIds: [] });
    expect(await updated()).toHaveLength(1);
  });

  test('members are looked at one after the other', async () => {
    const [first = '', second = '', third = ''] = ids(3).sort();
    await sql`delete from group_members where group_id = ${group}`;
    for (const user_id of [third, first, second]) await insert('group_members', { group_id: group, user_id });
    const change = await store({ subject_id: group, is_removal: isRemoval, after: first, losing_ids: many() });
    const { change: next, userIds } = await takeStep(callAt(), change);
    expect([userIds, next?.after]).toEqual([[second], second]);
    const left = await sql`select user_id from group_members where group_id = ${group} order by user_id`;
    expect(left.map((row) => row.user_id)).toEqual(isRemoval ? [first, third] : [first, second, third]);
  });

  test('the change is removed in the end, with what has stood for it', async () => {
    const another = await store({ subject_id: neighbor });
    await insert('session_cutoffs', own({ user_id: EVERY_REFUSED, expires_at: at(366 * DAY) }));
    const change = await store({ subject_id: group, is_removal: isRemoval, step: 1 });
    expect(await takeStep(callAt(), change)).toEqual({ userIds: [] });
    expect([await findUnfinished(callAt(), change.id), await usersOf('session_cutoffs')]).toEqual([undefined, []]);
    expect(await findUnfinished(callAt(), another.id)).toEqual(another);
    const left = await sql`select id from groups where id in (${group}, ${neighbor})`;
    expect(left.map(({ id }) => id).sort()).toEqual((isRemoval ? [neighbor] : [group, neighbor]).sort());
  });
});

const STORED = ['sessions', 'passkeys', 'user_identities', 'remembered_sign_ins'] as const;
test.each<[string, Columns, left: string[]]>([
  ['deleted', { deleted_at: NOW }, ['remembered_sign_ins']],
  ['erased', { deleted_at: NOW, email: '', wallet_address: '' }, []],
])('of a user who is %s, what was stored meanwhile goes', async (_, columns, left) => {
  await setUser(columns);
  for (const table of STORED) await insert(table, table === 'sessions' ? own() : { user_id: userId });
  await takeStep(callAt(), await store({ kind: 'user', subject_id: userId }));
  for (const table of STORED) {
    const rows = await sql`select from ${sql(table)} where user_id = ${userId}`;
    expect([table, rows.length]).toEqual([table, left.includes(table) ? 1 : 0]);
  }
});

describe('of an invitation that is withdrawn', () => {
  const withdraw = async (isRemoval = true) =>
    takeStep(callAt(), await store({ kind: 'invitation', subject_id: userId, is_removal: isRemoval }));
  const isErased = async () => (await sql`select from users where id = ${userId} and email = ''`).length === 1;
  const join = async (user_id = userId) =>
    insert('group_members', { group_id: (await insert('groups', {})).id, user_id });

  test('the access ends', async () => {
    await insert('sessions', own());
    await withdraw(false);
    expect([await usersOf('sessions'), await usersOf('session_cutoffs'), await isErased()]).toEqual([
      [],
      [userId],
      false,
    ]);
  });

  /** What nobody has who is nothing but an invitation. */
  const HAD = [
    ...['application_users', 'added_users', 'invitations', 'login_intents', 'sessions', 'oidc_grants'],
    ...['passkeys', 'user_identities'],
  ] as const;
  const give = (table: (typeof HAD)[number], user_id: string) => {
    const isOfUser = table === 'passkeys' || table === 'user_identities';
    return insert(table, isOfUser ? { user_id } : { application_id: other, user_id });
  };

  test('the user goes who was nothing else, whatever others have', async () => {
    for (const table of HAD) await give(table, stranger);
    await join(stranger);
    await insert('webhooks', { application_id: here, owner_id: stranger });
    const event = { application_id: here, occurred_at: NOW, id: randomUUID(), actor_type: 'admin_key', actor: 'key' };
    const about = { action: 'AdminService/UpdateUser', resource: userId, ip_address: '::1', request_id: '' };
    await sql`insert into audit_events ${sql({ ...event, ...about })}`;
    await withdraw();
    expect(await isErased()).toBe(true);
    expect(await sql`select ip_address from audit_events where id = ${event.id}`).toEqual([{ ip_address: '' }]);
    expect(await sql`select deleted_at from users where id = ${stranger}`).toEqual([{ deleted_at: null }]);
  });

  test.each<[string, prepare: () => PromiseLike<unknown>]>([
    ...HAD.map((table): [string, () => PromiseLike<unknown>] => [`has ${table}`, () => give(table, userId)]),
    ['is in a group', () => join()],
    ['owns a webhook', () => insert('webhooks', { application_id: here, owner_id: userId })],
    ['is deleted', () => setUser({ deleted_at: NOW })],
    ['is deactivated', () => setUser({ deactivated_at: NOW })],
    ['has a wallet', () => setUser({ wallet_address: `0x${randomUUID()}` })],
    ['has proved the address', () => setUser({ email_verified_at: NOW })],
    ['has had another address', () => setUser({ email_changed_at: NOW })],
    ['has an image', () => setUser({ profile_image: 'https://img.test' })],
    ['has an external ID', () => setUser({ external_id: randomUUID() })],
    ['has attributes', () => setUser({ attributes: sql.json({ plan: 'pro' }) })],
  ])('nobody goes who %s', async (_, prepare) => {
    await prepare();
    await withdraw();
    expect(await isErased()).toBe(false);
  });
});
