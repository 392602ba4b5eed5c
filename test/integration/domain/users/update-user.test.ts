/** Each condition of the statement that changes a user, a row each. What people see: test/contract/users.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { changeOwnEmail, linkWallet, readUserVersion, updateUser } from '../../../../src/domain/users/update-user.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, DAY, NOW, openDomain, reasonOf } from '../../../support/domain-scene.ts';
import { holdLock, waitForLockWaiters } from '../../../support/lock.ts';

const { sql, insert, callAt, clone, readTold, createUser, createApplication } = await openDomain();
const call = callAt();

let here: string;
let userId: string;
let stranger: string;
let email: string;
beforeEach(async () => {
  email = `${randomUUID()}@example.com`;
  [here, userId, stranger] = [await createApplication(), await createUser({ email }), await createUser()];
});

type Columns = Readonly<Record<string, unknown>>;
const own = (columns: Columns = {}) => ({ application_id: here, user_id: userId, ...columns });
const readUser = async () => (await sql`select * from users where id = ${userId}`)[0];
const setUser = (columns: object, id = userId) =>
  sql`update users set ${sql({ id, ...columns } as never)} where id = ${id}`;

test('a user has a version until the user is deleted', async () => {
  expect(await readUserVersion(call, { userId })).toEqual(expect.any(String));
  await setUser({ deleted_at: NOW });
  expect(await readUserVersion(call, { userId })).toBeUndefined();
});

describe('a change of a user', () => {
  const WALLET = '0x00000000000000000000000000000000000000ab';
  const link = (walletAddress = WALLET, address = email) => linkWallet(call, { userId, email: address, walletAddress });

  test.each<[string, Columns, address: string | undefined, isLinked: boolean]>([
    ['is linked', {}, undefined, true],
    ['is linked in another spelling of the address', {}, 'upper', true],
    ['is none of another address', {}, 'b@example.com', false],
    ['is none of a deactivated user', { deactivated_at: NOW }, undefined, false],
    ['is none of a deleted user', { deleted_at: NOW }, undefined, false],
  ])('a wallet %s', async (_, columns, address, isLinked) => {
    await sql`update users set wallet_address = '' where wallet_address = ${WALLET}`;
    await setUser(columns);
    expect(await link(WALLET, address === 'upper' ? email.toUpperCase() : address)).toBe(isLinked);
    expect(await readUser()).toMatchObject({ wallet_linked_at: isLinked ? NOW : null });
  });

  test('a wallet of somebody else is taken, and of nobody who is deleted', async () => {
    await sql`update users set wallet_address = '' where wallet_address <> ''`;
    await setUser({ wallet_address: WALLET.toUpperCase() }, stranger);
    expect(await link().catch(reasonOf)).toBe('WALLET_ALREADY_LINKED');
    await setUser({ deleted_at: NOW }, stranger);
    expect([await link(), await link()]).toEqual([true, false]);
  });

  test('another wallet ends held sign-ins by the last one, and no others', async () => {
    await sql`update users set wallet_address = '' where wallet_address <> ''`;
    await setUser({ wallet_address: WALLET });
    const held = async (columns: Columns) => insert('held_sign_ins', own({ method: 'wallet', ...columns }));
    const left = async () =>
      (await sql`select method from held_sign_ins where application_id = ${here} order by 1`).map((row) => row.method);
    await held({});
    await held({ method: 'passkey' });
    await held({ user_id: stranger, method: 'wallet' });
    await updateUser(call, { userId, walletAddress: WALLET.toUpperCase().replace('X', 'x') });
    expect(await left()).toEqual(['passkey', 'wallet', 'wallet']);
    await updateUser(call, { userId, walletAddress: '0x00000000000000000000000000000000000000cd' });
    expect(await left()).toEqual(['passkey', 'wallet']);
  });

  test('of the address keeps the proof of the same in another spelling, and voids undo links unless it keeps them', async () => {
    const proof = { email_verified_at: at(-DAY), email_changed_at: at(-DAY) };
    await setUser(proof);
    await updateUser(call, { userId, email: email.toUpperCase() });
    expect(await readUser()).toMatchObject({ email_verified_at: at(-DAY), email_changed_at: NOW });
    expect((await readUser())?.void_undo_links).not.toBeNull();
    await setUser({ void_undo_links: null, ...proof, email_changed_at: at(DAY) });
    const next = `${randomUUID()}@example.com`;
    const before = await readUser();
    const change = await changeOwnEmail(call, { userId, email: next });
    expect(change).toEqual({ from: before?.email, to: next, at: at(DAY + 1) });
    const after = { email_verified_at: null, void_undo_links: null, email_changed_at: at(DAY + 1) };
    expect(await readUser()).toMatchObject(after);
    await updateUser(call, { userId, name: 'Ada' });
    expect(await readUser()).toMatchObject(after);
  });

  test('makes the user more than an invitation', async () => {
    const rows = [
      { email: 'own', created_user: true },
      { email: 'somebody', created_user: true, user_id: stranger },
    ];
    for (const columns of rows) await insert('invitations', own(columns));
    const read = async () =>
      (await sql`select created_user from invitations where application_id = ${here} order by email`).map(
        (row) => row.created_user,
      );
    await updateUser(call, { userId, email });
    expect(await read()).toEqual([true, true]);
    await updateUser(call, { userId, name: 'Ada' });
    expect(await read()).toEqual([false, true]);
  });

  test.each<[string, change: Columns, fields: () => object, reason: string]>([
    ['address', { email: 'one@example.com' }, () => ({ email: 'One@example.com' }), 'USER_ALREADY_EXISTS'],
    ['wallet', { wallet_address: '0xEF' }, () => ({ walletAddress: '0xef' }), 'USER_ALREADY_EXISTS'],
    ['external ID', { external_id: 'one' }, () => ({ externalId: 'one' }), 'EXTERNAL_ID_ALREADY_EXISTS'],
  ])('is refused with the %s of another one, and not with that of a deleted one', async (_, change, fields, reason) => {
    await sql`update users set deleted_at = ${NOW} where email = 'one@example.com' or wallet_address = '0xEF' or external_id = 'one'`;
    await setUser(change, stranger);
    expect(await updateUser(call, { userId, ...fields() }).catch(reasonOf)).toBe(reason);
    await setUser({ deleted_at: NOW }, stranger);
    expect(await updateUser(call, { userId, ...fields() })).toMatchObject({ id: userId });
    expect(await updateUser(call, { userId, ...fields() })).toMatchObject({ id: userId });
  });

  test('is refused without a violation of an index, which Postgres would write to its log', async () => {
    const taken = {
      email: `${randomUUID()}@bücher.test`,
      wallet_address: `0x${randomUUID()}`,
      external_id: randomUUID(),
    };
    await setUser(taken, stranger);
    const violations: unknown[] = [];
    const run: typeof call.run = (statement, parameters) =>
      call.run(statement, parameters).catch((error) => {
        violations.push(error);
        throw error;
      });
    const before = await readUser();
    for (const fields of [
      { email: taken.email },
      { walletAddress: taken.wallet_address },
      { externalId: taken.external_id },
    ])
      expect(await updateUser({ ...call, run }, { userId, ...fields }).catch(reasonOf)).toMatch(/ALREADY_EXISTS/);
    expect([violations, await readUser()]).toEqual([[], before]);
  });

  // On Citus the lock of a row is its worker's.
  test
    .skipIf(LAYOUT === 'distributed')
    .each<[string, column: string, fields: (value: string) => object, reason: string]>([
      ['external ID', 'external_id', (externalId) => ({ externalId }), 'EXTERNAL_ID_ALREADY_EXISTS'],
      ['address', 'email', (address) => ({ email: address }), 'USER_ALREADY_EXISTS'],
    ])('is refused with the %s that another one gets meanwhile', async (_, column, fields, reason) => {
    const value = `${randomUUID()}@example.com`;
    await using lock = await holdLock(clone, `update users set ${column} = '${value}' where id = '${stranger}'`);
    const update = updateUser(call, { userId, ...fields(value) }).catch(reasonOf);
    await waitForLockWaiters(clone);
    await lock.release();
    expect(await update).toBe(reason);
  });

  test('that fails is no answer about others', async () => {
    const failing = () => Promise.reject(new Error('no connection'));
    await expect(updateUser({ ...call, run: failing }, { userId, name: 'Ada' })).rejects.toThrow('no connection');
  });

  test('is refused if the user has changed since, or was signed out everywhere', async () => {
    const ifVersion = (await readUserVersion(call, { userId })) ?? '';
    await updateUser({ ...call, ifVersion }, { userId, name: 'Ada' });
    expect(await updateUser({ ...call, ifVersion }, { userId, name: 'Bob' }).catch(reasonOf)).toBe('CHANGED_MEANWHILE');
    await setUser({ cutoff_count: 1 });
    expect(await updateUser({ ...call, cutoffCount: 0 }, { userId, name: 'Bob' }).catch(reasonOf)).toBe(
      'USER_NOT_FOUND',
    );
    expect(await readUser()).toMatchObject({ name: 'Ada' });
  });

  test('of the name keeps what was proved, and an operator links a wallet for nobody', async () => {
    await setUser({ email_verified_at: at(-DAY), wallet_linked_at: at(-DAY), wallet_address: `0x${randomUUID()}` });
    await updateUser(call, { userId, name: 'Ada' });
    expect(await readUser()).toMatchObject({ email_verified_at: at(-DAY), wallet_linked_at: at(-DAY) });
    await updateUser(call, { userId, walletAddress: `0x${randomUUID()}` });
    expect(await readUser()).toMatchObject({ wallet_linked_at: null });
    // Many users have none.
    expect(await updateUser(call, { userId, walletAddress: '' })).toMatchObject({ walletAddress: '' });
  });

  test('is told to the applications of the user, and is none of nobody', async () => {
    await insert('webhooks', { application_id: here });
    await insert('application_users', own());
    readTold();
    await updateUser(call, { userId, name: 'Ada' });
    expect(readTold()).toEqual([here]);
    await setUser({ deleted_at: NOW });
    expect(await changeOwnEmail(call, { userId, email: `new.${email}` }).catch(reasonOf)).toBe('USER_NOT_FOUND');
  });

  test('writes no invitation that has created nobody', async () => {
    const { id } = await insert('invitations', own({ created_user: false }));
    const version = () => sql`select xmin::text from invitations where id = ${id}`;
    const before = await version();
    await updateUser(call, { userId, name: 'Ada' });
    expect(await version()).toEqual(before);
  });

  test.each<[string, change: (call: Parameters<typeof updateUser>[0]) => Promise<unknown>, kinds: string[]]>([
    ['the name', (by) => updateUser(by, { userId, name: 'Ada' }), []],
    ['the address', (by) => updateUser(by, { userId, email: `new.${email}` }), ['addressReplaced']],
    ['the own address', (by) => changeOwnEmail(by, { userId, email: `new.${email}` }), ['addressChanged']],
    ['the wallet', (by) => updateUser(by, { userId, walletAddress: '0x1' }), ['walletLinked', 'walletRemoved']],
    ['the spelling of the wallet', (by) => updateUser(by, { userId, walletAddress: '0XAB' }), []],
    ['the wallet to none', (by) => updateUser(by, { userId, walletAddress: '' }), ['walletRemoved']],
  ])('is told to the address of before: of %s', async (_, change, kinds) => {
    await sql`update users set wallet_address = '' where wallet_address <> ''`;
    await setUser({ wallet_address: '0xAB' });
    let woken = 0;
    await change({ ...call, notices: { toLanguage: () => 'en', wake: () => void woken++ } });
    const told = await sql`select kind, recipient from notices where user_id = ${userId} order by kind`;
    expect(told).toEqual(kinds.map((kind) => ({ kind, recipient: email })));
    expect(woken).toBe(1);
  });
});
