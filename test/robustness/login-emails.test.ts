/** E-mails with login codes have our headers only and go to the user only, whatever the names and addresses. */
import { afterAll, expect, it } from 'vitest';
import { beginLogin, LOGIN_CONFIG, LoginBrowser } from '../support/login-browser.ts';
import { MailServer, type ReceivedEmail } from '../support/mail-server.ts';
import { createTenant, createTestUser, startTestService } from '../support/service.ts';

const HEADERS = 'content-transfer-encoding content-type date from message-id mime-version subject to'.split(' ');

let sessions = 0;
const onClose = () => void sessions++;
const mail = await MailServer.start({ onClose });
const smtp = { url: mail.url, from: 'Usher <login@usher.test>' };
const service = await startTestService({ config: { ...LOGIN_CONFIG, smtp } });
afterAll(async () => {
  await service.close();
  await mail[Symbol.asyncDispose]();
});

/** Requests a code for a login to an application of that name. */
async function requestCode(email: string, name: string): Promise<void> {
  const { path } = await beginLogin(service, await createTenant(service, { name }));
  const browser = new LoginBrowser(service);
  const codePage = await browser.submit(await browser.open(path), '/login/email', { email });
  expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
}

/** Requests a code for the address, and resolves to the e-mails that were sent. */
async function emailsFor(email: string, name = 'Shop'): Promise<ReceivedEmail[]> {
  const [emailsBefore, sessionsBefore] = [mail.emails.length, sessions];
  await requestCode(email, name);
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

it.each(['Shop\r\nBcc: evil@evil.test', 'Shop\0', 'Shop\u0085X: y'])('the name %j is refused', async (name) => {
  await expect(createTenant(service, { name })).rejects.toThrow('Validation failed');
});

it.each([
  ...['ada@example.com\r\nBcc:evil', 'ada\0@example.com', 'ada lovelace@example.com', 'ada@example.com,evil@evil.test'],
  ...['evil;ada@example.com', 'ada@example.com>,<evil', '<ada@example.com>', 'group:ada@example.com;'],
  ...['"evil,ada@example.com', 'ada(evil)@example.com', 'ada@example.com>BODY=8BITMIME'],
])('the address %j of a user is refused', async (email) => {
  await expect(createTestUser(service, { email })).rejects.toThrow('Validation failed');
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
