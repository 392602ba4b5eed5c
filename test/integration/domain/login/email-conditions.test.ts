/** Each condition of what follows an entered code, a row each. What people see: test/login-page/email.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { ServiceError } from '../../../../src/domain/core/errors.ts';
import type { Completion } from '../../../../src/domain/login/complete-login.ts';
import { nameNewUser } from '../../../../src/domain/login/name-new-user.ts';
import { redeemLoginCode } from '../../../../src/domain/login/redeem-login-code.ts';
import { SignUpRules } from '../../../../src/domain/login/sign-up-rules.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, NOW } from '../../../support/domain-scene.ts';
import { address, type Columns, type LoginScene, openLoginScenes } from '../../../support/login-scene.ts';

let { here, loginIntentId, userId, stranger, email, wallet, browser } = {} as LoginScene;
const { sql, insert, callAt, tokens, keys, insertCode, watch, ...scene } = await openLoginScenes((begun) => {
  ({ here, loginIntentId, userId, stranger, email, wallet, browser } = begun);
});
const { setApplication, setUser, readIntent, createUser } = scene;
const parts = { codes: { keys, limitFactor: 1 }, tokens, signUps: new SignUpRules() };

let identityId: string;
let subject: string;
beforeEach(async () => {
  [identityId, subject] = [randomUUID(), randomUUID()];
  await setApplication({ allow_sign_up: true });
});

type Prepare = () => PromiseLike<unknown>;
type Meanwhile = Parameters<typeof watch>[0];

const outcomeOf = (work: Promise<Completion | undefined>) =>
  work.then(
    (completion) => (completion ? 'done' : 'asks the name'),
    ({ reason, attempt }: ServiceError) => attempt?.cause ?? reason,
  );
const nothing = async () => {};
/** This browser has proved to have an identity that it may link. */
const prove = () =>
  insert('proved_identities', {
    ...{ application_id: here, login_intent_id: loginIntentId, browser_digest: browser.digest },
    ...{ id: identityId, subject },
  });
const addFactor = async () => [
  await setUser({ has_second_factor: true }),
  await insert('totp_secrets', { user_id: userId }),
];
const linkToStranger = () => insert('user_identities', { issuer: 'https://issuer.test', subject, user_id: stranger });
const OF_NOBODY = { user_id: null };
const withIdentity = () => ({ identity_id: identityId });
/** What the login by the code leaves: that of the user with the address, who has it in the last place. */
const readLeft = async (of: string) => {
  const [user] = await sql`select id, name, wallet_address from users where email = ${of} and deleted_at is null`;
  const id = user?.id ?? null;
  return {
    isDone: (await readIntent())?.user_id !== null,
    isOfOwner: (await readIntent())?.user_id === id,
    name: user?.name,
    hasWallet: user?.wallet_address === wallet,
    identities: (await sql`select from user_identities where user_id = ${id} and subject = ${subject}`).length,
    origins: (await sql`select from known_origins where user_id = ${id}`).length,
  };
};

test.each<
  [
    string,
    code: () => Columns,
    prepare: Prepare,
    answer: string,
    left?: object,
    request?: { code?: string; link?: string },
    meanwhile?: () => Meanwhile,
  ]
>([
  ['of a user', () => ({}), nothing, 'done', { origins: 2 }],
  ['that is wrong', () => ({}), nothing, 'WRONG_CODE', {}, { code: '000' }],
  ['that was wrong too often', () => ({ attempts: 5 }), nothing, 'WRONG_CODES'],
  ['that was sent to another browser', () => ({ browser_digest: randomBytes(32) }), nothing, 'CODE_NOT_VALID'],
  ['of a user who owes a second factor', () => ({}), () => addFactor(), 'SECOND_FACTOR_NEEDED'],
  [
    'of a user who is let in',
    () => ({}),
    async () => [
      await setApplication({ restrict_access: true }),
      await insert('added_users', { application_id: here, user_id: userId }),
    ],
    'done',
    { origins: 2 },
  ],
  ['of a new user', () => ({ ...OF_NOBODY, email: address() }), nothing, 'done', { origins: 2, name: null }],
  [
    'of nobody where nobody may sign up',
    () => ({ ...OF_NOBODY, email: address() }),
    () => setApplication({ allow_sign_up: false }),
    'WRONG_CODE',
  ],
  [
    'of a new user who must give a name',
    () => ({ ...OF_NOBODY, email: address() }),
    () => setApplication({ ask_name: true }),
    'asks the name',
  ],
  [
    'of a user who came to be since, and has a name',
    () => OF_NOBODY,
    () => setApplication({ ask_name: true }),
    'done',
    { origins: 2 },
  ],
  ['for a wallet', () => ({ wallet_address: wallet }), nothing, 'done', { hasWallet: true }, { link: '1' }],
  ['for a wallet that is not to be linked', () => ({ wallet_address: wallet }), nothing, 'done', { hasWallet: false }],
  ['for an identity', withIdentity, prove, 'done', { identities: 1, hasWallet: false }, { link: 'test' }],
  ['for an identity that was not proved', withIdentity, nothing, 'done', { identities: 0 }, { link: 'test' }],
  [
    'for a wallet, of a user with a second factor',
    () => ({ wallet_address: wallet }),
    () => addFactor(),
    'SECOND_FACTOR_NEEDED',
    { hasWallet: false },
    { link: '1' },
  ],
  [
    'for an identity, of a user with a second factor',
    withIdentity,
    async () => [await prove(), await addFactor()],
    'SECOND_FACTOR_NEEDED',
    { identities: 0 },
    { link: 'test' },
  ],
  [
    'of a new user with a wallet',
    () => ({ ...OF_NOBODY, email: address(), wallet_address: wallet }),
    nothing,
    'done',
    { hasWallet: true },
    { link: '1' },
  ],
  [
    'of a new user with the wallet of somebody else',
    () => ({ ...OF_NOBODY, email: address(), wallet_address: wallet }),
    () => createUser({ wallet_address: wallet }),
    'WALLET_ALREADY_LINKED',
    {},
    { link: '1' },
  ],
  [
    'of a new user with an identity',
    () => ({ ...OF_NOBODY, email: address(), ...withIdentity() }),
    prove,
    'done',
    { identities: 1 },
    { link: 'test' },
  ],
  [
    'of a new user with the identity of somebody else',
    () => ({ ...OF_NOBODY, email: address(), ...withIdentity() }),
    async () => [await prove(), await linkToStranger()],
    'IDENTITY_ALREADY_LINKED',
    {},
    { link: 'test' },
  ],
  [
    'of a new user where sign-ups end meanwhile',
    () => ({ ...OF_NOBODY, email: address() }),
    nothing,
    'USER_NOT_FOUND',
    {},
    {},
    () => ({ selectUserByEmail: () => setApplication({ allow_sign_up: false }) }),
  ],
])(
  'a code %s',
  async (_, columns, prepare, answer, left = {}, { code: entered, link } = {}, meanwhile = () => ({})) => {
    const given = columns();
    await setUser({ wallet_address: '' });
    await prepare();
    const { code } = await insertCode(given);
    const call = watch(meanwhile());
    const request = { loginIntentId, code: entered ?? code, ...(link && { link }) };
    expect(await outcomeOf(redeemLoginCode(call, parts, browser, request))).toBe(answer);
    const isDone = answer === 'done';
    expect(await readLeft((given.email as string | undefined) ?? email)).toMatchObject({
      isDone,
      ...(isDone && { isOfOwner: true }),
      ...left,
    });
  },
);

test('a code of a user works where tables are distributed, too', async () => {
  const call = watch({}, callAt(NOW, undefined, 'distributed'));
  const { code } = await insertCode();
  expect(await outcomeOf(redeemLoginCode(call, parts, browser, { loginIntentId, code }))).toBe('done');
  expect(await readLeft(email)).toMatchObject({ isOfOwner: true, origins: 2 });
});

test('there is no code before one was sent', async () => {
  const request = { loginIntentId, code: '123456' };
  expect(await outcomeOf(redeemLoginCode(watch(), parts, browser, request))).toBe('CODE_NOT_VALID');
});

test('two logins with a new address make one user', async () => {
  const [of, id] = [address(), randomUUID()];
  const { code } = await insertCode({ ...OF_NOBODY, email: of });
  let looks = 0;
  const call = watch({ selectUserByEmail: async () => looks++ === 0 && createUser({ id, email: of }) });
  expect(await outcomeOf(redeemLoginCode(call, parts, browser, { loginIntentId, code }))).toBe('done');
  expect(await readIntent()).toMatchObject({ user_id: id });
});

test('of a user who is erased meanwhile nothing is kept', async () => {
  const { code } = await insertCode();
  const call = watch({ redeemLoginCode: () => setUser({ deleted_at: NOW, email: '', wallet_address: '' }) });
  await redeemLoginCode(call, parts, browser, { loginIntentId, code }).catch(() => {});
  expect(await sql`select from known_origins where user_id = ${userId}`).toEqual([]);
});

test.runIf(LAYOUT === 'whole')('the code of a user whose login needs nothing else takes few statements', async () => {
  const { code } = await insertCode();
  const call = watch();
  await redeemLoginCode(call, parts, browser, { loginIntentId, code });
  expect(call.names).toEqual(['selectIntent', 'selectLatestLoginCode', 'redeemLoginCode', 'selectErasedUser']);
});

test('a user who links nothing is not asked about a second factor, and an identity is looked for only if there is one', async () => {
  await setApplication({ restrict_access: true });
  await insert('added_users', { application_id: here, user_id: userId });
  const { code } = await insertCode();
  const call = watch();
  await redeemLoginCode(call, parts, browser, { loginIntentId, code });
  expect(call.names).toContain('completeRestrictedLoginIntent');
  for (const name of ['selectProvedIdentityById', 'selectFactorOwner']) expect(call.names).not.toContain(name);
});

test.each<[string, code: Columns, application: Columns, answer: string]>([
  ['is signed up', { is_redeemed: true }, {}, 'done'],
  ['must have entered the code', { is_redeemed: false }, {}, 'CODE_NOT_VALID'],
  ['has time until its end', { is_redeemed: true, expires_at: at(1) }, {}, 'done'],
  ['is late at its end', { is_redeemed: true, expires_at: NOW }, {}, 'CODE_NOT_VALID'],
  ['may not sign up any longer', { is_redeemed: true }, { allow_sign_up: false }, 'CODE_NOT_VALID'],
])('a new user who gives a name %s', async (_, columns, application, answer) => {
  const of = address();
  await setApplication({ ask_name: true, ...application });
  await insertCode({ ...OF_NOBODY, email: of, ...columns });
  expect(await outcomeOf(nameNewUser(watch(), parts, browser, { loginIntentId, name: 'Grace' }))).toBe(answer);
  const isDone = answer === 'done';
  expect(await readLeft(of)).toMatchObject({ isDone, name: isDone ? 'Grace' : undefined });
});

test('who gives a name has a code, and may be a user by now', async () => {
  const give = () => outcomeOf(nameNewUser(watch(), parts, browser, { loginIntentId, name: 'Grace' }));
  expect(await give()).toBe('CODE_NOT_VALID');
  await setApplication({ allow_sign_up: false });
  await insertCode({ is_redeemed: true });
  expect(await give()).toBe('done');
  expect(await readLeft(email)).toMatchObject({ isOfOwner: true, name: null });
});
