/** How surely each way to sign in shows who the user is, and what applications and logins that demand more accept. */
import type { ConnectError } from '@connectrpc/connect';
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { FakeProvider } from '../../support/fake-provider.ts';
import { formOf, LoginBrowser, type LoginPage } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { authorizationOf, beginOidcLogin, CODE_VERIFIER, createRsaJwk, parametersOf } from '../../support/oidc.ts';
import { basicOf, post, redeem, refresh } from '../../support/oidc-client.ts';
import { FLAGS, type Oddities, SoftwarePasskey } from '../../support/passkey.ts';
import { savePasskey, sendPasskey } from '../../support/passkey-page.ts';
import {
  adminClient,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type Tenant,
} from '../../support/service.ts';

const acme = await FakeProvider.start();
const config = {
  loginMethods: ['wallet', 'email', 'passkey'] as const,
  loginProviders: [acme.settings()],
  loginProviderIds: undefined,
};
const fixture = await LoginFixture.open({ config, start: new Date(), oidcSigningKeys: [createRsaJwk()] });
const { service, mailbox, clock } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(async () => {
  await fixture.close();
  await acme.stop();
});

const SHARED = { singleSignOn: true, openIdConnect: true, allowSignUp: true };
const shop = await createTenant(service, { ...SHARED, name: 'Shop' });
const applications = {
  ANY: await createTenant(service, { ...SHARED, name: 'Wiki' }),
  TWO_FACTORS: await createTenant(service, { ...SHARED, name: 'GitLab', requiredAssurance: 'TWO_FACTORS' }),
  PHISHING_RESISTANT: await createTenant(service, {
    ...SHARED,
    name: 'Vault',
    requiredAssurance: 'PHISHING_RESISTANT',
  }),
};

type Name = keyof typeof applications;
const LEVELS = { ANY: 1, TWO_FACTORS: 2, PHISHING_RESISTANT: 3 } as const;
const ACR = ['1', '2', 'phr'];
const NAMES: readonly Name[] = ['ANY', 'TWO_FACTORS', 'PHISHING_RESISTANT'];

interface Floor {
  readonly application: Name;
  /** What the login asks for. */
  readonly login: Name;
  /** Whether the application has demanded nothing until the last step of the sign-in. */
  readonly isLate?: boolean;
}

/** Each application with each login, of which some ask for less. */
const FLOORS: readonly Floor[] = [
  ...NAMES.flatMap((application) => NAMES.map((login) => ({ application, login }))),
  { application: 'TWO_FACTORS', login: 'ANY', isLate: true },
  { application: 'PHISHING_RESISTANT', login: 'ANY', isLate: true },
];
const levelOf = ({ application, login }: Floor) => Math.max(LEVELS[application], LEVELS[login]);

interface Begun {
  readonly browser: LoginBrowser;
  readonly page: LoginPage;
  readonly loginIntentId: string;
  /** Call it before the last step. */
  readonly raise: () => Promise<void>;
}

const owner = await createOwner();
const doubtful = await createOwner({ isYoung: true });

/** Creates a user with a passkey. */
async function createOwner({ isYoung = false } = {}) {
  const asked = await fixture.askForCode({ of: shop });
  const passkey = new SoftwarePasskey();
  const page = await asked.browser.submit(asked.codePage, '/login/code', { code: asked.code, passkey: '1' });
  await savePasskey({ browser: asked.browser, page }, passkey, PUBLIC_URL);
  if (isYoung) await sql`update passkeys set counts_from = '2100-01-01' where user_id = ${asked.user.id}`;
  return { passkey, user: asked.user };
}

/** Sends a form, also one that the page does not show. */
const forge = ({ browser, page }: Pick<Begun, 'browser' | 'page'>, path: string, fields: Record<string, string> = {}) =>
  browser.post(path, { ...formOf(page, '/login/cancel').fields, ...fields });

async function enterCode(begun: Begun, email: string): Promise<LoginPage> {
  const sent = mailbox.codes.length;
  const page = await forge(begun, '/login/email', { email });
  if (mailbox.codes.length === sent) return page;
  await begun.raise();
  return forge(begun, '/login/code', { code: mailbox.codeFor(email) });
}

async function usePasskey(begun: Begun, { passkey }: { passkey: SoftwarePasskey }, odd?: Oddities): Promise<LoginPage> {
  await begun.raise();
  return sendPasskey(begun, passkey, PUBLIC_URL, odd);
}

/** Signs in at the shop, and then opens the login in the same browser. */
async function remember(browser: LoginBrowser, { passkey }: { passkey?: SoftwarePasskey } = {}): Promise<void> {
  if (!passkey) await (await fixture.readyByEmail({ of: shop, browser })).submit();
  else await sendPasskey(await fixture.arrive({ of: shop, browser }), passkey, PUBLIC_URL);
}

interface Way {
  readonly level: 1 | 2 | 3;
  readonly amr: readonly string[];
  readonly prepare?: (browser: LoginBrowser) => Promise<void>;
  readonly signIn: (begun: Begun) => Promise<LoginPage | { readonly location: string | undefined }>;
}

async function continueSignIn(begun: Begun) {
  await begun.raise();
  return forge(begun, '/login/continue');
}

const onOwnPage = (assurance?: number, more: { onBehalfBy?: string } = {}) => ({
  async signIn({ loginIntentId, raise }: Begun) {
    const user = await createTestUser(service);
    await raise();
    const given = { ...more, ...(assurance && { assurance }) };
    const refusal = ({ rawMessage }: ConnectError) => {
      expect(rawMessage).toBe('Assurance not met');
      return { redirectUrl: undefined };
    };
    const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId: user.id, ...given }).catch(refusal);
    return { location: redirectUrl };
  },
});

const VERIFIED = ['passkey', 'pop', 'user', 'mfa'];
const UNVERIFIED = { flags: FLAGS.verified };

const WAYS: Readonly<Record<string, Way>> = {
  code: {
    ...{ level: 1, amr: ['email'] },
    signIn: async (begun) => enterCode(begun, (await createTestUser(service)).email),
  },
  'code of a new user': {
    ...{ level: 1, amr: ['email'] },
    signIn: (begun) => enterCode(begun, `${crypto.randomUUID()}@example.com`),
  },
  wallet: {
    ...{ level: 1, amr: ['wallet'] },
    async signIn(begun) {
      const { wallet } = await fixture.createWalletUser();
      const { body } = await forge(begun, '/login/wallet/challenge', { address: wallet.address });
      const { message = '' } = JSON.parse(body);
      await begun.raise();
      return forge(begun, '/login/wallet', { signature: wallet.sign(message) });
    },
  },
  provider: {
    ...{ level: 1, amr: ['acme'] },
    async signIn(begun) {
      const user = await createTestUser(service);
      await sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
        values (${acme.settings().issuer ?? ''}, ${user.id}, ${user.id}, 'acme', now())`;
      const asked = await forge(begun, '/login/provider', { provider: 'acme' });
      if (!asked.location) return asked;
      await begun.raise();
      return begun.browser.open(acme.signIn(asked.location, { sub: user.id, amr: ['mfa'], acr: 'phr' }));
    },
  },
  'passkey that verifies the person': { level: 3, amr: VERIFIED, signIn: (begun) => usePasskey(begun, owner) },
  'passkey that does not': {
    ...{ level: 1, amr: ['passkey', 'pop'] },
    signIn: (begun) => usePasskey(begun, owner, UNVERIFIED),
  },
  'young passkey': { level: 1, amr: ['passkey', 'pop'], signIn: (begun) => usePasskey(begun, doubtful) },
  'remembered code': { level: 1, amr: ['email'], prepare: (browser) => remember(browser), signIn: continueSignIn },
  'remembered passkey': {
    ...{ level: 3, amr: VERIFIED },
    prepare: (browser) => remember(browser, owner),
    signIn: continueSignIn,
  },
  'own page': { level: 1, amr: ['page'], ...onOwnPage() },
  'own page with two factors': { level: 2, amr: ['page', 'mfa'], ...onOwnPage(2) },
  'own page that resists phishing': { level: 3, amr: ['page', 'mfa'], ...onOwnPage(3) },
  'own page on behalf of a user': { level: 1, amr: ['impersonation'], ...onOwnPage(3, { onBehalfBy: 'Support' }) },
};

/** How an application begins a login, and learns of the sign-in. */
const DOORS = {
  GenerateAuthUrl: {
    begin: async (_: LoginBrowser, of: Tenant, login: Name) => {
      const requiredAssurance = login === 'ANY' ? undefined : login;
      const loginIntentId = await createLoginIntent(service, of, { ...(requiredAssurance && { requiredAssurance }) });
      return { loginIntentId, path: `/login?intent=${loginIntentId}&client_id=${of.clientId}` };
    },
    async read(of: Tenant, location: string, { level }: Way) {
      const { authToken = '' } = parametersOf(location);
      expect(decodeJwt(authToken).acr).toBe(ACR[level - 1]);
      const { auth, sessions } = clientsOf(service, of);
      const { session } = await auth.exchangeToken({ authToken });
      const checked = await sessions.checkSession({ sessionId: session?.id ?? '', maxStalenessMs: 0 });
      expect([session?.assurance, checked.session?.assurance]).toEqual([level, level]);
    },
  },
  'OpenID Connect': {
    // Lists weaker values, too: the strongest counts.
    begin: (browser: LoginBrowser, of: Tenant, login: Name) =>
      beginOidcLogin(browser, of, { acr_values: ACR.slice(0, LEVELS[login]).reverse().join(' ') }),
    async read(of: Tenant, location: string, { level, amr }: Way) {
      const { code = '' } = parametersOf(location);
      const { body } = await redeem(service, of, code, { verifier: CODE_VERIFIER });
      const { body: refreshed } = await refresh(service, of, body.refresh_token ?? '');
      for (const { id_token: token = '' } of [body, refreshed])
        expect(decodeJwt(token)).toMatchObject({ acr: ACR[level - 1], amr });
      const { grants } = await clientsOf(service, of).sessions.listGrants({ pageSize: 1 });
      expect(grants[0]?.assurance).toBe(level);
    },
  },
} as const;

describe.each(Object.entries(DOORS))('by %s', (_, door) => {
  describe.each(Object.entries(WAYS))('a sign-in by %s', (_way, way) => {
    it.each(FLOORS)('where $application is demanded, and $login by the login, late: $isLate', async (floor) => {
      const application = applications[floor.application];
      const browser = new LoginBrowser(service);
      await way.prepare?.(browser);
      clock.advance(1);
      const demand = (name: Name) =>
        admin.updateApplication({ applicationId: application.id, requiredAssurance: name });
      if (floor.isLate) await demand('ANY');
      const { loginIntentId, path } = await door.begin(browser, application, floor.login);
      const raise = async () => {
        if (floor.isLate) await demand(floor.application);
      };
      const page = await browser.open(path);
      const { location } = await way.signIn({ browser, page, loginIntentId, raise });
      await raise();
      const suffices = way.level >= levelOf(floor);
      const [intent] = await sql`select completed_at, assurance from login_intents where id = ${loginIntentId}`;
      expect(intent).toEqual({
        completed_at: suffices ? expect.any(Date) : null,
        assurance: suffices ? way.level : null,
      });
      expect(location !== undefined).toBe(suffices);
      if (suffices) await door.read(application, location ?? '', way);
    });
  });

  it('prompt=none and the offer to continue take no sign-in that is too weak', async () => {
    for (const [prepare, level] of [
      [WAYS['remembered code'], 1],
      [WAYS['remembered passkey'], 3],
    ] as const) {
      const browser = new LoginBrowser(service);
      await prepare?.prepare?.(browser);
      for (const floor of FLOORS.slice(0, 9)) {
        const of = applications[floor.application];
        const isOffered = level >= levelOf(floor);
        const { path } = await door.begin(browser, of, floor.login);
        const page = await browser.open(path);
        expect(page.forms.some(({ action }) => action === '/login/continue')).toBe(isOffered);
        const asked = authorizationOf(of, { prompt: 'none', acr_values: ACR[LEVELS[floor.login] - 1] });
        const { error } = parametersOf((await browser.open(`/oidc/authorize?${asked}`)).location);
        expect(error).toBe(isOffered ? undefined : 'login_required');
      }
    }
  });
});

describe('when an application comes to demand more', () => {
  const admit = (of: Tenant, requiredAssurance: Name) =>
    admin.updateApplication({ applicationId: of.id, requiredAssurance });
  const logInAt = async (of: Tenant, assurance: number) => {
    const { id: userId } = await createTestUser(service);
    const loginIntentId = await createLoginIntent(service, of);
    return { userId, ...(await admin.completeLogin({ loginIntentId, userId, assurance })) };
  };
  /** Returns what becomes of the call at each level. */
  const atEachLevel = (act: (level: number) => Promise<unknown>) =>
    Promise.all(
      [1, 2, 3].map((level) =>
        act(level).then(
          () => 'ok',
          ({ rawMessage, message }: ConnectError) => rawMessage ?? message,
        ),
      ),
    );
  const REFUSED = 'Invalid or expired token';

  it('auth tokens of weaker sign-ins are refused', async () => {
    const of = await createTenant(service);
    const { auth } = clientsOf(service, of);
    const logins = await Promise.all([1, 2, 3].map((level) => logInAt(of, level)));
    await admit(of, 'TWO_FACTORS');
    const exchange = (level: number) => auth.exchangeToken({ authToken: logins[level - 1]?.authToken ?? '' });
    expect(await atEachLevel(exchange)).toEqual([REFUSED, 'ok', 'ok']);
    await admit(of, 'ANY');
    expect(await atEachLevel(exchange)).toEqual(['ok', 'ok', 'ok']);
  });

  it('sessions of weaker sign-ins live on, and are not renewed', async () => {
    const of = await createTenant(service);
    const { auth, sessions } = clientsOf(service, of);
    const ids = await Promise.all(
      [1, 2, 3].map(async (level) => {
        const { authToken } = await logInAt(of, level);
        return (await auth.exchangeToken({ authToken })).session?.id ?? '';
      }),
    );
    await admit(of, 'PHISHING_RESISTANT');
    const sessionId = (level: number) => ({ sessionId: ids[level - 1] ?? '' });
    for (const level of [1, 2, 3])
      expect(await sessions.checkSession(sessionId(level))).toMatchObject({ active: true });
    expect(await atEachLevel((level) => sessions.renewSession(sessionId(level)))).toEqual([
      'Session expired',
      'Session expired',
      'ok',
    ]);
    await sessions.revokeSession(sessionId(1));
    expect(await sessions.checkSession({ ...sessionId(1), maxStalenessMs: 0 })).toMatchObject({ active: false });
  });

  it('codes and refresh tokens of weaker sign-ins are refused', async () => {
    const of = await createTenant(service, { openIdConnect: true });
    const codeAt = async (level: number) => {
      const browser = new LoginBrowser(service);
      const { loginIntentId } = await beginOidcLogin(browser, of);
      const { id: userId } = await createTestUser(service);
      const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId, assurance: level });
      return parametersOf(redirectUrl).code ?? '';
    };
    const redeemCode = (code = '') => redeem(service, of, code, { verifier: CODE_VERIFIER });
    const tokens: string[] = [];
    for (const level of [1, 2, 3]) tokens.push((await redeemCode(await codeAt(level))).body.refresh_token ?? '');
    const codes = await Promise.all([1, 2, 3].map(codeAt));
    await admit(of, 'TWO_FACTORS');
    const statuses = async (replies: readonly Promise<{ status: number }>[]) =>
      (await Promise.all(replies)).map(({ status }) => status);
    expect(await statuses(codes.map(redeemCode))).toEqual([400, 200, 200]);
    expect(await statuses(tokens.map((token) => refresh(service, of, token)))).toEqual([400, 200, 200]);
    // Nothing is used up.
    await admit(of, 'ANY');
    expect(await statuses([redeemCode(codes[0]), refresh(service, of, tokens[0] ?? '')])).toEqual([200, 200]);
  });
});

it('each browser has the level of its own sign-in over OpenID Connect, and all share that of the last one over RPC', async () => {
  const of = await createTenant(service, SHARED);
  const tokensOf = async (signIn: (begun: Omit<Begun, 'raise' | 'loginIntentId'>) => Promise<LoginPage>) => {
    clock.advance(1);
    const browser = new LoginBrowser(service);
    const page = await browser.open((await beginOidcLogin(browser, of)).path);
    const { code = '' } = parametersOf((await signIn({ browser, page })).location);
    return (await redeem(service, of, code, { verifier: CODE_VERIFIER })).body;
  };
  const first = await tokensOf((begun) => sendPasskey(begun, owner.passkey, PUBLIC_URL));
  const second = await tokensOf((begun) => sendPasskey(begun, owner.passkey, PUBLIC_URL, UNVERIFIED));
  const acrOf = async ({ refresh_token: token = '' }: Readonly<Record<string, string>>) =>
    decodeJwt((await refresh(service, of, token)).body.id_token ?? '').acr;
  expect([await acrOf(first), await acrOf(second), await acrOf(first)]).toEqual(['phr', '1', 'phr']);
  const { sessions } = clientsOf(service, of);
  expect((await sessions.listSessions({ userId: owner.user.id })).sessions).toMatchObject([{ assurance: 1 }]);
  const listed = await admin.listUserGrants({ userId: owner.user.id });
  expect(listed.grants.filter(({ applicationId }) => applicationId === of.id)).toMatchObject([
    { assurance: 1 },
    { assurance: 3 },
  ]);
});

describe('the login page', () => {
  const MORE = { alert: 'That is not enough here. Use a passkey, and let it check your fingerprint, face or PIN.' };

  it('offers only the passkey, which must verify the person, and leads people without one to their account', async () => {
    const { page } = await fixture.arrive({ of: applications.PHISHING_RESISTANT });
    expect(page.forms.map(({ action }) => action).filter((action) => !/cancel|^\/login$/.test(action))).toEqual([
      '/login/passkey',
    ]);
    expect(page.body).toContain('data-verification="required"');
    expect(page.body).toContain('href="/account"');
    const { page: usual } = await fixture.arrive({ of: applications.ANY });
    expect(usual.body).not.toContain('data-verification');
    expect(usual.body).not.toContain('href="/account"');
  });

  it('says why a passkey without verification does not suffice, and how long a new one does not', async () => {
    const { browser, page } = await fixture.arrive({ of: applications.PHISHING_RESISTANT });
    expect(await sendPasskey({ browser, page }, owner.passkey, PUBLIC_URL, UNVERIFIED)).toMatchObject(MORE);
    expect((await sendPasskey({ browser, page }, doubtful.passkey, PUBLIC_URL)).alert).toContain('or wait 7 days');
  });

  it('sends no code that would not suffice', async () => {
    const { browser, page } = await fixture.arrive({ of: applications.PHISHING_RESISTANT });
    const sent = mailbox.mails.length;
    expect(await forge({ browser, page }, '/login/email', { email: owner.user.email })).toMatchObject(MORE);
    expect(mailbox.mails).toHaveLength(sent);
  });

  it.each(['query', 'form_post'])('leads who cannot reach it back by %s, with the error of RFC 9470', async (mode) => {
    const of = await createTenant(service, { ...SHARED, loginMethods: ['email'] });
    const browser = new LoginBrowser(service);
    const { path } = await beginOidcLogin(browser, of, { acr_values: 'phr', response_mode: mode });
    const page = await browser.open(path);
    expect(page.forms.map(({ action }) => action).filter((action) => action !== '/login')).toEqual(['/login/cancel']);
    expect(page.body).toContain('demands more than anybody can show on this page');
    const back = await browser.submit(page, '/login/cancel');
    const { pathname, search } = new URL(back.location ?? '');
    const answer =
      mode === 'query'
        ? parametersOf(back.location)
        : formOf(await browser.open(pathname + search), 'https://app.test/callback').fields;
    expect(answer).toMatchObject({ error: 'unmet_authentication_requirements', iss: PUBLIC_URL });
  });
});

it('the metadata lists the values, and introspection says which one a token has', async () => {
  const { body } = await new LoginBrowser(service).open('/.well-known/openid-configuration');
  expect(JSON.parse(body)).toMatchObject({
    acr_values_supported: ['1', '2', 'phr'],
    claims_supported: expect.arrayContaining(['acr', 'amr']),
  });
  const of = applications.PHISHING_RESISTANT;
  const browser = new LoginBrowser(service);
  const page = await browser.open((await beginOidcLogin(browser, of)).path);
  const { location } = await sendPasskey({ browser, page }, owner.passkey, PUBLIC_URL);
  const { body: tokens } = await redeem(service, of, parametersOf(location).code ?? '', { verifier: CODE_VERIFIER });
  for (const token of [tokens.access_token ?? '', tokens.refresh_token ?? ''])
    expect((await post(service, '/oidc/introspect', { token }, basicOf(of))).body).toMatchObject({ acr: 'phr' });
});
