/** Each condition of the statements of recovery links, a row each. What people see: test/integration/modules/account/recovery.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { Database } from '../../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../../src/domain/audit/audit-event.ts';
import { ServiceError } from '../../../../../src/domain/core/errors.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../../../src/domain/core/own-applications.ts';
import { deriveLoginCodeKeys, digestLoginCode } from '../../../../../src/domain/login/login-code.ts';
import { digestAddress, digestToken } from '../../../../../src/domain/recovery/link-secrets.ts';
import { REMOVALS, type Removal } from '../../../../../src/domain/recovery/recovery-link.ts';
import {
  findRecovery,
  findUsedRecovery,
  requireSpokenCode,
} from '../../../../../src/modules/account/domain/find-recovery.ts';
import { useRecovery } from '../../../../../src/modules/account/domain/use-recovery.ts';
import { LAYOUT } from '../../../../support/database.ts';
import { at, DAY, HOUR, type Meanwhile, NOW, runWith } from '../../../../support/domain-scene.ts';
import { newBrowser } from '../../../../support/new-browser.ts';
import { adminClient, createTenant, createTestUser, startTestService } from '../../../../support/service.ts';

// It sends no notices, which the tests read.
const service = await startTestService({ sendMail: undefined });
const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql } = service.database;
const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);

const CODE = '12345678';
const NOT_VALID = 'RECOVERY_LINK_NOT_VALID';
const ACCOUNT_URL = 'https://usher.test/account';

let woken = 0;
const counted: string[] = [];
const notices = { toLanguage: () => 'en', wake: () => void woken++ };

function callOf({ sendsMails = true, meanwhile = {} }: Readonly<{ sendsMails?: boolean; meanwhile?: Meanwhile }> = {}) {
  const inner = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now: NOW });
  const run = runWith(meanwhile, inner);
  const count = (name: string) => void counted.push(name);
  return { run, now: NOW, count, ...(sendsMails && { notices }) };
}

const insert = (table: string, row: object) => sql`insert into ${sql(table)} ${sql(row as never)}`;

/** A user with a wallet, and a link that works. */
async function createScene(columns: object = {}) {
  const wallet = `0x${randomBytes(20).toString('hex').toUpperCase()}`;
  const { id: user, email } = await createTestUser(service, { walletAddress: wallet });
  const [id, token] = [randomUUID(), randomBytes(32).toString('base64url')];
  await insert('recovery_links', {
    ...{ id, user_id: user, digest: digestToken(token), code_hmac: digestLoginCode(keys, id, CODE) },
    ...{ address_key: digestAddress(keys[0], id, email), removes: ['PASSKEYS'], created_by: 'support' },
    ...{ created_at: at(-HOUR), usable_at: at(-1), expires_at: at(HOUR) },
    ...columns,
  });
  return { user, email, wallet, id, token };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

const setLink = ({ id }: Scene, columns: object) =>
  sql`update recovery_links set ${sql(columns as never)} where id = ${id}`;
const setUser = ({ user }: Pick<Scene, 'user'>, columns: object) =>
  sql`update users set ${sql(columns as never)} where id = ${user}`;
const linkOf = async ({ id }: Scene) => (await sql`select * from recovery_links where id = ${id}`)[0];
const userOf = async ({ user }: Pick<Scene, 'user'>) => (await sql`select * from users where id = ${user}`)[0];
const loginOf = async ({ id }: Scene) => (await sql`select * from login_intents where id = ${id}`)[0];

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    if (error instanceof ServiceError) return error.reason;
    throw error;
  }
}

const find = ({ token }: Scene, isOperator = false) =>
  findRecovery(callOf(), { keys, isOperator: () => isOperator }, token);

type Row = [what: string, change: (scene: Scene) => PromiseLike<unknown> | undefined, isGood: boolean];

/** What ends a link. */
const ofLink: Row[] = [
  ['as it stands', () => undefined, true],
  ['it ends later', (s) => setLink(s, { expires_at: at(1) }), true],
  ['it ends now', (s) => setLink(s, { expires_at: NOW }), false],
  ['it was used', (s) => setLink(s, { status: 'USED' }), false],
];
/** What makes it void, although it has not ended. */
const ofUser: Row[] = [
  ['the user is deactivated', (s) => setUser(s, { deactivated_at: NOW }), false],
  ['the user is deleted', (s) => setUser(s, { deleted_at: NOW }), false],
  ['the user has another address', (s) => setUser(s, { email: `new.${s.email}` }), false],
  ['the user has the address in other letters', (s) => setUser(s, { email: s.email.toUpperCase() }), true],
];

describe('a link', () => {
  test.each<Row>([...ofLink, ...ofUser])('is found: %s', async (_, change, isGood) => {
    const scene = await createScene();
    await change(scene);
    expect(await reasonOf(find(scene))).toBe(isGood ? 'ok' : NOT_VALID);
  });

  test('is that of its token, and of no operator', async () => {
    const [scene, other] = [await createScene(), await createScene()];
    expect(await find(scene)).toMatchObject({ id: scene.id, userId: scene.user, email: scene.email });
    expect(await reasonOf(find({ ...scene, token: 'another' }))).toBe(NOT_VALID);
    expect(await reasonOf(find(scene, true))).toBe(NOT_VALID);
    expect(await findUsedRecovery(callOf(), scene.token)).toBeUndefined();
    await setLink(scene, { status: 'USED' });
    expect(await findUsedRecovery(callOf(), scene.token)).toBe(scene.id);
    expect(await findUsedRecovery(callOf(), other.token)).toBeUndefined();
  });
});

describe('a spoken code', () => {
  const speak = async (scene: Scene, code: string) => {
    const link = { id: scene.id, codeHmac: (await linkOf(scene))?.code_hmac };
    return requireSpokenCode(callOf(), { keys }, link, code);
  };

  test.each<Row>([
    ...ofLink,
    ['it works from now on', (s) => setLink(s, { usable_at: NOW }), true],
    ['it works later', (s) => setLink(s, { usable_at: at(1) }), false],
  ])('is right: %s', async (_, change, isGood) => {
    const scene = await createScene();
    await change(scene);
    const before = await linkOf(scene);
    expect(await reasonOf(speak(scene, CODE))).toBe(isGood ? 'ok' : NOT_VALID);
    expect(await linkOf(scene)).toEqual(before);
  });

  test('may be wrong four times', async () => {
    const [scene, other] = [await createScene(), await createScene()];
    woken = 0;
    counted.length = 0;
    for (const left of [4, 3, 2, 1]) {
      await expect(speak(scene, '00000000')).rejects.toMatchObject({ reason: 'WRONG_CODE', figures: { left } });
      expect(await linkOf(scene)).toMatchObject({ attempts: 5 - left, status: 'OPEN', ended_at: null });
      expect(await reasonOf(speak(scene, CODE))).toBe('ok');
    }
    expect(woken).toBe(0);
    expect(await reasonOf(speak(scene, '00000000'))).toBe(NOT_VALID);
    expect(await linkOf(scene)).toMatchObject({ attempts: 5, status: 'FAILED', ended_at: NOW });
    expect(await reasonOf(speak(scene, CODE))).toBe(NOT_VALID);
    expect(await linkOf(other)).toMatchObject({ attempts: 0, status: 'OPEN' });
    expect([woken, counted]).toEqual([1, Array(5).fill('wrong_codes')]);
    const stored = await sql`select kind, recipient from notices where user_id = any(${[scene.user, other.user]})`;
    expect(stored).toEqual([{ kind: 'recoveryFailed', recipient: scene.email }]);
  });
});

/** Gives the user one of each. */
async function settle({ user, email, wallet }: Pick<Scene, 'user' | 'email' | 'wallet'>) {
  const of = { user_id: user, created_at: at(-DAY) };
  const login = { application_id: ACCOUNT_APPLICATION_ID, id: randomUUID(), created_at: NOW, expires_at: at(HOUR) };
  const code = { ...login, browser_digest: randomBytes(32), code_digest: randomBytes(32) };
  await insert('passkeys', {
    ...{ ...of, id: randomUUID(), credential_id: randomBytes(16), rp_id: 'usher.test', public_key: Buffer.alloc(0) },
    ...{ sign_count: 0, transports: ['usb'], aaguid: randomUUID(), name: 'Own' },
    ...{ is_backup_eligible: false, is_backed_up: false, is_user_verified: false },
  });
  await insert('user_identities', { ...of, issuer: 'https://acme.test', subject: user, provider: 'acme' });
  await insert('totp_secrets', { ...of, id: randomUUID(), sealed: randomBytes(60), last_step: 0 });
  await insert('recovery_codes', { ...of, digest: randomBytes(32) });
  const challenge = { ...login, login_intent_id: randomUUID(), browser_digest: randomBytes(32), message: '' };
  await insert('wallet_challenges', { ...challenge, address: wallet.toLowerCase() });
  await insert('login_codes', { ...code, login_intent_id: randomUUID(), user_id: user, email: 'own' });
  await insert('login_codes', { ...code, login_intent_id: randomUUID(), user_id: null, email: email.toUpperCase() });
  await insert('known_origins', { key: randomBytes(32), user_id: user, expires_at: at(DAY) });
  await setUser({ user }, { has_second_factor: true, wallet_linked_at: at(-DAY) });
}

/** Returns which of them are left. */
async function listLeft({ user, email, wallet }: Pick<Scene, 'user' | 'email' | 'wallet'>): Promise<string[]> {
  const [left] = await sql`
    select exists (select 1 from passkeys where user_id = ${user}) as passkey,
      exists (select 1 from user_identities where user_id = ${user}) as identity,
      exists (select 1 from totp_secrets where user_id = ${user}) as secret,
      exists (select 1 from recovery_codes where user_id = ${user}) as recovery_code,
      exists (select 1 from wallet_challenges where address = ${wallet.toLowerCase()}) as challenge,
      exists (select 1 from login_codes where user_id = ${user}) as code,
      exists (select 1 from login_codes where email = ${email.toUpperCase()}) as strangers_code,
      exists (select 1 from known_origins where user_id = ${user}) as origin,
      u.wallet_address <> '' as wallet, u.has_second_factor as factor
    from users u where u.id = ${user}`;
  return Object.entries(left ?? {}).flatMap(([name, is]) => (is ? [name] : []));
}

const ALL = [
  ...['passkey', 'identity', 'secret', 'recovery_code', 'challenge', 'code', 'strangers_code', 'origin', 'wallet'],
  'factor',
];

const use = async (
  scene: Scene,
  { newEmail = null, meanwhile = {} }: { newEmail?: string | null; meanwhile?: Meanwhile } = {},
) => {
  const browser = newBrowser();
  const link = await find(scene);
  const isHeld = await useRecovery(callOf({ meanwhile }), { link, newEmail, browser, accountUrl: ACCOUNT_URL });
  return { isHeld, browser };
};

describe('the use of a link', () => {
  /** Beside codes and known places, which always go. */
  test.each<[Removal | 'nothing', readonly string[]]>([
    ['nothing', []],
    ['ADDRESS', ['strangers_code']],
    ['PASSKEYS', ['passkey']],
    ['SECOND_FACTOR', ['secret', 'recovery_code', 'factor']],
    ['WALLET', ['challenge', 'wallet']],
    ['IDENTITIES', ['identity']],
  ])('of somebody who has lost %s removes that alone, of that user alone', async (what, removed) => {
    const [scene, other] = [await createScene(), await createScene()];
    await setLink(scene, { removes: REMOVALS.filter((each) => each === what) });
    await settle(scene);
    await settle(other);
    const { isHeld } = await use(scene, what === 'ADDRESS' ? { newEmail: `new.${scene.email}` } : {});
    expect(isHeld).toBe(what !== 'SECOND_FACTOR');
    expect(await listLeft(scene)).toEqual(ALL.filter((each) => ![...removed, 'code', 'origin'].includes(each)));
    expect(await listLeft(other)).toEqual(ALL);
    expect(await userOf(scene)).toMatchObject({
      wallet_address: what === 'WALLET' ? '' : scene.wallet,
      wallet_linked_at: what === 'WALLET' ? null : at(-DAY),
      passkey_removed_at: what === 'PASSKEYS' || what === 'SECOND_FACTOR' ? NOW : null,
    });
    expect(await userOf(other)).toMatchObject({ cutoff_count: 0, wallet_address: other.wallet });
  });

  test('removes once more what came while it was on its way', async () => {
    const scene = await createScene({ removes: [...REMOVALS] });
    const add = () => settle({ ...scene, user: scene.user });
    await use(scene, { newEmail: `new.${scene.email}`, meanwhile: { useRecoveryLink: add } });
    expect(await listLeft(scene)).toEqual([]);
    expect(await userOf(scene)).toMatchObject({ cutoff_count: 2 });
  });

  test.each<Row>([
    ...ofLink.slice(1),
    ...ofUser,
    ['it works from now on', (s) => setLink(s, { usable_at: NOW }), true],
    ['it works later', (s) => setLink(s, { usable_at: at(1) }), false],
    ['it is one of another user', (s) => setLink(s, { user_id: randomUUID() }), false],
  ])('is refused if the link has changed since it was read: %s', async (_, change, isGood) => {
    const [scene, other] = [await createScene(), await createScene()];
    const link = await find(scene);
    await change(scene);
    const before = await userOf(scene);
    const used = useRecovery(callOf(), { link, newEmail: null, browser: newBrowser(), accountUrl: ACCOUNT_URL });
    expect(await reasonOf(used)).toBe(isGood ? 'ok' : NOT_VALID);
    if (isGood) expect(await linkOf(scene)).toMatchObject({ status: 'USED', ended_at: NOW });
    else expect([await userOf(scene), await loginOf(scene)]).toEqual([before, undefined]);
    expect(await linkOf(other)).toMatchObject({ status: 'OPEN', ended_at: null });
  });

  test('takes no address of somebody else, in any letters, unless that user was deleted', async () => {
    const [scene, owner] = [await createScene({ removes: ['ADDRESS'] }), await createScene()];
    const take = () => reasonOf(use(scene, { newEmail: owner.email }));
    await setUser(owner, { email: owner.email.toUpperCase() });
    expect(await take()).toBe('USER_ALREADY_EXISTS');
    expect(await linkOf(scene)).toMatchObject({ status: 'OPEN' });
    await setUser(owner, { deleted_at: NOW });
    expect(await take()).toBe('ok');
    expect(await userOf(scene)).toMatchObject({ email: owner.email, email_verified_at: NOW });
  });

  test('may set the address that the user has', async () => {
    const scene = await createScene({ removes: ['ADDRESS'] });
    expect(await reasonOf(use(scene, { newEmail: scene.email }))).toBe('ok');
  });

  test('voids the links of former changes of the address with a new one alone, and tells both addresses', async () => {
    const [scene, same] = [await createScene({ removes: ['ADDRESS'] }), await createScene()];
    const verified = { email_verified_at: at(-DAY), email_changed_at: at(-DAY) };
    for (const each of [scene, same]) await setUser(each, verified);
    woken = 0;
    await use(scene, { newEmail: `new.${scene.email}` });
    await use(same);
    expect(woken).toBe(2);
    expect(await userOf(scene)).toMatchObject({ email_verified_at: NOW, email_changed_at: NOW, cutoff_count: 2 });
    expect((await userOf(scene))?.void_undo_links).toMatch(/^\{\(?\[?,/);
    expect(await userOf(same)).toMatchObject({ ...verified, email: same.email, void_undo_links: null });
    const told = await sql`
      select user_id, kind, recipient, value from notices where user_id = any(${[scene.user, same.user]})
      order by user_id = ${same.user}, kind`;
    expect(told).toEqual([
      { user_id: scene.user, kind: 'recovered', recipient: `new.${scene.email}`, value: 'ADDRESS' },
      { user_id: scene.user, kind: 'recoveredFormer', recipient: scene.email, value: 'ADDRESS' },
      { user_id: same.user, kind: 'recovered', recipient: same.email, value: 'PASSKEYS' },
    ]);
  });

  test('is the login of this browser, after every cut-off, and no code of it is left', async () => {
    const scene = await createScene();
    const { isHeld, browser } = await use(scene);
    expect(isHeld).toBe(false);
    const login = await loginOf(scene);
    expect(login).toMatchObject({
      ...{ application_id: ACCOUNT_APPLICATION_ID, user_id: scene.user, vouched_user_id: scene.user },
      ...{ method: 'recovery', assurance: 1, prompt: 'PASSKEYS', redirect_uri: ACCOUNT_URL },
      ...{ browser_digest: browser.digest, answer_digest: browser.answerDigest, ip_address: browser.address },
    });
    const [cutoff] = await sql`select cutoff_at from user_cutoffs where user_id = ${scene.user}`;
    expect(login?.completed_at.getTime()).toBeGreaterThan(cutoff?.cutoff_at.getTime());
    expect(login?.redeemed_at).toEqual(login?.completed_at);
    expect(await sql`select from held_sign_ins where user_id = ${scene.user}`).toEqual([]);
  });

  test('of somebody who keeps a second factor waits for it', async () => {
    const scene = await createScene();
    await settle(scene);
    const { isHeld, browser } = await use(scene);
    expect(isHeld).toBe(true);
    expect(await loginOf(scene)).toMatchObject({
      completed_at: null,
      user_id: null,
      answer_digest: null,
      ip_address: null,
      user_agent: null,
    });
    expect(await sql`select * from held_sign_ins where user_id = ${scene.user}`).toMatchObject([
      { login_intent_id: scene.id, method: 'recovery', browser_digest: browser.digest },
    ]);
  });

  test('of somebody whose second factor is too young to be asked does not wait', async () => {
    const scene = await createScene();
    await settle(scene);
    await sql`update totp_secrets set counts_from = ${at(DAY)} where user_id = ${scene.user}`;
    expect((await use(scene)).isHeld).toBe(false);
    expect(await loginOf(scene)).toMatchObject({ user_id: scene.user });
  });

  test('keeps the user whom an invitation has created', async () => {
    const [scene, other] = [await createScene(), await createScene()];
    const { id: applicationId } = await createTenant(service);
    for (const { user, email } of [scene, other])
      await insert('invitations', {
        ...{ application_id: applicationId, id: randomUUID(), email, user_id: user, created_user: true },
        ...{ added_user: false, created_at: NOW, expires_at: at(DAY) },
      });
    await use(scene);
    const kept =
      await sql`select user_id from invitations where created_user and user_id = any(${[scene.user, other.user]})`;
    expect(kept).toEqual([{ user_id: other.user }]);
  });

  test('leaves nothing of a user who is erased meanwhile', async () => {
    const scene = await createScene();
    // The erasure has not seen what was stored while it was on its way.
    const erase = async () => {
      await adminClient(service).eraseUser({ userId: scene.user });
      await insert('known_origins', { key: randomBytes(32), user_id: scene.user, expires_at: at(DAY) });
    };
    expect(await reasonOf(use(scene, { meanwhile: { endLateOfRecovery: erase } }))).toBe('ok');
    expect(await sql`select from known_origins where user_id = ${scene.user}`).toEqual([]);
  });
});
