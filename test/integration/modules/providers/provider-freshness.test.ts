/** Logins that need a recent sign-in: the provider must ask the person again, and prove that it has. */
import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest';
import { follow } from '../../../support/account-page.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { adminClient, clientsOf, createTestUser, REDIRECT_URI } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const github = await FakeProvider.start();
const fixture = await LoginFixture.open({
  start: new Date(),
  config: {
    loginMethods: ['email', 'passkey'],
    loginProviderIds: undefined,
    loginProviders: [
      acme.settings({ trustEmail: true }),
      github.settings({ id: 'github', name: 'GitHub', type: 'github', trustEmail: true }),
    ],
  },
});
const user = await createTestUser(fixture.service);
github.profile = { emails: [{ email: user.email, primary: true, verified: true }] };
afterAll(async () => {
  await fixture.close();
  await Promise.all([acme.stop(), github.stop()]);
});
afterEach(() => void Object.assign(acme, { claims: {} }));

const PERSON = { sub: 'ada', email: user.email, email_verified: true };
const seconds = () => Math.floor(fixture.clock.read().getTime() / 1_000);
const { auth } = clientsOf(fixture.service, fixture.tenant);

/** Begins a login with the demands, and returns where the browser is sent. */
async function leave(demands: { prompt?: string; maxAgeSeconds?: number }, provider = 'acme') {
  const { clientId } = fixture.tenant;
  const { authUrl } = await auth.generateAuthUrl({ clientId, redirectUri: REDIRECT_URI, state: 'a state', ...demands });
  const browser = new LoginBrowser(fixture.service);
  const { pathname, search } = new URL(authUrl);
  const page = await browser.open(pathname + search);
  return { browser, sent: await send(browser, page, provider) };
}

async function send(browser: LoginBrowser, page: Awaited<ReturnType<LoginBrowser['open']>>, provider = 'acme') {
  const form = page.forms.find(({ fields }) => fields.provider === provider);
  return browser.post('/login/provider', { ...form?.fields });
}

const queryOf = ({ location }: { location: string | undefined }) => new URL(location ?? '').searchParams;

async function authTimeOf({ location }: { location: string | undefined }) {
  const authToken = queryOf({ location }).get('authToken') ?? '';
  const { session } = await auth.exchangeToken({ authToken });
  return Number(session?.authTime?.seconds ?? 0);
}

test('without a demand, the provider is asked for nothing', async () => {
  const { sent } = await leave({});
  expect([queryOf(sent).get('prompt'), queryOf(sent).get('max_age')]).toEqual([null, null]);
});

test.each([
  [{ prompt: 'LOGIN' }, ['login', '0']],
  [{ prompt: 'LOGIN', maxAgeSeconds: 600 }, ['login', '0']],
  [{ maxAgeSeconds: 0 }, ['login', '0']],
  [{ prompt: 'PASSKEYS' }, ['login', '0']],
  [{ maxAgeSeconds: 600 }, [null, '600']],
])('a login with %j asks the provider for %j', async (demands, expected) => {
  const { sent } = await leave(demands);
  expect([queryOf(sent).get('prompt'), queryOf(sent).get('max_age')]).toEqual(expected);
});

test('whoever goes on to the passkeys has to sign in at the provider again, whatever the application demands', async () => {
  const { browser, login } = await fixture.arrive();
  const sent = await send(browser, await browser.open(`${login.path}&then=passkeys`));
  expect([queryOf(sent).get('prompt'), queryOf(sent).get('max_age')]).toEqual(['login', '0']);
  acme.claims = { auth_time: seconds() - 120 };
  const page = await browser.open(acme.signIn(sent.location, PERSON));
  expect(page.alert).toContain('cannot ask you to sign in again');
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
});

test.each([{ prompt: 'LOGIN' }, { maxAgeSeconds: 0 }, { maxAgeSeconds: 600 }])(
  'a login with %j is not completed unless the provider proves a recent sign-in',
  async (demands) => {
    const limit = demands.maxAgeSeconds ?? 0;
    const stale = [1, seconds() - limit - 120, undefined, 'now', seconds() + 3_600, -1, Number.NaN];
    for (const authTime of stale) {
      const { browser, sent } = await leave(demands);
      acme.claims = { auth_time: authTime };
      const page = await browser.open(acme.signIn(sent.location, PERSON));
      expect(page).toMatchObject({
        location: undefined,
        // The library refuses what is no number of seconds.
        alert: expect.stringMatching(/^\u2068Acme\u2069 cannot (ask you to sign in again|sign you in at the moment)/),
      });
    }
    const { browser, sent } = await leave(demands);
    acme.claims = { auth_time: seconds() };
    const page = await browser.open(acme.signIn(sent.location, PERSON));
    expect(Math.abs((await authTimeOf(page)) - seconds())).toBeLessThanOrEqual(60);
  },
);

test('the application learns when the person signed in at the provider', async () => {
  const { browser, sent } = await leave({ maxAgeSeconds: 3_600 });
  const authTime = seconds() - 1_800;
  acme.claims = { auth_time: authTime };
  // A session has the latest sign-in of its user.
  const { email } = await createTestUser(fixture.service);
  const page = await browser.open(acme.signIn(sent.location, { ...PERSON, sub: 'grace', email }));
  expect(await authTimeOf(page)).toBe(authTime);
});

test.each([
  ['during the login is remembered for other applications', 0, true],
  ['before the login is not', 1_800, false],
])('a sign-in at the provider %s', async (_what, age, isRemembered) => {
  const admin = adminClient(fixture.service);
  const { id: applicationId } = fixture.tenant;
  await admin.updateApplication({ applicationId, singleSignOn: true });
  onTestFinished(() => admin.updateApplication({ applicationId, singleSignOn: false }).then(() => {}));
  const { browser, sent } = await leave({ maxAgeSeconds: 3_600 });
  acme.claims = { auth_time: seconds() - age };
  const { status } = await browser.open(acme.signIn(sent.location, PERSON));
  expect([status, browser.cookie?.includes('usher-sso')]).toEqual([303, isRemembered]);
});

test('a person who signed out since the sign-in at the provider signs in again', async () => {
  await adminClient(fixture.service).endUserSessions({ userId: user.id });
  const { browser, sent } = await leave({ maxAgeSeconds: 3_600 });
  acme.claims = { auth_time: seconds() - 1_800 };
  expect(await authTimeOf(await browser.open(acme.signIn(sent.location, PERSON)))).toBeGreaterThan(0);
});

test.each([{ prompt: 'LOGIN' }, { maxAgeSeconds: 600 }, { prompt: 'PASSKEYS' }])(
  'GitHub says that it cannot serve a login with %j',
  async (demands) => {
    const { sent } = await leave(demands, 'github');
    expect(sent).toMatchObject({
      location: undefined,
      alert: '\u2068GitHub\u2069 cannot ask you to sign in again. Please use another way.',
    });
  },
);

async function openAccount(provider: FakeProvider, id: string) {
  const browser = new LoginBrowser(fixture.service);
  const choice = await follow(browser, await browser.submit(await browser.open('/account'), '/account/login'));
  const sent = await send(browser, choice, id);
  const signedIn = await browser.open(provider.signIn(sent.location, PERSON));
  return { browser, sent, signedIn, page: await follow(browser, signedIn) };
}

test('a sign-in at the provider during the login opens the account page for changes', async () => {
  acme.claims = { auth_time: seconds() };
  const { sent, page } = await openAccount(acme, 'acme');
  expect(queryOf(sent).get('max_age')).toBe('86400');
  expect(page.body).toContain('/account/name');
  expect(page.body).not.toContain('name="prompt" value="LOGIN"');
});

test.each([
  ['an earlier sign-in at the provider', () => ({ auth_time: seconds() - 300 }), acme, 'acme'],
  ['a provider without auth_time', () => ({ auth_time: undefined }), acme, 'acme'],
  ['GitHub', () => ({}), github, 'github'],
])('%s opens the account page, but allows no change', async (_, claims, provider, id) => {
  acme.claims = claims();
  const { browser, page } = await openAccount(provider, id);
  expect(page.body).toContain('name="prompt" value="LOGIN"');
  const token = page.forms.find(({ fields }) => fields.token)?.fields.token ?? '';
  await browser.post('/account/name', { token, name: 'Mallory' });
  expect((await adminClient(fixture.service).getUser({ userId: user.id })).user?.name).not.toBe('Mallory');
});

test('the account page takes no sign-in of 1970 for one', async () => {
  acme.claims = { auth_time: 1 };
  const { signedIn } = await openAccount(acme, 'acme');
  expect(signedIn.alert).toContain('cannot ask you to sign in again');
});
