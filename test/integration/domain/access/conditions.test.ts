/** Who may enter an application, and the groups that it sees: each condition a row. */
import { sql } from 'drizzle-orm';
import { beforeEach, expect, test } from 'vitest';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import {
  accessByCtes,
  grantedByGroups,
  isRefused,
  maySignIn,
  shownGroups,
} from '../../../../src/domain/access/has-access.ts';
import { at, NOW, openDomain } from '../../../support/domain-scene.ts';

const { insert, callAt, createUser, createApplication } = await openDomain();
const call = callAt();

const IDS = [p.uuid('applicationId'), p.uuid('userId')] as const;
const ACCESS = {
  isRefused: t.boolean,
  maySignIn: t.boolean,
  mayByCtes: t.boolean,
  isCounted: t.boolean,
  groups: t.json<readonly string[]>(),
  hidden: t.json<readonly string[]>(),
};
const selectAccess = statement('select_access', ACCESS)`
  with ${accessByCtes.ctes}
  select ${isRefused(...IDS)} as is_refused, ${maySignIn} as may_sign_in, ${accessByCtes.condition} as may_by_ctes,
    exists (${grantedByGroups(...IDS, sql`m.added_at < ${p.instant('now')}`)}) as is_counted,
    ${shownGroups(...IDS)} as groups, ${shownGroups(...IDS, sql`false`)} as hidden`;

let here: string;
let other: string;
let userId: string;
let stranger: string;
let first: string | undefined;
let second: string | undefined;
beforeEach(async () => {
  [here, other] = [await createApplication({ restrict_access: true }), await createApplication()];
  [userId, stranger] = [await createUser(), await createUser()];
  [first, second] = await Promise.all(
    ['a', 'b'].map(async (name) => (await insert('groups', { name: name + here })).id),
  );
});

type Columns = Readonly<Record<string, unknown>>;
const add = (columns: Columns = {}) => insert('added_users', { application_id: here, user_id: userId, ...columns });
const mean = (columns: Columns = {}) =>
  insert('application_groups', { application_id: here, group_id: first, in_claim: true, ...columns });
const join = (columns: Columns = {}) => insert('group_members', { group_id: first, user_id: userId, ...columns });
const invite = (columns: Columns = {}) =>
  insert('invitations', {
    ...{ application_id: here, user_id: userId, added_user: true, expires_at: NOW },
    ...columns,
  });

type Expected = Partial<Record<'isRefused' | 'maySignIn' | 'isCounted' | 'isShown', boolean>>;
const ADDED: Expected = { isRefused: false, maySignIn: true };
const GRANTED: Expected = { ...ADDED, isCounted: true };

test.each<[string, prepare: () => readonly PromiseLike<unknown>[], expected: Expected]>([
  ['nobody', () => [], {}],
  ['an added user', () => [add()], ADDED],
  ['a user who is added elsewhere', () => [add({ application_id: other })], {}],
  ['a user beside whom another is added', () => [add({ user_id: stranger })], {}],
  ['a user with an expired invitation', () => [add(), invite()], { isRefused: false }],
  ['a user with an open invitation', () => [add(), invite({ expires_at: at(1) })], ADDED],
  ['a user with an accepted invitation', () => [add(), invite({ accepted_at: NOW })], ADDED],
  ['a user whom the invitation has not added', () => [add(), invite({ added_user: false })], ADDED],
  ['a user with an expired invitation elsewhere', () => [add(), invite({ application_id: other })], ADDED],
  ['a user beside an expired invitation', () => [add(), invite({ user_id: stranger })], ADDED],
  ['a member', () => [mean(), join()], { ...GRANTED, isShown: true }],
  ['a member who does not count', () => [mean(), join({ added_at: NOW })], { ...ADDED, isShown: true }],
  ['a member of a group that the claim lacks', () => [mean({ in_claim: false }), join()], GRANTED],
  ['a member of a group without access', () => [mean({ allows_access: false }), join()], { isShown: true }],
  ['a member of a group of another application', () => [mean({ application_id: other }), join()], {}],
  ['a member of another group', () => [mean(), join({ group_id: second })], {}],
  ['a user beside a member', () => [mean(), join({ user_id: stranger })], {}],
])('%s', async (_, prepare, expected) => {
  for (const done of prepare()) await done;
  const { isShown = false, ...rest } = { isRefused: true, maySignIn: false, isCounted: false, ...expected };
  const groups = isShown ? [`a${here}`] : [];
  expect(await call.run(selectAccess, { applicationId: here, userId, now: NOW })).toEqual([
    { ...rest, mayByCtes: rest.maySignIn, groups, hidden: [] },
  ]);
});

test('nobody is refused by an application that is not restricted', async () => {
  const [found] = await call.run(selectAccess, { applicationId: other, userId, now: NOW });
  expect(found).toMatchObject({ isRefused: false, maySignIn: false });
});

test('groups are in the order of their names', async () => {
  for (const group_id of [second, first]) {
    await mean({ group_id });
    await join({ group_id });
  }
  const [found] = await call.run(selectAccess, { applicationId: here, userId, now: NOW });
  expect(found?.groups).toEqual([`a${here}`, `b${here}`]);
});
