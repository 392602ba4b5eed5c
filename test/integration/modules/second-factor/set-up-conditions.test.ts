/** Each condition of setting up an authenticator app, a row each. What people see: the tests beside this one. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../../src/domain/core/call.ts';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { deriveKeys } from '../../../../src/domain/crypto/derived-keys.ts';
import { getLoginIntent } from '../../../../src/domain/login/get-login-intent.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { computeTotp } from '../../../../src/domain/second-factor/totp.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { decodeBase32 } from '../../../../src/encoding/base32.ts';
import {
  confirmTotp,
  confirmTotpInLogin,
  createSecret,
  makeRecoveryCodes,
  openSecret,
} from '../../../../src/modules/second-factor/domain/confirm-totp.ts';
import { at, DAY, HOUR, NOW, openDomain, reason } from '../../../support/domain-scene.ts';
import { generateIssuerKey } from '../../../support/issuer.ts';
import { holdLock, waitForQueue } from '../../../support/lock.ts';
import { newBrowser } from '../../../support/new-browser.ts';

const { sql, insert, callAt, clone, createUser, createApplication } = await openDomain();
const MINUTE = 60_000;
const { privateKey, kid, alg } = generateIssuerKey('EdDSA', 'key');
const parts = {
  keys: deriveKeys([randomBytes(32)], 'test'),
  cipher: new RowCipher([randomBytes(32)]),
  codes: { keys: deriveLoginCodeKeys([randomBytes(32)]) },
  tokens: await AuthTokens.create('https://usher.test', [{ ...privateKey.export({ format: 'jwk' }), kid, alg }]),
};
const browser = newBrowser();
/** Has recovery codes and no app, and another address since a day. */
const stranger = await createUser({ email_changed_at: at(-DAY) });
await insert('recovery_codes', { user_id: stranger });

let here: string;
let login: { userId: string; loginIntentId: string };
beforeEach(async () => {
  here = await createApplication();
  login = { userId: await createUser(), loginIntentId: randomUUID() };
});

test.each<[string, given: object, ms: number, isOpened: boolean]>([
  ['is opened', {}, 0, true],
  ['is opened for 10 minutes', {}, 10 * MINUTE - 1, true],
  ['is opened no longer', {}, 10 * MINUTE, false],
  ['of another user is not', { userId: randomUUID() }, 0, false],
  ['of another login is not', { loginIntentId: randomUUID() }, 0, false],
  ['of another browser is not', { browser: newBrowser() }, 0, false],
])('a secret %s', async (_, { browser: of = browser, ...given }: { browser?: typeof browser }, ms, isOpened) => {
  for (const changedAt of [null, at(-HOUR)]) {
    await sql`update users set email_changed_at = ${changedAt} where id = ${login.userId}`;
    const { sealed, secret } = await createSecret(callAt(), parts, browser, login);
    const opened = openSecret(callAt(at(ms)), parts, of, { login: { ...login, ...given }, sealed });
    expect(opened).toEqual(isOpened ? { secret, sealed, emailChangedAt: changedAt } : undefined);
    expect(openSecret(callAt(), parts, browser, { login, sealed: `${sealed}x` })).toBeUndefined();
  }
});

interface Shown {
  readonly sealed: string;
  readonly secret: string;
}

const setUser = (columns: object) => sql`update users set ${sql(columns as never)} where id = ${login.userId}`;
const readUser = async (id = login.userId) => (await sql`select * from users where id = ${id}`)[0];
const readApps = async (id = login.userId) => [...(await sql`select * from totp_secrets where user_id = ${id}`)];
const countCodes = async (id = login.userId) => (await sql`select from recovery_codes where user_id = ${id}`).length;
const addApp = async (columns: object = {}) => {
  await insert('totp_secrets', { user_id: login.userId, ...columns });
  await setUser({ has_second_factor: true });
};
const addPasskey = () => insert('passkeys', { user_id: login.userId });
const endEverywhere = () => insert('user_cutoffs', { user_id: login.userId, cutoff_at: NOW });
const codeOf = (secret: string, steps = 0) =>
  computeTotp(decodeBase32(secret) as Buffer, Math.floor(Date.now() / 30_000) + steps);

let woken = 0;
/** Returns a call that sends e-mails. After its statements it does what the user's erasure does, if it is to. */
function sendingCall(isErased: () => Promise<boolean> = async () => false): Call {
  woken = 0;
  const { run, ...call } = callAt();
  const late: typeof run = async (statement, parameters) => {
    const rows = await run(statement, parameters);
    if (await isErased()) await setUser({ deleted_at: NOW, email: '', wallet_address: '' });
    return rows;
  };
  return { ...call, run: late, notices: { toLanguage: () => 'en', wake: () => void woken++ } };
}
const onceThereIsAnApp = async () => (await readApps()).length > 0;

/** Nobody else gets an app or new codes, and one e-mail tells the user alone. */
async function expectOneChange(wakes = 1) {
  expect(await readApps(stranger)).toEqual([]);
  expect(await readUser(stranger)).toMatchObject({ has_second_factor: false });
  expect(await countCodes(stranger)).toBe(1);
  const notices =
    await sql`select user_id, recipient from notices where kind = 'secondFactorAdded' and user_id in (${login.userId}, ${stranger})`;
  expect(notices).toEqual([{ user_id: login.userId, recipient: (await readUser())?.email }]);
  expect(woken).toBe(wakes);
}

describe('after a sign-in', () => {
  /** Enters the code a minute after the sign-in. */
  function confirm(
    { sealed, secret }: Shown,
    { call = sendingCall(), code = codeOf(secret), ...given }: { call?: Call; code?: string } & Given = {},
  ) {
    const intent = { assurance: 1, vouchedUserId: null, applicationId: here, locale: null, ...given };
    const signIn = { ...login, applicationId: here, completedAt: at(-MINUTE), cutoffCount: 0, intent };
    return confirmTotp(call, parts, signIn as never, { browser, sealed, code });
  }
  interface Given {
    readonly assurance?: number | null;
    readonly vouchedUserId?: string;
  }

  test.each<
    [string, prepare: () => PromiseLike<unknown> | undefined, given: Given & { code?: string }, answer: string]
  >([
    ['is stored', () => undefined, {}, 'done'],
    ['is stored after a sign-in from before levels', () => undefined, { assurance: null }, 'done'],
    ['takes the place of another', addApp, { assurance: 2 }, 'done'],
    ['takes it only by two factors', addApp, {}, 'ASSURANCE_NOT_MET'],
    ['is not stored after a revocation', endEverywhere, {}, 'HELD_SIGN_IN_ENDED'],
    [
      'is not stored after a sign-out in this browser',
      () => sql`insert into browser_cutoffs values (${login.userId}, ${browser.digest}, ${NOW}, ${at(DAY)})`,
      {},
      'HELD_SIGN_IN_ENDED',
    ],
    ['is not stored after every sign-in has ended', () => setUser({ cutoff_count: 1 }), {}, 'HELD_SIGN_IN_ENDED'],
    ['is not stored after a change of the address', () => setUser({ email_changed_at: NOW }), {}, 'HELD_SIGN_IN_ENDED'],
    ['is not stored with a code of later', () => undefined, { code: 'later' }, 'WRONG_SECOND_FACTOR'],
  ])('an app %s', async (_, prepare, { code, ...given }, answer) => {
    const shown = await createSecret(callAt(), parts, browser, login);
    await prepare();
    const before = await readApps();
    const confirmed = confirm(shown, { ...given, ...(code && { code: codeOf(shown.secret, 9) }) });
    expect(await reason(confirmed)).toBe(answer);
    if (answer === 'done') await expectOneChange();
    else expect([await readApps(), woken]).toEqual([before, 0]);
  });

  test('the secret of another browser is not stored', async () => {
    const shown = await createSecret(callAt(), parts, newBrowser(), login);
    expect(await reason(confirm(shown))).toBe('HELD_SIGN_IN_ENDED');
  });

  test('an app takes the place of another with all that belongs to it', async () => {
    const old = { id: randomUUID(), sealed: randomBytes(40), last_step: 3 };
    await addApp({ ...old, counts_from: at(HOUR), last_used_at: at(-HOUR) });
    const { digest } = await insert('recovery_codes', { user_id: login.userId });
    const shown = await createSecret(callAt(), parts, browser, login);
    const { recoveryCodes, countsFrom } = await confirm(shown, { assurance: 2 });
    expect([recoveryCodes.length, countsFrom]).toEqual([10, null]);
    const [app] = await readApps();
    expect(app).toMatchObject({ created_at: NOW, counts_from: null, last_used_at: null });
    expect(Number(app?.last_step)).toBeGreaterThan(3);
    expect(parts.cipher.decrypt(app?.sealed, { applicationId: login.userId, id: app?.id })).toBe(shown.secret);
    expect(app?.id).not.toBe(old.id);
    expect(await countCodes()).toBe(10);
    expect(await sql`select from recovery_codes where digest = ${digest}`).toEqual([]);
  });

  test.each<[string, vouched: () => string, isYoung: boolean]>([
    ['the user counts at once', () => login.userId, false],
    ['somebody else is young', () => stranger, true],
  ])('the app of somebody with a passkey whom an operator vouches to be %s', async (_, vouched, isYoung) => {
    await addPasskey();
    const shown = await createSecret(callAt(), parts, browser, login);
    const { countsFrom } = await confirm(shown, { vouchedUserId: vouched() });
    expect(countsFrom).toEqual(isYoung ? at(7 * DAY) : null);
    expect(await readUser()).toMatchObject({ has_second_factor: true });
  });

  test('an app of a user who is erased meanwhile is removed', async () => {
    const shown = await createSecret(callAt(), parts, browser, login);
    expect(await reason(confirm(shown, { call: sendingCall(onceThereIsAnApp) }))).toBe('done');
    expect(await readApps()).toEqual([]);
  });
});

describe('within a login that demands it', () => {
  /** Holds the sign-in, shows a secret, and enters its code once `prepare` has run. */
  async function confirm(prepare: () => PromiseLike<unknown> | undefined, call = sendingCall()) {
    const of = { application_id: here, login_intent_id: login.loginIntentId };
    await insert('login_intents', { application_id: here, id: login.loginIntentId, required_assurance: 2 });
    await insert('held_sign_ins', { ...of, user_id: login.userId, browser_digest: browser.digest });
    const { sealed, secret } = await createSecret(callAt(), parts, browser, login);
    await prepare();
    const intent = await getLoginIntent(callAt(), { loginIntentId: login.loginIntentId });
    const held = { userId: login.userId, method: 'email', passkeyId: null, authenticatedAt: null };
    const code = codeOf(secret);
    return confirmTotpInLogin(call, parts, { intent, held } as never, { browser, sealed, code });
  }
  const readIntent = async () => (await sql`select * from login_intents where id = ${login.loginIntentId}`)[0];

  test('an app is stored, and completes the login with two factors', async () => {
    const { recoveryCodes, countsFrom, completion } = await confirm(() => undefined);
    expect([recoveryCodes.length, countsFrom]).toEqual([10, null]);
    expect(completion.redirectUrl).toContain('authToken=');
    expect(await readIntent()).toMatchObject({ user_id: login.userId, assurance: 2, completed_at: expect.any(Date) });
    expect(await sql`select from held_sign_ins where user_id = ${login.userId}`).toEqual([]);
    // One tells of the place, which is new.
    await expectOneChange(2);
  });

  test.each<[string, prepare: () => PromiseLike<unknown>]>([
    ['the user has one by now', addApp],
    ['the user has a passkey, beside which it would be young', addPasskey],
    ['every sign-in has ended', endEverywhere],
    [
      'the address has changed since the page was shown, also before the first step',
      async () => {
        await setUser({ email_changed_at: NOW });
        await sql`update held_sign_ins set email_changed_at = ${NOW} where user_id = ${login.userId}`;
      },
    ],
  ])('an app is not stored if %s', async (_, prepare) => {
    expect(await reason(confirm(prepare))).toBe('HELD_SIGN_IN_ENDED');
    expect(await countCodes()).toBe(0);
    expect(await readIntent()).toMatchObject({ completed_at: null });
    expect(woken).toBe(0);
  });

  test.each<[string, columns: () => object]>([
    ['in another browser', () => ({ browser_digest: newBrowser().digest })],
    ['by another user', () => ({ user_id: stranger })],
  ])('a first step that is taken %s meanwhile keeps the login waiting', async (_, columns) => {
    const lock = await holdLock(clone, `select from users where id = '${login.userId}' for update`);
    const confirming = confirm(() => undefined);
    await waitForQueue(clone);
    await sql`update held_sign_ins set ${sql(columns() as never)} where login_intent_id = ${login.loginIntentId}`;
    await lock.release();
    expect(await reason(confirming)).toBe('HELD_SIGN_IN_ENDED');
    expect(await readIntent()).toMatchObject({ completed_at: null });
    expect(await sql`select from held_sign_ins where login_intent_id = ${login.loginIntentId}`).toHaveLength(1);
  });

  test('an app of a user who is erased meanwhile is removed', async () => {
    await reason(confirm(() => undefined, sendingCall(onceThereIsAnApp)));
    expect(await readApps()).toEqual([]);
  });
});

describe('new recovery codes', () => {
  test.each<
    [string, prepare: () => PromiseLike<unknown> | undefined, cutoffCount: number | undefined, isMade: boolean]
  >([
    ['take the place of those before', addApp, undefined, true],
    ['are made while the sign-in lives', addApp, 0, true],
    ['are not made once every sign-in has ended', addApp, 1, false],
    ['are not made without an app', () => undefined, undefined, false],
  ])('%s', async (_, prepare, cutoffCount, isMade) => {
    await prepare();
    await insert('totp_secrets', { user_id: await createUser() });
    const { digest } = await insert('recovery_codes', { user_id: login.userId });
    const call = { ...callAt(), ...(cutoffCount !== undefined && { cutoffCount }) };
    const made = await makeRecoveryCodes(call, login.userId);
    expect(made?.length).toBe(isMade ? 10 : undefined);
    expect(await countCodes()).toBe(isMade ? 10 : 1);
    expect(await sql`select from recovery_codes where digest = ${digest}`).toHaveLength(isMade ? 0 : 1);
    expect(await countCodes(stranger)).toBe(1);
    const events = await sql`select from audit_events where resource = ${login.userId}`;
    expect(events).toHaveLength(isMade ? 1 : 0);
  });

  test('of a user who is erased meanwhile are removed', async () => {
    await addApp();
    const areMade = async () => (await countCodes()) > 0;
    await makeRecoveryCodes(sendingCall(areMade), login.userId);
    expect(await countCodes()).toBe(0);
  });
});
