/** Each condition of the statements of the account page, a row each. What people see: the tests of the folder above. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ACCOUNT_APPLICATION_ID } from '../../../../../src/domain/core/own-applications.ts';
import { deriveKeys } from '../../../../../src/domain/crypto/derived-keys.ts';
import { AuthTokens } from '../../../../../src/domain/tokens/auth-tokens.ts';
import { getUser } from '../../../../../src/domain/users/get-user.ts';
import { ACCOUNT_CLIENT_ID } from '../../../../../src/modules/account/domain/account-application.ts';
import { endAccountSession } from '../../../../../src/modules/account/domain/end-account-session.ts';
import { exportAccount } from '../../../../../src/modules/account/domain/export-account.ts';
import { findAccount } from '../../../../../src/modules/account/domain/find-account.ts';
import { openAccount } from '../../../../../src/modules/account/domain/open-account.ts';
import {
  createStopToken,
  readStopToken,
  stopRecovery,
} from '../../../../../src/modules/account/domain/stop-recovery.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../../support/domain-scene.ts';
import { generateIssuerKey } from '../../../../support/issuer.ts';
import { newBrowser } from '../../../../support/new-browser.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
const { privateKey, kid, alg } = generateIssuerKey('EdDSA', 'key');
const tokens = await AuthTokens.create('https://usher.test', [{ ...privateKey.export({ format: 'jwk' }), kid, alg }]);
const browser = newBrowser();
const keys = deriveKeys([randomBytes(32)], 'test');
const MINUTE = 60_000;

type Columns = Readonly<Record<string, unknown>>;
let here: string;
let other: string;
let userId: string;
let stranger: string;
beforeEach(async () => {
  [here, other] = [await createApplication(), await createApplication()];
  [stranger, userId] = [await createUser(), await createUser()];
});

const set = (table: string, columns: Columns, id: string) =>
  sql`update ${sql(table)} set ${sql(columns as never)} where id = ${id}`;
const setUser = (columns: Columns) => set('users', columns, userId);
/** An ID that is less than that of a larger number. */
const idOf = (number: number) => `0000000${number}-${randomUUID().slice(9)}`;

async function addRecovery(columns: Columns = {}): Promise<string> {
  const secrets = { digest: randomBytes(32), code_hmac: randomBytes(32), address_key: randomBytes(32) };
  const times = { created_at: at(-HOUR), usable_at: at(-HOUR), expires_at: at(HOUR) };
  const row = { id: randomUUID(), user_id: userId, ...secrets, removes: ['PASSKEYS'], created_by: 'ada', ...times };
  const all = { ...row, ...columns };
  await sql`insert into recovery_links ${sql(all as never)}`;
  return all.id;
}

/** What these tests read of it. */
interface Exported {
  readonly logins: readonly { readonly ipAddress: string | null }[];
  readonly invitations: readonly { readonly email: string }[];
  readonly recoveryLinks: readonly { readonly usableAt: Date }[];
  readonly applications: readonly { readonly id: string }[];
  readonly groups: readonly { readonly name: string }[];
}

describe('the export', () => {
  const read = async (): Promise<Exported> => exportAccount(callAt(), await getUser(callAt(), { userId }), []);

  test('has what is stored about the user, and nothing of others', async () => {
    for (const user_id of [userId, stranger]) {
      await insert('login_intents', { application_id: here, user_id, completed_at: at(-MINUTE) });
      await insert('application_users', { application_id: here, user_id, first_signed_in_at: at(-DAY) });
      await insert('added_users', { application_id: other, user_id, added_at: at(-HOUR) });
      await insert('invitations', { application_id: here, user_id });
      await addRecovery({ user_id, status: 'USED' });
      const group = await insert('groups', { name: `group of ${user_id}` });
      await insert('group_members', { group_id: group.id, user_id });
      for (const expires_at of [at(1), NOW, at(-1)])
        await sql`insert into known_origins ${sql({ key: randomBytes(32), user_id, expires_at })}`;
    }
    await insert('added_users', { application_id: await createApplication({ deleted_at: NOW }), user_id: userId });
    const gone = await insert('groups', { deleted_at: NOW });
    await insert('group_members', { group_id: gone.id, user_id: userId });
    const { logins, applications, groups, invitations, recoveryLinks, ...others } = await read();
    expect(others).toMatchObject({ knownBrowsersAndNetworks: 1, user: { id: userId } });
    expect([logins.length, invitations.length, recoveryLinks.length]).toEqual([1, 1, 1]);
    expect(groups.map(({ name }) => name)).toEqual([`group of ${userId}`]);
    const [before, after] = [at(-DAY), at(-HOUR)];
    expect(applications.toSorted((one) => (one.id === here ? -1 : 1))).toMatchObject([
      { id: here, firstSignedInAt: before, addedAt: null },
      { id: other, firstSignedInAt: null, addedAt: after },
    ]);
  });

  test('lists applications and groups by name', async () => {
    const names = ['b', 'a', 'a'];
    const ids = [idOf(1), idOf(3), idOf(2)];
    for (const [index, id] of ids.entries()) {
      await createApplication({ id, name: names[index] });
      await insert('added_users', { application_id: id, user_id: userId });
      await insert('groups', { id, name: `${names[index]} ${id}` });
      await insert('group_members', { group_id: id, user_id: userId });
    }
    const { applications, groups } = await read();
    expect(applications.map(({ id }) => id)).toEqual([ids[2], ids[1], ids[0]]);
    expect(groups.map(({ name }) => name[0])).toEqual(['a', 'a', 'b']);
  });

  test('lists the latest logins, invitations and recoveries first, and 1,000 of each at most', async () => {
    const own = { user_id: userId, application_id: here };
    const accepted = { accepted_at: NOW };
    for (const [number, when] of [
      [2, at(-HOUR)],
      [1, at(-HOUR)],
      [3, at(-MINUTE)],
    ] as const) {
      const ip_address = `192.0.2.${number}`;
      await insert('login_intents', { ...own, id: idOf(number), completed_at: when, ip_address });
      await insert('invitations', {
        ...own,
        id: idOf(number),
        ...accepted,
        created_at: when,
        email: `${number}@example.com`,
      });
      const usable_at = at(number);
      await addRecovery({ id: idOf(number), created_at: when, status: 'USED', usable_at });
    }
    const found = await read();
    expect(found.logins.map(({ ipAddress }) => ipAddress?.at(-1))).toEqual(['3', '1', '2']);
    expect(found.invitations.map(({ email }) => email[0])).toEqual(['3', '1', '2']);
    expect(found.recoveryLinks.map(({ usableAt }) => usableAt)).toEqual([at(3), at(1), at(2)]);
    await sql`
      insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at, completed_at, user_id)
      select ${here}, gen_random_uuid(), '', '', ${NOW}, ${NOW}, ${NOW}, ${userId} from generate_series(1, 1000)`;
    await sql`
      insert into invitations (application_id, id, email, user_id, created_user, added_user, created_at, expires_at,
        accepted_at)
      select ${here}, gen_random_uuid(), n || '@example.com', ${userId}, false, false, ${NOW}, ${NOW}, ${NOW}
      from generate_series(1, 1000) n`;
    await sql`
      insert into recovery_links (id, user_id, digest, code_hmac, address_key, removes, created_by, created_at,
        usable_at, expires_at, status)
      select gen_random_uuid(), ${userId}, uuid_send(gen_random_uuid()), '', '', '{}', '', ${NOW}, ${NOW}, ${NOW}, 'USED'
      from generate_series(1, 1000)`;
    const { logins, invitations, recoveryLinks } = await read();
    expect([logins.length, invitations.length, recoveryLinks.length]).toEqual([1_000, 1_000, 1_000]);
  });
});

describe('a sign-in to the account page', () => {
  const signIn = () => ({ userId, loginIntentId: randomUUID(), authenticatedAt: at(-HOUR) }) as never;

  test.each<[string, prepare: () => PromiseLike<unknown> | undefined, isFound: boolean]>([
    ['lives', () => undefined, true],
    ['lives after that of somebody else has ended', () => insert('user_cutoffs', { user_id: stranger }), true],
    ['has ended everywhere', () => insert('user_cutoffs', { user_id: userId }), false],
    [
      'has ended in this browser',
      () => sql`insert into browser_cutoffs values (${userId}, ${browser.digest}, ${at(-HOUR)}, ${at(DAY)})`,
      false,
    ],
    [
      'lives after the sign-out in another browser',
      () => sql`insert into browser_cutoffs values (${userId}, ${randomBytes(32)}, ${at(-HOUR)}, ${at(DAY)})`,
      true,
    ],
    ['is that of nobody any more', () => setUser({ deactivated_at: NOW }), false],
  ])('%s', async (_, prepare, isFound) => {
    await setUser({ cutoff_count: 7 });
    await prepare();
    const found = await findAccount(callAt(), browser, signIn());
    expect(found).toEqual(isFound ? { user: expect.objectContaining({ id: userId }), cutoffCount: 7 } : undefined);
  });

  /** The login of an auth token. */
  async function addLogin(columns: Columns = {}) {
    const row = { application_id: ACCOUNT_APPLICATION_ID, user_id: userId, completed_at: NOW, ...columns };
    return (await insert('login_intents', row)).id;
  }
  const mint = (loginIntentId: string, method: 'email' | 'impersonation' = 'email', of = userId) =>
    tokens.mint({
      ...{ loginIntentId, userId: of, method, clientId: ACCOUNT_CLIENT_ID, applicationId: ACCOUNT_APPLICATION_ID },
      ...{ assurance: 1, authenticatedAt: NOW, issuedAt: NOW },
    } as never);

  test.each<[string, login: () => Columns, method: 'email' | 'impersonation', outcome: object | string]>([
    ['opens the page', () => ({}), 'email', { isContinued: false, openedAt: NOW }],
    ['that continues another proves nothing', () => ({ authenticated_at: at(-HOUR) }), 'email', { isContinued: true }],
    ['on behalf of the user proves nothing', () => ({}), 'impersonation', { isContinued: true }],
    ['opens the page once', () => ({ redeemed_at: at(-1) }), 'email', 'INVALID_TOKEN'],
    ['is one of this user', () => ({ user_id: stranger }), 'email', 'INVALID_TOKEN'],
    ['is one of this application', () => ({ application_id: here }), 'email', 'INVALID_TOKEN'],
  ])('%s', async (_, columns, method, outcome) => {
    const [id, untouched] = [await addLogin(columns()), await addLogin()];
    const opened = await openAccount(callAt(), tokens, await mint(id, method)).catch((error) => error.reason);
    if (typeof outcome === 'string') expect(opened).toBe(outcome);
    else expect(opened).toMatchObject({ ...outcome, userId, loginIntentId: id });
    const readRedeemed = async (of: string) =>
      (await sql`select redeemed_at from login_intents where id = ${of}`)[0]?.redeemed_at;
    if (typeof outcome !== 'string') expect(await readRedeemed(id)).toEqual(NOW);
    expect(await readRedeemed(untouched)).toBeNull();
  });
});

describe('a session on the account page', () => {
  const own = (columns: Columns = {}) => ({ application_id: here, user_id: userId, ...columns });
  const end = (given: { applicationId?: string; sid?: string } = {}) =>
    endAccountSession(callAt(), { userId, applicationId: here, sid: '', browser, ...given });
  const addGrant = async (columns: Columns = {}) => (await insert('oidc_grants', own(columns))).sid;
  const listSids = async (of = userId) =>
    (await sql`select sid from oidc_grants where user_id = ${of} and expires_at > now()`).map(({ sid }) => sid);
  const countSessions = async (application = here, of = userId) =>
    (await sql`select from sessions where application_id = ${application} and user_id = ${of}`).length;
  const countCutoffs = async () => (await sql`select from session_cutoffs`).length;
  const signedOutBrowsers = async () =>
    (await sql`select browser_digest from browser_cutoffs where user_id = ${userId}`).map((row) => row.browser_digest);

  beforeEach(async () => {
    for (const application_id of [here, other])
      for (const user_id of [userId, stranger])
        await insert('sessions', { application_id, user_id, browser_digest: browser.digest });
  });

  test('of an application ends alone', async () => {
    await end();
    expect([await countSessions(), await countSessions(other), await countSessions(here, stranger)]).toEqual([0, 1, 1]);
    expect(await signedOutBrowsers()).toEqual([]);
  });

  test('in another browser signs that browser out of the pages, too', async () => {
    const there = randomBytes(32);
    await sql`update sessions set browser_digest = ${there} where user_id = ${userId} and application_id = ${here}`;
    await sql`update sessions set browser_digest = ${randomBytes(32)} where user_id = ${userId} and application_id = ${other}`;
    await end();
    expect(await signedOutBrowsers()).toEqual([there]);
  });

  test('of a browser ends alone while others are signed in, and the last ends the session', async () => {
    const [first, second] = [await addGrant({ browser_digest: randomBytes(32) }), await addGrant()];
    const elsewhere = await addGrant({ application_id: other });
    const theirs = await addGrant({ user_id: stranger });
    await end({ sid: first.toUpperCase() });
    expect([new Set(await listSids()), await countSessions()]).toEqual([new Set([second, elsewhere]), 1]);
    expect(await signedOutBrowsers()).toHaveLength(1);
    await end({ sid: second });
    expect([await listSids(), await countSessions()]).toEqual([[elsewhere], 0]);
    expect([await listSids(stranger), await countSessions(here, stranger)]).toEqual([[theirs], 1]);
  });

  test.each<[string, given: () => { applicationId?: string; sid?: string }]>([
    ['an application of no ID', () => ({ applicationId: 'x' })],
    ['another application', () => ({ applicationId: randomUUID() })],
    ['a browser that is not signed in, beside one that is', () => ({ sid: randomUUID() })],
  ])('of %s ends nothing and stores nothing', async (_, given) => {
    const sid = await addGrant();
    const before = await countCutoffs();
    await end(given());
    expect([await listSids(), await countSessions(), await countCutoffs()]).toEqual([[sid], 1, before]);
  });
});

describe('the link that stops a recovery', () => {
  test('names it, and no other text does', () => {
    const id = randomUUID();
    const token = createStopToken(keys, id, at(-HOUR));
    expect([readStopToken(keys, token, NOW), readStopToken(keys, `${token}x`, NOW)]).toEqual([id, undefined]);
  });

  test.each<[string, columns: Columns, isOpen: boolean]>([
    ['is stopped', {}, true],
    ['that was used is not', { status: 'USED' }, false],
    ['that has expired is not', { expires_at: NOW }, false],
  ])('a link that %s', async (_, columns, isOpen) => {
    const [id, untouched] = [await addRecovery(columns), await addRecovery({ user_id: stranger })];
    expect(await stopRecovery(callAt(), id)).toBe(isOpen);
    const readLink = async (of: string) => (await sql`select status, ended_at from recovery_links where id = ${of}`)[0];
    const before = { status: columns.status ?? 'OPEN', ended_at: null };
    expect(await readLink(id)).toEqual(isOpen ? { status: 'STOPPED', ended_at: NOW } : before);
    expect(await readLink(untouched)).toEqual({ status: 'OPEN', ended_at: null });
  });
});
