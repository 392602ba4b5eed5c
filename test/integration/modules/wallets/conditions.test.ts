/** Each condition of a sign-in with a wallet, a row each. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { createWalletChallenge } from '../../../../src/modules/wallets/domain/create-wallet-challenge.ts';
import { redeemWalletSignature } from '../../../../src/modules/wallets/domain/redeem-wallet-signature.ts';
import { at, HOUR, NOW, openDomain, reason } from '../../../support/domain-scene.ts';
import { generateIssuerKey } from '../../../support/issuer.ts';
import { newBrowser } from '../../../support/new-browser.ts';
import { Wallet } from '../../../support/wallet.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
const { privateKey, kid, alg } = generateIssuerKey('EdDSA', 'key');
const tokens = await AuthTokens.create('https://usher.test', [{ ...privateKey.export({ format: 'jwk' }), kid, alg }]);
const codes = { keys: deriveLoginCodeKeys([randomBytes(32)]), limitFactor: 1 };
const parts = { tokens, codes, hasEmail: true };
const message = 'the message';

type Columns = Readonly<Record<string, unknown>>;

let applicationId: string;
let loginIntentId: string;
let wallet: Wallet;
let browser: ReturnType<typeof newBrowser>;
beforeEach(async () => {
  await sql`delete from wallet_challenges`;
  applicationId = await createApplication();
  loginIntentId = (await insert('login_intents', { application_id: applicationId })).id;
  [wallet, browser] = [new Wallet(), newBrowser()];
});

const addChallenge = (given: Columns = {}) =>
  insert('wallet_challenges', {
    ...{ application_id: applicationId, login_intent_id: loginIntentId, browser_digest: browser.digest },
    ...{ address: wallet.address, message, ...given },
  });
const addUser = (given: Columns = {}) => createUser({ wallet_address: wallet.checksumAddress, ...given });
const setApplication = (columns: Columns) =>
  sql`update applications set ${sql(columns as never)} where id = ${applicationId}`;
const challengeIds = async () => (await sql`select id from wallet_challenges`).map(({ id }) => id);
const redeem = (signature = wallet.sign(message), changes: Partial<typeof parts> = {}) =>
  redeemWalletSignature(callAt(), { ...parts, ...changes }, browser, { loginIntentId, signature });

describe('the message that counts', () => {
  test.each<[string, prepare: () => Promise<unknown>, answer: string]>([
    ['is one', () => addChallenge(), 'done'],
    ['there must be', async () => {}, 'INVALID_SIGNATURE'],
    ['is of this browser', () => addChallenge({ browser_digest: randomBytes(32) }), 'INVALID_SIGNATURE'],
    ['is of this login', () => addChallenge({ login_intent_id: randomUUID() }), 'INVALID_SIGNATURE'],
    ['is not signed yet', () => addChallenge({ is_proved: true }), 'INVALID_SIGNATURE'],
    ['has just not expired', () => addChallenge({ expires_at: at(1) }), 'done'],
    ['has not expired', () => addChallenge({ expires_at: NOW }), 'INVALID_SIGNATURE'],
    [
      'is the latest',
      async () => [
        await addChallenge({ created_at: at(-HOUR - 1), message: 'an older one' }),
        await addChallenge(),
        await addChallenge({ created_at: at(-HOUR - 2), message: 'the oldest one' }),
      ],
      'done',
    ],
    [
      'is no older one',
      async () => [await addChallenge({ created_at: at(-HOUR - 1) }), await addChallenge({ message: 'a later one' })],
      'INVALID_SIGNATURE',
    ],
  ])('%s', async (_, prepare, answer) => {
    await addUser();
    await prepare();
    expect(await reason(redeem())).toBe(answer);
  });

  test('goes after one attempt, and no other', async () => {
    const own = await addChallenge({ created_at: at(0) });
    const others = [
      await addChallenge(),
      await addChallenge({ id: own.id, login_intent_id: randomUUID() }),
      await addChallenge({ id: own.id, application_id: randomUUID() }),
    ];
    expect(await reason(redeem('0x00'))).toBe('INVALID_SIGNATURE');
    expect((await challengeIds()).sort()).toEqual(others.map(({ id }) => id).sort());
  });
});

describe('a wallet without a user', () => {
  test('is kept for whoever signs up with a code, as long as the login, and no other is', async () => {
    await setApplication({ allow_sign_up: true });
    const own = await addChallenge({ created_at: at(0), expires_at: at(1) });
    await addChallenge();
    await addChallenge({ id: own.id, login_intent_id: randomUUID() });
    await addChallenge({ id: own.id, application_id: randomUUID() });
    expect(await redeem()).toBeUndefined();
    expect(await sql`select id, login_intent_id, expires_at from wallet_challenges where is_proved`).toEqual([
      { id: own.id, login_intent_id: loginIntentId, expires_at: at(HOUR) },
    ]);
    expect(await challengeIds()).toHaveLength(4);
  });

  test.each<[string, prepare: () => unknown, changes?: Partial<typeof parts>]>([
    ['nobody signs up', () => setApplication({ allow_sign_up: false })],
    ['no codes are sent', () => {}, { hasEmail: false }],
    ['the application wants no codes', () => setApplication({ login_methods: ['wallet'] })],
  ])('is unknown where %s', async (_, prepare, changes) => {
    await setApplication({ allow_sign_up: true });
    await prepare();
    await addChallenge();
    expect(await reason(redeem(undefined, changes))).toBe('UNKNOWN_WALLET');
    expect(await sql`select from wallet_challenges where is_proved`).toEqual([]);
  });

  test.each<[string, Columns]>([
    ['whose user has another', { wallet_address: new Wallet().address }],
    ['whose user is closed', { deactivated_at: NOW }],
    ['whose user is deleted', { deleted_at: NOW }],
  ])('is one %s', async (_, columns) => {
    await addUser(columns);
    await addChallenge();
    expect(await reason(redeem())).toBe('UNKNOWN_WALLET');
  });
});

test('a sign-in is one also where people sign up, and is remembered with its browser', async () => {
  await setApplication({ allow_sign_up: true });
  const userId = await addUser();
  await addChallenge();
  expect(await redeem()).toMatchObject({ redirectUrl: expect.any(String) });
  expect(await sql`select from known_origins where user_id = ${userId}`).toHaveLength(2);
});

test.each<[string, string, string]>([
  ['255 characters', 'x'.repeat(255), 'LOGIN_INTENT_NOT_FOUND'],
  ['256 characters', 'x'.repeat(256), 'VALIDATION_FAILED'],
  ['256 characters of hex', `0x${'0'.repeat(254)}`, 'LOGIN_INTENT_NOT_FOUND'],
  ['8,192 characters of hex', `0x${'0'.repeat(8_190)}`, 'LOGIN_INTENT_NOT_FOUND'],
  ['8,193 characters of hex', `0x${'0'.repeat(8_191)}`, 'VALIDATION_FAILED'],
])('a signature of %s', async (_, signature, answer) => {
  const signed = { loginIntentId: randomUUID(), signature };
  expect(await reason(redeemWalletSignature(callAt(), parts, browser, signed))).toBe(answer);
});

test('a login gets twenty messages at once', async () => {
  const ask = () =>
    reason(
      createWalletChallenge(callAt(), { chainId: 1, authPageUrl: 'https://usher.test/login' }, browser, {
        loginIntentId,
        address: wallet.address,
      }),
    );
  const answers = [];
  for (let count = 0; count < 21; count++) answers.push(await ask());
  expect(answers).toEqual([...Array(20).fill('done'), 'TOO_MANY_CHALLENGES']);
});
