/** What outsiders try with sign-ins at providers: in browsers of others, at logins of others, with names of others. */
import { afterAll, afterEach, expect, test } from 'vitest';
import { follow, openAccount, tokenOf } from '../../../support/account-page.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { beginLogin, LoginBrowser } from '../../../support/login-browser.ts';
import { type Arrival, LoginFixture } from '../../../support/login-fixture.ts';
import { adminClient, createTestUser, type TestUser } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const github = await FakeProvider.start();
const loginProviders = [
  acme.settings(),
  github.settings({ id: 'github', name: 'GitHub', type: 'github', trustEmail: true }),
];
const config = { loginProviders, loginProviderIds: undefined };
const fixture = await LoginFixture.open({ config, start: new Date() });
const { sql } = fixture.service.database;
const admin = adminClient(fixture.service);
afterAll(async () => {
  await fixture.close();
  await Promise.all([acme.stop(), github.stop()]);
});
afterEach(() => {
  acme.metadata = {};
});

async function leave(provider = 'acme', by: Arrival = {}) {
  const arrived = await fixture.arrive(by);
  const form = arrived.page.forms.find(({ fields }) => fields.provider === provider);
  const { alert, location } = await arrived.browser.post('/login/provider', { ...form?.fields });
  return { ...arrived, alert, location };
}

/** Gives the identity to the user by a code. */
async function link(subject: string, user: { email: string }) {
  const { browser, location } = await leave();
  const linkPage = await browser.open(acme.signIn(location, { sub: subject, email: user.email }));
  const codePage = await browser.submit(linkPage, '/login/link');
  await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
  expect(await ownersOf(subject)).toHaveLength(1);
}

const ownersOf = async (subject: string) =>
  (await sql`select user_id from user_identities where subject = ${subject}`).map(({ user_id }) => user_id);

test('a form of another page, or of another browser, sends nobody to a provider', async () => {
  const { browser, login } = await fixture.arrive();
  const foreign = (await fixture.arrive()).page.forms.find(({ fields }) => fields.provider)?.fields;
  const { browser: signedIn } = await openAccount(fixture, await createTestUser(fixture.service));
  for (const token of ['', foreign?.token ?? '']) {
    const forms = [
      await browser.post('/login/provider', { token, intent: login.loginIntentId, provider: 'acme' }),
      await signedIn.post('/account/providers/link', { token, provider: 'acme' }),
      await signedIn.post('/account/providers/unlink', { token, issuer: acme.origin, subject: 'ada' }),
    ];
    for (const { location, status } of forms)
      expect({ location, status }).toEqual({ location: undefined, status: 403 });
  }
});

test('the answer for one browser neither signs in nor links in that of a victim, who is signed in', async () => {
  const [attacker, victim] = [await createTestUser(fixture.service), await createTestUser(fixture.service)];
  await link('of the attacker', attacker);
  const { browser: victims } = await openAccount(fixture, victim);
  const { location } = await leave();
  const own = await openAccount(fixture, attacker);
  const form = own.page.forms.find(({ action }) => action === '/account/providers/link');
  const linking = await own.browser.post('/account/providers/link', { ...form?.fields });
  const reply = await victims.open(acme.signIn(location, { sub: 'of the attacker' }));
  expect(reply.location ?? '').not.toContain('authToken=');
  await victims.open(acme.signIn(linking.location, { sub: 'planted' }));
  expect(await ownersOf('planted')).toEqual([]);
  expect((await victims.open('/account')).heading).toBe(victim.name ?? victim.email);
});

test('whoever opens the login of another browser gets no identity that was proved there', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, location, login } = await leave();
  await browser.open(acme.signIn(location, { sub: 'proved by another' }));
  const { browser: others, page } = await fixture.arrive({ browser: new LoginBrowser(fixture.service), login });
  const { fields = {} } = page.forms.find(({ action }) => action === '/login/email') ?? {};
  const codePage = await others.post('/login/link', { ...fields, email: user.email, link: 'acme' });
  const entered = await follow(others, codePage);
  await others.submit(entered, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
  expect(await ownersOf('proved by another')).toEqual([]);
});

test('an identity waits in vain for the owner of an address who signs in elsewhere', async () => {
  const victim = await createTestUser(fixture.service);
  const { browser, location } = await leave();
  const linkPage = await browser.open(acme.signIn(location, { sub: 'before the victim', email: victim.email }));
  await browser.submit(linkPage, '/login/link');
  const asked = await fixture.askForCode({ user: victim });
  expect((await asked.enter(asked.code)).status).toBe(303);
  expect(await ownersOf('before the victim')).toEqual([]);
});

test.each<[string, (user: TestUser) => Promise<unknown>]>([
  ['whose address has changed', ({ id, email }) => admin.updateUser({ userId: id, email: `new.${email}` })],
  ['who was deactivated', ({ id }) => admin.deactivateUser({ userId: id })],
])('an identity is not linked to a user %s since the code was sent', async (what, change) => {
  const user = await createTestUser(fixture.service);
  const { browser, location, login } = await leave();
  const linkPage = await browser.open(acme.signIn(location, { sub: what, email: user.email }));
  const codePage = await browser.submit(linkPage, '/login/link');
  await change(user);
  const refused = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
  expect(refused.location).toBeUndefined();
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  expect(await ownersOf(what)).toEqual([]);
});

test.each<[string, string, boolean]>([
  ['another login of the same browser', 'acme', false],
  ['a form that names another provider', 'github', true],
])('an identity is not linked by %s', async (what, provider, isSame) => {
  const user = await createTestUser(fixture.service);
  const { browser, location, login } = await leave();
  await browser.open(acme.signIn(location, { sub: what }));
  const { page } = await fixture.arrive({ browser, ...(isSame && { login }) });
  const { fields = {} } = page.forms.find(({ action }) => action === '/login/email') ?? {};
  const codePage = await follow(
    browser,
    await browser.post('/login/link', { ...fields, email: user.email, link: provider }),
  );
  const done = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
  expect(done.status).toBe(303);
  expect(await ownersOf(what)).toEqual([]);
});

test('an identity is not linked by the form of a code that does not name its provider', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, location } = await leave();
  const linkPage = await browser.open(acme.signIn(location, { sub: 'not named', email: user.email }));
  const codePage = await browser.submit(linkPage, '/login/link');
  const code = fixture.mailbox.codeFor(user.email);
  expect((await browser.submit(codePage, '/login/code', { code, link: '' })).status).toBe(303);
  expect(await ownersOf('not named')).toEqual([]);
});

test('nobody removes the identity of another user', async () => {
  const [owner, other] = [await createTestUser(fixture.service), await createTestUser(fixture.service)];
  await link('of its owner', owner);
  const { browser, page } = await openAccount(fixture, other);
  await browser.post('/account/providers/unlink', {
    token: tokenOf(page),
    issuer: acme.origin,
    subject: 'of its owner',
  });
  expect(await ownersOf('of its owner')).toEqual([owner.id]);
});

test('an identity of a deactivated user is refused like one that nobody may link', async () => {
  const user = await createTestUser(fixture.service);
  await link('of a deactivated user', user);
  await admin.deactivateUser({ userId: user.id });
  const { browser, location, login } = await leave();
  const page = await browser.open(acme.signIn(location, { sub: 'of a deactivated user' }));
  expect(page.alert).toContain('No account belongs to this sign-in');
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
});

test('a reload of the answer of a new identity shows the same page, and asks the provider once', async () => {
  const { browser, location } = await leave();
  const callback = acme.signIn(location, { sub: 'reloaded', email: 'reloaded@example.com' });
  const first = await browser.open(callback);
  const before = [...acme.requests];
  expect((await browser.open(callback)).heading).toBe(first.heading);
  expect(acme.requests).toEqual(before);
});

test('of two requests with one answer at the same instant, one or both sign in, by one code', async () => {
  const user = await createTestUser(fixture.service);
  await link('at once', user);
  const { browser, location } = await leave();
  const callback = acme.signIn(location, { sub: 'at once' });
  const replies = await Promise.all([browser.open(callback), browser.open(callback)]);
  const answers = new Set(replies.flatMap(({ location }) => location ?? []).map((url) => new URL(url).origin));
  expect(answers.size).toBe(1);
  // The other reply may come before the browser has got the secret of the answer.
  for (const { location, alert, heading } of replies)
    if (!location) expect(alert || heading).toMatch(/cannot sign you in|This sign-in has been used/);
});

test('where no codes are sent, a new identity is refused, and the last way to sign in cannot be removed', async () => {
  const user = await createTestUser(fixture.service);
  await link('only one', user);
  await using replica = await fixture.startReplica({ ...config, loginMethods: ['wallet'] });
  const { browser, location } = await leave('acme', { at: replica, login: await beginLogin(replica, fixture.tenant) });
  const refused = await browser.open(acme.signIn(location, { sub: 'new here', email: user.email }));
  expect(refused.alert).toContain('No account belongs to this sign-in');
  const account = await openAccount(fixture, user);
  const fields = { token: tokenOf(account.page), issuer: acme.origin, subject: 'only one' };
  const kept = await account.browser.at(replica).post('/account/providers/unlink', fields);
  expect(kept.alert).toBe('This way to sign in is not available here. Please choose another one.');
  expect(await ownersOf('only one')).toEqual([user.id]);
});

test('an answer of GitHub that names another issuer is refused', async () => {
  const { browser, location } = await leave('github');
  const page = await browser.open(`${github.signIn(location)}&iss=${encodeURIComponent('https://evil.test')}`);
  expect(page.alert).toContain('cannot sign you in');
  expect(github.requests).toEqual([]);
});

test.each(['javascript:alert(1)', 'data:text/html,a', 'nonsense', undefined])(
  'a provider whose page is at %s gets no browser',
  async (endpoint) => {
    await using evil = await FakeProvider.start();
    evil.metadata = { authorization_endpoint: endpoint };
    await using replica = await fixture.startReplica({ ...config, loginProviders: [evil.settings()] });
    const sent = await leave('acme', { at: replica, login: await beginLogin(replica, fixture.tenant) });
    expect(sent).toMatchObject({ alert: expect.stringContaining('cannot sign you in'), location: undefined });
  },
);

test('parameters of the answer choose neither where the browser goes nor what the page says', async () => {
  const { browser, location } = await leave();
  const extra = new URLSearchParams({
    redirect_uri: 'https://evil.test',
    returnTo: 'https://evil.test',
    problem: 'WRONG_CODE',
    error_description: 'Call +1 555 0100',
    error_uri: 'https://evil.test',
  });
  const page = await browser.open(`${acme.refuse(location)}&${extra}`);
  expect(page.alert).toContain('You have not signed in at');
  expect(page.body).not.toMatch(/evil|555/);
});

test('what a provider says of a person is text on the page, and an address only if it is one', async () => {
  const claims = [
    { email: '"><script>alert(1)</script>@evil.test', name: '<img src=x onerror=alert(1)>' },
    { email: 'a@b.test\r\nset-cookie: evil=1', name: '\u202eevil' },
    { email: `${'a'.repeat(5_000)}@b.test` },
    { email: { toString: 'evil' }, name: ['evil'] },
  ];
  for (const [index, claim] of claims.entries()) {
    const { browser, location } = await leave();
    const page = await browser.open(acme.signIn(location, { sub: `hostile ${index}`, ...claim }));
    expect(page).toMatchObject({ status: 200, heading: 'Your Acme account is new here' });
    expect(page.body).not.toMatch(/<script>alert|onerror|evil=1/);
    expect(page.forms.find(({ action }) => action === '/login/link')?.fields.email ?? '').not.toContain('evil=1');
  }
});

test('a network may send 60 answers at once, also wrong ones', async () => {
  const { browser, location } = await leave();
  const callback = acme.answerOf(new URL(location ?? '').searchParams, { code: 'guessed' });
  const before = acme.requests.length;
  let alert = '';
  let answers = 0;
  while (answers < 70 && !alert.startsWith('Too many')) {
    alert = (await browser.open(callback)).alert;
    answers++;
  }
  expect(alert).toContain('Too many');
  expect(acme.requests.slice(before).filter((path) => path === '/token')).toHaveLength(answers - 1);
  expect(answers).toBe(61);
});
