/** Each condition of codes by e-mail, a row each. What people see: test/login-page. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Call } from '../../../../src/domain/core/call.ts';
import type { ServiceError } from '../../../../src/domain/core/errors.ts';
import { ADDRESS_IS_MUTED, createLoginCode } from '../../../../src/domain/login/create-login-code.ts';
import { findAddressFacts } from '../../../../src/domain/login/find-address-facts.ts';
import { findLatestCode } from '../../../../src/domain/login/find-latest-code.ts';
import { rememberOrigin } from '../../../../src/domain/login/known-origins.ts';
import { deriveLoginCode, deriveLoginCodeKeys, type LoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { admitRepetition } from '../../../../src/domain/login/login-code-limits.ts';
import { createMuteToken, endMute, findMute, muteAddress } from '../../../../src/domain/login/muted-addresses.ts';
import { recordSending } from '../../../../src/domain/login/record-sending.ts';
import { isRightCode, requireRightCode } from '../../../../src/domain/login/require-right-code.ts';
import { SignUpRules } from '../../../../src/domain/login/sign-up-rules.ts';
import type { Browser } from '../../../../src/domain/sessions/browser.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, DAY, HOUR, NOW } from '../../../support/domain-scene.ts';
import { type Columns, type LoginScene, MINUTE, openLoginScenes } from '../../../support/login-scene.ts';

let { here, loginIntentId, userId, email, browser } = {} as LoginScene;
const { sql, callAt, createUser, setUser, insertCode, keys, watch } = await openLoginScenes((begun) => {
  ({ here, loginIntentId, userId, email, browser } = begun);
});
const SECOND = 1_000;
const other = deriveLoginCodeKeys([randomBytes(32)]);
const signUps = new SignUpRules(['blocked.test']);
const NEW = 'new@example.com';

const browserOf = (fields: Partial<Browser> = {}): Browser => ({
  ...{ digest: randomBytes(32), address: '192.0.2.1', userAgent: 'Browser' },
  ...{ answerDigest: randomBytes(32), knownAnswers: [], ...fields },
});

const mute = (call = callAt(), of = keys, address = email) => muteAddress(call, of, createMuteToken(of, address, NOW));
const remember = (from: Browser, call = callAt(), of = keys, address = email) =>
  rememberOrigin(call, of, from, { userId, email: address });
const eraseUser = () => setUser({ deleted_at: NOW, email: '', wallet_address: '' });
const where = () => ({ applicationId: here, loginIntentId, browserDigest: browser.digest });
const reasonOf = (error: ServiceError) => ({ reason: error.reason, ...error.figures, ...error.attempt });
const outcome = <Result>(work: Promise<Result>, show: (result: Result) => unknown = () => 'done') =>
  work.then(show, reasonOf);

/** Inserts codes that have something in common with the one with the ID. */
async function insertOthers(id: string) {
  await insertCode();
  await insertCode({ id, login_intent_id: randomUUID() });
  await insertCode({ id, application_id: randomUUID() });
}
const readOthers = async (id: string, columns: readonly string[]) => [
  ...(await sql`
    select ${sql(columns as string[])} from login_codes where browser_digest = ${browser.digest}
      and not (application_id = ${here} and login_intent_id = ${loginIntentId} and id = ${id})`),
];
const readCode = async (id: string) =>
  (
    await sql`select * from login_codes where application_id = ${here} and login_intent_id = ${loginIntentId} and id = ${id}`
  )[0];

describe('an attempt', () => {
  const LATE = { reason: 'CODE_NOT_VALID', cause: 'WRONG_CODES' };

  test.each<
    [string, columns: Columns, isRight: boolean, after: [attempts: number, isRedeemed: boolean], answer: unknown]
  >([
    ['that is right', {}, true, [1, true], 'done'],
    ['that is wrong', {}, false, [1, false], { reason: 'WRONG_CODE', left: 4 }],
    ['that is the last wrong one', { attempts: 4 }, false, [5, false], LATE],
    ['that is the last, and right', { attempts: 4 }, true, [5, true], 'done'],
    ['after the last', { attempts: 5 }, true, [5, false], LATE],
    ['again with the right one', { attempts: 5, is_redeemed: true }, true, [5, true], 'done'],
    ['with a wrong one after the right', { attempts: 5, is_redeemed: true }, false, [5, true], LATE],
    [
      'that is wrong, early after the right',
      { attempts: 1, is_redeemed: true },
      false,
      [2, true],
      { reason: 'WRONG_CODE', left: 3 },
    ],
    [
      'in the instant of the end',
      { expires_at: NOW },
      true,
      [0, false],
      { reason: 'CODE_NOT_VALID', cause: 'CODE_EXPIRED' },
    ],
    ['just before the end', { expires_at: at(1) }, true, [1, true], 'done'],
  ])('%s', async (_, columns, isRight, [attempts, is_redeemed], answer) => {
    const { id } = await insertCode(columns);
    await insertOthers(id);
    const latest = await findLatestCode(callAt(), where());
    if (!latest) throw new Error('There is no code');
    const counts: string[] = [];
    const call = { ...callAt(), count: (name: string) => void counts.push(name) };
    const guessed = { ...where(), latest: { ...latest, ...(await readLatest(id)) }, wasSent: true };
    const given = await outcome(requireRightCode(call, guessed, isRight));
    expect(given).toEqual(
      answer === 'done' ? answer : { ...(answer as object), ...((answer as { cause?: string }).cause && { userId }) },
    );
    expect(await readCode(id)).toMatchObject({ attempts, is_redeemed });
    expect(await readOthers(id, ['attempts', 'is_redeemed'])).toEqual(
      Array(3).fill({ attempts: 0, is_redeemed: false }),
    );
    const isCounted = !isRight && attempts !== columns.attempts;
    expect(counts).toEqual(isCounted ? ['wrong_codes'] : []);
  });

  const readLatest = async (id: string) => {
    const row = await readCode(id);
    return { id, expiresAt: row?.expires_at as Date };
  };
});

test('a code is right by any key that is left, if it was sent', async () => {
  await insertCode();
  const latest = await findLatestCode(callAt(), where());
  if (!latest) throw new Error('There is no code');
  const code = deriveLoginCode(keys, latest.id, 6);
  const is = (of: LoginCodeKeys, wasSent = true, entered = code) =>
    isRightCode({ keys: of, limitFactor: 1 }, { applicationId: here, loginIntentId, latest, wasSent }, entered);
  expect([is([...other, ...keys]), is(keys), is(other), is(keys, false), is(keys, true, '000')]).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test.each<[string, isSent: boolean, isUnsent: boolean, sends: number, after: [sends: number, isUnsent: boolean]]>([
  ['sent', true, false, 2, [2, false]],
  ['sent after one that was not', true, true, 2, [2, false]],
  ['not sent', false, false, 2, [1, true]],
  ['not sent, and counted by nobody', false, true, 0, [0, true]],
])('an e-mail that is %s', async (_, isSent, isUnsent, sends, after) => {
  const { id } = await insertCode({ is_unsent: isUnsent, sends });
  await insertOthers(id);
  await recordSending(callAt(), { ...where(), id, isUnsent }, isSent);
  expect(await readCode(id)).toMatchObject({ sends: after[0], is_unsent: after[1] });
  expect(await readOthers(id, ['sends', 'is_unsent'])).toEqual(Array(3).fill({ sends: 1, is_unsent: false }));
});

describe('a code is asked for', () => {
  const ask = (call: Call = callAt(), fields: Columns = {}) =>
    createLoginCode(call, { codes: { keys, limitFactor: 1 }, signUps }, browser, { loginIntentId, email, ...fields });
  const AGAIN = { wait: 30, sends: 2 };

  test.each<[string, columns: Columns, answer: object | 'new', of?: LoginCodeKeys]>([
    ['after a minute', {}, { ...AGAIN, wait: 0 }],
    ['after 30 seconds', { created_at: at(-30 * SECOND) }, AGAIN],
    ['too early', { created_at: at(1 - 30 * SECOND) }, { reason: 'CODE_SENT_JUST_NOW', digits: 6, wait: 1 }],
    ['a third time', { sends: 2 }, { wait: 0, sends: 3 }],
    [
      'a third time too early',
      { sends: 2, created_at: at(1 - MINUTE) },
      { reason: 'CODE_SENT_JUST_NOW', digits: 6, wait: 1 },
    ],
    ['a fourth time', { sends: 3, created_at: at(-5 * MINUTE) }, { reason: 'CODE_SENT_TOO_OFTEN', digits: 6 }],
    ['after four attempts', { attempts: 4 }, { ...AGAIN, wait: 0 }],
    ['after five', { attempts: 5 }, 'new'],
    ['after its end', { expires_at: NOW }, 'new'],
    ['just before its end', { expires_at: at(1) }, { ...AGAIN, wait: 0 }],
    ['for another address', { email: 'other@example.com' }, 'new'],
    ['for a user who is new', { user_id: null }, 'new'],
    ['without the wallet', { wallet_address: '0x1' }, 'new'],
    ['without the identity', { identity_id: randomUUID() }, 'new'],
    ['in another browser', { browser_digest: randomBytes(32) }, 'new'],
    ['at another login', { login_intent_id: randomUUID() }, 'new'],
    ['after its key was removed', {}, 'new', other],
  ])('%s', async (_, columns, answer, of) => {
    const { id } = await insertCode(columns, of);
    await insertOthers(id);
    // The other of this login is older, and has been tried too often.
    await sql`update login_codes set created_at = ${at(-HOUR)}, attempts = 5 where application_id = ${here} and id <> ${id}`;
    const shown = await outcome(ask(), ({ wait, row }) => (row.id === id ? { wait } : 'new'));
    const { sends, ...rest } = (answer === 'new' ? {} : answer) as { sends?: number };
    expect(shown).toEqual(answer === 'new' ? 'new' : rest);
    const [row] =
      await sql`select sends from login_codes where id = ${id} and browser_digest = ${(columns.browser_digest as Buffer) ?? browser.digest} order by sends desc`;
    expect(row?.sends).toBe(sends ?? columns.sends ?? 1);
    if (answer !== 'new') expect((await readOthers(id, ['sends'])).map((other) => other.sends)).toEqual([1, 1, 1]);
    else expect((await ask(callAt(at(30 * SECOND)))).wait).toBe(30);
  });

  test.each([
    [{ sends: 2 }, { reason: 'CODE_SENT_JUST_NOW', digits: 6, wait: 30 }],
    [{ sends: 3 }, { reason: 'CODE_SENT_JUST_NOW', digits: 6, wait: 30 }],
  ])('twice at once: %j', async (meanwhile, answer) => {
    const { id } = await insertCode({ created_at: at(meanwhile.sends === 3 ? -5 * MINUTE : -30 * SECOND) });
    const { run, ...call } = callAt();
    const late: typeof run = async (statement, parameters) => {
      if (statement.name === 'countLoginCodeSend') await sql`update login_codes set ${sql(meanwhile)} where id = ${id}`;
      return run(statement, parameters);
    };
    expect(await outcome(ask({ ...call, run: late }))).toEqual(answer);
    expect(await readCode(id)).toMatchObject(meanwhile);
  });

  test.each<[string, columns: Columns, reason: string, later: () => unknown, ms: number]>([
    ['too early', { created_at: at(-SECOND) }, 'CODE_SENT_JUST_NOW', () => {}, 30 * SECOND],
    [
      'too often',
      { sends: 3, created_at: at(-5 * MINUTE) },
      'CODE_SENT_TOO_OFTEN',
      () => sql`update login_codes set expires_at = ${NOW} where application_id = ${here}`,
      0,
    ],
  ])('again %s, which keeps no other e-mail from the address', async (_, columns, reason, later, ms) => {
    await insertCode(columns);
    for (let count = 0; count < 10; count++) expect(await outcome(ask())).toMatchObject({ reason });
    await later();
    expect(await outcome(ask(callAt(at(ms))))).toBe('done');
  });

  test('by a stranger for a muted address: nothing is sent', async () => {
    await muteAddress(callAt(), keys, createMuteToken(keys, email, NOW));
    expect(await ask()).toMatchObject({ isDecoy: true, isUnknown: false, decoyReason: ADDRESS_IS_MUTED });
  });

  test('for a user who is erased meanwhile: it is not kept', async () => {
    await ask(watch({ insertLoginCode: () => eraseUser() }));
    expect(await sql`select from login_codes where application_id = ${here}`).toEqual([]);
  });

  test('again by strangers no more often than a new one', async () => {
    await insertCode();
    const settings = { keys, limitFactor: 1 };
    for (let count = 0; count < 10; count++)
      await admitRepetition(callAt(), settings, { browser, email, familiarity: 'stranger' });
    expect(await outcome(ask())).toEqual({ reason: 'TOO_MANY_CODES', minutes: 20 });
  });

  test.each<[string, settings: Columns, of: string | undefined, isDecoy: boolean, said: RegExp | undefined]>([
    ['by a user', {}, undefined, false, undefined],
    ['by a stranger who may sign up', { allow_sign_up: true }, NEW, false, undefined],
    ['by one who may not', {}, NEW, true, /takes no sign-ups \(allowSignUp\)$/],
    [
      'by one of another domain',
      { allow_sign_up: true, sign_up_email_domains: ['other.test'] },
      NEW,
      true,
      /takes no sign-ups from this domain \(signUpEmailDomains\)$/,
    ],
    ['at a restricted application', { allow_sign_up: true, restrict_access: true }, NEW, true, /allowSignUp/],
    [
      'by one of a listed domain',
      { allow_sign_up: true, sign_up_email_domains: ['other.test', 'example.com'] },
      NEW,
      false,
      undefined,
    ],
    ['by one of a blocked domain', { allow_sign_up: true }, 'new@a.blocked.test', true, /BLOCKED_EMAIL_DOMAINS_FILE/],
  ])('%s', async (_, settings, of, isDecoy, said) => {
    await sql`update applications set ${sql({ allow_sign_up: false, ...settings })} where id = ${here}`;
    const shown = await ask(callAt(), of ? { email: of } : {});
    expect(shown).toMatchObject({ isDecoy, isUnknown: isDecoy, email: of ?? email });
    if (said) expect(shown.decoyReason).toMatch(said);
    else expect(shown.decoyReason).toBeUndefined();
  });
});

describe.each([...new Set<'whole' | 'distributed'>([LAYOUT, 'distributed'])])(
  'what is known of an address, on one server or several: %s',
  (layout) => {
    const find = () =>
      findAddressFacts(callAt(NOW, undefined, layout), { keys: [...keys, ...other] }, browser, email, where());
    const nearby = () => browserOf({ address: browser.address });

    test.each<[string, prepare: () => Promise<unknown>, facts: object]>([
      ['nothing but the user', async () => {}, { user: true, familiarity: 'stranger', hasMuted: false }],
      [
        'nothing of one who is deactivated',
        () => sql`update users set deactivated_at = ${NOW} where id = ${userId}`,
        { user: false },
      ],
      ['the browser', () => remember(browser), { familiarity: 'browser' }],
      ['the browser, by an earlier key', () => remember(browser, callAt(), other), { familiarity: 'browser' }],
      ['the network', () => remember(nearby()), { familiarity: 'network' }],
      ['no other place', () => remember(browserOf({ address: '198.51.100.7' })), { familiarity: 'stranger' }],
      [
        'no place of another address',
        () => remember(browser, callAt(), keys, 'bob@example.com'),
        { familiarity: 'stranger' },
      ],
      ['no place after 180 days', () => remember(browser, callAt(at(-180 * DAY))), { familiarity: 'stranger' }],
      ['a place until then', () => remember(browser, callAt(at(1 - 180 * DAY))), { familiarity: 'browser' }],
      ['a mute', () => mute(), { hasMuted: true }],
      ['a mute by an earlier key', () => mute(callAt(), other), { hasMuted: true }],
      ['no mute of another address', () => mute(callAt(), keys, 'bob@example.com'), { hasMuted: false }],
      ['no mute after a day', () => mute(callAt(at(-DAY))), { hasMuted: false }],
      ['a mute until then', () => mute(callAt(at(1 - DAY))), { hasMuted: true }],
      [
        'no mute for whoever is known',
        async () => [await mute(), await remember(nearby())],
        { familiarity: 'network', hasMuted: false },
      ],
      [
        'the end of a mute',
        async () => [await mute(), await endMute(callAt(), keys, createMuteToken(keys, email, NOW))],
        { hasMuted: false },
      ],
      [
        'the end of no other mute',
        async () => [await mute(), await endMute(callAt(), keys, createMuteToken(keys, 'b@example.com', NOW))],
        { hasMuted: true },
      ],
      [
        'a place again, for longer',
        async () => [await remember(browser, callAt(at(-180 * DAY))), await remember(browser)],
        { familiarity: 'browser' },
      ],
      ['a mute again, for longer', async () => [await mute(callAt(at(-DAY))), await mute()], { hasMuted: true }],
    ])('%s', async (_, prepare, facts) => {
      await prepare();
      const { user, familiarity, hasMuted, latest } = await find();
      expect({ user: user !== undefined, familiarity, hasMuted, latest }).toMatchObject({
        ...facts,
        latest: undefined,
      });
      const { id } = await insertCode();
      expect((await find()).latest).toMatchObject({ id });
    });
  },
);

describe('of an address', () => {
  test('the origins are forgotten if the user is erased meanwhile', async () => {
    await eraseUser();
    await remember(browser);
    expect(await sql`select from known_origins where user_id = ${userId}`).toEqual([]);
  });

  test('the origins are those of who signed in last', async () => {
    const heir = await createUser();
    await remember(browser);
    await rememberOrigin(callAt(), keys, browser, { userId: heir, email });
    expect(await sql`select from known_origins where user_id = ${heir}`).toHaveLength(2);
  });

  test('the link that mutes works for 7 days, and is made by Usher alone', async () => {
    const token = createMuteToken(keys, email, at(-7 * DAY));
    const [second] = [new Date(Math.floor(NOW.getTime() / SECOND) * SECOND)];
    expect(await muteAddress(callAt(second), keys, token)).toBe(false);
    expect(await findMute(callAt(second), keys, token)).toBeUndefined();
    expect(await findMute(callAt(new Date(second.getTime() - 1)), keys, token)).toBeNull();
    expect(await muteAddress(callAt(), other, createMuteToken(keys, email, NOW))).toBe(false);
    expect(await muteAddress(callAt(), [...other, ...keys], createMuteToken(keys, email, NOW))).toBe(true);
    expect(await findMute(callAt(), keys, createMuteToken(keys, email, NOW))).toEqual(at(DAY));
    for (const forged of ['', token.slice(1), `${token}A`]) expect(await endMute(callAt(), keys, forged)).toBe(false);
  });
});
