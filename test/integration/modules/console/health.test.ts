/** Health tells the truth about what Usher depends on: the mail server, providers, the proxy of webhooks, keys, Postgres. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { TcpProxy } from '../../../../src/testing/tcp-proxy.ts';
import { ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { cloneDatabase } from '../../../support/database.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { findFreePort } from '../../../support/free-port.ts';
import { beginLogin, LoginBrowser } from '../../../support/login-browser.ts';
import { MailServer } from '../../../support/mail-server.ts';
import { openMetrics, scrape } from '../../../support/metrics.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, clientsOf, REDIRECT_URI } from '../../../support/service.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

describe('a mail server that does not answer', async () => {
  const port = await findFreePort();
  const log = new RecordedLog();
  const fixture = stack.use(
    await ConsoleFixture.open({
      logger: log.logger,
      hasMailServer: true,
      config: { smtp: { url: `smtp://127.0.0.1:${port}`, from: 'login@usher.test' }, metricsPort: 0 },
    }),
  );
  const browser = await fixture.signIn(OPERATORS.support);
  const metrics = stack.use(await openMetrics(fixture.service));
  const readMetrics = async () => (await scrape(metrics)).text;
  const refused = `connect ECONNREFUSED 127.0.0.1:${port}`;

  test('is in the log from the start, on Health, the overview and in the metrics', async () => {
    await expect.poll(() => log.parsed.find(({ msg }) => msg === 'mail server does not answer')).toBeTruthy();
    expect(log.parsed.find(({ msg }) => msg === 'mail server does not answer')).toMatchObject({
      level: 40,
      detail: refused,
    });
    for (const path of ['/health', '/']) {
      const { text } = await browser.open(path);
      expect(text).toContain('E-mails do not go out. The mail server does not answer, since');
      expect(text).toContain(refused);
    }
    expect((await browser.open('/health')).text).toMatch(/E-mail ?Not well/);
    expect(await readMetrics()).toContain('usher_mail_ready 0\n');
  });

  test('says so to a test e-mail, which is counted, and takes one once it answers', async () => {
    const page = await browser.open('/health');
    const failed = await browser.submit(page, '/health/test-mail');
    expect(failed.text).toContain(`Not sent: ${refused}`);
    expect(failed.text).toContain('1 of the last 1 failed: 1 × test e-mail.');
    await using server = await MailServer.start({ port });
    const sent = await browser.submit(await browser.open('/health'), '/health/test-mail');
    expect(sent.text).toContain('Sent. The mail server has taken it.');
    expect(sent.text).toMatch(/All is well\. E-mail ?Well/);
    expect(server.emails.map(({ to }) => to)).toEqual([[OPERATORS.support]]);
    expect((await browser.open('/')).body).not.toContain('class="alert"');
    expect(await readMetrics()).toContain('usher_mail_ready 1\n');
  });

  test('has no button for operators who only look', async () => {
    const viewer = await fixture.signIn(OPERATORS.viewer);
    expect((await viewer.open('/health')).forms.map(({ action }) => action)).not.toContain('/health/test-mail');
  });
});

test('a mail server that refuses every e-mail is not well, although it answers', async () => {
  const refusal = 'The mailbox of the sender is full';
  let isFull = true;
  await using server = await MailServer.start({
    onRcptTo: (_, __, done) => done(isFull ? Object.assign(new Error(refusal), { responseCode: 552 }) : undefined),
  });
  await using fixture = await ConsoleFixture.open({
    hasMailServer: true,
    config: { smtp: { url: server.url, from: 'login@usher.test' } },
  });
  const browser = await fixture.signIn(OPERATORS.admin);
  const tryIt = async () => browser.submit(await browser.open('/health'), '/health/test-mail');
  for (const times of [1, 2, 3, 4]) {
    const { text } = await tryIt();
    expect(text, `${times}`).toContain(refusal);
    // It may be the address that is refused.
    expect(text).toContain('All is well.');
  }
  expect((await tryIt()).text).toContain('E-mails do not go out. 5 of the last 5 failed, since');
  isFull = false;
  // Most have failed, but none since the latest.
  expect((await tryIt()).text).toMatch(/E-mails do not go out\. 5 of the last 6 failed: (?!test)/);
});

test('shows providers, the proxy of webhooks and keys that end soon', async () => {
  const proxyPort = await findFreePort();
  await using acme = await FakeProvider.start();
  await using fixture = await ConsoleFixture.open({
    config: {
      loginProviderIds: undefined,
      loginProviders: [
        acme.settings({ assurance: { amr: { mfa: 2 }, acr: { phr: 3 } } }),
        acme.settings({ id: 'other', name: 'Other' }),
      ],
      webhookProxyUrl: `http://127.0.0.1:${proxyPort}`,
    },
  });
  const { service, tenant, clock } = fixture;
  const browser = await fixture.signIn(OPERATORS.viewer);
  const readHealth = async () => (await browser.open('/health')).text;
  expect(await readHealth()).toMatch(/Webhooks ?Not well Proxy ?127\.0\.0\.1:\d+ ECONNREFUSED/);
  expect(await readHealth()).toMatch(/Providers ?Well .*not asked since the start/);
  expect(await readHealth()).toMatch(/amr mfa: two factors ?acr phr: two factors that resist phishing/);
  expect(await readHealth()).toMatch(/Other ?not asked since the start ?no second factor counts/);
  expect(await readHealth()).toContain('none ends within 14 days');

  const soon = timestampFromDate(new Date(clock.read().getTime() + 3 * 24 * 3_600_000));
  await adminClient(service).createApiKey({ applicationId: tenant.id, name: 'deploy', expiresAt: soon });
  expect(await readHealth()).toContain('API keys end soon: deploy of Shop,');

  const signIn = async () => {
    const { auth } = clientsOf(service, tenant);
    const { authUrl } = await auth.generateAuthUrl({
      clientId: tenant.clientId,
      redirectUri: REDIRECT_URI,
      state: 's',
    });
    const person = new LoginBrowser(service);
    const page = await person.open(authUrl.slice(new URL(authUrl).origin.length));
    await person.post('/login/provider', { ...page.forms.find(({ fields }) => fields.provider === 'acme')?.fields });
  };
  await signIn();
  const name = acme.settings().name;
  expect(await readHealth()).toMatch(new RegExp(`${name} ?answered \\d`));
  const { text, body } = await browser.open('/health');
  expect(text).not.toContain('does not answer');
  expect(body).not.toContain('<code></code>');
  await using proxy = createServer().listen(proxyPort, '127.0.0.1');
  await once(proxy, 'listening');
  expect((await browser.open('/health')).facts.Proxy).toBe(`127.0.0.1:${proxyPort} reached`);
});

test('a provider that does not answer is not well', async () => {
  await using acme = await FakeProvider.start();
  await using fixture = await ConsoleFixture.open({
    config: { loginProviderIds: undefined, loginProviders: [acme.settings({ assurance: { amr: { mfa: 2 } } })] },
  });
  const browser = await fixture.signIn(OPERATORS.viewer);
  await acme.stop();
  const person = new LoginBrowser(fixture.service);
  const page = await person.open((await beginLogin(fixture.service, fixture.tenant)).path);
  await person.post('/login/provider', { ...page.forms.find(({ fields }) => fields.provider === 'acme')?.fields });
  const { text, facts } = await browser.open('/health');
  expect(text).toMatch(/Health Acme does not answer: [^.]+\./);
  expect(facts.Acme).toMatch(/^no answer \d.*ECONNREFUSED ?amr mfa: two factors$/);
});

test('a mail server that has taken the only e-mail is well, and was never refused', async () => {
  await using server = await MailServer.start();
  await using fixture = await ConsoleFixture.open({
    hasMailServer: true,
    config: { smtp: { url: server.url, from: 'login@usher.test' } },
  });
  const browser = await fixture.signIn(OPERATORS.admin);
  const before = (await browser.open('/health')).facts;
  for (const name of ['Last sent', 'Failed', 'Error']) expect(before).not.toHaveProperty(name);
  const { facts } = await browser.submit(await browser.open('/health'), '/health/test-mail');
  expect(facts).toMatchObject({ Failed: '0 of the last 1 failed.', 'Last sent': expect.stringMatching(/^\d/) });
  expect(facts).not.toHaveProperty('Error');
});

test('what is not set up has no place, and the settings that an operator has spoilt are named', async () => {
  await using fixture = await ConsoleFixture.open();
  const browser = await fixture.signIn(OPERATORS.viewer);
  const { facts, text } = await browser.open('/health');
  for (const name of ['Proxy', 'Greeting', 'Last sent', 'Failed', 'Error']) expect(facts).not.toHaveProperty(name);
  expect(facts).toMatchObject({
    'Mail server': 'none: codes appear in the terminal, or are not sent',
    'Certificate until': 'no TLS at this port',
    'API keys': 'none ends within 14 days',
    Ready: 'yes',
    'Takes writes': 'yes',
    Operators: '3',
  });
  expect(text).not.toContain('Providers');
  expect(text).not.toContain('API keys end soon');
  const outdated = 'OPERATORS_FILE could not be read, see the log';
  await writeFile(fixture.operatorsFile, 'nobody');
  const readOperators = async () => (await browser.open('/health')).facts.Operators;
  await expect.poll(readOperators, { timeout: 30_000 }).toBe(`3 Outdated: ${outdated}`);
  expect((await browser.open('/health')).text).toContain(`Health ${outdated}. E-mail`);
});

test('what cannot be read is said, and the rest is shown', async () => {
  await using fixture = await ConsoleFixture.open();
  const browser = await fixture.signIn(OPERATORS.viewer);
  const { sql } = fixture.service.database;
  for (const table of ['usher_migrations', 'webhook_queues', 'api_keys'])
    await sql`alter table ${sql(table)} rename to ${sql(`${table}_away`)}`;
  const { text, facts } = await browser.open('/health');
  expect(text).toContain('Health The migrations cannot be read. E-mail');
  expect(facts).toMatchObject({ Migrations: 'cannot be read', 'Takes writes': 'yes' });
  for (const name of ['Waiting', 'Failing', 'Disabled by Usher', 'API keys']) expect(facts).not.toHaveProperty(name);
});

test('a Postgres that takes no writes, or does not answer, is not well', async () => {
  await using fixture = await ConsoleFixture.open();
  const browser = await fixture.signIn(OPERATORS.viewer);
  using ping = vi.spyOn(Database.prototype, 'ping').mockRejectedValue(new Error('read only'));
  using readTime = vi.spyOn(Database.prototype, 'readTime').mockRejectedValue(new Error('no answer'));
  // Readiness is asked for once in a while.
  await expect.poll(async () => (await browser.open('/health')).facts.Ready, { timeout: 30_000 }).toBe('no');
  const { text, facts } = await browser.open('/health');
  expect(text).toMatch(/This replica is not ready\. ?Postgres does not answer\. ?Postgres takes no writes\. E-mail/);
  expect(facts).toMatchObject({ Answers: 'no', 'Takes writes': 'no' });
  expect([ping.mock.calls.length > 0, readTime.mock.calls.length > 0]).toEqual([true, true]);
});

test('in an outage, the console says which database does not answer, and why', async () => {
  await using database = await cloneDatabase();
  await using proxy = await TcpProxy.open(database.url);
  const through = proxy.through(database.url);
  await using fixture = await ConsoleFixture.open({
    database,
    config: { databaseUrl: through, requestTimeoutMs: 1_000 },
  });
  const browser = await fixture.signIn(OPERATORS.viewer);
  const { port, pathname, password } = new URL(through);
  expect((await browser.open('/health')).text).toContain(`127.0.0.1:${port}${pathname}`);
  await proxy.setMode('refuse');
  await expect.poll(async () => (await browser.open('/search?q=x')).status, { timeout: 10_000 }).toBe(503);
  const { body, heading } = await browser.open('/search?q=x');
  expect(heading).toBe('The database does not answer');
  expect(body).toContain(`127.0.0.1:${port}${pathname}`);
  expect(body).toContain(`connect ECONNREFUSED 127.0.0.1:${port}`);
  if (password) expect(body).not.toContain(password);
  await proxy.setMode('pass');
});
