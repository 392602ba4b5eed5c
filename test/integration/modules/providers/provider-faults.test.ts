/** Providers that refuse Usher, because of a mistake of either operator. People read one text, and the log the cause. */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { follow, openAccount } from '../../../support/account-page.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { generateIssuerKey } from '../../../support/issuer.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { createTenant, createTestUser } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const slash = await FakeProvider.start();
const post = await FakeProvider.start();
const github = await FakeProvider.start();
const log = new RecordedLog();
const fixture = await LoginFixture.open({
  start: new Date(),
  logger: log.logger,
  config: {
    loginProviderIds: undefined,
    loginProviders: [
      acme.settings({ assurance: { acr: { phr: 3 } } }),
      slash.settings({ id: 'slash', issuer: `${slash.origin}/realm/` }),
      post.settings({ id: 'post', tokenEndpointAuthMethod: 'client_secret_post' }),
      github.settings({ id: 'github', type: 'github' }),
    ],
  },
});
afterAll(async () => {
  await fixture.close();
  await Promise.all([acme, slash, post, github].map((provider) => provider.stop()));
});
const { key } = acme;
afterEach(() => {
  // Usher does not ask for the keys again within 5 seconds.
  acme.key = key;
  for (const provider of [acme, post, github]) {
    Object.assign(provider, { claims: {}, profile: {}, requiredMethod: '' });
    provider.answers.clear();
  }
});

/** The log leaves out lines beyond a hundred a second. Timers end in order, so the next second has begun after this. */
const reachNextSecondOfLog = () => sleep(1_000);

async function leave(id = 'acme', of = fixture.tenant) {
  await reachNextSecondOfLog();
  const arrived = await fixture.arrive({ of });
  const form = arrived.page.forms.find(({ fields }) => fields.provider === id);
  return { ...arrived, answer: await arrived.browser.post('/login/provider', { ...form?.fields }) };
}

/** Signs in, and returns the alert of the page and the last lines of the log. */
async function signIn(id = 'acme', provider = acme) {
  const { answer, browser } = await leave(id);
  log.lines.length = 0;
  const page = await browser.open(provider.signIn(answer.location));
  return { alert: page.alert, line: log.callLines.find(({ detail }) => detail), heading: page.heading };
}

const UNAVAILABLE = 'cannot sign you in at the moment';

function answerWith(status: number, body: unknown) {
  return (_: unknown, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const seconds = () => Math.floor(Date.now() / 1_000);

test.each<[string, () => void, RegExp]>([
  [
    'another secret',
    () => acme.answers.set('/token', answerWith(401, { error: 'invalid_client' })),
    /^client secret refused \(client_secret_basic\)$/,
  ],
  [
    'a client that may not redeem codes',
    () => acme.answers.set('/token', answerWith(400, { error: 'unauthorized_client' })),
    /^token_endpoint answered unauthorized_client$/,
  ],
  [
    'an error of its own words',
    () => acme.answers.set('/token', answerWith(400, { error: 'ada@example.com' })),
    /^token_endpoint answered 400$/,
  ],
  [
    'a clock ahead',
    () => Object.assign(acme.claims, { nbf: seconds() + 699 }),
    /^clocks differ: nbf of the ID token is 6\d\d s in the future$/,
  ],
  [
    'a clock behind',
    () => Object.assign(acme.claims, { iat: seconds() - 900, exp: seconds() - 600 }),
    /^clocks differ: exp of the ID token is 6\d\d s in the past$/,
  ],
  [
    'another issuer by a slash',
    () => Object.assign(acme.claims, { iss: `${acme.origin}/` }),
    /^iss .* slash at its end/,
  ],
  [
    'another issuer',
    () => Object.assign(acme.claims, { iss: 'https://evil.test' }),
    /^unexpected iss of the ID token$/,
  ],
  ['another audience', () => Object.assign(acme.claims, { aud: 'another' }), /^unexpected aud of the ID token$/],
  ['an unknown key', () => Object.assign(acme, { key: generateIssuerKey('RS256') }), /^unknown signing key/],
  ['no token endpoint', () => acme.answers.set('/token', answerWith(404, {})), /^token_endpoint answered 404$/],
])('a provider with %s: the log has the cause', async (_, break_, detail) => {
  break_();
  const { alert, line } = await signIn();
  expect(alert).toContain(UNAVAILABLE);
  expect(line).toMatchObject({ reason: 'PROVIDER_UNAVAILABLE', detail: expect.stringMatching(detail) });
});

test('a provider whose issuer differs by a slash: the log has the cause', async () => {
  slash.answers.set('/realm/.well-known/openid-configuration', answerWith(200, { issuer: `${slash.origin}/realm` }));
  const { answer } = await leave('slash');
  expect(answer.alert).toContain(UNAVAILABLE);
  expect(log.callLines.findLast(({ detail }) => detail)).toMatchObject({
    reason: 'PROVIDER_UNAVAILABLE',
    detail: 'issuer of the metadata differs from the file by a slash at its end',
  });
});

test('a provider that has not checked a second factor: the log says so', async () => {
  const { service } = fixture;
  const { id } = await createTestUser(service);
  await service.database.sql`
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    values (${acme.settings().issuer}, ${id}, ${id}, 'acme', now())`;
  const { answer, browser } = await leave(
    'acme',
    await createTenant(service, { requiredAssurance: 'PHISHING_RESISTANT' }),
  );
  const { alert } = await browser.open(acme.signIn(answer.location, { sub: id }));
  expect(alert).toContain('has not checked a second factor');
  expect(log.callLines.findLast(({ detail }) => detail)).toMatchObject({
    ...{ method: 'GET /login/callback/*', reason: 'ASSURANCE_NOT_MET', detail: 'the ID token shows no second factor' },
  });
});

/** Leaves the account page to link an account at Acme. */
async function leaveAccount() {
  await reachNextSecondOfLog();
  const { browser, page } = await openAccount(fixture, await createTestUser(fixture.service));
  const form = page.forms.find(({ action }) => action === '/account/providers/link');
  const { location } = await browser.post('/account/providers/link', { ...form?.fields });
  log.lines.length = 0;
  return { browser, location };
}

test.each([leave, leaveAccount])('whoever declines at the provider: the log says so (%o)', async (begin) => {
  const { browser, ...begun } = await begin();
  const location = 'answer' in begun ? begun.answer.location : begun.location;
  log.lines.length = 0;
  expect((await follow(browser, await browser.open(acme.refuse(location)))).alert).toContain('You have not signed in');
  expect(log.callLines[0]).toMatchObject({ reason: 'PROVIDER_REFUSED' });
});

test.each([leave, leaveAccount])('whoever signs in there: the log has no reason (%o)', async (begin) => {
  const { browser, ...begun } = await begin();
  const location = 'answer' in begun ? begun.answer.location : begun.location;
  log.lines.length = 0;
  await browser.open(acme.signIn(location, { sub: `in ${begin.name}`, email: 'ada@example.com' }));
  expect(log.callLines.filter(({ reason }) => reason !== undefined)).toEqual([]);
});

test('a link on the account page that a provider refuses: the log has the cause', async () => {
  const { browser, location } = await leaveAccount();
  const back = await follow(browser, await browser.open(acme.refuse(location, 'unauthorized_client')));
  expect(back.alert).toContain(UNAVAILABLE);
  expect(log.callLines.find(({ detail }) => detail)).toMatchObject({
    reason: 'PROVIDER_UNAVAILABLE',
    detail: 'authorization endpoint answered unauthorized_client',
  });
});

test.each(['unauthorized_client', 'invalid_scope', 'server_error'])(
  'a provider that sends people back with %s: they are told that it is not their fault',
  async (error) => {
    const { answer, browser } = await leave();
    expect((await browser.open(acme.refuse(answer.location, error))).alert).toContain(UNAVAILABLE);
    expect(log.callLines.findLast(({ detail }) => detail)).toMatchObject({
      reason: 'PROVIDER_UNAVAILABLE',
      detail: `authorization endpoint answered ${error}`,
    });
  },
);

test('a provider with an error of its own words: the log does not quote them', async () => {
  const { answer, browser } = await leave();
  expect((await browser.open(acme.refuse(answer.location, 'ada@example.com'))).alert).toContain(UNAVAILABLE);
  expect(log.text).not.toContain('ada@example.com');
});

test('GitHub with another secret: the log has the cause', async () => {
  github.answers.set('/login/oauth/access_token', answerWith(200, { error: 'incorrect_client_credentials' }));
  const { alert, line } = await signIn('github', github);
  expect(alert).toContain(UNAVAILABLE);
  expect(line).toMatchObject({ detail: 'client secret refused' });
});

test('GitHub with a revoked permission: the log has the cause', async () => {
  github.answers.set('/api/v3/user', answerWith(403, { message: 'Resource not accessible by integration' }));
  const { alert, line } = await signIn('github', github);
  expect(alert).toContain(UNAVAILABLE);
  expect(line).toMatchObject({ detail: 'no permission: /user answered 403' });
});

test('the client secret is sent as the provider lists it', async () => {
  const listed = 'token_endpoint_auth_methods_supported';
  for (const [methods, expected] of [
    [undefined, 'client_secret_basic'],
    [['client_secret_basic'], 'client_secret_basic'],
    [['client_secret_post'], 'client_secret_post'],
    [['private_key_jwt', 'client_secret_basic'], 'client_secret_basic'],
  ] as const) {
    await using provider = await FakeProvider.start();
    Object.assign(provider, { metadata: methods ? { [listed]: methods } : {}, requiredMethod: expected });
    await using one = await LoginFixture.open({
      start: new Date(),
      config: { loginProviderIds: undefined, loginProviders: [provider.settings({ clientSecret: 'a%:+/&-secret' })] },
    });
    const { browser, page } = await one.arrive();
    const form = page.forms.find(({ fields }) => fields.provider);
    const { location } = await browser.post('/login/provider', { ...form?.fields });
    expect((await browser.open(provider.signIn(location))).heading).toContain('Acme');
    expect(provider).toMatchObject({ method: expected, secret: 'a%:+/&-secret' });
  }
});

test('the file may name another way to send the secret', async () => {
  post.requiredMethod = 'client_secret_post';
  expect((await signIn('post', post)).heading).toContain('Acme');
});

test('a provider that refuses the way of the file: the log has the cause', async () => {
  Object.assign(post, { requiredMethod: 'client_secret_basic' });
  const { alert, line } = await signIn('post', post);
  expect(alert).toContain(UNAVAILABLE);
  expect(line).toMatchObject({ detail: 'client secret refused (client_secret_post)' });
});

describe.each([
  ['GitHub', 'github', github, '/api/v3/user/emails', /^no permission: \/emails answered 403$/],
  ['OpenID Connect', 'acme', acme, '/userinfo', /^no permission: userinfo_endpoint answered 403$/],
])('a provider of %s that refuses the address of a person', (_, id, provider, path, detail) => {
  test('signs in who is linked already, and the log has the cause', async () => {
    const user = await createTestUser(fixture.service);
    const { answer, browser } = await leave(id);
    const linkPage = await browser.open(provider.signIn(answer.location));
    const codePage = await browser.submit(linkPage, '/login/link', { email: user.email });
    await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });

    provider.answers.set(path, answerWith(403, { message: 'Resource not accessible by integration' }));
    const again = await leave(id);
    log.lines.length = 0;
    const signedIn = await again.browser.open(provider.signIn(again.answer.location));
    expect(signedIn).toMatchObject({ status: 303, location: expect.stringContaining('authToken=') });
    const line = log.callLines.find(({ detail: cause }) => cause);
    expect(line).toMatchObject({ reason: 'PROVIDER_UNAVAILABLE', code: 'ok', detail: expect.stringMatching(detail) });
  });

  test('asks anybody else for an address, and the log has the cause', async () => {
    provider.answers.set(path, answerWith(403, {}));
    provider.profile = { id: 4712 };
    const { answer, browser } = await leave(id);
    log.lines.length = 0;
    const page = await browser.open(provider.signIn(answer.location, { sub: 'somebody-else' }));
    expect(page).toMatchObject({ status: 200, alert: '', heading: expect.stringContaining('is new here') });
    expect(log.callLines.find(({ detail: cause }) => cause)).toMatchObject({ detail: expect.stringMatching(detail) });
  });
});

test('a failure of the endpoint with the addresses signs in who is linked already', async () => {
  github.profile = {};
  github.answers.set('/api/v3/user/emails', answerWith(500, {}));
  const { answer, browser } = await leave('github');
  expect((await browser.open(github.signIn(answer.location))).location).toContain('authToken=');
});
