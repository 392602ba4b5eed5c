/** Each condition of what a browser may do with a login, a row each. What people see: test/login-page. */
import { randomBytes, randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { cancelLogin } from '../../../../src/domain/login/cancel-login.ts';
import { extendCode } from '../../../../src/domain/login/extend-code.ts';
import { findLoginApplication } from '../../../../src/domain/login/find-login-application.ts';
import { findLoginState, isSignInLive } from '../../../../src/domain/login/find-login-state.ts';
import { createAuthPageLink, generateAuthUrl } from '../../../../src/domain/login/generate-auth-url.ts';
import { getLoginIntent } from '../../../../src/domain/login/get-login-intent.ts';
import { requireOpenIntent } from '../../../../src/domain/login/login-intent.ts';
import { findRecentSignIn, requireRecentSignIn } from '../../../../src/domain/login/recent-sign-in.ts';
import { at, DAY, HOUR, NOW, reason } from '../../../support/domain-scene.ts';
import { type Columns, type LoginScene, MINUTE, openLoginScenes } from '../../../support/login-scene.ts';

let { here, clientId, loginIntentId, userId, stranger, browser, answer } = {} as LoginScene;
const { sql, insert, callAt, callOf, createApplication, tokens, codes, watch, ...scene } = await openLoginScenes(
  (begun) => {
    ({ here, clientId, loginIntentId, userId, stranger, browser, answer } = begun);
  },
);
const { setIntent, setApplication } = scene;

/** Makes the login one that this browser has completed. */
const complete = (columns: Columns = {}) =>
  setIntent({
    ...{ completed_at: at(-MINUTE), user_id: userId, method: 'email', assurance: 1 },
    ...{ browser_digest: browser.digest, answer_digest: answer, ...columns },
  });
/** Lets a user sign in with another answer. Returns the answer. */
async function signInAgain(columns: Columns = {}) {
  const answer_digest = randomBytes(32);
  const login = { user_id: userId, browser_digest: browser.digest, completed_at: NOW, answer_digest };
  await insert('login_intents', { application_id: here, ...login, ...columns });
  return answer_digest;
}
const signOut = (ms: number, of = userId, digest = browser.digest) => sql`
  insert into browser_cutoffs (user_id, browser_digest, cutoff_at, expires_at) values (${of}, ${digest}, ${at(ms)}, ${at(DAY)})`;
const cutOff = (ms: number, of = userId, application_id = here) =>
  insert('session_cutoffs', { application_id, user_id: of, cutoff_at: at(ms) });

/** What ends a sign-in of a minute ago in this browser. The rows hold for all that continues a login. */
const ENDINGS: [string, prepare: () => Promise<unknown>, isLive: boolean][] = [
  ['completed here', async () => {}, true],
  ['of another browser', () => setIntent({ browser_digest: randomBytes(32) }), false],
  ['of no browser', () => setIntent({ browser_digest: null }), false],
  ['of another answer', () => setIntent({ answer_digest: randomBytes(32) }), false],
  [
    'of the first version',
    async () => {
      browser.knownAnswers = [];
      await setIntent({ answer_digest: null });
    },
    true,
  ],
  [
    'of the first version, before somebody else',
    async () => {
      browser.knownAnswers = [await signInAgain({ user_id: stranger })];
      await setIntent({ answer_digest: null });
    },
    false,
  ],
  ['of a user who is deactivated', () => sql`update users set deactivated_at = ${NOW} where id = ${userId}`, false],
  ['revoked in that instant', () => cutOff(-MINUTE), false],
  ['revoked before', () => cutOff(-MINUTE - 1), true],
  ['of an application that has revoked another user', () => cutOff(0, stranger), true],
  ['revoked elsewhere', async () => cutOff(0, userId, await createApplication()), true],
  ['revoked everywhere', () => insert('user_cutoffs', { user_id: userId, cutoff_at: NOW }), false],
  ['of a user who signed out here', () => signOut(-MINUTE), false],
  ['of one who signed out before', () => signOut(-MINUTE - 1), true],
  ['beside one who signed out', () => signOut(0, stranger), true],
  ['of one who signed out in another browser', () => signOut(0, userId, randomBytes(32)), true],
  ['of a user who signed in again', async () => void browser.knownAnswers.unshift(await signInAgain()), true],
  [
    'before somebody else',
    async () => void browser.knownAnswers.unshift(await signInAgain({ user_id: stranger })),
    false,
  ],
  ['after somebody else', async () => void browser.knownAnswers.push(await signInAgain({ user_id: stranger })), true],
  [
    'before an answer of another browser',
    async () => void browser.knownAnswers.unshift(await signInAgain({ browser_digest: randomBytes(32) })),
    false,
  ],
  [
    'before the user and somebody else',
    async () => void browser.knownAnswers.unshift(await signInAgain({ user_id: stranger }), await signInAgain()),
    false,
  ],
  [
    'by this request',
    async () => {
      browser.answerDigest = answer;
      browser.knownAnswers = [await signInAgain({ user_id: stranger })];
    },
    true,
  ],
];

describe('the answer of a login', () => {
  const state = (ms = 0) => findLoginState(callAt(at(ms)), tokens, browser, loginIntentId);

  test.each(ENDINGS)('%s', async (_, prepare, isLive) => {
    await complete();
    await prepare();
    expect(await state()).toMatchObject({ kind: isLive ? 'answered' : 'completed' });
  });

  test.each<[string, columns: Columns, kind: string, ms?: number]>([
    ['is shown for 15 minutes', {}, 'answered', 14 * MINUTE - 1_000],
    ['is not shown any longer', {}, 'completed', 14 * MINUTE],
    ['was used', { redeemed_at: NOW }, 'completed'],
    ['of nobody', { user_id: null }, 'completed'],
    ['of no method', { method: null }, 'completed'],
    ['of a sign-in before', { authenticated_at: at(-HOUR) }, 'answered'],
    ['is a code', { response_mode: 'query', redeemed_at: NOW }, 'answered'],
  ])('%s', async (_, columns, kind, ms) => {
    await complete(columns);
    const now = Math.floor(NOW.getTime() / 1_000) * 1_000;
    await setIntent({ completed_at: new Date(now - MINUTE) });
    expect(await state(now - NOW.getTime() + (ms ?? 1_000))).toMatchObject({ kind });
  });

  test('of a sign-in before is ended by a cut-off since that', async () => {
    await complete({ authenticated_at: at(-HOUR) });
    await cutOff(-HOUR);
    expect(await state()).toMatchObject({ kind: 'completed' });
  });

  test('of a sign-in whose level nobody has stored shows one factor', async () => {
    await complete({ assurance: null });
    const shown = await state();
    const { authToken } = Object.fromEntries(new URL('redirectUrl' in shown ? shown.redirectUrl : '').searchParams);
    expect(decodeJwt(authToken ?? '')).toMatchObject({ acr: '1' });
  });

  test('costs no statement about other answers if it is the newest, and nobody else can end that of another page', async () => {
    await complete();
    const call = watch();
    await findLoginState(call, tokens, browser, loginIntentId);
    expect(call.names).toEqual(['selectIntent', 'selectSignedIn']);
    browser.knownAnswers = [await signInAgain({ user_id: stranger })];
    const login = { applicationId: here, userId, answerDigest: null, authenticatedAt: null, completedAt: NOW };
    for (const browserDigest of [null, browser.digest])
      expect(await isSignInLive(call, browser, { ...login, browserDigest })).toBe(browserDigest === null);
  });

  test('is a code only as long as that lives', async () => {
    await complete({ response_mode: 'query' });
    expect(await state()).toMatchObject({ redirectUrl: `https://app.test/?code=${loginIntentId}` });
    codes.areLive = false;
    expect(await state()).toMatchObject({ kind: 'completed' });
  });

  test('is there for no open login, and none that is unknown', async () => {
    expect(await state()).toMatchObject({ kind: 'open', id: loginIntentId });
    expect(await state(HOUR)).toMatchObject({ kind: 'expired' });
    for (const id of [randomUUID(), 'x'])
      expect(await findLoginState(callAt(), tokens, browser, id)).toEqual({ kind: 'unknown' });
  });
});

describe('a recent sign-in', () => {
  const require = (ms = 0) => requireRecentSignIn(callAt(at(ms)), browser, { loginIntentId });

  test.each(ENDINGS)('%s', async (_, prepare, isLive) => {
    await complete();
    await prepare();
    expect((await findRecentSignIn(callAt(), browser, { loginIntentId })) !== undefined).toBe(isLive);
  });

  test.each<[string, columns: Columns | undefined, answer: string, ms?: number]>([
    ['of 10 minutes', {}, 'done', 9 * MINUTE - 1],
    ['of a longer time', {}, 'LOGIN_INTENT_EXPIRED', 9 * MINUTE],
    ['that was remembered', { authenticated_at: at(-MINUTE) }, 'LOGIN_INTENT_EXPIRED'],
    ['of another browser', { browser_digest: randomBytes(32) }, 'LOGIN_INTENT_COMPLETED'],
    ['of nobody', { user_id: null }, 'LOGIN_INTENT_EXPIRED'],
    ['that is open', undefined, 'LOGIN_INTENT_NOT_FOUND'],
    ['that has expired', undefined, 'LOGIN_INTENT_EXPIRED', HOUR],
  ])('%s', async (_, columns, answer, ms) => {
    if (columns) await complete(columns);
    expect(await reason(require(ms))).toBe(answer);
  });

  test('is of a known login, and errors of Usher are thrown', async () => {
    const unknown = { loginIntentId: randomUUID() };
    expect(await reason(requireRecentSignIn(callAt(), browser, unknown))).toBe('LOGIN_INTENT_NOT_FOUND');
    const broken = { ...callAt(), run: () => Promise.reject(new Error('away')) };
    await expect(findRecentSignIn(broken, browser, unknown)).rejects.toThrow('away');
  });
});

test.each<[string, columns: Columns, isExtended: boolean]>([
  ['is extended', {}, true],
  ['of 10 minutes ago', { completed_at: at(1 - 10 * MINUTE) }, true],
  ['of before', { completed_at: at(-10 * MINUTE) }, false],
  ['once', { authenticated_at: at(-2 * MINUTE) }, false],
  ['until it was used', { redeemed_at: NOW }, false],
  ['in no other browser', { browser_digest: randomBytes(32) }, false],
  ['of no auth token', { response_mode: '' }, false],
])('a code %s', async (_, columns, isExtended) => {
  const stored = { completed_at: at(-MINUTE), authenticated_at: null, ...columns };
  await complete({ response_mode: 'query', ...stored });
  const other = await insert('login_intents', {
    application_id: here,
    ...stored,
    browser_digest: browser.digest,
    response_mode: 'query',
  });
  await extendCode(callAt(), browser, 'no ID');
  await extendCode(callAt(), browser, loginIntentId);
  const read = async (id: string) =>
    (await sql`select completed_at, authenticated_at from login_intents where id = ${id}`)[0];
  const { completed_at, authenticated_at } = stored;
  expect(await read(loginIntentId)).toEqual(
    isExtended ? { completed_at: NOW, authenticated_at: completed_at } : { completed_at, authenticated_at },
  );
  expect(await read(other.id)).toEqual({ completed_at, authenticated_at });
});

describe('an open login', () => {
  test.each<[string, application: Columns, intent: Columns, args: [method?: string, highest?: number], answer: string]>(
    [
      ['by any method', {}, {}, [], 'done'],
      ['by a method', {}, {}, ['email'], 'done'],
      ['by a method that is on', { login_methods: ['email', 'wallet'] }, {}, ['email'], 'done'],
      ['by one that is off', { login_methods: ['wallet'] }, {}, ['email'], 'LOGIN_METHOD_NOT_ENABLED'],
      ['by none where some are off', { login_methods: ['wallet'] }, {}, [], 'done'],
      ['by one that suffices', {}, { required_assurance: 2 }, ['email', 2], 'done'],
      ['by one that shows too little', {}, { required_assurance: 3 }, ['email', 2], 'ASSURANCE_NOT_MET'],
      [
        'by one that shows too little for the application',
        { required_assurance: 2 },
        {},
        ['wallet'],
        'ASSURANCE_NOT_MET',
      ],
      ['by none where two factors are needed', {}, { required_assurance: 2 }, [], 'done'],
      ['until its end', {}, { expires_at: at(1) }, [], 'done'],
      ['at its end', {}, { expires_at: NOW }, [], 'LOGIN_INTENT_EXPIRED'],
      ['that was completed', {}, { completed_at: NOW, expires_at: NOW }, [], 'LOGIN_INTENT_COMPLETED'],
      ['that leads nowhere', { redirect_uris: ['https://b.test/'] }, {}, [], 'LOGIN_INTENT_EXPIRED'],
      ['of an application that is gone', { deleted_at: NOW }, {}, [], 'LOGIN_INTENT_NOT_FOUND'],
    ],
  )('%s', async (_, application, intent, args, answer) => {
    await setApplication({ ask_name: false, ...application });
    await setIntent({ state: 'state', ...intent });
    expect(await reason(requireOpenIntent(callAt(), loginIntentId, ...args))).toBe(answer);
    const isGone = answer === 'LOGIN_INTENT_NOT_FOUND';
    expect(await reason(getLoginIntent(callAt(), { loginIntentId }))).toBe(isGone ? answer : 'done');
    expect(await reason(requireOpenIntent(callAt(), randomUUID()))).toBe('LOGIN_INTENT_NOT_FOUND');
  });

  test.each<[allow: boolean, restrict: boolean, allowSignUp: boolean]>([
    [true, false, true],
    [false, false, false],
    [true, true, false],
    [false, true, false],
  ])('lets nobody sign up unless it may: %s, restricted: %s', async (allow_sign_up, restrict_access, allowSignUp) => {
    await setApplication({ allow_sign_up, restrict_access });
    expect(await requireOpenIntent(callAt(), loginIntentId)).toMatchObject({ allowSignUp });
  });

  test.each<[columns: Columns, url: RegExp]>([
    [{ required_assurance: 1 }, /^https:\/\/app\.test\/\?error=access_denied&state=state&iss=/],
    [{ required_assurance: 2 }, /error=unmet_authentication_requirements&/],
    [{ response_mode: 'query' }, /error=access_denied$/],
  ])('is cancelled: %j', async (columns, url) => {
    await setIntent(columns);
    expect((await cancelLogin(callAt(), tokens, { loginIntentId })).redirectUrl).toMatch(url);
  });

  test('has an application, which the client ID names without it', async () => {
    const uris = ['https://app.test/', 'https://b.test/'];
    await setApplication({ redirect_uris: uris });
    const find = (id: string, of = clientId) => findLoginApplication(callAt(), { loginIntentId: id, clientId: of });
    await createApplication();
    expect(await find(loginIntentId, 'x')).toMatchObject({ applicationId: here, redirectUris: [uris[0]] });
    for (const id of ['x', randomUUID()])
      expect(await find(id)).toMatchObject({ applicationId: here, redirectUris: uris });
    for (const of of ['x', '', '\0', 'é']) expect(await find('x', of)).toBeUndefined();
    await setApplication({ deleted_at: NOW });
    expect(await find(loginIntentId)).toBeUndefined();
  });
});

describe('a new login', () => {
  const linkTo = createAuthPageLink('https://usher.test/login?client_id=old&intent=old&lang=de');
  const begin = (fields: Columns = {}) =>
    generateAuthUrl(callOf(here, { clientId, redirectUris: ['https://app.test/'] }), linkTo, {
      ...{ clientId, redirectUri: 'https://app.test/', state: 'state', ...fields },
    });

  test.each<[field: string, last: unknown, tooMuch: unknown]>([
    ['state', 'x'.repeat(500), 'x'.repeat(501)],
    ['locale', 'x'.repeat(200), 'x'.repeat(201)],
    ['locale', '', 7],
    ['maxAgeSeconds', 0, -1],
    ['maxAgeSeconds', 31_536_000, 31_536_001],
    ['prompt', 'LOGIN', 'NONE'],
    ['requiredAssurance', 'TWO_FACTORS', 'x'],
  ])('has a valid %s: case %#', async (field, last, tooMuch) => {
    const { loginIntentId: id } = await begin({ [field]: last });
    const [stored] = await sql`select locale, state, expires_at from login_intents where id = ${id}`;
    expect(stored).toMatchObject({ locale: field === 'locale' ? last || null : null, expires_at: at(30 * MINUTE) });
    expect(await reason(begin({ [field]: tooMuch }))).toBe('VALIDATION_FAILED');
  });

  test.each([
    [{ clientId: 'other' }, 'CLIENT_ID_MISMATCH'],
    [{ clientId: 'x'.repeat(256) }, 'VALIDATION_FAILED'],
    [{ clientId: 'x'.repeat(255) }, 'CLIENT_ID_MISMATCH'],
    [{ redirectUri: 'https://b.test/' }, 'INVALID_REDIRECT_URI'],
    [{ redirectUri: `https://b.test/${'x'.repeat(2_033)}` }, 'INVALID_REDIRECT_URI'],
    [{ redirectUri: `https://b.test/${'x'.repeat(2_034)}` }, 'VALIDATION_FAILED'],
  ])('is refused: case %#', async (fields, answer) => {
    expect(await reason(begin(fields))).toBe(answer);
  });

  test('has a link of its own', async () => {
    const { authUrl, loginIntentId: id } = await begin();
    const [url, page] = [new URL(authUrl), new URL('https://usher.test/login')];
    expect([url.origin, url.pathname]).toEqual([page.origin, page.pathname]);
    expect([...url.searchParams].sort()).toEqual([
      ['client_id', clientId],
      ['intent', id],
      ['lang', 'de'],
    ]);
  });
});
