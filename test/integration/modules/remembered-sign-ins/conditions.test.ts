/** Each condition of the statements of remembered sign-ins, a row each. What people see: continue.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import type { Browser } from '../../../../src/domain/sessions/browser.ts';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { renderSignIns } from '../../../../src/modules/remembered-sign-ins/account.ts';
import { forgetHere } from '../../../../src/modules/remembered-sign-ins/cookie.ts';
import { completeRememberedLogin } from '../../../../src/modules/remembered-sign-ins/domain/complete-remembered-login.ts';
import {
  findRememberedSignIn,
  findRememberedUser,
} from '../../../../src/modules/remembered-sign-ins/domain/find-remembered-sign-in.ts';
import { forgetListedSignIn, forgetSignIn } from '../../../../src/modules/remembered-sign-ins/domain/forget-sign-in.ts';
import {
  exportRememberedSignIns,
  listRememberedSignIns,
} from '../../../../src/modules/remembered-sign-ins/domain/list-remembered-sign-ins.ts';
import { rememberSignIn } from '../../../../src/modules/remembered-sign-ins/domain/remember-sign-in.ts';
import { digestSignInToken } from '../../../../src/modules/remembered-sign-ins/domain/sign-in-token.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, DAY, HOUR, type Meanwhile, NOW, runWith } from '../../../support/domain-scene.ts';
import {
  adminClient,
  createLoginIntent,
  createTenant,
  createTestGroup,
  createTestUser,
  PUBLIC_URL,
  startTestService,
} from '../../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql } = service.database;
const admin = adminClient(service);
const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);

const MINUTE = 60_000;
const SIGNED_IN = at(-HOUR);
const SETTINGS = { singleSignOnMaxAgeSeconds: DAY / 1_000, sessionMaxAgeSeconds: DAY / 1_000 };

function callAt(now = NOW, meanwhile: Meanwhile = {}): Call {
  const inner = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  return { run: runWith(meanwhile, inner), now };
}
const call = callAt();

const browserOf = (digest = randomBytes(32)): Browser => ({
  digest,
  address: '192.0.2.1',
  userAgent: 'a browser',
  answerDigest: randomBytes(32),
  knownAnswers: [],
});

/** Remembers a sign-in, which is usable if nothing else is said. */
async function insertSignIn(userId: string, columns: object = {}): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const row = {
    ...{
      token_digest: digestSignInToken(token),
      user_id: userId,
      browser_digest: randomBytes(32),
      method: 'email_code',
    },
    ...{ assurance: 2, authenticated_at: SIGNED_IN, expires_at: at(DAY) },
    ...columns,
  };
  await sql`insert into remembered_sign_ins ${sql(row as never)}`;
  return token;
}

/** A user with a remembered sign-in, and an open login of an application that shares sign-ins. */
async function createScene(columns: object = {}) {
  const tenant = await createTenant(service);
  await admin.updateApplication({ applicationId: tenant.id, singleSignOn: true });
  const user = await createTestUser(service);
  const scene = { app: tenant.id, user: user.id, intent: await createLoginIntent(service, tenant), settings: SETTINGS };
  return { ...scene, token: await insertSignIn(user.id, columns) };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

const find = ({ app, intent, token, settings }: Scene, login: object = {}) =>
  findRememberedSignIn(
    call,
    settings,
    { id: intent, applicationId: app, singleSignOn: true, prompt: '', ...login },
    token,
  );
const complete = ({ intent, token, settings }: Scene, userId: string | null = null) =>
  completeRememberedLogin(call, { ...settings, tokens }, browserOf(), token, { loginIntentId: intent }, { userId });

const setSignIn = ({ token }: Scene, columns: object) =>
  sql`update remembered_sign_ins set ${sql(columns as never)} where token_digest = ${digestSignInToken(token)}`;
const setIntent = ({ intent }: Scene, columns: object) =>
  sql`update login_intents set ${sql(columns as never)} where id = ${intent}`;
const setApplication = ({ app }: Scene, columns: object) =>
  sql`update applications set ${sql(columns as never)} where id = ${app}`;
const setUser = ({ user }: Scene, columns: object) => sql`update users set ${sql(columns as never)} where id = ${user}`;
const cutOff = ({ app, user }: Pick<Scene, 'app' | 'user'>, instant: Date) =>
  sql`insert into session_cutoffs values (${app}, ${user}, ${instant}, ${at(DAY)})`;
const cutOffEverywhere = (user: string, instant: Date) =>
  sql`insert into user_cutoffs values (${user}, ${instant}, ${at(DAY)})`;

type Row = readonly [what: string, change: (scene: Scene) => PromiseLike<unknown> | undefined, isUsable: boolean];
const OTHER = randomUUID();

const rows: readonly Row[] = [
  ['as it stands', () => undefined, true],
  ['it ends then', (s) => setSignIn(s, { expires_at: at(1) }), true],
  ['it ends now', (s) => setSignIn(s, { expires_at: NOW }), false],
  ['it is nearly too old', (s) => setSignIn(s, { authenticated_at: at(1 - DAY) }), true],
  ['it is too old', (s) => setSignIn(s, { authenticated_at: at(-DAY) }), false],
  ['it had one factor', (s) => setSignIn(s, { assurance: 1 }), true],
  ['it had two, and the user has an app', (s) => setUser(s, { has_second_factor: true }), true],
  [
    'it had one, and the user has an app',
    (s) => Promise.all([setSignIn(s, { assurance: 1 }), setUser(s, { has_second_factor: true })]),
    false,
  ],
  ['the user is deactivated', (s) => setUser(s, { deactivated_at: NOW }), false],
  ['the user is deleted', (s) => setUser(s, { deleted_at: NOW }), false],
  ['a cut-off here came with it', (s) => cutOff(s, SIGNED_IN), false],
  ['a cut-off here came before it', (s) => cutOff(s, at(-HOUR - 1)), true],
  ['a cut-off of all users here', (s) => cutOff({ ...s, user: '00000000-0000-0000-0000-000000000000' }, NOW), false],
  ['a cut-off elsewhere', (s) => cutOff({ ...s, app: OTHER }, NOW), true],
  ['a cut-off of somebody else here', (s) => cutOff({ ...s, user: OTHER }, NOW), true],
  ['a cut-off everywhere', (s) => cutOffEverywhere(s.user, NOW), false],
  ['a cut-off everywhere of somebody else', () => cutOffEverywhere(randomUUID(), NOW), true],
  [
    'a cut-off everywhere before a later one here',
    async (s) => {
      await cutOffEverywhere(s.user, at(-2 * HOUR));
      await cutOff(s, NOW);
    },
    false,
  ],
  ['the login is completed', (s) => setIntent(s, { completed_at: NOW }), false],
  ['the login ends then', (s) => setIntent(s, { expires_at: at(1) }), true],
  ['the login ends now', (s) => setIntent(s, { expires_at: NOW }), false],
  ['the login asks for a new sign-in', (s) => setIntent(s, { prompt: 'LOGIN' }), false],
  ['the login asks for passkeys', (s) => setIntent(s, { prompt: 'PASSKEYS' }), true],
  ['the login demands as much', (s) => setIntent(s, { required_assurance: 2 }), true],
  ['the login demands more', (s) => setIntent(s, { required_assurance: 3 }), false],
  ['the application demands more', (s) => setApplication(s, { required_assurance: 3 }), false],
  ['the login accepts the age', (s) => setIntent(s, { max_age_seconds: 3_600 }), true],
  ['the login accepts a lower age', (s) => setIntent(s, { max_age_seconds: 3_599 }), false],
  ['the application is deleted', (s) => setApplication(s, { deleted_at: NOW }), false],
  ['the application shares none', (s) => setApplication(s, { single_sign_on: false }), false],
  ['the application allows the method', (s) => setApplication(s, { login_methods: ['email_code', 'passkey'] }), true],
  ['the application allows others', (s) => setApplication(s, { login_methods: ['passkey'] }), false],
  ['a session of it could still begin', (s) => setApplication(s, { session_max_age_seconds: 3_601 }), true],
  ['a session of it would be too old', (s) => setApplication(s, { session_max_age_seconds: 3_600 }), false],
  [
    'a session of it would be too old for Usher',
    async (s) => {
      s.settings = { ...SETTINGS, sessionMaxAgeSeconds: 3_600 };
    },
    false,
  ],
  [
    'the application lets sessions live longer than Usher',
    async (s) => {
      s.settings = { ...SETTINGS, sessionMaxAgeSeconds: 3_600 };
      await setApplication(s, { session_max_age_seconds: 7_200 });
    },
    true,
  ],
];

describe('a remembered sign-in', () => {
  test.each(rows)('%s', async (_, change, isUsable) => {
    const scene = await createScene();
    await change(scene);
    const found = await find(scene);
    expect(found !== undefined).toBe(isUsable);
    const completion = await complete(scene).then(
      ({ redirectUrl }) => redirectUrl,
      () => undefined,
    );
    expect(completion !== undefined).toBe(isUsable);
  });

  test.each<[string, object, boolean]>([
    ['is offered', {}, true],
    ['is not offered where the application shares none', { singleSignOn: false }, false],
    ['is not offered to a login that asks for a new sign-in', { prompt: 'LOGIN' }, false],
    ['is not offered to a login that is not there', { id: randomUUID() }, false],
  ])('%s', async (_, login, isOffered) => {
    expect((await find(await createScene(), login)) !== undefined).toBe(isOffered);
  });

  test('is not offered where it is turned off, or without a token, or with another one', async () => {
    const scene = await createScene();
    const off = { ...SETTINGS, singleSignOnMaxAgeSeconds: 0 };
    // It is from a clock that is ahead.
    await setSignIn(scene, { authenticated_at: at(MINUTE) });
    expect(await find({ ...scene, settings: off })).toBeUndefined();
    await expect(complete({ ...scene, settings: off })).rejects.toThrow('not remembered');
    const other = randomBytes(32).toString('base64url');
    expect(await find({ ...scene, token: other })).toBeUndefined();
    await expect(complete({ ...scene, token: other })).rejects.toThrow('not remembered');
    expect(await find(scene)).toBeDefined();
  });

  test('gives the login what it was, and the browser of now', async () => {
    const scene = await createScene({ ip_address: '198.51.100.1', user_agent: 'an old browser' });
    await complete(scene, scene.user);
    const [intent] = await sql`select * from login_intents where id = ${scene.intent}`;
    expect(intent).toMatchObject({
      user_id: scene.user,
      ...{ authenticated_at: SIGNED_IN, method: 'email_code', assurance: 2 },
      ...{ ip_address: '192.0.2.1', user_agent: 'a browser' },
    });
    await expect(complete(scene)).rejects.toThrow('already completed');
  });

  test('of somebody else completes nothing', async () => {
    const scene = await createScene();
    await expect(complete(scene, (await createTestUser(service)).id)).rejects.toThrow('not remembered');
  });

  test.each<[string, (meanwhile: Scene) => PromiseLike<unknown>, string]>([
    ['has expired', (s) => setIntent(s, { expires_at: NOW }), 'intent expired'],
    ['was completed', (s) => setIntent(s, { completed_at: NOW }), 'already completed'],
  ])('says that the login %s meanwhile', async (_, change, message) => {
    const scene = await createScene();
    const racing = callAt(NOW, { selectIntent: () => Promise.resolve(change(scene)) });
    const request = { loginIntentId: scene.intent };
    const answer = completeRememberedLogin(racing, { ...SETTINGS, tokens }, browserOf(), scene.token, request);
    await expect(answer).rejects.toThrow(message);
  });

  test('accepts an invitation', async () => {
    const scene = await createScene();
    const id = randomUUID();
    await sql`
      insert into invitations (application_id, id, email, user_id, created_user, added_user, created_at, expires_at)
      values (${scene.app}, ${id}, 'a@example.com', ${scene.user}, false, false, ${SIGNED_IN}, ${at(DAY)})`;
    await complete(scene);
    const [invitation] = await sql`select accepted_at from invitations where id = ${id}`;
    expect(invitation?.accepted_at).not.toBeNull();
  });

  test('leaves nothing of a user who is erased meanwhile', async () => {
    const scene = await createScene();
    const erased = { deleted_at: NOW, email: '', wallet_address: '' };
    const racing = callAt(NOW, { completeRememberedLogin: () => Promise.resolve(setUser(scene, erased)) });
    await completeRememberedLogin(racing, { ...SETTINGS, tokens }, browserOf(), scene.token, {
      loginIntentId: scene.intent,
    });
    const [intent] = await sql`select ip_address from login_intents where id = ${scene.intent}`;
    expect(intent?.ip_address).toBeNull();
  });
});

describe('a restricted application', () => {
  const REFUSED = 'Access not allowed';
  const add = (scene: Pick<Scene, 'app' | 'user'>) =>
    sql`insert into added_users values (${scene.app}, ${scene.user}, ${SIGNED_IN})`;
  const invite = ({ app, user }: Pick<Scene, 'app' | 'user'>, columns: object = {}) => {
    const row = {
      ...{ application_id: app, id: randomUUID(), email: 'a@example.com', user_id: user, created_user: false },
      ...{ added_user: true, created_at: SIGNED_IN, expires_at: NOW, ...columns },
    };
    return sql`insert into invitations ${sql(row as never)}`;
  };
  async function join({ app, user }: Pick<Scene, 'app' | 'user'>, allowsAccess = true) {
    const { groupId } = await createTestGroup(service, { userIds: [user] });
    await admin.setGroupAccess({ applicationId: app, groupId, allowsAccess });
  }

  test.each<[string, (scene: Scene) => PromiseLike<unknown> | undefined, answer: string | undefined]>([
    ['refuses others', () => undefined, REFUSED],
    ['lets in whom somebody has added', (s) => add(s), undefined],
    ['refuses whom somebody has added elsewhere', (s) => add({ ...s, app: OTHER }), REFUSED],
    ['refuses where somebody else was added', (s) => add({ ...s, user: randomUUID() }), REFUSED],
    [
      'refuses whom an expired invitation has added',
      async (s) => {
        await add(s);
        await invite(s);
      },
      REFUSED,
    ],
    [
      'lets in whom an open invitation has added',
      async (s) => {
        await add(s);
        await invite(s, { expires_at: at(DAY) });
      },
      undefined,
    ],
    ['lets in members of a group with access', (s) => join(s), undefined],
    ['refuses members of a group without', (s) => join(s, false), REFUSED],
    [
      'refuses members of a group with access elsewhere',
      async (s) => join({ ...s, app: (await createTenant(service)).id }),
      REFUSED,
    ],
    ['does not say so to a login that asks for a new one', (s) => setIntent(s, { prompt: 'LOGIN' }), 'not remembered'],
    ['does not say so of a sign-in that is unusable', (s) => setSignIn(s, { expires_at: NOW }), 'not remembered'],
  ])('%s', async (_, change, message) => {
    const scene = await createScene();
    await change(scene);
    await setApplication(scene, { restrict_access: true });
    const answer = await complete(scene).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (message) expect(answer).toContain(message);
    else expect(answer).toBeUndefined();
  });

  test('does not say so to somebody who is not wanted', async () => {
    const scene = await createScene();
    await setApplication(scene, { restrict_access: true });
    await expect(complete(scene, (await createTestUser(service)).id)).rejects.toThrow('not remembered');
    await expect(complete(scene, scene.user)).rejects.toThrow(REFUSED);
  });

  test('does not say so to somebody who was let in meanwhile', async () => {
    const scene = await createScene();
    await setApplication(scene, { restrict_access: true });
    const racing = callAt(NOW, { completeRememberedLogin: () => Promise.resolve(add(scene)) });
    const request = { loginIntentId: scene.intent };
    const answer = completeRememberedLogin(racing, { ...SETTINGS, tokens }, browserOf(), scene.token, request);
    await expect(answer).rejects.toThrow('not remembered');
  });
});

describe('remembers', () => {
  const browser = browserOf();
  const remember = (
    { app, user }: Pick<Scene, 'app' | 'user'>,
    { of = call, formerToken }: { of?: Call; formerToken?: string } = {},
  ) => {
    const signIn = {
      applicationId: app,
      userId: user,
      method: 'passkey',
      assurance: 3,
      authenticatedAt: SIGNED_IN,
    } as const;
    return rememberSignIn(of, browser, signIn, { formerToken, maxAgeSeconds: 7_200 });
  };
  const cutOffHere = (user: string, digest: Buffer, instant: Date) =>
    sql`insert into browser_cutoffs values (${user}, ${digest}, ${instant}, ${at(DAY)})`;
  const signInsOf = (user: string) => sql`select * from remembered_sign_ins where user_id = ${user}`;

  test.each<[string, (scene: Scene) => PromiseLike<unknown> | undefined, isRemembered: boolean]>([
    ['a sign-in', () => undefined, true],
    ['none of a user who is deactivated', (s) => setUser(s, { deactivated_at: NOW }), false],
    ['none of a user who is deleted', (s) => setUser(s, { deleted_at: NOW }), false],
    ['none that a cut-off here has ended', (s) => cutOff(s, SIGNED_IN), false],
    ['one after a cut-off here', (s) => cutOff(s, at(-HOUR - 1)), true],
    ['none that a cut-off everywhere has ended', (s) => cutOffEverywhere(s.user, SIGNED_IN), false],
    ['none after which somebody has signed out here', (s) => cutOffHere(s.user, browser.digest, SIGNED_IN), false],
    ['one after a sign-out here', (s) => cutOffHere(s.user, browser.digest, at(-HOUR - 1)), true],
    ['one although somebody has signed out elsewhere', (s) => cutOffHere(s.user, randomBytes(32), NOW), true],
    ['one although somebody else has signed out here', () => cutOffHere(randomUUID(), browser.digest, NOW), true],
    [
      'none after a sign-out of the application here',
      (s) => cutOff({ ...s, user: sidOf(s.app, s.user, browser.digest) }, SIGNED_IN),
      false,
    ],
    [
      'one after an earlier one',
      (s) => cutOff({ ...s, user: sidOf(s.app, s.user, browser.digest) }, at(-HOUR - 1)),
      true,
    ],
    [
      'one after one of another application',
      (s) => cutOff({ app: OTHER, user: sidOf(s.app, s.user, browser.digest) }, NOW),
      true,
    ],
  ])('%s', async (_, change, isRemembered) => {
    // Before and during the statement.
    const [before, during] = [await createScene(), await createScene()];
    for (const { user } of [before, during]) await sql`delete from remembered_sign_ins where user_id = ${user}`;
    await change(before);
    expect((await remember(before)) !== undefined).toBe(isRemembered);
    expect(await signInsOf(before.user)).toHaveLength(isRemembered ? 1 : 0);
    const bystander = await createScene();
    const racing = callAt(NOW, { insertRememberedSignIn: () => Promise.resolve(change(during)) });
    expect((await remember(during, { of: racing })) !== undefined).toBe(isRemembered);
    expect(await signInsOf(during.user)).toHaveLength(isRemembered ? 1 : 0);
    expect(await signInsOf(bystander.user)).toHaveLength(1);
  });

  test('it in place of the former one of this browser, and of no other', async () => {
    const scene = await createScene();
    const bystander = await createScene();
    const token = await remember(scene, { formerToken: scene.token });
    expect(await signInsOf(scene.user)).toEqual([
      expect.objectContaining({
        ...{ token_digest: digestSignInToken(token ?? ''), browser_digest: browser.digest, method: 'passkey' },
        ...{ assurance: 3, ip_address: browser.address, user_agent: browser.userAgent },
        ...{ authenticated_at: SIGNED_IN, expires_at: at(HOUR) },
      }),
    ]);
    await remember(scene);
    expect(await signInsOf(scene.user)).toHaveLength(2);
    expect(await signInsOf(bystander.user)).toHaveLength(1);
  });
});

describe('lists', () => {
  test('the newest hundred that have not ended, and counts them all', async () => {
    const [user, other] = [await createTestUser(service), await createTestUser(service)];
    await insertSignIn(other.id);
    await insertSignIn(user.id, { expires_at: NOW, authenticated_at: NOW });
    await insertSignIn(user.id, { expires_at: at(1), authenticated_at: at(-1), user_agent: 'newest' });
    const digests = Array.from({ length: 101 }, () => randomBytes(32));
    for (const digest of digests) await insertSignIn(user.id, { token_digest: digest });
    const listed = await listRememberedSignIns(call, user.id);
    expect(listed.map(({ userAgent }) => userAgent).slice(0, 2)).toEqual(['newest', null]);
    // Of one instant by their digests.
    const expected = digests.toSorted(Buffer.compare).slice(0, 99);
    expect(listed.slice(1).map(({ tokenDigest }) => tokenDigest)).toEqual(expected);
    expect(await exportRememberedSignIns(call, user.id)).toMatchObject({ rememberedSignIns: 102 });
  });
});

describe('finds the user of a browser', () => {
  test.each<[string, object, boolean]>([
    ['with a sign-in', {}, true],
    ['until it ends', { expires_at: at(1) }, true],
    ['not when it ends', { expires_at: NOW }, false],
  ])('%s', async (_, columns, isFound) => {
    const { user, token } = await createScene(columns);
    expect(await findRememberedUser(call, token)).toBe(isFound ? user : undefined);
  });

  test('not by another token', async () => {
    await createScene();
    expect(await findRememberedUser(call, 'another')).toBeUndefined();
  });
});

describe('forgets', () => {
  const isThere = async ({ token }: Scene) => (await findRememberedUser(call, token)) !== undefined;

  test.each<[string, (scene: Scene) => string | undefined, isForgotten: boolean]>([
    ['a sign-in', () => undefined, true],
    ['one of the user', ({ user }) => user, true],
    ['none of another user', () => randomUUID(), false],
  ])('%s', async (_, userOf, isForgotten) => {
    const [scene, bystander] = [await createScene(), await createScene()];
    expect(await forgetSignIn(call, scene.token, userOf(scene))).toBe(isForgotten ? scene.user : undefined);
    expect([await isThere(scene), await isThere(bystander)]).toEqual([!isForgotten, true]);
  });

  test.each<[string, browser: (own: Buffer) => Buffer, isSignedOut: boolean]>([
    ['one in this browser', (own) => own, false],
    ['one elsewhere, and signs out there', () => randomBytes(32), true],
  ])('%s', async (_, toBrowser, isSignedOut) => {
    const own = randomBytes(32);
    const scene = await createScene({ browser_digest: own });
    const kept = await insertSignIn(scene.user);
    const named = { userId: scene.user, digest: digestSignInToken(scene.token).toString('base64url') };
    await forgetListedSignIn(call, { ...named, browser: { digest: toBrowser(own) } });
    expect([await isThere(scene), await isThere({ ...scene, token: kept })]).toEqual([false, true]);
    expect(await sql`select from browser_cutoffs where user_id = ${scene.user}`).toHaveLength(isSignedOut ? 1 : 0);
  });

  test('one of no known browser without signing out', async () => {
    const scene = await createScene({ browser_digest: null });
    const named = { userId: scene.user, digest: digestSignInToken(scene.token).toString('base64url') };
    await forgetListedSignIn(call, { ...named, browser: { digest: randomBytes(32) } });
    expect(await isThere(scene)).toBe(false);
  });

  test('nothing for another text', async () => {
    const scene = await createScene();
    await forgetListedSignIn(call, { userId: scene.user, digest: 'another', browser: { digest: randomBytes(32) } });
    expect(await isThere(scene)).toBe(true);
  });
});

describe('in this browser, forgets', () => {
  const user = { userOf: ({ user }: Scene) => user };
  test.each<
    [string, { userOf?: (scene: Scene) => string; hasCookie?: boolean }, isForgotten: boolean, isCleared: boolean]
  >([
    ['a sign-in', {}, true, true],
    ['a cookie that is none', { hasCookie: false }, false, true],
    ['the sign-in of the user', user, true, true],
    ['nothing of another user', { userOf: () => randomUUID() }, false, false],
    ['nothing of the user without a cookie', { ...user, hasCookie: false }, false, false],
  ])('%s', async (_, { userOf, hasCookie = true }, isForgotten, isCleared) => {
    const scene = await createScene();
    const cookies: string[] = [];
    const context = {
      request: { headers: hasCookie ? { cookie: `usher-sso=${scene.token}` } : {} },
      response: { appendHeader: (_name: string, value: string) => void cookies.push(value) },
    };
    const browser = { ...browserOf(), isSecure: false };
    const forgotten = await forgetHere({ context, call, browser } as never, userOf?.(scene));
    expect(forgotten).toBe(isForgotten ? scene.user : undefined);
    expect(cookies).toEqual(isCleared ? [expect.stringMatching(/^usher-sso=; Max-Age=0/)] : []);
  });
});

test('the account page says nothing of remembered sign-ins where there are none', () => {
  const shown = { signIns: [], tokenDigest: undefined, providers: { nameOf: () => '' } };
  expect(renderSignIns({ language: {}, path: '' } as never, shown)).toEqual({});
});
