/** Which users an application sees, a row for each condition. What applications see: test/contract/users.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { isUserOfApplication } from '../../../../src/domain/users/application-user.ts';
import { batchGetUsers } from '../../../../src/domain/users/batch-get-users.ts';
import { getApplicationUser } from '../../../../src/domain/users/get-application-user.ts';
import { listApplicationUsers } from '../../../../src/domain/users/list-application-users.ts';
import { listUserApplications } from '../../../../src/domain/users/list-user-applications.ts';
import { at, NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, createUser, createApplication } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);

let here: string;
let other: string;
let stranger: string;
let neighbor: string;
let userId: string;
let wallet: string;
beforeEach(async () => {
  [here, other] = [await createApplication(), await createApplication()];
  [stranger, neighbor] = [await createUser(), await createUser()];
  wallet = `0xAB${randomUUID()}`;
  userId = await createUser({ email: `${randomUUID()}@example.com`, wallet_address: wallet });
  // One who has signed in here, and one who has signed in elsewhere.
  await insert('application_users', { application_id: here, user_id: neighbor, first_signed_in_at: at(-2) });
  await insert('application_users', { application_id: other, user_id: stranger });
});

type Columns = Readonly<Record<string, unknown>>;
const own = (columns: Columns = {}) => ({ application_id: here, user_id: userId, ...columns });
const signIn = (columns: Columns = {}) => insert('application_users', own({ first_signed_in_at: at(-1), ...columns }));
const setUser = (columns: Columns) => sql`update users set ${sql(columns as never)} where id = ${userId}`;
const deleteHere = () => sql`update applications set deleted_at = ${NOW} where id = ${here}`;
const idsOf = (users: readonly { readonly id: string }[]) => users.map(({ id }) => id);
const list = async (filter: Columns) => idsOf((await listApplicationUsers(callOf(here), tokens, filter)).rows);

describe('an application sees a user', () => {
  test.each<[string, prepare: () => PromiseLike<unknown>, isSeen: boolean]>([
    ['who has signed in', () => signIn(), true],
    ['who is deactivated', () => signIn().then(() => setUser({ deactivated_at: NOW })), true],
    ['not who is deleted', () => signIn().then(() => setUser({ deleted_at: NOW })), false],
    ['not who has signed in elsewhere', () => signIn({ application_id: other }), false],
    ['not who was added alone', () => insert('added_users', own()), false],
  ])('%s', async (_, prepare, isSeen) => {
    await prepare();
    const [user] = await sql`select email from users where id = ${userId}`;
    const found = isSeen ? [userId] : [];
    const get = getApplicationUser(callOf(here), { userId });
    expect(
      await get.then(
        ({ id }) => id,
        (error) => error.reason,
      ),
    ).toBe(isSeen ? userId : 'USER_NOT_FOUND');
    expect(idsOf(await batchGetUsers(callOf(here), { userIds: [stranger, userId] }))).toEqual(found);
    expect(await list({})).toEqual([...found, neighbor]);
    for (const filter of [
      { email: user?.email },
      { walletAddress: wallet },
      { email: user?.email, walletAddress: wallet },
    ])
      expect([filter, await list(filter)]).toEqual([filter, found]);
    expect(await list({ email: user?.email, walletAddress: `${wallet}0` })).toEqual([]);
  });

  test('by either spelling of an address, the canonical one of two', async () => {
    const key = randomUUID();
    const twin = await createUser({ email: `${key}@bücher.test` });
    await setUser({ email: `${key}@xn--bcher-kva.test` });
    for (const id of [twin, userId]) await insert('application_users', own({ user_id: id }));
    expect(await list({ email: `${key}@bücher.test` })).toEqual([userId]);
    await setUser({ deleted_at: NOW });
    expect(await list({ email: `${key}@xn--bcher-kva.test` })).toEqual([twin]);
  });
});

test.each<[string, attributeClaims: string[], attributes: object | null]>([
  ['those that it lists', ['plan', 'missing'], { plan: 'pro' }],
  ['none', [], null],
])('an application sees of the attributes %s', async (_, attributeClaims, attributes) => {
  await signIn();
  await setUser({ attributes: sql.json({ plan: 'pro', secret: 'churn risk' }) });
  const user = await getApplicationUser(callOf(here, { attributeClaims }), { userId });
  expect(user.attributes).toEqual(attributes);
});

test('of many, a batch reads those that are asked for, 100 at most', async () => {
  let read = -1;
  const call = callOf(here);
  const run: Call['run'] = async (select, parameters) => {
    const rows = await call.run(select, parameters);
    read = (rows as unknown[]).length;
    return rows;
  };
  const ids = Array.from({ length: 99 }, () => randomUUID());
  await signIn();
  expect(idsOf(await batchGetUsers({ ...call, run }, { userIds: [...ids, userId] }))).toEqual([userId]);
  expect(read).toBe(1);
  const more = batchGetUsers(call, { userIds: [...ids, userId, stranger] });
  expect([await reason(more), await reason(batchGetUsers(call, { userIds: [] }))]).toEqual(
    Array(2).fill('VALIDATION_FAILED'),
  );
  expect(idsOf(await batchGetUsers(call, { userIds: [userId] }))).toEqual([userId]);
});

test.each<[string, prepare: () => PromiseLike<unknown> | undefined, isOne: boolean]>([
  ['who has signed in', () => signIn(), true],
  ['who was added', () => insert('added_users', own()), true],
  ['nobody else', () => undefined, false],
  ['not who has signed in elsewhere', () => signIn({ application_id: other }), false],
  ['not who was added elsewhere', () => insert('added_users', own({ application_id: other })), false],
  ['not beside one who was added', () => insert('added_users', own({ user_id: stranger })), false],
])('a user of an application is one %s', async (_, prepare, isOne) => {
  await prepare();
  const select = statement('evaluate', { value: t.boolean })`select ${isUserOfApplication(p.uuid('userId'))} as value`;
  const [row] = await callAt().run(select, { applicationId: here, userId });
  expect(row?.value).toBe(isOne);
});

test('the applications of a user are those that are not deleted, the first sign-in last', async () => {
  const read = async () =>
    (await listUserApplications(callAt(), tokens, { userId })).rows.map(({ applicationId }) => applicationId);
  expect(await read()).toEqual([]);
  await signIn();
  await signIn({ application_id: other, first_signed_in_at: NOW });
  expect(await read()).toEqual([other, here]);
  await deleteHere();
  expect(await read()).toEqual([other]);
});
