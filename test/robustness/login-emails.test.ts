/** What gets into a letter: nobody's headers but ours, and nobody's address but the user's. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginLogin, LOGIN_CONFIG, LoginBrowser } from '../support/login-browser.ts';
import { MailServer, type ReceivedEmail } from '../support/mail-server.ts';
import { createTenant, createTestUser, startTestService, type TestService } from '../support/service.ts';
import { report } from '../support/soak.ts';

const HEADERS = [
  'content-transfer-encoding',
  'content-type',
  'date',
  'from',
  'message-id',
  'mime-version',
  'subject',
  'to',
];

let mail: MailServer;
let service: TestService;

beforeAll(async () => {
  mail = await MailServer.start();
  const smtp = { url: mail.url, from: 'Usher <login@usher.test>' };
  service = await startTestService({ config: { ...LOGIN_CONFIG, smtp } });
});
afterAll(async () => {
  await service.close();
  await mail[Symbol.asyncDispose]();
});

/** Asks for a code, to sign in to an application of that name. */
async function askFor(email: string, name: string): Promise<void> {
  const { path } = await beginLogin(service, await createTenant(service, { name }));
  const browser = new LoginBrowser(service);
  const codePage = await browser.submit(await browser.open(path), '/login/email', { email });
  expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
}

/** The letter that comes, or nothing; what was asked for after it has come by then. */
async function letterFor(email: string, name = 'Shop'): Promise<ReceivedEmail | undefined> {
  const marker = await createTestUser(service);
  const before = mail.emails.length;
  await askFor(email, name);
  await askFor(marker.email, 'Marker');
  await expect.poll(() => mail.emails.some(({ to }) => to.includes(marker.email))).toBe(true);
  await expect
    .poll(() => mail.emails.length, { timeout: 500 })
    .toBe(before + 2)
    .catch(() => {});
  const letters = mail.emails.slice(before).filter(({ to }) => !to.includes(marker.email));
  expect(letters.length).toBeLessThanOrEqual(1);
  return letters[0];
}

const headersOf = ({ raw }: ReceivedEmail) =>
  [...(raw.split('\r\n\r\n')[0] ?? '').matchAll(/^([\w-]+):/gm)].map(([, name = '']) => name.toLowerCase()).sort();

describe('a letter to sign in to an application by the name of', () => {
  it.each([
    'Shop, "Bcc: evil" <evil@evil.test>',
    'Shop\u2028Bcc: evil@evil.test',
    '=?utf-8?Q?Shop=0D=0ABcc:_evil=40evil.test?=',
    '=?utf-8?B?DQpCY2M6IGV2aWxAZXZpbC50ZXN0?=',
    '<script>alert(1)</script>',
    '🦄'.repeat(60),
    `${'x'.repeat(120)}: y`,
  ])('%s has our headers only, and goes to the user only', async (name) => {
    const { email } = await createTestUser(service);
    const letter = await letterFor(email, name);
    expect(letter).toMatchObject({ from: 'login@usher.test', to: [email] });
    expect(letter && headersOf(letter)).toEqual(HEADERS);
    expect(letter?.raw).toMatch(/^Content-Type: text\/plain; charset=utf-8\r$/m);
  });

  it.each(['Shop\r\nBcc: evil@evil.test', 'Shop\nX: y', 'Shop\0', 'Shop\u0085X: y'])(
    'is never written for a name with a control character: %j is refused',
    async (name) => {
      await expect(createTenant(service, { name })).rejects.toThrow('Validation failed');
    },
  );
});

describe('an address with', () => {
  it.each([
    ['a line break', 'ada@example.com\r\nBcc:evil'],
    ['a line break before it', '\nada@example.com'],
    ['NUL', 'ada\0@example.com'],
    ['a space', 'ada lovelace@example.com'],
    ['another behind a comma', 'ada@example.com,evil@evil.test'],
    ['a comma', 'evil,ada@example.com'],
    ['a semicolon', 'evil;ada@example.com'],
    ['a comma in its host', 'ada@example.com,evil'],
    ['a bracket in its host', 'ada@example.com>,<evil'],
    ['brackets around it', '<ada@example.com>'],
    ['a group', 'group:ada@example.com;'],
    ['a quotation mark', '"evil,ada@example.com'],
    ['a comment', 'ada(evil)@example.com'],
    ['a parameter of SMTP', 'ada@example.com>BODY=8BITMIME'],
  ])('%s is no user’s', async (_name, email) => {
    await expect(createTestUser(service, { email })).rejects.toThrow('Validation failed');
  });

  /** Of the shape of an address all the same. */
  it.each([
    ['an encoded word', '=?utf-8?Q?evil=40evil.test?=@example.com'],
    ['a percent sign', 'evil%evil.test@example.com'],
    ['an exclamation mark', 'evil.test!evil@example.com'],
    ['letters beyond ASCII', 'ädä@exämple.com'],
  ])('%s gets a letter for itself or none, and the service goes on', async (_name, email) => {
    await createTestUser(service, { email });
    const letter = await letterFor(email);
    if (!letter) return;
    expect(letter.to).toHaveLength(1);
    expect(letter.to[0]).not.toMatch(/^<?evil@|^evil$/);
    expect(headersOf(letter)).toEqual(HEADERS);
  });
});

it('and that is all that was sent', (context) => {
  const strangers = mail.emails.filter(({ to }) => to.some((address) => /@evil\.test$/.test(address)));
  report(context, { tried: `${mail.emails.length} letters with hostile names and addresses`, lost: 'nothing' });
  expect(strangers).toEqual([]);
});
