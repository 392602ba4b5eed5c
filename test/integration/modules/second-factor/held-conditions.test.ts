/** Each condition of the second step of a sign-in, a row each. What uses up the factor: test/integration/domain/second-factor. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { getLoginIntent } from '../../../../src/domain/login/get-login-intent.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { createRecoveryCodes, digestRecoveryCode } from '../../../../src/domain/second-factor/recovery-codes.ts';
import { computeTotp } from '../../../../src/domain/second-factor/totp.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { encodeBase32 } from '../../../../src/encoding/base32.ts';
import { answerHeld, completeHeldLogin } from '../../../../src/modules/second-factor/domain/complete-held-login.ts';
import { at, DAY, HOUR, NOW, openDomain, reason as reasonOf } from '../../../support/domain-scene.ts';
import { generateIssuerKey } from '../../../support/issuer.ts';
import { newBrowser } from '../../../support/new-browser.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();

test.each<[string, application: Record<string, unknown>, intent: object, reason: string]>([
  ['has ended', {}, {}, 'HELD_SIGN_IN_ENDED'],
  ['is of a login that has ended', {}, { expires_at: NOW }, 'LOGIN_INTENT_EXPIRED'],
  ['has no access any more', { restrict_access: true }, {}, 'ACCESS_NOT_ALLOWED'],
])('a held sign-in that %s', async (_, application, columns, reason) => {
  const [userId, application_id] = [await createUser(), await createApplication(application)];
  const { id: loginIntentId } = await insert('login_intents', { application_id, expires_at: at(HOUR), ...columns });
  const intent = await getLoginIntent(callAt(), { loginIntentId });
  const held = { userId, method: 'email', passkeyId: null, authenticatedAt: null };
  const answer = answerHeld(
    callAt(),
    {} as never,
    newBrowser(),
    { intent, held } as never,
    { completedAt: null } as never,
  );
  expect(await answer.catch((error) => error.reason)).toBe(reason);
});

const { privateKey, kid, alg } = generateIssuerKey('EdDSA', 'key');
const parts = {
  cipher: new RowCipher([randomBytes(32)]),
  codes: { keys: deriveLoginCodeKeys([randomBytes(32)]) },
  tokens: await AuthTokens.create('https://usher.test', [{ ...privateKey.export({ format: 'jwk' }), kid, alg }]),
};
const secret = randomBytes(20);
const appCode = () => computeTotp(secret, Math.floor(Date.now() / 30_000));

const browser = newBrowser({ address: '192.0.2.1' });
let userId: string;
let stranger: string;
let applicationId: string;
let loginIntentId: string;
let recoveryCodes: readonly string[];
beforeEach(async () => {
  applicationId = await createApplication({ single_sign_on: true });
  recoveryCodes = createRecoveryCodes().slice(0, 3);
  [userId, stranger] = [await createUser({ has_second_factor: true }), await createUser({ has_second_factor: true })];
  for (const user_id of [stranger, userId]) {
    const id = randomUUID();
    const sealed = parts.cipher.encrypt(encodeBase32(secret), { applicationId: user_id, id });
    await insert('totp_secrets', { user_id, id, sealed, last_used_at: user_id === stranger ? at(-DAY) : null });
  }
  for (const code of recoveryCodes)
    await insert('recovery_codes', { user_id: userId, digest: digestRecoveryCode(userId, code) });
  await insert('recovery_codes', { user_id: stranger });
  loginIntentId = (await insert('login_intents', { application_id: applicationId, id: randomUUID() })).id;
  const of = { application_id: applicationId, login_intent_id: loginIntentId, browser_digest: browser.digest };
  await insert('held_sign_ins', { ...of, user_id: userId });
});

let woken = 0;
const enter = (kind: 'app' | 'recovery', code: string, from = browser) => {
  woken = 0;
  const call = { ...callAt(), notices: { toLanguage: () => 'en', wake: () => void woken++ } };
  return completeHeldLogin(call, parts, from, { loginIntentId }, { kind, code });
};
const setHeld = (columns: object) =>
  sql`update held_sign_ins set ${sql(columns as never)} where login_intent_id = ${loginIntentId}`;
const countPlaces = async () => (await sql`select from known_origins where user_id = ${userId}`).length;
const readNotices = () => sql`select kind, user_id from notices where kind = 'recoveryCodeUsed'`;

test('a code of the app completes the login, and says that it is the first', async () => {
  const others = { user_id: userId, browser_digest: browser.digest };
  await insert('held_sign_ins', { ...others, application_id: applicationId });
  await insert('held_sign_ins', {
    ...others,
    application_id: await createApplication(),
    login_intent_id: loginIntentId,
  });
  const step = await enter('app', appCode());
  expect(step).toMatchObject({ userId, codesLeft: 3, isFirst: true, intent: { id: loginIntentId } });
  expect(step.completion).toMatchObject({ signIn: { userId, method: 'email', assurance: 2 } });
  expect(await countPlaces()).toBeGreaterThan(0);
  const events = await readNotices();
  expect(events.filter(({ user_id }) => user_id === userId)).toEqual([]);
  // Other logins wait on.
  expect(await sql`select from held_sign_ins where user_id = ${userId}`).toHaveLength(2);
});

test('a code of the app completes the login at an application that the user may enter', async () => {
  await sql`update applications set restrict_access = true where id = ${applicationId}`;
  await insert('added_users', { application_id: applicationId, user_id: userId });
  expect((await enter('app', appCode())).completion.redirectUrl).toContain('authToken=');
});

test('a recovery code completes the login, and the user alone is told', async () => {
  await sql`update totp_secrets set last_used_at = ${at(-DAY)} where user_id = ${userId}`;
  await sql`update totp_secrets set last_used_at = null where user_id = ${stranger}`;
  const step = await enter('recovery', recoveryCodes[0] ?? '');
  expect(step).toMatchObject({ codesLeft: 2, isFirst: false });
  // One for the place, which is new, and one for the code.
  expect(woken).toBe(2);
  const told = await readNotices();
  expect(told.filter(({ user_id }) => user_id === userId)).toHaveLength(1);
  expect(told.filter(({ user_id }) => user_id === stranger)).toEqual([]);
});

test('the sign-in by a recovery link is one of no application: no browser remembers it, and no place is known', async () => {
  await setHeld({ method: 'recovery' });
  const { completion } = await enter('app', appCode());
  expect(completion.signIn).toBeUndefined();
  expect(await countPlaces()).toBe(0);
});

test.each<[string, prepare: () => PromiseLike<unknown>]>([
  ['waits in another browser', () => setHeld({ browser_digest: randomBytes(32) })],
  ['has ended', () => insert('user_cutoffs', { user_id: userId, cutoff_at: NOW })],
  [
    'has ended before another of the user',
    async () => {
      await insert('user_cutoffs', { user_id: userId, cutoff_at: NOW });
      await insert('held_sign_ins', { application_id: applicationId, user_id: userId, proved_at: at(1) });
    },
  ],
])('a sign-in that %s is not completed by the right code', async (_, prepare) => {
  await prepare();
  expect(await reasonOf(enter('app', appCode()))).toBe('HELD_SIGN_IN_ENDED');
});

test('a refusal is an attempt of the user whose first step was right', async () => {
  const refused = enter('recovery', createRecoveryCodes()[0] ?? '');
  await expect(refused).rejects.toMatchObject({ reason: 'WRONG_SECOND_FACTOR', attempt: { userId, method: 'email' } });
});
