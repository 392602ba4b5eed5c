/** E-mails with login codes: what they hold, whom they go to, and mail servers that fail. */
import { afterAll, describe, expect, it } from 'vitest';
import { requestCode } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { flood, MailServer, type ReceivedEmail, startSocketServer } from '../support/mail-server.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { createTenant, createTestUser, type TestService } from '../support/service.ts';

const HEADERS = 'content-transfer-encoding content-type date from message-id mime-version subject to'.split(' ');

const authenticate: NonNullable<Parameters<typeof MailServer.start>[0]>['onAuth'] = (_credentials, _session, done) =>
  done(null, { user: 'usher' });

const fixture = await LoginFixture.open();
let sessions = 0;
const mail = await MailServer.start({ onAuth: authenticate, onClose: () => void sessions++ });
const { service } = await startMailing(mail.port);
afterAll(async () => {
  await service.close();
  await mail[Symbol.asyncDispose]();
  await fixture.close();
});

/** Starts a replica that sends e-mails to the port and keeps its log. */
async function startMailing(port: number): Promise<{ service: TestService; log: () => string }> {
  const log = new RecordedLog();
  const smtp = { url: `smtp://usher:let%20me%20in@127.0.0.1:${port}`, from: 'Usher <login@usher.test>' };
  const { database, config: like } = fixture.service;
  return { service: await log.start({ database, like, config: { smtp } }), log: () => log.lines.join('') };
}

/** Requests a code for the address, and resolves to the e-mails that were sent. */
async function emailsFor(email: string, name = 'Shop'): Promise<ReceivedEmail[]> {
  const [emailsBefore, sessionsBefore] = [mail.emails.length, sessions];
  const codePage = await requestCode(service, await createTenant(service, { name }), email);
  expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
  await expect.poll(() => sessions).toBe(sessionsBefore + 1);
  return mail.emails.slice(emailsBefore);
}

const headersOf = ({ raw }: ReceivedEmail) =>
  [...(raw.split('\r\n\r\n')[0] ?? '').matchAll(/^([\w-]+):/gm)].map(([, name = '']) => name.toLowerCase()).sort();

it.each([
  ...['Shop, "Bcc: evil" <evil@evil.test>', 'Shop\u2028Bcc: evil@evil.test', '<script>alert(1)</script>'],
  ...['=?utf-8?Q?Shop=0D=0ABcc:_evil=40evil.test?=', '🦄'.repeat(60), `${'x'.repeat(120)}: y`],
])('the name %s of an application adds no header and no recipient', async (name) => {
  const { email } = await createTestUser(service);
  const emails = await emailsFor(email, name);
  expect(emails).toMatchObject([{ from: 'login@usher.test', to: [email] }]);
  expect(emails.map(headersOf)).toEqual([HEADERS]);
  expect(emails[0]?.raw).toMatch(/^Content-Type: text\/plain; charset=utf-8\r$/m);
});

it.each([
  ...['=?utf-8?Q?evil=40evil.test?=@example.com', 'evil%evil.test@example.com', 'evil.test!evil@example.com'],
  'ädä@exämple.com',
])('the address %s gets an e-mail for itself or none, and the service goes on', async (email) => {
  await createTestUser(service, { email });
  for (const sent of await emailsFor(email)) {
    expect(sent.to).toHaveLength(1);
    expect(sent.to[0]).not.toMatch(/^<?evil@|^evil$/);
    expect(headersOf(sent)).toEqual(HEADERS);
  }
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
