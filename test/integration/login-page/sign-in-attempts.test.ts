/** Sign-ins that fail or are refused are kept with the person about whom they prove something, or at the application. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../../support/clock.ts';
import { LAYOUT } from '../../support/database.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { LoginBrowser, type LoginPage } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { wrongCode } from '../../support/mail-server.ts';
import { FLAGS, SoftwarePasskey } from '../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../support/passkey-page.ts';
import { RecordedLog } from '../../support/recorded-log.ts';
import { restrict } from '../../support/restricted-access.ts';
import {
  adminClient,
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type Tenant,
  type TestUser,
} from '../../support/service.ts';
import { StatementExplainer } from '../../support/statement-explainer.ts';
import { Wallet } from '../../support/wallet.ts';

const acme = await FakeProvider.start();
const log = new RecordedLog();
const fixture = await LoginFixture.open({
  logger: log.logger,
  start: new Date(),
  config: {
    loginMethods: ['wallet', 'email', 'passkey'],
    loginProviderIds: undefined,
    loginProviders: [acme.settings()],
  },
});
const { clock, service } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(async () => {
  await fixture.close();
  await acme.stop();
});

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0';
const newBrowser = () => new LoginBrowser(service, { address: '203.0.113.9', userAgent: FIREFOX });

type Attempts = Awaited<ReturnType<typeof admin.listSignInAttempts>>['signInAttempts'];

const listBy = async (filter: Parameters<typeof admin.listSignInAttempts>[0]): Promise<Attempts> =>
  (await admin.listSignInAttempts(filter)).signInAttempts;

/** The page may have been answered before the attempt is stored. */
const attemptsAt = ({ id: applicationId }: Tenant, count: number) =>
  expect.poll(() => listBy({ applicationId }), { interval: 20 }).toHaveLength(count);

async function createStrict(): Promise<Tenant> {
  const tenant = await createTenant(service);
  await restrict(service, tenant.id);
  return tenant;
}

async function addPasskey(user: TestUser): Promise<SoftwarePasskey> {
  const { browser, codePage, code } = await fixture.askForCode({ user });
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  clock.advance(1);
  const passkey = new SoftwarePasskey();
  expect((await savePasskey({ browser, page }, passkey, PUBLIC_URL)).heading).toBe('Your passkeys');
  return passkey;
}

async function sendProviderAnswer(
  of: Tenant,
  claims: Record<string, unknown> = {},
  change = (callback: string) => callback,
): Promise<LoginPage> {
  const { browser, page } = await fixture.arrive({ of, browser: newBrowser() });
  const form = page.forms.find(({ fields }) => fields.provider === 'acme');
  const { location } = await browser.post('/login/provider', { ...form?.fields });
  return browser.open(change(acme.signIn(location, claims)));
}

interface Case {
  readonly what: string;
  readonly reason: string;
  readonly method: string | undefined;
  /** Whether the attempt belongs to the user. */
  readonly isOfUser: boolean;
  /** Tries to sign in at a new application, which it returns. */
  readonly attempt: (user: TestUser) => Promise<Tenant>;
}

const CASES: readonly Case[] = [
  {
    what: 'a right code at a restricted application',
    ...{ reason: 'ACCESS_NOT_ALLOWED', method: 'email', isOfUser: true },
    async attempt(user) {
      const of = await createStrict();
      const { submit } = await fixture.readyByEmail({ of, user, browser: newBrowser() });
      expect((await submit()).heading).toMatch(/may not use/);
      return of;
    },
  },
  {
    what: 'five wrong codes',
    ...{ reason: 'WRONG_CODES', method: 'email', isOfUser: true },
    async attempt(user) {
      const of = await createTenant(service);
      await fixture.readyByEmail({ of, user, browser: newBrowser() }, 5);
      return of;
    },
  },
  {
    what: 'a code that is too old',
    ...{ reason: 'CODE_EXPIRED', method: 'email', isOfUser: true },
    async attempt(user) {
      const of = await createTenant(service);
      const { submit } = await fixture.readyByEmail({ of, user, browser: newBrowser() });
      clock.advance(11 * MINUTE);
      await submit();
      return of;
    },
  },
  {
    what: 'a right code of a deactivated user',
    ...{ reason: 'ACCOUNT_CLOSED', method: 'email', isOfUser: true },
    async attempt(user) {
      const of = await createTenant(service);
      await admin.updateApplication({ applicationId: of.id, allowSignUp: true });
      await admin.deactivateUser({ userId: user.id });
      const { submit } = await fixture.readyByEmail({ of, user, browser: newBrowser() });
      await submit();
      return of;
    },
  },
  {
    what: 'a passkey at a restricted application',
    ...{ reason: 'ACCESS_NOT_ALLOWED', method: 'passkey', isOfUser: true },
    async attempt(user) {
      const passkey = await addPasskey(user);
      const of = await createStrict();
      await sendPasskey(await fixture.arrive({ of, browser: newBrowser() }), passkey, PUBLIC_URL);
      return of;
    },
  },
  {
    what: 'a passkey that is too young',
    ...{ reason: 'PASSKEY_TOO_NEW', method: 'passkey', isOfUser: true },
    async attempt(user) {
      await addPasskey(user);
      const young = await addPasskey(user);
      const of = await createTenant(service);
      await admin.updateApplication({ applicationId: of.id, loginMethods: ['passkey'] });
      await sendPasskey(await fixture.arrive({ of, browser: newBrowser() }), young, PUBLIC_URL);
      return of;
    },
  },
  {
    what: 'a passkey that has not verified the person',
    ...{ reason: 'ASSURANCE_NOT_MET', method: 'passkey', isOfUser: true },
    async attempt(user) {
      const passkey = await addPasskey(user);
      const of = await createTenant(service, { requiredAssurance: 'PHISHING_RESISTANT' });
      const arrived = await fixture.arrive({ of, browser: newBrowser() });
      await sendPasskey(arrived, passkey, PUBLIC_URL, { flags: FLAGS.verified });
      return of;
    },
  },
  {
    what: 'an unknown passkey',
    ...{ reason: 'UNKNOWN_PASSKEY', method: 'passkey', isOfUser: false },
    async attempt() {
      const of = await createTenant(service);
      const passkey = new SoftwarePasskey();
      await sendPasskey(await fixture.arrive({ of, browser: newBrowser() }), passkey, PUBLIC_URL);
      return of;
    },
  },
  {
    what: 'a passkey whose signature is wrong',
    ...{ reason: 'INVALID_PASSKEY', method: 'passkey', isOfUser: false },
    async attempt(user) {
      const passkey = await addPasskey(user);
      const of = await createTenant(service);
      await sendPasskey(await fixture.arrive({ of, browser: newBrowser() }), passkey, 'https://elsewhere.test');
      return of;
    },
  },
  {
    what: 'a wallet at a restricted application',
    ...{ reason: 'ACCESS_NOT_ALLOWED', method: 'wallet', isOfUser: true },
    async attempt(user) {
      const wallet = new Wallet();
      await admin.updateUser({ userId: user.id, walletAddress: wallet.address });
      const of = await createStrict();
      const asked = await fixture.askForMessage(wallet.address, { of, browser: newBrowser() });
      await asked.send(wallet.sign(asked.message));
      return of;
    },
  },
  {
    what: 'an unknown wallet',
    ...{ reason: 'UNKNOWN_WALLET', method: 'wallet', isOfUser: false },
    async attempt() {
      const wallet = new Wallet();
      const of = await createTenant(service);
      const asked = await fixture.askForMessage(wallet.address, { of, browser: newBrowser() });
      await asked.send(wallet.sign(asked.message));
      return of;
    },
  },
  {
    what: 'an account at a provider at a restricted application',
    ...{ reason: 'ACCESS_NOT_ALLOWED', method: 'acme', isOfUser: true },
    async attempt(user) {
      await sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
        values (${acme.origin}, ${user.id}, ${user.id}, 'acme', now())`;
      const of = await createStrict();
      await sendProviderAnswer(of, { sub: user.id });
      return of;
    },
  },
  {
    what: 'an account at a provider of a deactivated user',
    ...{ reason: 'UNKNOWN_IDENTITY', method: 'acme', isOfUser: true },
    async attempt(user) {
      await sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
        values (${acme.origin}, ${user.id}, ${user.id}, 'acme', now())`;
      await admin.deactivateUser({ userId: user.id });
      const of = await createTenant(service);
      await sendProviderAnswer(of, { sub: user.id });
      return of;
    },
  },
  {
    what: 'a provider that fails',
    ...{ reason: 'PROVIDER_UNAVAILABLE', method: 'acme', isOfUser: false },
    async attempt() {
      const of = await createTenant(service);
      acme.answers.set('/token', (_, response) => void response.writeHead(500).end());
      await sendProviderAnswer(of);
      acme.answers.clear();
      return of;
    },
  },
  {
    what: 'a person who says no at the provider',
    ...{ reason: 'PROVIDER_REFUSED', method: 'acme', isOfUser: false },
    async attempt() {
      const of = await createTenant(service);
      await sendProviderAnswer(of, {}, (callback) => callback.replace(/code=[^&]*/, 'error=access_denied'));
      return of;
    },
  },
  {
    what: 'a login that is too old',
    ...{ reason: 'LOGIN_INTENT_EXPIRED', method: undefined, isOfUser: false },
    async attempt(user) {
      const of = await createTenant(service);
      const { submit } = await fixture.readyByEmail({ of, user, browser: newBrowser() });
      clock.advance(31 * MINUTE);
      await submit();
      return of;
    },
  },
  {
    what: 'a login that another browser has used',
    ...{ reason: 'LOGIN_INTENT_COMPLETED', method: undefined, isOfUser: false },
    async attempt(user) {
      const of = await createTenant(service);
      const { submit, login } = await fixture.readyByEmail({ of, user });
      await submit();
      await newBrowser().open(login.path);
      return of;
    },
  },
  {
    what: 'a user whom a page of the application has signed in without enough',
    ...{ reason: 'ASSURANCE_NOT_MET', method: 'page', isOfUser: true },
    async attempt({ id: userId }) {
      const of = await createTenant(service);
      const loginIntentId = await createLoginIntent(service, of, { requiredAssurance: 'TWO_FACTORS' });
      const origin = { ipAddress: '203.0.113.9', userAgent: FIREFOX };
      await expect(admin.completeLogin({ loginIntentId, userId, ...origin })).rejects.toThrow('Assurance not met');
      return of;
    },
  },
];

it.each(CASES)('keeps $what', async ({ attempt, reason, method, isOfUser }) => {
  const user = await createTestUser(service);
  const tenant = await attempt(user);
  await attemptsAt(tenant, 1);
  const [found] = await listBy({ applicationId: tenant.id });
  const userAgent = isOfUser ? FIREFOX : 'Firefox, Windows';
  const origin = { network: '203.0.113.0/24', userAgent, applicationId: tenant.id, count: 1 };
  expect(found).toMatchObject({ ...origin, reason, requestId: expect.stringMatching(/./) });
  expect({ method: found?.method, userId: found?.userId }).toEqual({ method, userId: isOfUser ? user.id : undefined });
  for (const filter of [{ userId: user.id }, { email: user.email }, { userId: user.id, applicationId: tenant.id }]) {
    expect(await listBy(filter), JSON.stringify(filter)).toEqual(isOfUser ? [found] : []);
  }
  // The line of its request names a reason, that of the attempt unless the error has one of its own.
  const line = log.callLines.find(({ requestId }) => requestId === found?.requestId);
  expect(line).toMatchObject({ reason: LOGGED[reason] ?? reason });
});

/** Reasons of log lines, where attempts have others. */
const LOGGED: Readonly<Record<string, string>> = { CODE_EXPIRED: 'CODE_NOT_VALID', WRONG_CODES: 'CODE_NOT_VALID' };

it('keeps nothing of a sign-in that succeeds, which runs no statement for it, also after a wrong code', async () => {
  const { submit, user, enter, code } = await fixture.readyByEmail();
  await enter(wrongCode(code, 1));
  using explainer = new StatementExplainer(service.database, { modes: [] });
  expect((await submit()).location).toContain('authToken=');
  // The second request of a double click gets the same answer.
  expect((await submit()).location).toContain('authToken=');
  const names = explainer.explained.map(({ name }) => name);
  expect(names).toContain(LAYOUT === 'whole' ? 'redeem_login_code' : 'complete_login_intent_by_proof');
  expect(names.filter((name) => /sign_in_attempt/.test(name))).toEqual([]);
  expect(names.filter((name) => name === 'take_permits')).toEqual([]);
  expect(await listBy({ userId: user.id })).toEqual([]);
});

describe('an address that nobody has', () => {
  it('is a figure by network, without the address', async () => {
    const of = await createTenant(service);
    const email = `nobody-${crypto.randomUUID()}@example.com`;
    const replica = await fixture.startReplica();
    for (const times of [1, 2, 3]) {
      const { browser, page } = await fixture.arrive({ at: replica, of, browser: newBrowser().at(replica) });
      expect(await browser.submit(page, '/login/email', { email }), `${times}`).toMatchObject({ alert: '' });
    }
    expect(await listBy({ email })).toEqual([]);
    // A replica stores them once a minute, and when it ends.
    await replica.close();
    const found = await listBy({ applicationId: of.id });
    expect(found).toMatchObject([{ reason: 'NO_ACCOUNT', network: '203.0.113.0/24', count: 3, method: 'email' }]);
    expect(found[0]?.userId).toBeUndefined();
    expect(await listBy({ email })).toEqual([]);
    const [stored] = await sql`select count(*)::int as n from audit_events e where e::text like ${`%${email}%`}`;
    expect(stored?.n).toBe(0);
  });

  it('runs the statements of a known one after the last wrong code, too', async () => {
    const statementsAfter = async (email: string) => {
      const { browser, page } = await fixture.arrive({ browser: newBrowser() });
      const codePage = await browser.submit(page, '/login/email', { email });
      const enter = (code: string) => browser.submit(codePage, '/login/code', { code });
      for (const miss of [1, 2, 3, 4]) await enter(`${miss}`);
      using explainer = new StatementExplainer(service.database, { modes: [] });
      await enter('5');
      // Jobs may run at any time.
      const names = () =>
        explainer.explained.map(({ name }) => name).filter((name) => /login|sign_in|rate_limit|erased/.test(name));
      await expect.poll(names).toContain('select_erased_user');
      return names().sort();
    };
    const known = await statementsAfter((await createTestUser(service)).email);
    expect(known).toContain('insert_sign_in_attempt');
    expect(await statementsAfter(`nobody-${crypto.randomUUID()}@example.com`)).toEqual(known);
  });

  it('of which the last wrong code stands at the application', async () => {
    const of = await createTenant(service);
    const { browser, page } = await fixture.arrive({ of, browser: newBrowser() });
    const email = `nobody-${crypto.randomUUID()}@example.com`;
    const codePage = await browser.submit(page, '/login/email', { email });
    for (const miss of [1, 2, 3, 4, 5]) await browser.submit(codePage, '/login/code', { code: `00000${miss}` });
    await attemptsAt(of, 1);
    expect(await listBy({ applicationId: of.id })).toMatchObject([{ reason: 'WRONG_CODES' }]);
    expect(await listBy({ email })).toEqual([]);
  });
});

it('a network fills neither the list of a person nor that of an application', async () => {
  const of = await createTenant(service);
  const open = async (browser: LoginBrowser) => {
    const { login } = await fixture.arrive({ of });
    clock.advance(31 * MINUTE);
    await browser.open(login.path);
  };
  const one = new LoginBrowser(service, { address: '198.51.100.7' });
  const { login } = await fixture.arrive({ of });
  clock.advance(31 * MINUTE);
  for (let times = 0; times < 40; times++) await one.open(login.path);
  // Those of another network have permits of their own.
  await open(new LoginBrowser(service, { address: '192.0.2.7' }));
  await expect
    .poll(async () => (await listBy({ applicationId: of.id, pageSize: 100 })).map(({ network }) => network))
    .toContain('192.0.2.0/24');
  const kept = await listBy({ applicationId: of.id, pageSize: 100 });
  expect(kept.filter(({ network }) => network === '198.51.100.0/24')).toHaveLength(30);
});

describe('the attempts of a person', () => {
  let user: TestUser;
  let tenant: Tenant;

  beforeAll(async () => {
    user = await createTestUser(service);
    tenant = await createStrict();
    const { submit } = await fixture.readyByEmail({ of: tenant, user, browser: newBrowser() });
    await submit();
  });

  it('are events of the audit log', async () => {
    await attemptsAt(tenant, 1);
    const { auditEvents } = await admin.listAuditEvents({ resource: user.id, action: 'SignIn/ACCESS_NOT_ALLOWED' });
    const expected = { actorType: 'login_page', actor: '', ipAddress: '', applicationId: tenant.id };
    expect(auditEvents).toMatchObject([expected]);
  });

  it('are not listed together by user and by address', async () => {
    const both = { userId: user.id, email: user.email };
    await expect(admin.listSignInAttempts(both)).rejects.toThrow('Validation failed');
    await expect(admin.listSignInAttempts({ email: 'no address' })).rejects.toThrow('Validation failed');
  });

  it('are erased with the person', async () => {
    await admin.eraseUser({ userId: user.id });
    expect(await listBy({ userId: user.id })).toEqual([]);
    expect(await listBy({ applicationId: tenant.id })).toEqual([]);
    const [stored] = await sql`select count(*)::int as n from audit_events where resource = ${user.id}`;
    expect(stored?.n).toBeGreaterThan(0);
  });
});

it('a refusal while the person is erased leaves nothing', async () => {
  const user = await createTestUser(service);
  const of = await createStrict();
  const { submit } = await fixture.readyByEmail({ of, user, browser: newBrowser() });
  await Promise.all([submit(), admin.eraseUser({ userId: user.id })]);
  await expect.poll(() => listBy({ userId: user.id })).toEqual([]);
});
