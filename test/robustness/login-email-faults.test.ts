/** Concurrent requests for codes, and mail servers that fail. */
import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { openClient } from '../../src/database/open-client.ts';
import { LOGIN_CONFIG, newAddress, requestCode } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { flood, Mailbox, MailServer, startSocketServer } from '../support/mail-server.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { createTenant, createTestUser, startTestService, type TestService } from '../support/service.ts';

const TOO_MANY = /^Too many codes were requested/;

const fixture = await LoginFixture.open();
afterAll(() => fixture.close());

it('of thirty concurrent requests from an IP address, twenty send a code', async () => {
  const { service, tenant, mailbox } = fixture;
  const address = newAddress();
  const users = await Promise.all(Array.from({ length: 30 }, () => createTestUser(service)));
  const replies = await Promise.all(users.map(({ email }) => requestCode(service, tenant, email, address)));
  const countAlerts = (expected: RegExp) => replies.filter(({ alert }) => expected.test(alert)).length;
  expect([countAlerts(/^$/), countAlerts(TOO_MANY)]).toEqual([20, 10]);
  expect(users.flatMap(({ email }) => mailbox.sentTo(email))).toHaveLength(20);
});

it('letters that only lower() of Postgres folds do not raise the limit of an address', async () => {
  const server = openClient(inject('postgresUrl'), { max: 1, onnotice: () => {} });
  const name = `folding_${randomBytes(8).toString('hex')}`;
  // Unlike the embedded database, its lower() folds letters beyond ASCII.
  await server.unsafe(`create database ${name} template template0 locale_provider builtin builtin_locale 'C.UTF-8'`);
  const { href } = Object.assign(new URL(inject('postgresUrl')), { pathname: name });
  const mailbox = new Mailbox();
  {
    const config = { ...LOGIN_CONFIG, databaseUrl: href };
    const { database } = fixture.service;
    await using folding = await startTestService({ database, deliver: mailbox.deliver, config });
    const tenant = await createTenant(folding);
    await createTestUser(folding, { email: 'iii@example.com' });
    const spellings = ['iii', 'İii', 'iİi', 'iiİ', 'İİi', 'İiİ', 'iİİ', 'İİİ'];
    for (const spelling of [...spellings, ...spellings]) await requestCode(folding, tenant, `${spelling}@example.com`);
  }
  await server.unsafe(`drop database ${name} with (force)`);
  await server.end();
  expect(mailbox.sentTo('iii@example.com').length).toBeLessThanOrEqual(10);
});

describe('a mail server', () => {
  const authenticate: NonNullable<Parameters<typeof MailServer.start>[0]>['onAuth'] = (_credentials, _session, done) =>
    done(null, { user: 'usher' });

  /** Starts a replica that sends e-mails to the port and keeps its log. */
  async function startMailing(port: number): Promise<{ service: TestService; log: () => string }> {
    const log = new RecordedLog();
    const smtp = { url: `smtp://usher:let%20me%20in@127.0.0.1:${port}`, from: 'Usher <login@usher.test>' };
    const { database, config: like } = fixture.service;
    return { service: await log.start({ database, like, config: { smtp } }), log: () => log.lines.join('') };
  }

  it('that hangs delays no reply, and at the end the service gives up on it', async () => {
    await using server = await startSocketServer(() => {});
    const { service, log } = await startMailing(server.port);
    const { email } = await createTestUser(service);
    for (const address of [email, 'nobody@example.com', email]) {
      // The server never answers: a reply that waited for it would not come.
      expect((await requestCode(service, fixture.tenant, address)).heading).toBe('Check your e-mail');
    }
    // The address without a user too.
    await expect.poll(() => server.sockets.size).toBe(3);
    await service.close();
    expect(log().match(/"code":"shutdown","msg":"login code not sent"/g)).toHaveLength(3);
  });

  it('hears of each request 0.5 to 2 s later, and gets an e-mail only if the address has a user', async () => {
    const connectedAt: number[] = [];
    const onConnect = (_session: unknown, done: () => void) => {
      connectedAt.push(performance.now());
      done();
    };
    await using server = await MailServer.start({ onAuth: authenticate, onConnect });
    const { service, log } = await startMailing(server.port);
    const { email } = await createTestUser(service);
    const askedAt: number[] = [];
    for (const address of [email, 'nobody@example.com', email, 'nobody@example.com']) {
      askedAt.push(performance.now());
      await requestCode(service, fixture.tenant, address);
    }
    await expect.poll(() => server.emails.length + connectedAt.length).toBe(2 + 4);
    await service.close();
    expect(server.emails.map(({ to }) => to)).toEqual([[email], [email]]);
    expect(connectedAt.every((instant, index) => instant - (askedAt[index] ?? 0) >= 500)).toBe(true);
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
      await expect.poll(log).toContain('login code not sent');
      await service.close();
      expect(log()).toMatch(/"code":"E[A-Z]+"/);
      for (const secret of [email, 'let me in', 'let%20me%20in']) expect(log()).not.toContain(secret);
    }
  });
});
