/** Each condition of using, adding, renaming and removing a passkey, a row each. What WebAuthn demands: test/modules/passkeys. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../../src/domain/core/call.ts';
import { deriveKeys } from '../../../../src/domain/crypto/derived-keys.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { SignUpRules } from '../../../../src/domain/login/sign-up-rules.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { createChallenge } from '../../../../src/modules/passkeys/domain/challenge.ts';
import { toUserHandle } from '../../../../src/modules/passkeys/domain/creation-options.ts';
import { listOwnPasskeys } from '../../../../src/modules/passkeys/domain/list-own-passkeys.ts';
import {
  createPasskeyToken,
  readPasskeyToken,
  removeAddedPasskey,
} from '../../../../src/modules/passkeys/domain/passkey-link.ts';
import { redeemPasskey } from '../../../../src/modules/passkeys/domain/redeem-passkey.ts';
import { createRelyingParty } from '../../../../src/modules/passkeys/domain/relying-party.ts';
import { renamePasskey } from '../../../../src/modules/passkeys/domain/rename-passkey.ts';
import { storePasskey } from '../../../../src/modules/passkeys/domain/store-passkey.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, DAY, HOUR, type Meanwhile, NOW, openDomain, reason, runWith } from '../../../support/domain-scene.ts';
import { generateIssuerKey } from '../../../support/issuer.ts';
import { holdLock } from '../../../support/lock.ts';
import { newBrowser } from '../../../support/new-browser.ts';
import { FLAGS, type Oddities, SoftwarePasskey } from '../../../support/passkey.ts';

const { sql, insert, callAt, clone, createUser, createApplication } = await openDomain();
const { privateKey, kid, alg } = generateIssuerKey('EdDSA', 'key');
const party = createRelyingParty('https://usher.test/login', undefined, [randomBytes(32)]);
const OPERATOR = 'operator@example.com';
const parts = {
  codes: { keys: deriveLoginCodeKeys([randomBytes(32)]), limitFactor: 1 },
  demandsPasskey: (email: string) => email === OPERATOR,
  relyingParty: party,
  signUps: new SignUpRules(),
  tokens: await AuthTokens.create('https://usher.test', [{ ...privateKey.export({ format: 'jwk' }), kid, alg }]),
};
const browser = newBrowser({ address: '192.0.2.1' });
const MINUTE = 60_000;

type Columns = Readonly<Record<string, unknown>>;
let here: string;
let userId: string;
let stranger: string;
let loginIntentId: string;
let passkey: SoftwarePasskey;
let passkeyId: string;
let other: { id: string };
let theirs: { id: string };
beforeEach(async () => {
  await sql`update users set email = id::text where email = ${OPERATOR}`;
  here = await createApplication({ single_sign_on: true });
  [stranger, userId] = [await createUser(), await createUser()];
  loginIntentId = (await insert('login_intents', { application_id: here, id: randomUUID() })).id;
  passkey = new SoftwarePasskey();
  passkey.userHandle = toUserHandle(userId);
  const { id: credential_id, publicKey: public_key } = passkey;
  theirs = await insert('passkeys', { user_id: stranger, rp_id: party.rpId });
  other = await insert('passkeys', { user_id: userId, rp_id: party.rpId });
  passkeyId = (await insert('passkeys', { user_id: userId, rp_id: party.rpId, credential_id, public_key })).id;
});

const set = (table: string, columns: Columns, id: string) =>
  sql`update ${sql(table)} set ${sql(columns as never)} where id = ${id}`;
const setPasskey = (columns: Columns) => set('passkeys', columns, passkeyId);
const setApplication = (columns: Columns) => set('applications', columns, here);
const setIntent = (columns: Columns) => set('login_intents', columns, loginIntentId);
const setUser = (columns: Columns) => set('users', columns, userId);
const readPasskey = async (id = passkeyId) => (await sql`select * from passkeys where id = ${id}`)[0];
const readIntent = async () => (await sql`select * from login_intents where id = ${loginIntentId}`)[0];

let woken = 0;
let counted: string[] = [];
function callOf(meanwhile: Meanwhile = {}): Call {
  [woken, counted] = [0, []];
  const call = callAt();
  return {
    ...{ ...call, run: runWith(meanwhile, call.run), count: (name) => void counted.push(name) },
    notices: { toLanguage: () => 'en', wake: () => void woken++ },
  };
}

describe('a passkey', () => {
  const UNVERIFIED = { flags: FLAGS.verified };
  const YOUNG = { counts_from: at(1) };
  const ONLY_PASSKEYS = { login_methods: ['passkey'] };

  const redeem = (odd: Oddities = {}, meanwhile: Meanwhile = {}) => {
    const use = { purpose: 'passkey get', loginIntentId, browser } as const;
    const asked = { ...party, challenge: createChallenge(party.keys, use, NOW) };
    const credential = passkey.answer(asked, { signCount: 7, ...odd });
    return redeemPasskey(callOf(meanwhile), parts, browser, { loginIntentId, credential });
  };

  async function addApp(columns: Columns = {}) {
    await insert('totp_secrets', { user_id: userId, ...columns });
    await setUser({ has_second_factor: true });
  }
  const restrict = () => setApplication({ restrict_access: true });
  const bothOf = async (...changes: PromiseLike<unknown>[]) => void (await Promise.all(changes));

  test.each<[string, Oddities, prepare: () => PromiseLike<unknown> | undefined, levelOrReason: number | string]>([
    ['that has verified the person has the highest level', {}, () => undefined, 3],
    ['that has not has the lowest', UNVERIFIED, () => undefined, 1],
    ['that is young has the lowest', {}, () => setPasskey(YOUNG), 1],
    ['that counts from now on has the highest', {}, () => setPasskey({ counts_from: NOW }), 3],
    [
      'that is young to operators is so to an operator',
      {},
      () => bothOf(setPasskey({ counts_for_operators_from: at(1) }), setUser({ email: OPERATOR })),
      1,
    ],
    ['that is young to operators is not so to others', {}, () => setPasskey({ counts_for_operators_from: at(1) }), 3],
    ['of an operator that counts has the highest level', {}, () => setUser({ email: OPERATOR }), 3],
    ['opens what only passkeys open', UNVERIFIED, () => setApplication(ONLY_PASSKEYS), 1],
    [
      'that is young does not open it',
      {},
      () => bothOf(setPasskey(YOUNG), setApplication(ONLY_PASSKEYS)),
      'PASSKEY_TOO_NEW',
    ],
    [
      'that is young is one factor, where two are demanded',
      {},
      () => bothOf(setPasskey(YOUNG), setIntent({ required_assurance: 2 })),
      'PASSKEY_TOO_NEW',
    ],
    [
      'that has not verified the person is one factor, too',
      UNVERIFIED,
      () => setIntent({ required_assurance: 2 }),
      'ASSURANCE_NOT_MET',
    ],
    [
      'that has not, where only passkeys are allowed, is not too new for them',
      UNVERIFIED,
      () => bothOf(setApplication(ONLY_PASSKEYS), setIntent({ required_assurance: 2 })),
      'ASSURANCE_NOT_MET',
    ],
    ['of somebody without access opens nothing', {}, restrict, 'ACCESS_NOT_ALLOWED'],
    [
      'of somebody without access is not called young',
      {},
      () => bothOf(restrict(), setPasskey(YOUNG)),
      'ACCESS_NOT_ALLOWED',
    ],
    [
      'of somebody with access opens a restricted application',
      {},
      () => bothOf(restrict(), insert('added_users', { application_id: here, user_id: userId })),
      3,
    ],
    ['that is two factors needs no app', {}, addApp, 3],
    ['that is one factor needs the app', UNVERIFIED, addApp, 'SECOND_FACTOR_NEEDED'],
    ['that is one factor does not need a young app', UNVERIFIED, () => addApp(YOUNG), 1],
    ['of a deactivated user opens nothing', {}, () => setUser({ deactivated_at: NOW }), 'UNKNOWN_PASSKEY'],
  ])('%s', async (_, odd, prepare, levelOrReason) => {
    await prepare();
    const outcome = await redeem(odd).catch((error) => error.reason);
    if (typeof levelOrReason === 'string') expect(outcome).toBe(levelOrReason);
    else expect(outcome).toMatchObject({ redirectUrl: expect.stringContaining('authToken=') });
    const isIn = typeof levelOrReason === 'number';
    expect(await readIntent()).toMatchObject(
      isIn ? { user_id: userId, assurance: levelOrReason, passkey_id: passkeyId } : { user_id: null },
    );
    expect(counted).toEqual(isIn ? ['sign_ins'] : []);
    if (isIn) expect(await sql`select from known_origins where user_id = ${userId}`).not.toEqual([]);
    if (levelOrReason === 'UNKNOWN_PASSKEY') expect(await readPasskey()).toMatchObject({ last_used_at: null });
  });

  test('is remembered by the browser, unless it is young', async () => {
    expect((await redeem()).signIn).toMatchObject({ userId, method: 'passkey', assurance: 3 });
    loginIntentId = (await insert('login_intents', { application_id: here, id: randomUUID() })).id;
    await setPasskey(YOUNG);
    expect((await redeem()).signIn).toBeUndefined();
  });

  test('is used alone: others of the user and of strangers stay as they are', async () => {
    const before = [await readPasskey(other.id), await readPasskey(theirs.id)];
    await redeem();
    expect([await readPasskey(other.id), await readPasskey(theirs.id)]).toEqual(before);
    expect(await readPasskey()).toMatchObject({ sign_count: '7', last_used_at: NOW });
  });

  test.each<[string, Oddities, change: () => PromiseLike<unknown>]>([
    ['whose user is deactivated', {}, () => setUser({ deactivated_at: NOW })],
    ['of one factor whose user is deactivated', UNVERIFIED, () => setUser({ deactivated_at: NOW })],
    ['that becomes that of somebody else', {}, () => setPasskey({ user_id: stranger })],
  ])('%s while it is checked opens nothing', async (_, odd, change) => {
    expect(await reason(redeem(odd, { selectPasskey: change }))).toBe('UNKNOWN_PASSKEY');
    expect(await readIntent()).toMatchObject({ user_id: null });
  });

  test('accepts the invitation of its user', async () => {
    const invitation = { application_id: here, email: 'ada@example.com' };
    const own = await insert('invitations', { ...invitation, user_id: userId });
    await redeem();
    const [read] = await sql`select accepted_at from invitations where id = ${own.id}`;
    expect(read?.accepted_at).toBeInstanceOf(Date);
  });

  test.each([
    [8_192, 'INVALID_PASSKEY'],
    [8_193, 'VALIDATION_FAILED'],
  ])('of %i characters: %s', async (length, refusal) => {
    const request = { loginIntentId, credential: '['.repeat(length) };
    expect(await reason(redeemPasskey(callOf(), parts, browser, request))).toBe(refusal);
  });
});

describe('a new passkey', () => {
  /** Signs in a minute ago, and adds a passkey. */
  async function store(signIn: Columns = {}, meanwhile: Meanwhile = {}, given?: string) {
    const { digest: browser_digest, answerDigest: answer_digest } = browser;
    const completed = { user_id: userId, method: 'email', assurance: 1, completed_at: at(-MINUTE) };
    await setIntent({ ...completed, browser_digest, answer_digest, ...signIn });
    const use = { purpose: 'passkey create', loginIntentId, browser, userId } as const;
    const made = new SoftwarePasskey();
    const asked = { ...party, challenge: createChallenge(party.keys, use, NOW), userHandle: toUserHandle(userId) };
    const request = { loginIntentId, credential: given ?? made.create(asked) };
    await storePasskey(callOf(meanwhile), party, browser, request, () => 'Passkey');
    return (await sql`select * from passkeys where credential_id = ${made.id}`)[0];
  }
  const removeOwn = () => sql`delete from passkeys where user_id = ${userId}`;
  const removePasskeys = () => sql`delete from passkeys`;

  test('is told by one e-mail, to the user alone', async () => {
    const stored = await store();
    expect(woken).toBe(1);
    const told = await sql`select user_id from notices where kind = 'passkeyAdded' and id = ${stored?.id}`;
    expect(told).toEqual([{ user_id: userId }]);
    expect(stored).toMatchObject({ user_id: userId });
  });

  test.each<[string, prepare: () => PromiseLike<unknown> | undefined, signIn: () => Columns, counts: boolean]>([
    ['the first of a user counts at once', removeOwn, () => ({}), true],
    ['another is young', () => undefined, () => ({}), false],
    ['another of a strong sign-in counts at once', () => undefined, () => ({ assurance: 3 }), true],
    [
      'another than that of an earlier host counts at once',
      () => sql`update passkeys set rp_id = 'x'`,
      () => ({}),
      true,
    ],
    ['somebody vouched for has one that counts', () => undefined, () => ({ vouched_user_id: userId }), true],
    ['somebody else vouched for has none', () => undefined, () => ({ vouched_user_id: stranger }), false],
  ])('%s', async (_, prepare, signIn, counts) => {
    await prepare();
    expect(await store(signIn())).toMatchObject({ counts_from: counts ? null : at(7 * DAY) });
  });

  test.each<[string, prepare: () => PromiseLike<unknown> | undefined, signIn: () => Columns, counts: boolean]>([
    ['after one that counts for them', () => undefined, () => ({ assurance: 3, passkey_id: passkeyId }), true],
    [
      'after one that counts from now on',
      () => setPasskey({ counts_for_operators_from: NOW }),
      () => ({ assurance: 3, passkey_id: passkeyId }),
      true,
    ],
    [
      'after one that is young to them, although another counts',
      () => setPasskey({ counts_for_operators_from: at(1) }),
      () => ({ assurance: 3, passkey_id: passkeyId }),
      false,
    ],
    [
      'after one that has not verified the person',
      () => undefined,
      () => ({ assurance: 2, passkey_id: passkeyId }),
      false,
    ],
    ['after a sign-in without a passkey', () => undefined, () => ({ assurance: 3 }), false],
    ['after one of somebody else', () => undefined, () => ({ assurance: 3, passkey_id: theirs.id }), false],
    ['as the first', removePasskeys, () => ({}), false],
  ])('operators can use it at once or not: %s', async (_, prepare, signIn, counts) => {
    await prepare();
    expect(await store(signIn())).toMatchObject({ counts_for_operators_from: counts ? null : at(7 * DAY) });
  });

  const isTold = async () =>
    (await sql`select from notices where kind = 'passkeyAdded' and user_id = ${userId}`).length > 0;

  test('is not added to ten others, and nobody is told', async () => {
    for (let more = 0; more < 8; more++) await insert('passkeys', { user_id: userId, rp_id: party.rpId });
    expect(await reason(store())).toBe('TOO_MANY_PASSKEYS');
    expect(await isTold()).toBe(false);
  });

  // Where every server has a copy of users, changes of them wait for each other.
  test.skipIf(LAYOUT === 'distributed')('waits for no other user', async () => {
    await using _lock = await holdLock(clone, `select from users where id = '${stranger}' for update`);
    expect(await store()).toMatchObject({ user_id: userId });
    await renamePasskey(callOf(), { userId, passkeyId, name: 'Ring' });
  });

  test.each<[string, meanwhile: Meanwhile]>([
    ['every sign-in ends while it is checked', { selectSignedInUser: () => setUser({ cutoff_count: 1 }) }],
    [
      'a revocation comes while it is checked',
      { selectSignedInUser: () => insert('user_cutoffs', { user_id: userId, cutoff_at: NOW }) },
    ],
    [
      'the user signs out while it is checked',
      {
        selectSignedInUser: () =>
          sql`insert into browser_cutoffs values (${userId}, ${browser.digest}, ${NOW}, ${at(DAY)})`,
      },
    ],
    [
      'a revocation comes while it is stored',
      { insertPasskey: () => insert('user_cutoffs', { user_id: userId, cutoff_at: NOW }) },
    ],
    [
      'the user signs out while it is stored',
      {
        insertPasskey: () => sql`insert into browser_cutoffs values (${userId}, ${browser.digest}, ${NOW}, ${at(DAY)})`,
      },
    ],
  ])('is not added if %s', async (_, meanwhile) => {
    expect(await reason(store({}, meanwhile))).toBe('LOGIN_INTENT_EXPIRED');
    expect(await sql`select from passkeys where user_id = ${userId}`).toHaveLength(2);
    // What was stored before is withdrawn.
    expect([woken, await isTold()]).toEqual([0, 'insertPasskey' in meanwhile]);
  });

  test.each([
    [8_192, 'INVALID_PASSKEY'],
    [8_193, 'VALIDATION_FAILED'],
  ])('of %i characters: %s', async (length, refusal) => {
    expect(await reason(store({}, {}, '['.repeat(length)))).toBe(refusal);
  });
});

describe('the passkeys of a user', () => {
  test('are those of this page, and no others', async () => {
    await setPasskey({ rp_id: 'other.test' });
    const listed = await listOwnPasskeys(callOf(), { userId }, party);
    expect(listed.map(({ id }) => id)).toEqual([other.id]);
  });

  test('get a name each', async () => {
    await renamePasskey(callOf(), { userId, passkeyId, name: 'Ring' });
    expect([await readPasskey(), await readPasskey(other.id), await readPasskey(theirs.id)]).toMatchObject([
      { name: 'Ring' },
      { name: 'Phone' },
      { name: 'Phone' },
    ]);
  });

  test('keep their names once every sign-in has ended', async () => {
    const late = { ...callOf(), cutoffCount: 1 };
    expect(await reason(renamePasskey(late, { userId, passkeyId, name: 'Ring' }))).toBe('PASSKEY_NOT_FOUND');
    expect(await readPasskey()).toMatchObject({ name: 'Phone' });
  });
});

describe('the link in the notice of a new passkey', () => {
  const keys = deriveKeys([randomBytes(32)], 'test');
  const added = () => ({ userId, passkeyId, at: at(-HOUR) });
  const countCutoffs = async () => (await sql`select from user_cutoffs where user_id = ${userId}`).length;

  test('names it, and no other text does', () => {
    const token = createPasskeyToken(keys, added());
    expect(readPasskeyToken(keys, token, NOW)).toEqual(added());
    expect(readPasskeyToken(keys, `${token}x`, NOW)).toBeUndefined();
  });

  test.each<[string, prepare: () => PromiseLike<unknown> | undefined]>([
    ['removes it, and ends every sign-in', () => undefined],
    ['ends every sign-in again', () => sql`delete from passkeys where id = ${passkeyId}`],
  ])('%s', async (_, prepare) => {
    await prepare();
    await removeAddedPasskey(callOf(), added());
    expect(await readPasskey()).toBeUndefined();
    expect(await readPasskey(other.id)).toBeDefined();
    expect(await countCutoffs()).toBe(1);
  });

  test('says that it has failed where the passkey could not be removed', async () => {
    const failing = callOf({ deletePasskey: () => Promise.reject(new Error('The connection was lost')) });
    await expect(removeAddedPasskey(failing, added())).rejects.toThrow('The connection was lost');
    expect(await countCutoffs()).toBe(0);
  });
});
