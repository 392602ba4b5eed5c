/** Signing in at other providers. What a lying provider gets is in `provider-lies.test.ts`. */
import { afterAll, expect, test } from 'vitest';
import type { LoginProvider } from '../../../../src/modules/providers/parse-login-providers.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { type Arrival, LoginFixture } from '../../../support/login-fixture.ts';
import { adminClient, clientsOf, createTenant, createTestUser } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const trusted = await FakeProvider.start();
const github = await FakeProvider.start();
const loginProviders: readonly LoginProvider[] = [
  acme.settings(),
  trusted.settings({ id: 'corp', name: 'Corp', trustEmail: true, emailDomains: ['corp.test'] }),
  github.settings({ id: 'github', name: 'GitHub', type: 'github', trustEmail: true }),
];
const loginMethods = ['wallet', 'email', 'passkey'] as const;
const config = { loginMethods, loginProviders, loginProviderIds: undefined };
const fixture = await LoginFixture.open({ config, start: new Date() });
afterAll(async () => {
  await fixture.close();
  await Promise.all([acme.stop(), trusted.stop(), github.stop()]);
});

/** Returns a browser that the page has sent to the provider. */
async function leave(provider = 'acme', by: Arrival = {}) {
  const arrived = await fixture.arrive(by);
  const form = arrived.page.forms.find(({ fields }) => fields.provider === provider);
  const sent = await arrived.browser.post('/login/provider', { ...form?.fields });
  return { ...arrived, location: sent.location };
}

/** Signs in at Acme as somebody new there, and gives the identity to the user by a code. */
async function link(subject: string, user: { email: string }) {
  const left = await leave();
  const linkPage = await left.browser.open(acme.signIn(left.location, { sub: subject, email: user.email }));
  const codePage = await left.browser.submit(linkPage, '/login/link');
  return left.browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
}

function noticesTo({ email }: { email: string }) {
  return fixture.mailbox.mails
    .filter(({ to, kind }) => to === email && kind === 'identity notice')
    .flatMap(({ subject: [key] }) => key);
}

async function userOf(location: string | undefined) {
  const authToken = new URL(location ?? '').searchParams.get('authToken') ?? '';
  const { auth } = clientsOf(fixture.service, fixture.tenant);
  return (await auth.exchangeToken({ authToken })).user;
}

test('the page offers the providers in the order of the file', async () => {
  const { page } = await fixture.arrive();
  expect(page.forms.map(({ fields }) => fields.provider).filter(Boolean)).toEqual(['acme', 'corp', 'github']);
  expect(page.body).toContain('Continue with');
});

test('the provider learns the client, the callback, the scope and nothing of the login', async () => {
  const { location, login } = await leave();
  const { origin, pathname, searchParams } = new URL(location ?? '');
  expect(origin + pathname).toBe(`${acme.origin}/authorize`);
  expect(Object.fromEntries(searchParams)).toEqual({
    client_id: 'usher',
    response_type: 'code',
    redirect_uri: `${login.origin}/login/callback/acme`,
    scope: 'openid email profile',
    state: expect.stringMatching(/^[\w-]{91}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
});

test('the provider learns the address that the person has typed in this login, and not in another', async () => {
  const hintIn = ({ location }: { location: string | undefined }) =>
    new URL(location ?? '').searchParams.get('login_hint');
  const { browser, login, user } = await fixture.askForCode();
  expect(hintIn(await leave('acme', { browser, login }))).toBe(user.email);
  expect(hintIn(await leave('acme', { browser }))).toBe(null);
});

test('whoever has linked an identity signs in with it, whatever address the provider names', async () => {
  const user = await createTestUser(fixture.service);
  await link('known', user);
  const { browser, location } = await leave();
  const signedIn = await browser.open(acme.signIn(location, { sub: 'known', email: 'someone@else.test' }));
  expect(await userOf(signedIn.location)).toMatchObject({ email: user.email });
});

test('a new identity needs the code for an address, which the page fills in', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, location, login } = await leave();
  const page = await browser.open(acme.signIn(location, { sub: 'new', email: user.email, email_verified: true }));
  expect(page.heading).toBe('Your Acme account is new here');
  expect(page.forms.find(({ action }) => action === '/login/link')?.fields).toMatchObject({
    email: user.email,
    link: 'acme',
  });
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  const codePage = await browser.submit(page, '/login/link');
  const done = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
  expect(await userOf(done.location)).toMatchObject({ email: user.email });
  await expect.poll(() => noticesTo(user)).toEqual(['mail.identityLinked.subject']);
});

test('a verified address of a trusted provider finds its user without a code', async () => {
  const user = await createTestUser(fixture.service, { email: 'ada@corp.test' });
  const { browser, location } = await leave('corp');
  const done = await browser.open(trusted.signIn(location, { sub: 'ada', email: user.email, email_verified: true }));
  expect(await userOf(done.location)).toMatchObject({ email: user.email });
  await expect.poll(() => noticesTo(user)).toEqual(['mail.identityLinked.subject']);
});

test('a name that Usher would refuse is left out of a new user', async () => {
  const of = await createTenant(fixture.service);
  await adminClient(fixture.service).updateApplication({ applicationId: of.id, allowSignUp: true });
  const { browser, location } = await leave('corp', { of });
  const email = 'nameless@corp.test';
  await browser.open(trusted.signIn(location, { sub: email, email, email_verified: true, name: 'x'.repeat(256) }));
  const [user] = (await adminClient(fixture.service).listUsers({ email })).users;
  expect({ email: user?.email, name: user?.name }).toEqual({ email, name: undefined });
});

test('whoever signs up at a trusted provider has not proved the address to Usher', async () => {
  const of = await createTenant(fixture.service);
  await adminClient(fixture.service).updateApplication({ applicationId: of.id, allowSignUp: true });
  const { browser, location } = await leave('corp', { of });
  const email = 'unproved@corp.test';
  await browser.open(trusted.signIn(location, { sub: email, email, email_verified: true, name: 'Ada' }));
  const rows = await fixture.service.database.sql`select email_verified_at from users where email = ${email}`;
  expect(rows).toEqual([{ email_verified_at: null }]);
});

test('of two who sign up with one identity, the second learns that another account has it', async () => {
  const of = await createTenant(fixture.service);
  await adminClient(fixture.service).updateApplication({ applicationId: of.id, allowSignUp: true });
  const codes = [];
  for (const email of ['first@example.com', 'second@example.com']) {
    const { browser, location } = await leave('acme', { of });
    const linkPage = await browser.open(acme.signIn(location, { sub: 'signs up twice', email }));
    codes.push({ browser, email, page: await browser.submit(linkPage, '/login/link') });
  }
  const done = codes.map(({ browser, email, page }) =>
    browser.submit(page, '/login/code', { code: fixture.mailbox.codeFor(email) }),
  );
  const alerts = (await Promise.all(done)).map(({ status, alert }) => ({ status, alert }));
  expect(alerts).toContainEqual({ status: 303, alert: '' });
  expect(alerts).toContainEqual({ status: 200, alert: 'Another account uses this sign-in.' });
  const { sql } = fixture.service.database;
  expect(await sql`select from user_identities where subject = 'signs up twice'`).toHaveLength(1);
  expect(await sql`select from users where email in ('first@example.com', 'second@example.com')`).toHaveLength(1);
});

test.each<[string, { email?: string; email_verified?: boolean }]>([
  ['is not verified', { email: 'bob@corp.test', email_verified: false }],
  ['is of another domain', { email: 'bob@other.test', email_verified: true }],
  ['is missing', {}],
])('an address of a trusted provider needs a code if it %s', async (_, claims) => {
  if (claims.email) await createTestUser(fixture.service, { email: claims.email });
  const { browser, location } = await leave('corp');
  const page = await browser.open(trusted.signIn(location, { sub: JSON.stringify(claims), ...claims }));
  expect(page.heading).toBe('Your Corp account is new here');
});

test('GitHub identifies by the number of the account and its verified primary address', async () => {
  const user = await createTestUser(fixture.service);
  github.profile = { emails: [{ email: user.email, primary: true, verified: true }] };
  const first = await leave('github');
  const done = await first.browser.open(github.signIn(first.location));
  expect(await userOf(done.location)).toMatchObject({ email: user.email });
  github.profile = { id: 4712, emails: [{ email: user.email, primary: true, verified: false }] };
  const second = await leave('github');
  const page = await second.browser.open(github.signIn(second.location));
  expect(page.heading).toBe('Your GitHub account is new here');
});

test('a reload of the callback answers the same again, and asks the provider once', async () => {
  const user = await createTestUser(fixture.service);
  await link('twice', user);
  const { browser, location } = await leave();
  const callback = acme.signIn(location, { sub: 'twice' });
  const first = await browser.open(callback);
  const before = [...acme.requests];
  expect((await browser.open(callback)).location).toBe(first.location);
  expect(acme.requests).toEqual(before);
});

test('whoever wants to manage passkeys still does after a sign-in at a provider, also one that needed a code', async () => {
  const user = await createTestUser(fixture.service);
  for (const isKnown of [false, true]) {
    const { browser, login } = await fixture.arrive();
    const page = await browser.open(`${login.path}&then=passkeys`);
    const form = page.forms.find(({ fields }) => fields.provider === 'acme');
    const { location } = await browser.post('/login/provider', { ...form?.fields });
    let done = await browser.open(acme.signIn(location, { sub: 'has passkeys', email: user.email }));
    if (!isKnown) {
      const codePage = await browser.submit(done, '/login/link');
      done = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
    }
    expect(done.heading).toBe('Your passkeys');
  }
});

test('another browser cannot use the state, and another provider cannot answer it', async () => {
  const { browser, location } = await leave();
  const callback = acme.signIn(location, { sub: 'stolen' });
  const stranger = await new LoginBrowser(fixture.service).open(callback);
  expect(stranger.alert).toBe('You have not signed in at \u2068Acme\u2069. Please try again, or use another way.');
  const mixedUp = await browser.open(callback.replace('/callback/acme', '/callback/corp'));
  expect(mixedUp.alert).toContain('You have not signed in at');
});

test.each([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'login_required',
])('whoever comes back from the provider with %s chooses again', async (error) => {
  const { browser, location } = await leave();
  const page = await browser.open(acme.refuse(location, error));
  expect(page.alert).toBe('You have not signed in at \u2068Acme\u2069. Please try again, or use another way.');
});

test('a provider that is down is an alert, and the page goes on', async () => {
  const { browser, location } = await leave();
  const callback = acme.signIn(location, { sub: 'down' });
  acme.answers.set('/token', (_request, response) => void response.writeHead(503).end());
  try {
    const page = await browser.open(callback);
    expect(page).toMatchObject({
      status: 200,
      alert: '\u2068Acme\u2069 cannot sign you in at the moment. Please try again, or use another way.',
    });
  } finally {
    acme.answers.clear();
  }
});

test('an application that has other login methods does not offer the provider, nor accept it', async () => {
  const { browser, location, login } = await leave();
  const admin = adminClient(fixture.service);
  const { id: applicationId } = fixture.tenant;
  await admin.updateApplication({ applicationId, loginMethods: ['email'] });
  try {
    const page = await browser.open(acme.signIn(location, { sub: 'late' }));
    expect(page.alert).toBe('This way to sign in is not available here. Please choose another one.');
    const choice = await browser.open(login.path);
    expect(choice.forms.some(({ fields }) => fields.provider)).toBe(false);
    // Nothing else stands below the form for the address.
    expect(choice.body).not.toContain('class="or"');
  } finally {
    await admin.updateApplication({ applicationId, updateMask: { paths: ['login_methods'] } });
  }
});

test.each(['createApplication', 'updateApplication'] as const)(
  '%s refuses a name of no method and no provider',
  async (method) => {
    const admin = adminClient(fixture.service);
    const change = (loginMethods: string[]) =>
      method === 'createApplication'
        ? admin.createApplication({ name: 'Shop', redirectUris: ['https://shop.test/'], loginMethods })
        : admin.updateApplication({ applicationId: fixture.tenant.id, loginMethods });
    await expect(change(['email', 'gogle'])).rejects.toThrow('Validation failed');
    expect((await change(['email', 'github'])).application?.loginMethods).toEqual(['email', 'github']);
    await admin.updateApplication({ applicationId: fixture.tenant.id, updateMask: { paths: ['login_methods'] } });
  },
);

test('without codes, too, somebody from a provider is told that the account is closed', async () => {
  await using replica = await fixture.startReplica({ ...config, loginMethods: ['wallet'] });
  const user = await createTestUser(fixture.service, { email: 'closed@corp.test' });
  await adminClient(fixture.service).deactivateUser({ userId: user.id });
  const { browser, location } = await leave('corp', { at: replica });
  const claims = { sub: 'of a closed account', email: user.email, email_verified: true };
  expect(await browser.open(trusted.signIn(location, claims))).toMatchObject({
    status: 200,
    heading: 'This account is closed',
    location: undefined,
  });
});
