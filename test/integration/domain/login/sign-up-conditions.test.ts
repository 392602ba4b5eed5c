/** Each condition of sign-ins that are held for a second factor, and of sign-ups, a row each. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { completeLogin } from '../../../../src/domain/login/complete-login.ts';
import { findHeldSignIn, holdSignIn } from '../../../../src/domain/login/held-sign-in.ts';
import { NOTHING_PROVED } from '../../../../src/domain/login/proved-user.ts';
import { signUp } from '../../../../src/domain/login/sign-up.ts';
import { SignUpRules } from '../../../../src/domain/login/sign-up-rules.ts';
import { at, DAY, HOUR, NOW, reason } from '../../../support/domain-scene.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { address, type Columns, type LoginScene, MINUTE, openLoginScenes } from '../../../support/login-scene.ts';

let { here, elsewhere, loginIntentId, untouched, userId, stranger, email, browser, origin } = {} as LoginScene;
const { sql, insert, callAt, tokens, watch, clone, ...scene } = await openLoginScenes((begun) => {
  ({ here, elsewhere, loginIntentId, untouched, userId, stranger, email, browser, origin } = begun);
});
const { setIntent, setApplication, setUser, restrict, identify, identity, readIntent } = scene;

describe('a second factor', () => {
  const addFactor = async (columns: Columns = {}) => [
    await setUser({ has_second_factor: true }),
    await insert('totp_secrets', { user_id: userId, ...columns }),
  ];
  const signIn = (assurance = 1) =>
    completeLogin(
      callAt(),
      tokens,
      { loginIntentId, userId, assurance },
      { how: { method: 'email', ...origin }, proved: { email } },
    );
  const HELD = 'SECOND_FACTOR_NEEDED';
  const REFUSED = 'ASSURANCE_NOT_MET';

  test.each<[string, prepare: () => Promise<unknown>, required: number, assurance: number, answer: string]>([
    ['is asked', () => addFactor(), 1, 1, HELD],
    ['is asked where it must be', () => addFactor(), 2, 1, HELD],
    ['does not suffice', () => addFactor(), 3, 1, REFUSED],
    ['was shown', () => addFactor(), 2, 2, 'done'],
    ['was shown, and does not suffice', () => addFactor(), 3, 2, REFUSED],
    ['is too young', () => addFactor({ counts_from: at(1) }), 1, 1, 'done'],
    ['is too young where it must be asked', () => addFactor({ counts_from: at(1) }), 2, 1, REFUSED],
    ['is just old enough', () => addFactor({ counts_from: NOW }), 1, 1, HELD],
    [
      'of somebody else counts',
      async () => [await addFactor({ counts_from: at(1) }), await insert('totp_secrets', { user_id: stranger })],
      1,
      1,
      'done',
    ],
    ['may be set up', async () => {}, 2, 1, HELD],
    ['may be set up for no more', async () => {}, 3, 1, REFUSED],
    ['may not be set up beside a passkey', () => insert('passkeys', { user_id: userId }), 2, 1, REFUSED],
    ['is not asked', async () => {}, 1, 1, 'done'],
  ])('%s', async (_, prepare, required, assurance, answer) => {
    await prepare();
    await setIntent({ required_assurance: required });
    const others = { application_id: here, email };
    await insert('login_codes', { ...others, login_intent_id: loginIntentId });
    await insert('login_codes', { ...others, login_intent_id: untouched });
    await insert('login_codes', { application_id: elsewhere, email, login_intent_id: loginIntentId });
    expect(await reason(signIn(assurance))).toBe(answer);
    const held =
      await sql`select user_id, method, browser_digest, expires_at from held_sign_ins where application_id = ${here}`;
    expect(held).toEqual(
      answer === HELD
        ? [{ user_id: userId, method: 'email', browser_digest: browser.digest, expires_at: at(10 * MINUTE) }]
        : [],
    );
    const isHeld = answer === HELD || (answer === 'done' && /young|else/.test(_));
    expect(await sql`select from login_codes where email = ${email}`).toHaveLength(isHeld ? 2 : 3);
    expect((await readIntent())?.assurance ?? null).toBe(answer === 'done' ? assurance : null);
  });

  test.each<[string, end: () => Promise<unknown>]>([
    ['is revoked everywhere', () => insert('user_cutoffs', { user_id: userId, cutoff_at: at(HOUR) })],
    [
      'is signed out here',
      () => sql`
        insert into browser_cutoffs (user_id, browser_digest, cutoff_at, expires_at)
        values (${userId}, ${browser.digest}, ${at(HOUR)}, ${at(DAY)})`,
    ],
    ['has another address', () => setUser({ email_changed_at: NOW })],
    ['has an older second factor', () => sql`update totp_secrets set counts_from = ${NOW} where user_id = ${userId}`],
  ])('is too young, but the user %s meanwhile', async (_, end) => {
    await addFactor({ counts_from: at(1) });
    const call = watch({ holdSignIn: end });
    const page = { how: { method: 'email', ...origin }, proved: { email } };
    expect(await reason(completeLogin(call, tokens, { loginIntentId, userId }, page))).not.toBe('done');
    expect(await readIntent()).toMatchObject({ completed_at: null });
  });

  test('is not asked of who has shown it, whatever else has refused the sign-in', async () => {
    await addFactor();
    const login = { id: loginIntentId, applicationId: here, expiresAt: at(HOUR), requiredAssurance: 1 };
    const step = { ...NOTHING_PROVED, ...origin, userId, method: 'passkey', assurance: 2 };
    expect(await holdSignIn(callAt(), login, step)).toBeUndefined();
    expect(await holdSignIn(callAt(), login, { ...step, assurance: 1 }).catch(({ reason }) => reason)).toBe(HELD);
  });

  test.each([
    ['recovery', true],
    ['passkey', false],
  ])('is too young: the login by %s is completed with what the first step had', async (method, isVouched) => {
    await addFactor({ counts_from: at(1) });
    const step = { ...NOTHING_PROVED, ...origin, userId, method, assurance: 1, passkeyId: randomUUID() };
    await setIntent({ vouched_user_id: stranger, passkey_id: stranger });
    const login = { id: loginIntentId, applicationId: here, expiresAt: at(HOUR), requiredAssurance: 1 };
    expect(await holdSignIn(callAt(), login, step)).toMatchObject({ applicationId: here });
    expect(await readIntent()).toMatchObject({
      ...{ method, passkey_id: step.passkeyId, vouched_user_id: isVouched ? userId : stranger },
    });
  });

  test('of a user who is erased meanwhile leaves no sign-in', async () => {
    await addFactor();
    const call = watch({ holdSignIn: () => setUser({ deleted_at: NOW, email: '', wallet_address: '' }) });
    const page = { how: { method: 'email', ...origin }, proved: { email } };
    await completeLogin(call, tokens, { loginIntentId, userId }, page).catch(() => {});
    expect(await sql`select from held_sign_ins where user_id = ${userId}`).toEqual([]);
  });

  test('is asked for the last sign-in alone, no longer than the login is open', async () => {
    await addFactor();
    const before = { user_id: stranger, method: 'wallet', passkey_id: randomUUID(), email_changed_at: at(-DAY) };
    await insert('held_sign_ins', {
      application_id: here,
      login_intent_id: loginIntentId,
      ...before,
      authenticated_at: at(-DAY),
    });
    await insert('held_sign_ins', { application_id: here, login_intent_id: untouched, ...before });
    await setIntent({ expires_at: at(MINUTE) });
    await setUser({ email_changed_at: at(-HOUR) });
    expect(await reason(signIn())).toBe(HELD);
    const [held] = await sql`select * from held_sign_ins where login_intent_id = ${loginIntentId}`;
    expect(held).toMatchObject({
      ...{ user_id: userId, method: 'email', passkey_id: null, browser_digest: browser.digest, authenticated_at: null },
      ...{ email_changed_at: at(-HOUR), expires_at: at(MINUTE) },
    });
    expect(held?.proved_at.getTime()).toBeGreaterThan(at(-MINUTE).getTime());
    expect(await sql`select user_id from held_sign_ins where login_intent_id = ${untouched}`).toEqual([
      { user_id: stranger },
    ]);
    const find = (ms: number, digest = browser.digest, id = loginIntentId, applicationId = here) =>
      findHeldSignIn(callAt(at(ms)), { digest }, { id, applicationId });
    expect(await find(MINUTE - 1)).toMatchObject({ userId });
    for (const none of [
      find(MINUTE),
      find(0, randomBytes(32)),
      find(0, browser.digest, untouched),
      find(0, browser.digest, loginIntentId, elsewhere),
    ])
      expect(await none).toBeUndefined();
  });
});

test.each<[string, prepare: () => Promise<unknown>, fields: () => Columns, isDone: boolean | 'held']>([
  ['by an address', async () => {}, () => ({}), true],
  ['until the end', () => setIntent({ expires_at: at(1) }), () => ({}), true],
  ['at the end', () => setIntent({ expires_at: NOW }), () => ({}), false],
  ['twice', () => setIntent({ completed_at: NOW }), () => ({}), false],
  ['to an application that is gone', () => setApplication({ deleted_at: NOW }), () => ({}), false],
  ['where nobody may', () => setApplication({ allow_sign_up: false }), () => ({}), false],
  ['where it is restricted', restrict, () => ({}), false],
  [
    'from a listed domain',
    () => setApplication({ sign_up_email_domains: ['x.test', 'example.com'] }),
    () => ({}),
    true,
  ],
  ['from another', () => setApplication({ sign_up_email_domains: ['x.test'] }), () => ({}), false],
  ['from a blocked one', async () => {}, () => ({ email: 'a@sub.blocked.test' }), false],
  ['with an address that is taken', async () => {}, () => ({ email: email.toUpperCase() }), false],
  [
    'with one that is taken in another spelling',
    () => setUser({ email: 'ada@xn--bcher-kva.example' }),
    () => ({ email: 'ada@bücher.example' }),
    false,
  ],
  ['with one whose user is gone', () => setUser({ deleted_at: NOW }), () => ({ email }), true],
  ['with an identity', async () => {}, () => ({ identity: identity(), method: 'acme' }), true],
  ['with one that is taken', () => identify({ user_id: stranger }), () => ({ identity: identity() }), false],
  [
    'with the subject of another issuer',
    () => identify({ issuer: 'https://b.test' }),
    () => ({ identity: identity() }),
    true,
  ],
  ['with another subject', () => identify({ subject: stranger }), () => ({ identity: identity() }), true],
  ['where two factors are needed', () => setIntent({ required_assurance: 2 }), () => ({}), 'held'],
  ['with two factors', () => setIntent({ required_assurance: 2 }), () => ({ assurance: 2 }), true],
])('signs up %s', async (_, prepare, fields, outcome) => {
  const isDone = outcome === true;
  await setApplication({ allow_sign_up: true });
  await prepare();
  const { email: of = address(), identity: linked, method = 'email', assurance } = fields() as Record<string, never>;
  const counts: string[] = [];
  const watched = watch();
  const call = { ...watched, count: (name: string) => void counts.push(name) };
  const user = {
    email: of as string,
    name: 'Ada',
    walletAddress: '',
    identity: linked && { provider: 'acme', ...(linked as ReturnType<typeof identity>) },
  };
  const signUps = new SignUpRules(['blocked.test']);
  const done = await signUp(call, { tokens, signUps }, loginIntentId, user, {
    method,
    ...origin,
    ...(assurance ? { assurance } : {}),
  });
  expect(done !== undefined).toBe(isDone);
  expect(counts).toEqual(isDone ? ['sign_ins', 'sign_ups'] : []);
  // Refused without an error in the log of Postgres.
  expect(watched.names).toEqual(/blocked/.test(_) ? [] : ['signUp']);
  const id = done?.userId ?? randomUUID();
  const isVerified = method === 'email';
  expect(await sql`select email, email_verified_at from users where email = ${of} and created_at = ${NOW}`).toEqual(
    outcome ? [{ email: of, email_verified_at: isVerified ? NOW : null }] : [],
  );
  expect(await sql`select issuer, subject from user_identities where user_id = ${id}`).toEqual(
    isDone && linked ? [linked] : [],
  );
  expect(await readIntent()).toMatchObject({ user_id: done?.userId ?? null });
  expect(await readIntent(untouched)).toMatchObject({ user_id: null });
});

test('of two sign-ups at once with the same identity, one is refused', async () => {
  await setApplication({ allow_sign_up: true });
  const taken = await holdLock(
    clone,
    `insert into user_identities (issuer, subject, user_id, provider, created_at)
     values ('https://issuer.test', '${userId}', '${stranger}', 'acme', now())`,
  );
  const user = { email: address(), name: 'Ada', walletAddress: '', identity: { provider: 'acme', ...identity() } };
  const parts = { tokens, signUps: new SignUpRules() };
  const done = signUp(callAt(), parts, loginIntentId, user, { method: 'acme', ...origin });
  await waitForLockOf(clone, done);
  await taken.release();
  expect(await done).toBeUndefined();
  const broken = { ...callAt(), run: () => Promise.reject(new Error('away')) };
  await expect(signUp(broken, parts, loginIntentId, user, { method: 'acme', ...origin })).rejects.toThrow('away');
});
