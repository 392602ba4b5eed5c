/** Each condition of a change of the own address, and of the link that undoes it, a row each. */
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { PostgresError } from '../../../../../src/database/sql/driver.ts';
import { deriveKeys } from '../../../../../src/domain/crypto/derived-keys.ts';
import { ADDRESS_IS_MUTED } from '../../../../../src/domain/login/create-login-code.ts';
import { deriveLoginCodeKeys } from '../../../../../src/domain/login/login-code.ts';
import { createMuteToken, muteAddress } from '../../../../../src/domain/login/muted-addresses.ts';
import {
  changeAddress,
  createAddressCode,
  findNewAddress,
  requireAddressCode,
} from '../../../../../src/modules/account/domain/change-address.ts';
import {
  createUndoToken,
  readUndoToken,
  undoAddressChange,
} from '../../../../../src/modules/account/domain/undo-address-change.ts';
import { at, DAY, HOUR, NOW, openDomain, reason } from '../../../../support/domain-scene.ts';
import { newBrowser } from '../../../../support/new-browser.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();
const keys = deriveKeys([randomBytes(32)], 'test');
const settings = { keys: deriveLoginCodeKeys([randomBytes(32)]), limitFactor: 1_000 };
const MINUTE = 60_000;

let here: string;
let userId: string;
let stranger: string;
beforeEach(async () => {
  here = await createApplication();
  [stranger, userId] = [await createUser(), await createUser()];
  readTold();
});

const set = (table: string, columns: object, id: string) =>
  sql`update ${sql(table)} set ${sql(columns as never)} where id = ${id}`;
const setUser = (columns: object) => set('users', columns, userId);
const readUser = async (id = userId) => (await sql`select * from users where id = ${id}`)[0];

describe('the code for a new address', () => {
  const browser = newBrowser();
  const email = () => `new.${userId}@example.com`;
  const create = (given: { email?: string; isRefused?: boolean } = {}, call = callAt()) =>
    createAddressCode(call, settings, browser, { userId, of: userId, ...given }, { email: given.email ?? email() });
  const enter = (changeId: string, code: string, from = browser) =>
    requireAddressCode(callAt(), settings, from, { userId, of: userId }, { changeId, code });
  const mute = () => muteAddress(callAt(), settings.keys, createMuteToken(settings.keys, email(), NOW));

  test.each<
    [string, prepare: () => PromiseLike<unknown>, given: { isRefused?: boolean }, decoyReason: string | undefined]
  >([
    ['goes to an address of nobody', async () => undefined, {}, undefined],
    ['goes to the own address', () => setUser({ email: email().toUpperCase() }), {}, undefined],
    ['does not go to that of somebody else', () => createUser({ email: email() }), {}, 'the address may not be taken'],
    [
      'does not go to one that nobody may take',
      async () => undefined,
      { isRefused: true },
      'the address may not be taken',
    ],
    ['does not go to one that is muted', mute, {}, ADDRESS_IS_MUTED],
  ])('%s', async (_, prepare, given, decoyReason) => {
    await prepare();
    const { changeId, code, isDecoy, ...created } = await create(given);
    expect([created.decoyReason, isDecoy]).toEqual([decoyReason, decoyReason !== undefined]);
    const entered = enter(changeId, code);
    if (isDecoy) await expect(entered).rejects.toMatchObject({ reason: 'WRONG_CODE' });
    else expect(await entered).toBe(email());
    expect(await findNewAddress(callAt(), browser, userId, changeId)).toBe(email());
  });

  test('is good for its change in its browser, and no other', async () => {
    const { changeId, code } = await create();
    const wrong = code === '000000' ? '000001' : '000000';
    expect(await reason(enter(changeId, wrong))).toBe('WRONG_CODE');
    expect(await reason(enter(changeId, code, newBrowser()))).toBe('CODE_NOT_VALID');
    for (const [other, refusal] of [
      ['', 'CODE_NOT_VALID'],
      ['x'.repeat(64), 'CODE_NOT_VALID'],
      ['x'.repeat(65), 'VALIDATION_FAILED'],
    ] as const)
      expect(await reason(enter(other, code))).toBe(refusal);
    expect(await findNewAddress(callAt(), newBrowser(), userId, changeId)).toBe('');
  });

  test('proves the address that the user then has', async () => {
    const { changeId, code } = await create();
    const change = await changeAddress(callAt(), settings, browser, userId, { changeId, code });
    expect(change).toMatchObject({ to: email() });
    expect(await readUser()).toMatchObject({ email: email(), email_verified_at: NOW });
    expect(await readUser(stranger)).toMatchObject({ email_verified_at: null });
  });

  test('does not stay after an erasure that comes meanwhile', async () => {
    const { run, ...call } = callAt();
    const countCodes = async () => (await sql`select from login_codes where user_id = ${userId}`).length;
    const late: typeof run = async (statement, parameters) => {
      const rows = await run(statement, parameters);
      if ((await countCodes()) > 0) await setUser({ deleted_at: NOW, email: '', wallet_address: '' });
      return rows;
    };
    await create({}, { ...call, run: late });
    expect(await countCodes()).toBe(0);
  });
});

describe('the link that undoes a change of the address', () => {
  const change = () => ({ userId, from: 'old@example.com', to: 'new@example.com', at: at(-HOUR) });

  test('names the change, and no other text does', () => {
    const token = createUndoToken(keys, change());
    expect([readUndoToken(keys, token, NOW), readUndoToken(keys, `${token}x`, NOW)]).toEqual([change(), undefined]);
  });

  /** The link of a change from an address of the user's own. */
  const mine = () => ({ ...change(), from: `${userId}@example.com` });
  let woken = 0;
  const undo = (link = mine(), meanwhile?: () => PromiseLike<unknown>) => {
    woken = 0;
    return undoAddressChange(
      { ...callAt(NOW, meanwhile), notices: { toLanguage: () => 'en', wake: () => void woken++ } },
      link,
    );
  };

  test('tells the application and the lost address, once', async () => {
    await insert('webhooks', { application_id: here });
    for (const user_id of [userId, stranger]) await insert('application_users', { application_id: here, user_id });
    const { email } = await insert('users', {});
    await setUser({ email: `${email}.x`, email_changed_at: at(-HOUR) });
    await undo();
    expect([await readUser(), readTold(), woken]).toMatchObject([
      { email: mine().from, cutoff_count: 1, email_verified_at: null, email_changed_at: NOW },
      [here],
      1,
    ]);
    const told =
      await sql`select user_id, recipient from notices where kind = 'addressReplaced' and user_id = ${userId}`;
    expect(told).toEqual([{ user_id: userId, recipient: `${email}.x` }]);
    expect(await readUser(stranger)).toMatchObject({ cutoff_count: 0 });
  });

  test('keeps the proof of the address that the user has in other letters', async () => {
    const { from } = mine();
    await setUser({ email: from.toUpperCase(), email_verified_at: at(-DAY), email_changed_at: at(-HOUR) });
    await undo();
    expect(await readUser()).toMatchObject({ email: from, email_verified_at: at(-DAY) });
  });

  test.each<[string, prepare: () => PromiseLike<unknown>, outcome: string]>([
    ['somebody else has the address', () => createUser({ email: mine().from.toUpperCase() }), 'USER_ALREADY_EXISTS'],
    [
      'somebody deleted had it, and the user has it',
      () => Promise.all([createUser({ email: mine().from, deleted_at: NOW }), setUser({ email: mine().from })]),
      'done',
    ],
    ['the user is deleted', () => setUser({ deleted_at: NOW }), 'USER_NOT_FOUND'],
  ])('%s', async (_, prepare, outcome) => {
    await prepare();
    expect(await reason(undo())).toBe(outcome);
    const told = await sql`select from notices where kind = 'addressReplaced' and user_id = ${userId}`;
    expect(told).toHaveLength(0);
  });

  test('removes what was added after its sign-in, also while it is on its way, and only by the first click', async () => {
    const addPasskey = (ms: number) => insert('passkeys', { user_id: userId, created_at: at(-HOUR + ms) });
    const countPasskeys = async () => (await sql`select from passkeys where user_id = ${userId}`).length;
    await insert('passkeys', { user_id: stranger, created_at: NOW });
    await addPasskey(-16 * MINUTE);
    await addPasskey(-14 * MINUTE);
    await undo(mine(), () => addPasskey(0));
    expect(await countPasskeys()).toBe(1);
    await addPasskey(0);
    await undo();
    expect(await countPasskeys()).toBe(2);
    expect(await sql`select from passkeys where user_id = ${stranger}`).toHaveLength(1);
  });

  test('is refused if somebody has it in another spelling, of before Usher knew that they are one', async () => {
    await createUser({ email: `${userId}@b\u00fccher.example` });
    expect(await reason(undo({ ...mine(), from: `${userId}@xn--bcher-kva.example` }))).toBe('USER_ALREADY_EXISTS');
    expect(await readUser()).toMatchObject({ cutoff_count: 0 });
  });

  test('is later than a change that a replica with a faster clock has made', async () => {
    await undo({ ...mine(), at: at(5_000) });
    expect((await readUser())?.email_changed_at.getTime()).toBeGreaterThanOrEqual(at(5_000).getTime());
  });

  test('also ends a session that begins meanwhile', async () => {
    const session = { application_id: here, user_id: userId };
    await undo(mine(), () => insert('sessions', session));
    expect(await sql`select from sessions where user_id = ${userId}`).toEqual([]);
  });

  test.each([
    ['somebody takes the address in the same instant', '23505', 'USER_ALREADY_EXISTS'],
    ['Postgres fails', '57P01', undefined],
  ])('says why it was not used: %s', async (_, code, reason) => {
    const { run: _run, ...call } = callAt();
    const run = () => Promise.reject(Object.assign(new PostgresError('refused'), { code }));
    await expect(undoAddressChange({ ...call, run }, mine())).rejects.toMatchObject(reason ? { reason } : { code });
  });
});
