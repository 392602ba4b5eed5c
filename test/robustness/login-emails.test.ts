/** E-mails with login codes: whom they go to, and mail servers that fail. What they hold: test/mail. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { requestCode } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { flood, MailServer, type ReceivedEmail, startSocketServer } from '../support/mail-server.ts';
import { readEmail } from '../support/read-email.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { createTestUser, PUBLIC_URL, type TestService } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const authenticate: NonNullable<Parameters<typeof MailServer.start>[0]>['onAuth'] = (_credentials, _session, done) =>
  done(null, { user: 'usher' });

/** The host of this machine, if it is a dotted name. */
const OWN_NAME = hostname().includes('.') ? hostname() : '[127.0.0.1]';

const fixture = await LoginFixture.open();
const mail = await MailServer.start({ onAuth: authenticate });
const { service } = await startMailing(mail.port);
afterAll(async () => {
  await service.close();
  await mail[Symbol.asyncDispose]();
  await fixture.close();
});

interface Mailing {
  readonly service: TestService;
  readonly log: () => string;
}

/** Starts a replica that sends e-mails to the port and keeps its log. */
async function startMailing(port: number, { query = '', publicUrl = PUBLIC_URL } = {}): Promise<Mailing> {
  const log = new RecordedLog();
  const smtp = { url: `smtp://usher:let%20me%20in@127.0.0.1:${port}${query}`, from: 'Usher <login@usher.test>' };
  const { database, config: like } = fixture.service;
  return {
    service: await log.start({ database, like, config: { smtp, publicUrl, metricsPort: 0 } }),
    log: () => log.lines.join(''),
  };
}

/** Requests a code for the address, and resolves to the e-mails that were sent. */
async function emailsFor(email: string): Promise<ReceivedEmail[]> {
  const before = mail.emails.length;
  const handled = await countHandled();
  expect(await requestCode(service, fixture.tenant, email)).toMatchObject({ heading: 'Check your e-mail', alert: '' });
  await expect.poll(countHandled).toBe(handled + 1);
  return mail.emails.slice(before);
}

/** How many e-mails were sent, or have failed. */
const countHandled = () => readMetric(service, 'usher_emails_total');

/** Returns the sum of the values. */
async function readMetric(from: TestService, metric: string): Promise<number> {
  const metrics = (await from.collect?.()) ?? [];
  const { values } = metrics.find(({ name }) => name === metric) ?? { values: [] };
  return values.reduce((sum, { value }) => sum + value, 0);
}

it.each([
  ...['=?utf-8?Q?evil=40evil.test?=@example.com', 'evil%evil.test@example.com', 'evil.test!evil@example.com'],
  'ädä@exämple.com',
])('the address %s gets an e-mail for itself or none, and the service goes on', async (email) => {
  await createTestUser(service, { email });
  for (const sent of await emailsFor(email)) {
    expect(sent.to).toHaveLength(1);
    expect(sent.to[0]).not.toMatch(/^<?evil@|^evil$/);
    expect(readEmail(sent.raw).headers).not.toHaveProperty('bcc');
  }
});

it.each([
  ['the host of PUBLIC_URL', { publicUrl: 'https://login.example.com' }, 'login.example.com'],
  [
    'the name in SMTP_URL',
    { publicUrl: 'https://login.example.com', query: '/?name=mail.example.com' },
    'mail.example.com',
  ],
  ['what nodemailer makes of the host, without a dotted name', { publicUrl: 'http://localhost:8080' }, OWN_NAME],
  ['the same, with an IP address', { publicUrl: 'http://192.0.2.1:8080' }, OWN_NAME],
])('the EHLO has %s', async (_, settings, name) => {
  const names: string[] = [];
  await using server = await MailServer.start({
    onAuth: authenticate,
    onMailFrom(_address, { hostNameAppearsAs }, done) {
      names.push(hostNameAppearsAs);
      done();
    },
  });
  const { service } = await startMailing(server.port, settings);
  await requestCode(service, fixture.tenant, (await createTestUser(service)).email);
  await expect.poll(() => names).toEqual([name]);
  await service.close();
});

it('no e-mail has gone to another domain', () => {
  expect(mail.emails.filter(({ to }) => to.some((address) => address.endsWith('@evil.test')))).toEqual([]);
});

describe('a mail server', () => {
  it('that hangs delays no reply, and at the end the service gives up on it', async () => {
    await using server = await startSocketServer(() => {});
    const { service, log } = await startMailing(server.port);
    const { email } = await createTestUser(service);
    for (const address of [email, 'nobody@example.com', email]) {
      // The server never answers: a reply that waited for it would not come.
      expect((await requestCode(service, fixture.tenant, address)).heading).toBe('Check your e-mail');
    }
    // One at the start, and one for each address: that without a user too.
    await expect.poll(() => server.sockets.size).toBe(4);
    await service.close();
    expect(log().match(/"code":"shutdown","msg":"login code not sent"/g)).toHaveLength(3);
  });

  it.each([true, false])('hears of a request 0.5 s later or more; known address: %s', async (isKnown) => {
    const connected = Promise.withResolvers<number>();
    const onConnect = (_session: unknown, done: () => void) => {
      connected.resolve(performance.now());
      done();
    };
    const greeted = await MailServer.start({ onAuth: authenticate });
    const { service, log } = await startMailing(greeted.port);
    await expect.poll(() => readMetric(service, 'usher_mail_ready')).toBe(1);
    // The request would use the connection of the greeting again.
    await greeted[Symbol.asyncDispose]();
    await using server = await MailServer.start({ port: greeted.port, onAuth: authenticate, onConnect });
    const email = isKnown ? (await createTestUser(service)).email : 'nobody@example.com';
    const askedAt = performance.now();
    await requestCode(service, fixture.tenant, email);
    expect((await connected.promise) - askedAt).toBeGreaterThanOrEqual(500);
    await service.close();
    expect(server.emails.map(({ to }) => to)).toEqual(isKnown ? [[email]] : []);
    expect(log()).not.toContain('login code not sent');
  });

  it('that is slow gets the e-mail even if the service is closed', async () => {
    const onRcptTo = (_address: unknown, _session: unknown, done: () => void) => void setTimeout(done, 500);
    await using server = await MailServer.start({ onAuth: authenticate, onRcptTo });
    const { service, log } = await startMailing(server.port);
    const { email } = await createTestUser(service);
    await requestCode(service, fixture.tenant, email);
    await service.close();
    expect(server.emails.map(({ to }) => to)).toEqual([[email]]);
    expect(log()).not.toContain('login code not sent');
  });

  it('that refuses connections or the address, or does not speak SMTP, delays no reply; the log has no secret', async () => {
    await using refusing = await MailServer.start({
      onAuth: authenticate,
      onRcptTo: ({ address }, _session, done) => done(new Error(`no mailbox ${address} here`)),
    });
    await using html = await startSocketServer((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n<!doctype html>\r\n'));
    await using flooding = await startSocketServer(flood);
    // Nothing listens on port 2.
    for (const port of [2, refusing.port, html.port, flooding.port]) {
      const { service, log } = await startMailing(port);
      const { email } = await createTestUser(service);
      expect((await requestCode(service, fixture.tenant, email)).heading).toBe('Check your e-mail');
      // It does not wait for later attempts.
      await service.close();
      expect(log()).toMatch(/"code":"E[A-Z]+".*"msg":"login code not sent"/);
      for (const secret of [email, 'let me in', 'let%20me%20in']) expect(log()).not.toContain(secret);
    }
  });

  // With shorter delays: test/integration/mail/mail-queue.test.ts.
  it.runIf(quickOrLong(false, true))('that is away for 5 s gets the e-mail when it is back', async () => {
    const { port } = await MailServer.start().then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server;
    });
    const { service, log } = await startMailing(port);
    const { email } = await createTestUser(service);
    await requestCode(service, fixture.tenant, email);
    await sleep(5_000);
    await using server = await MailServer.start({ port, onAuth: authenticate });
    await expect.poll(() => server.emails.map(({ to }) => to), { timeout: 60_000 }).toEqual([[email]]);
    await service.close();
    expect(log()).not.toContain('login code not sent');
  });
});
