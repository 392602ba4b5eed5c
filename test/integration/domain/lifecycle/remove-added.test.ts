/** Each condition of what the link in a notice removes, a row each. What people see: test/integration/modules/account. */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { removeAdded } from '../../../../src/domain/lifecycle/remove-added.ts';
import { at, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();

let here: string;
let userId: string;
let stranger: string;
beforeEach(async () => {
  here = await createApplication();
  [userId, stranger] = [await createUser({ wallet_address: `0x${randomUUID()}` }), await createUser()];
  await insert('webhooks', { application_id: here });
  readTold();
});

type Columns = Readonly<Record<string, unknown>>;
type Table = Parameters<typeof insert>[0];
const own = () => ({ application_id: here, user_id: userId });
const readUser = async () => (await sql`select * from users where id = ${userId}`)[0];
const setUser = (columns: object) =>
  sql`update users set ${sql({ id: userId, ...columns } as never)} where id = ${userId}`;
const count = async (table: Table, id = userId) =>
  (await sql`select from ${sql(table as string)} where user_id = ${id}`).length;

const SINCE = at(-HOUR);
const remove = () => removeAdded(callAt(), { userId, addedSince: SINCE });

test.each<[string, Date, isRemoved: boolean]>([
  ['then', SINCE, true],
  ['before', at(-HOUR - 1), false],
])('what was added since is removed: %s', async (_, instant, isRemoved) => {
  const tables: readonly Table[] = ['passkeys', 'user_identities', 'totp_secrets', 'recovery_codes'];
  for (const id of [userId, stranger])
    for (const table of tables) await insert(table, { user_id: id, created_at: instant });
  await setUser({ has_second_factor: true, wallet_linked_at: instant });
  await insert('application_users', own());
  await remove();
  for (const table of tables) expect([table, await count(table)]).toEqual([table, isRemoved ? 0 : 1]);
  for (const table of tables) expect([table, await count(table, stranger)]).toEqual([table, 1]);
  const row = await readUser();
  expect([row?.wallet_address === '', row?.has_second_factor, row?.passkey_removed_at]).toEqual([
    isRemoved,
    !isRemoved,
    isRemoved ? NOW : null,
  ]);
  expect(readTold()).toEqual(isRemoved ? [here] : []);
});

test.each<[string, prepare: () => Promise<unknown>, Columns, isTold: boolean]>([
  ['a passkey', () => insert('passkeys', { user_id: userId, created_at: NOW }), { passkey_removed_at: NOW }, false],
  [
    'a second factor',
    () => insert('totp_secrets', { user_id: userId, created_at: NOW }),
    { passkey_removed_at: NOW, has_second_factor: false },
    false,
  ],
  [
    'a wallet',
    async () => setUser({ wallet_linked_at: SINCE }),
    { wallet_address: '', passkey_removed_at: null },
    true,
  ],
  [
    'an identity',
    () => insert('user_identities', { user_id: userId, created_at: NOW }),
    { passkey_removed_at: null },
    false,
  ],
])('what was added since may be %s alone', async (_, prepare, after, isTold) => {
  await setUser({ has_second_factor: true, wallet_linked_at: at(-HOUR - 1) });
  await insert('application_users', own());
  await prepare();
  await remove();
  expect(await readUser()).toMatchObject({ has_second_factor: true, ...after });
  expect(readTold()).toEqual(isTold ? [here] : []);
});

test('a link writes no row of a user who has added nothing', async () => {
  const version = () => sql`select xmin::text from users where id = ${userId}`;
  const before = await version();
  await remove();
  expect(await version()).toEqual(before);
});

test('a link removes nothing of somebody who is deleted', async () => {
  await insert('passkeys', { user_id: userId, created_at: NOW });
  await setUser({ deleted_at: NOW });
  await remove();
  expect(await count('passkeys')).toBe(1);
});
