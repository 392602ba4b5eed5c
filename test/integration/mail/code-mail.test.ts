/** What an e-mail with a code holds, as a mail server gets it. In Chromium: test/robustness/mail-browsers.test.ts. */
import { afterAll, describe, expect, it, test } from 'vitest';
import type { MailApplication } from '../../../src/mail/mail.ts';
import { createMailSender } from '../../../src/mail/send-mail.ts';
import { LANGUAGES } from '../../../src/texts/texts.ts';
import { MailServer } from '../../support/mail-server.ts';
import { readEmail } from '../../support/read-email.ts';
import { createTestMail, MUTE_URL } from '../../support/test-mail.ts';

const server = await MailServer.start();
const sender = createMailSender({ url: server.url, from: 'Usher <login@usher.test>' });
afterAll(async () => {
  sender.close?.();
  await server[Symbol.asyncDispose]();
});

const ATTEMPT = { id: '0195', isDecoy: false, deadline: Number.POSITIVE_INFINITY };

/** Sends the e-mail, and returns it as it arrives. */
async function sendMail(mail = createTestMail()) {
  await sender.send(mail, ATTEMPT);
  const received = server.emails.at(-1);
  if (!received) throw new Error('No e-mail has arrived');
  return { ...received, ...readEmail(received.raw) };
}

const forApplication = (application: Partial<MailApplication>) =>
  sendMail(createTestMail({ application: { name: 'Shop', ...application } }));

const countOf = (text: string, part: string) => text.split(part).length - 1;

test('the text says what to do with the code, and how to get no more of them', async () => {
  const { text } = await sendMail();
  expect(text.replaceAll('\r\n', '\n')).toBe(`048151 is your code for Shop.

Enter it only on login.example.com, in the browser where you asked for it. It works for 10 minutes.
Nobody from Shop will ever ask you for it.

You did not ask for it? Then do nothing: without the code nobody gets in.
Stop these e-mails for 24 hours: ${MUTE_URL}
`);
});

test('the e-mail comes from the application, at the address of Usher, and asks for no automatic reply', async () => {
  const { from, to, headers } = await sendMail();
  expect({ from, to }).toEqual({ from: 'login@usher.test', to: ['ada@example.com'] });
  expect(headers).toEqual({
    from: 'Shop <login@usher.test>',
    to: 'ada@example.com',
    subject: '048151 is your code for Shop',
    'auto-submitted': 'auto-generated',
    'x-auto-response-suppress': 'All',
    'content-language': 'en',
    'message-id': '<0195@usher.test>',
    date: expect.any(String),
    'mime-version': '1.0',
    'content-type': expect.stringMatching(/^multipart\/alternative; /),
  });
});

test.each(['ada@bücher.example', 'ada@bu\u0308cher.example', 'ada@BÜCHER.example', 'ada@xn--bcher-kva.example'])(
  'a mail server gets A-labels for %s',
  async (address) => {
    const { to, headers } = await sendMail({ ...createTestMail(), to: address });
    expect({ to, header: headers.to }).toEqual({
      // The test's mail server decodes the A-labels of RCPT TO.
      to: ['ada@bücher.example'],
      header: 'ada@xn--bcher-kva.example',
    });
  },
);

test.each([
  ['mailto:help@shop.test', 'help@shop.test'],
  ['MAILTO:help+x@shop.test', 'help+x@shop.test'],
  ['mailto:help@shop.test?bcc=evil@evil.test', undefined],
  ['https://shop.test/help', undefined],
  ['mailto:a@shop.test,b@evil.test', undefined],
  ['mailto:help@shop.test%0d%0aBcc:evil@evil.test', undefined],
  [null, undefined],
])('with the support at %s, replies go to %s', async (supportUri, replyTo) => {
  const { headers, to } = await forApplication({ supportUri });
  expect(headers['reply-to']).toBe(replyTo);
  expect(headers.bcc).toBe(undefined);
  expect(to).toEqual(['ada@example.com']);
});

describe.each([...LANGUAGES.values()])('in $name', (language) => {
  const send = () => sendMail(createTestMail({ language }));

  it('the text has the code once, the HTML twice: once for lists of e-mails, and once in large digits', async () => {
    const { headers, text, html } = await send();
    expect(countOf(headers.subject ?? '', '048151')).toBe(1);
    expect(countOf(text, '048151')).toBe(1);
    expect(countOf(html, '048151')).toBe(2);
    expect(html).toMatch(/>048151<\/td>/);
    expect(html.indexOf('048151')).toBeLessThan(html.indexOf('<table'));
  });

  it('the HTML says its language and direction, loads nothing, and is small', async () => {
    const { headers, html } = await send();
    const { tag, direction } = language;
    expect(headers['content-language']).toBe(tag);
    expect(html).toContain(`<html lang="${tag}" dir="${direction}">`);
    expect(html).not.toMatch(/\bsrc\b|url\(|@import|<(img|link|script|iframe|object|base|form|video)\b/i);
    expect([...html.matchAll(/\w+:\/\/[^"\s]*/g)].map(([url]) => url)).toEqual([MUTE_URL]);
    expect(Buffer.byteLength(html)).toBeLessThan(10_000);
  });

  it('the text shows the link whole, and a name in the other direction does not turn it around', async () => {
    const { text, headers } = await sendMail(createTestMail({ language, application: { name: 'מכולת Shop' } }));
    // Programs would take U+2069 for a part of a link.
    expect(text).toMatch(new RegExp(`(^|\\s)${MUTE_URL.replace('?', '\\?')}\\s`));
    for (const line of [headers.subject ?? '', text]) expect(line).toContain('\u2068מכולת Shop\u2069');
    expect(headers.from).toBe('מכולת Shop <login@usher.test>');
  });
});

test('texts in one direction have no characters that mail programs may show as boxes', async () => {
  const { raw } = await sendMail();
  expect(raw).toMatch(/^[\x20-\x7e\r\n]*$/);
});

describe.each([
  ...['Shop, "Bcc: evil" <evil@evil.test>', 'Shop\u2028Bcc: evil@evil.test', '<script>alert(1)</script>'],
  ...['=?utf-8?Q?Shop=0D=0ABcc:_evil=40evil.test?=', '🦄'.repeat(60), `${'x'.repeat(120)}: y`],
  ...['\u202epohS', 'Shop\u2069\u202e', '" onclick="x', '</td></tr></table>', '&lt;b&gt;', '<'.repeat(255), '{code}'],
  ...['https://evil.test/', 'evil.test'],
])('the name %s of an application', (name) => {
  it('adds no header, no recipient, no markup and no link, and turns no text around', async () => {
    const { from, to, headers, html, text } = await forApplication({ name });
    const plain = await sendMail();
    expect({ from, to }).toEqual({ from: 'login@usher.test', to: ['ada@example.com'] });
    expect(Object.keys(headers)).toEqual(Object.keys(plain.headers));
    expect(headers.from).toMatch(/ <login@usher\.test>$/);
    const tagsOf = (markup: string) => [...markup.matchAll(/<\/?[a-z]\w*/gi)].join();
    expect(tagsOf(html)).toBe(tagsOf(plain.html));
    expect(html.match(/href="[^"]*"/g)).toEqual([`href="${MUTE_URL}"`]);
    expect(Buffer.byteLength(html)).toBeLessThan(10_000);
    for (const part of [headers.from, headers.subject, text, html])
      expect(part).not.toMatch(/[\u202a-\u202e\u2066\u2067]/);
    const isolates = (part: string) => [countOf(part, '\u2068'), countOf(part, '\u2069')];
    for (const part of [headers.subject ?? '', text]) expect(new Set(isolates(part)).size).toBe(1);
    expect(countOf(text, '048151')).toBe(1);
  });
});

test.each([
  ['#b00020', '#b00020', '#d77f8f'],
  [null, '#0f5e5a', '#86d3c8'],
  ['red;}</style><script>', '#0f5e5a', '#86d3c8'],
])('the accent colour %s makes the bar %s, and %s in the dark', async (accentColor, light, dark) => {
  const { html } = await forApplication({ accentColor });
  expect(/class="bar" height="4" bgcolor="([^"]*)"/.exec(html)?.[1]).toBe(light);
  expect(html).toContain(`.bar { background: ${dark} !important; }`);
  expect(countOf(html, '<script')).toBe(0);
});
