/** Each condition of the statements that list and remove passkeys, a row each. What people see: test/integration/modules/passkeys. */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { deletePasskey, deletePasskeyByOperator } from '../../../../src/domain/passkeys/delete-passkey.ts';
import { listPasskeys } from '../../../../src/domain/passkeys/list-passkeys.ts';
import { at, NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
let woken = 0;
const call = { ...callAt(), notices: { toLanguage: () => 'en', wake: () => void woken++ }, cutoffCount: 0 };

let stranger: string;
let userId: string;
let passkeyId: string;
beforeEach(async () => {
  [stranger, userId] = [await createUser(), await createUser()];
  passkeyId = (await insert('passkeys', { user_id: userId })).id;
  woken = 0;
});

const countPasskeys = async () => (await sql`select from passkeys where user_id = ${userId}`).length;
const readRemovals = async () =>
  (await sql`select passkey_removed_at from users where id in (${userId}, ${stranger}) order by id = ${stranger}`).map(
    (row) => row.passkey_removed_at,
  );

test.each<[string, request: () => object, cutoffCount: number, isRemoved: boolean]>([
  ['its user', () => ({}), 0, true],
  ['nobody else', () => ({ userId: stranger }), 0, false],
  ['nobody with another ID', () => ({ passkeyId: randomUUID() }), 0, false],
  ['nobody who was signed out since', () => ({}), 1, false],
])('a passkey is removed by %s', async (_, request, cutoffCount, isRemoved) => {
  await sql`update users set cutoff_count = ${cutoffCount} where id = ${userId}`;
  const removal = reason(deletePasskey(call, { userId, passkeyId, ...request() }));
  expect(await removal).toBe(isRemoved ? 'done' : 'PASSKEY_NOT_FOUND');
  expect([await countPasskeys(), await readRemovals()]).toEqual(isRemoved ? [0, [NOW, null]] : [1, [null, null]]);
  const notices = await sql`select kind from notices where user_id = ${userId}`;
  expect([notices, woken]).toEqual(isRemoved ? [[{ kind: 'passkeyRemoved' }], 1] : [[], 0]);
});

test('one that an operator removes lets the next count in full', async () => {
  await deletePasskeyByOperator(call, { userId, passkeyId });
  expect([await countPasskeys(), await readRemovals()]).toEqual([0, [null, null]]);
});

test('the held sign-ins that began with it go with it, and no others', async () => {
  const here = { application_id: await createApplication(), method: 'passkey' };
  await insert('held_sign_ins', { ...here, user_id: userId, passkey_id: passkeyId });
  await insert('held_sign_ins', { ...here, user_id: userId, passkey_id: randomUUID() });
  await insert('held_sign_ins', { ...here, user_id: stranger, passkey_id: passkeyId });
  await deletePasskey(call, { userId, passkeyId });
  const left = await sql`select user_id, passkey_id = ${passkeyId} as is_same from held_sign_ins
    where application_id = ${here.application_id} order by is_same`;
  expect(left).toEqual([
    { user_id: userId, is_same: false },
    { user_id: stranger, is_same: true },
  ]);
});

test('a list has the passkeys of a user, the oldest first, and of the same instant by ID', async () => {
  await sql`delete from passkeys where user_id = ${userId}`;
  expect(await listPasskeys(call, { userId })).toEqual([]);
  expect(await reason(listPasskeys(call, { userId: randomUUID() }))).toBe('USER_NOT_FOUND');
  const [first = '', second = '', third = ''] = [randomUUID(), randomUUID(), randomUUID()].sort();
  const rows: readonly (readonly [string, number])[] = [
    [second, -1],
    [third, -2],
    [first, -1],
  ];
  for (const [id, ms] of rows) await insert('passkeys', { user_id: userId, id, created_at: at(ms) });
  await insert('passkeys', { user_id: stranger });
  expect((await listPasskeys(call, { userId })).map(({ id }) => id)).toEqual([third, first, second]);
});
