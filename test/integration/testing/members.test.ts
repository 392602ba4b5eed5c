/** Each member of the package, on a server of its own where it breaks or empties something. */
import { chmod, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, inject, test, vi } from 'vitest';
import { reasonOf } from '../../../src/client/usher-client.ts';
import { createDatabaseOn } from '../../../src/testing/clone-database.ts';
import { onServer } from '../../../src/testing/on-server.ts';
import { startTemplateServer } from '../../../src/testing/postgres-server.ts';
import { createTemporaryDirectory } from '../../../src/testing/temporary-directory.ts';
import { findRun, forgetRun, publishRun } from '../../../src/testing/test-environment.ts';
import type { TestApplication, TestUsher } from '../../../src/testing/test-usher.ts';
import { startUsher } from '../../../src/testing/usher-testing.ts';
import { listOwnDatabases } from '../../support/find-test-database.ts';
import { LoginBrowser } from '../../support/login-browser.ts';

const REDIRECT_URI = 'http://127.0.0.1/callback';
const shared = await startUsher();
afterAll(() => shared[Symbol.asyncDispose]());

async function beginLogin({ client, clientId }: TestApplication, demands: object = {}): Promise<string> {
  const login = { clientId, redirectUri: REDIRECT_URI, state: 'a state', ...demands };
  return (await client.auth.generateAuthUrl(login)).authUrl;
}

async function beginSession(usher: TestUsher, application: TestApplication, user = 'ada@example.com') {
  const { authToken = '' } = await usher.signIn(await beginLogin(application), user);
  const { session, user: signedIn } = await application.client.auth.exchangeToken({ authToken });
  const sessionId = session?.id ?? '';
  const isActive = () => application.client.sessions.checkSession({ sessionId }).then(({ active }) => active);
  return { sessionId, isActive, userId: signedIn?.id ?? '' };
}

test('a login by OpenID Connect is completed from its authorization URL', async () => {
  const shop = await shared.createApplication({ openIdConnect: true });
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
  const query = { response_type: 'code', client_id: shop.clientId, redirect_uri: REDIRECT_URI, scope: 'openid' };
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256', state: 'xyz' };
  const url = `${shared.url}/oidc/authorize?${new URLSearchParams({ ...query, ...pkce })}`;
  const answer = await shared.signIn(url, 'ada@example.com');
  expect(answer).toEqual({
    redirectUrl: expect.stringContaining(REDIRECT_URI),
    code: expect.any(String),
    state: 'xyz',
  });
  const refused = `${shared.url}/oidc/authorize?${new URLSearchParams({ ...query, ...pkce, scope: 'openid', prompt: 'none' })}`;
  await expect(shared.signIn(refused, 'ada@example.com')).rejects.toMatchObject({ reason: 'login_required' });
});

test('users have addresses of their own, and an unknown ID is refused', async () => {
  const [one, two] = await Promise.all([shared.createUser(), shared.createUser({ name: 'Ada' })]);
  expect(one?.email).not.toBe(two?.email);
  const application = await shared.createApplication();
  const { authToken = '' } = await shared.signIn(await beginLogin(application), two?.id ?? '');
  const { user } = await application.client.auth.exchangeToken({ authToken });
  expect(user).toMatchObject({ email: two?.email, name: 'Ada' });
  const unknown = '00000000-0000-4000-8000-000000000000';
  await expect(shared.signIn(await beginLogin(application), unknown)).rejects.toMatchObject({
    reason: 'USER_NOT_FOUND',
  });
});

test('e-mails have what people read, in order, and nextMail waits for one', async () => {
  const application = await shared.createApplication({ name: 'Shop' });
  const { email } = await shared.createUser();
  const next = shared.nextMail(email);
  const browser = new LoginBrowser(shared);
  const { pathname, search } = new URL(await beginLogin(application));
  const codePage = await browser.submit(await browser.open(pathname + search), '/login/email', { email });
  const mail = await next;
  expect(mail).toMatchObject({
    to: email,
    subject: expect.stringContaining('Shop'),
    code: expect.stringMatching(/^\d{6}$/),
  });
  expect(mail.text).toContain(mail.code);
  expect(mail.html).toContain('<html');
  expect(mail.links).toContainEqual(expect.stringMatching(/^http:.*\/login\/mute\?t=/));
  expect(shared.mails(email.toUpperCase())).toEqual([mail]);
  const { location } = await browser.submit(codePage, '/login/code', { code: mail.code ?? '' });
  expect(location).toContain('authToken=');
  expect(shared.mails('nobody@example.com')).toEqual([]);
});

test('without Postgres, calls are answered 503 until the outage is over', async () => {
  await using usher = await startUsher();
  const application = await usher.createApplication();
  const session = await beginSession(usher, application);
  {
    await using _ = await usher.outage('database');
    const response = await fetch(`${usher.url}/api/users`, { headers: { 'x-api-key': application.apiKey } });
    expect([response.status, response.headers.has('retry-after')]).toEqual([503, true]);
    expect((await fetch(`${usher.url}/readyz`)).status).toBe(503);
  }
  expect((await fetch(`${usher.url}/readyz`)).status).toBe(200);
  expect(await session.isActive()).toBe(true);
});

test('a slow Postgres takes 2 s for each statement, and a closed port refuses connections', async () => {
  await using usher = await startUsher();
  const { email, id } = await usher.createUser();
  const find = () => usher.admin.getUser({ userId: id }).then(({ user }) => user?.email);
  const slow = await usher.outage('slow');
  const startedAt = performance.now();
  expect(await find()).toBe(email);
  expect(performance.now() - startedAt).toBeGreaterThan(1_990);
  await slow[Symbol.asyncDispose]();
  {
    await using _ = await usher.outage('refused');
    await expect(fetch(usher.url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  }
  expect(await find()).toBe(email);
  await expect(usher.outage('flood' as never)).rejects.toThrow('An outage is database, slow or refused, not flood');
});

test('webhooks are verified, fail as often as told, and have the rest of their attempts while time passes', async () => {
  await using usher = await startUsher();
  const application = await usher.createApplication();
  await using inbox = await usher.receiveWebhooks(application, ['event.created', 'session.created']);
  await beginSession(usher, application);
  expect((await inbox.next('session.created')).data.user.email).toBe('ada@example.com');
  inbox.fail(4, 503);
  await application.client.events.createEvent({ eventId: 'a' });
  await usher.settle();
  expect([inbox.all().length, inbox.attempts]).toEqual([1, 2]);
  // Retries after 5, 300 and 1800 s fail, and the one after 7200 s succeeds.
  await usher.clock.advance('35m');
  expect([inbox.all().length, inbox.attempts]).toEqual([1, 4]);
  await usher.clock.advance('3h');
  expect([inbox.all().length, inbox.attempts]).toEqual([2, 6]);
  expect(await inbox.next()).toMatchObject({ type: 'event.created', data: { eventId: 'a' } });
  const { deliveries } = await application.client.webhooks.listDeliveries({ webhookId: inbox.webhookId });
  expect(deliveries.map(({ status, attemptCount }) => [status, attemptCount])).toContainEqual(['succeeded', 5]);
});

test('reset empties everything but the applications, and receivers go on', async () => {
  await using usher = await startUsher();
  const application = await usher.createApplication({ messageFeed: true });
  await using inbox = await usher.receiveWebhooks(application);
  const session = await beginSession(usher, application);
  await inbox.next('session.created');
  const before = usher.clock.now();
  await usher.reset();
  expect(await session.isActive()).toBe(false);
  expect([await usher.auditEvents(), inbox.all(), inbox.attempts]).toEqual([[], [], 0]);
  expect(await usher.admin.getUser({ userId: session.userId }).catch(reasonOf)).toBe('USER_NOT_FOUND');
  expect(usher.clock.now() >= before).toBe(true);
  await beginSession(usher, application);
  expect((await inbox.next('session.created')).data.user.email).toBe('ada@example.com');
});

test('the audit log is read to its end, the oldest first', async () => {
  await using usher = await startUsher();
  for (let count = 0; count < 101; count++) await usher.createUser();
  const events = await usher.auditEvents();
  expect(events.length).toBe(101);
  const times = events.map(({ occurredAt }) => Number(occurredAt?.seconds));
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(await usher.auditEvents({ action: 'AdminService/DeleteUser' })).toEqual([]);
});

test('the clock goes forwards, stands still, and gives this process its time', async () => {
  const at = new Date('2030-01-01T10:00:00Z');
  await using usher = await startUsher({ at });
  usher.clock.freeze();
  const frozen = usher.clock.now();
  await sleep(5);
  expect(usher.clock.now()).toEqual(frozen);
  usher.clock.follow(vi);
  expect(Date.now()).toBe(frozen.getTime());
  await usher.clock.advance(1_500);
  expect(Date.now()).toBe(frozen.getTime() + 1_500);
  await expect(usher.clock.set(at)).rejects.toThrow('only goes forwards');
  await expect(usher.clock.advance('16')).rejects.toThrow('A duration is');
  await usher.clock.set('2030-01-02T10:00:00Z');
  expect(new Date().toISOString()).toBe('2030-01-02T10:00:00.000Z');
  usher.clock.run();
  await sleep(5);
  expect(usher.clock.now().getTime()).toBeGreaterThan(new Date('2030-01-02T10:00:00Z').getTime());
  await usher[Symbol.asyncDispose]();
  expect(Date.now()).toBeLessThan(at.getTime());
});

test('disposal closes the port and drops the database, and a second one does nothing', async () => {
  const usher = await startUsher();
  const before = (await listOwnDatabases()).length;
  await usher[Symbol.asyncDispose]();
  await usher[Symbol.asyncDispose]();
  expect((await listOwnDatabases()).length).toBe(before - 1);
  await expect(fetch(usher.url)).rejects.toThrow('fetch failed');
});

test('production and servers elsewhere are refused, and a setting is checked as in production', async () => {
  await expect(startUsher({ databaseUrl: 'postgres://db.example.com/postgres' })).rejects.toThrow('loopback');
  await expect(startUsher({ env: { REQUEST_TIMEOUT_MS: 'soon' } })).rejects.toThrow('REQUEST_TIMEOUT_MS');
  vi.stubEnv('NODE_ENV', 'production');
  await expect(startUsher()).rejects.toThrow('usher-testing is for tests');
  vi.unstubAllEnvs();
});

test('another application continues a remembered sign-in in the browser that has its cookie', async () => {
  const [shop, forum] = [
    await shared.createApplication({ singleSignOn: true }),
    await shared.createApplication({ singleSignOn: true }),
  ];
  const { email } = await shared.createUser();
  const { cookie = '' } = await shared.signIn(await beginLogin(shop), email, { remember: true });
  const browser = new LoginBrowser(shared);
  const [pair] = cookie.split(';');
  browser.cookie = pair;
  const { pathname, search } = new URL(await beginLogin(forum));
  const { location = '' } = await browser.submit(await browser.open(pathname + search), '/login/continue');
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  expect((await forum.client.auth.exchangeToken({ authToken })).user?.email).toBe(email);
  expect(await shared.signIn(await beginLogin(shop), email)).not.toHaveProperty('cookie');
});

test('a server of your own is made ready once, also for two at the same time, by a role that may only create databases', async () => {
  const directory = await createTemporaryDirectory();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o755);
  const server = await startTemplateServer(directory);
  stack.defer(() => server.close());
  await onServer(server.url, (sql) => sql.unsafe("create role tester login createdb password 'secret'"));
  const databaseUrl = Object.assign(new URL(server.url), { username: 'tester', password: 'secret' }).href;
  const ushers = await Promise.all([startUsher({ databaseUrl }), startUsher({ databaseUrl })]);
  for (const usher of ushers) {
    const application = await usher.createApplication();
    expect(await (await beginSession(usher, application)).isActive()).toBe(true);
    expect((await usher.admin.listUsers({})).users.length).toBe(1);
    await usher[Symbol.asyncDispose]();
  }
  await (await startUsher({ databaseUrl }))[Symbol.asyncDispose]();
  const rows = await onServer(
    server.url,
    (sql) => sql`select datname as name from pg_database where datdba = 'tester'::regrole`,
  );
  expect(rows).toEqual([{ name: expect.stringMatching(/^usher_template_[0-9a-f]{16}$/) }]);
});

test('a setting of production turns a method off', async () => {
  await using usher = await startUsher({ env: { LOGIN_METHODS: 'wallet' } });
  const application = await usher.createApplication();
  const refused = usher.signIn(await beginLogin(application), 'ada@example.com');
  await expect(refused).rejects.toMatchObject({ reason: 'LOGIN_METHOD_NOT_ENABLED' });
  await expect(application.client.users.getUser({ userId: 'x' }).catch((error) => reasonOf(error))).resolves.toBe(
    'VALIDATION_FAILED',
  );
});

test('databases of processes that are gone are dropped, and those of others stay', async () => {
  const url = inject('postgresUrl');
  const run = findRun();
  await using kept = await createDatabaseOn([url], '');
  const [, name] = new URL(kept.url).pathname.split('/');
  // No process has this ID: the highest of Linux is 4194304.
  const left = String(name).replace(/_\d+_/, '_99999999_');
  await onServer(url, (sql) => sql.unsafe(`create database ${left}`));
  const { dropLeftovers } = await import('../../../src/testing/clone-database.ts');
  await dropLeftovers(url);
  const names = await onServer(url, (sql) => sql`select datname as name from pg_database`);
  expect(names.map((row) => row.name)).toContain(name);
  expect(names.map((row) => row.name)).not.toContain(left);
  forgetRun();
  expect(findRun()).toBeUndefined();
  if (run) publishRun(run);
  expect(findRun()).toEqual(run);
});
