/** Hostile forms, cookies and texts on the login page: they are refused or shown as text, and the victim can still sign in. */
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { type HttpRequest, request } from '../support/http.ts';
import { formOf, type LoginBrowser, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { createTestUser } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const FORM = 'application/x-www-form-urlencoded';
const ROUNDS = quickOrLong(1, 10);

const log = new RecordedLog();
const fixture = await LoginFixture.open({ logger: log.logger });
const { service, mailbox } = fixture;
afterAll(() => fixture.close());

/** Someone on the page of a login. */
type Person = Awaited<ReturnType<typeof arrive>>;

async function arrive() {
  const { email } = await createTestUser(service);
  const { browser, login, page } = await fixture.arrive();
  const { path, loginIntentId: intent } = login;
  // The form token.
  const { token = '' } = formOf(page, '/login/email').fields;
  return { browser, path, intent, token, cookie: browser.cookie ?? '', email };
}

const encode = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
/** Returns the form as the page sends it. */
const formBy = ({ intent, token, email }: Person, changes: Record<string, string> = {}) =>
  encode({ intent, token, email, ...changes });

type Sent = Partial<HttpRequest> & { readonly cookie?: string; readonly type?: string };
/** Returns how the request differs from the victim's own; the attacker is on the page of another login. */
type Attack = (victim: Person, attacker: Person) => Sent;

const withBody =
  (toBody: (victim: Person, attacker: Person) => string | Buffer): Attack =>
  (...people) => ({ body: toBody(...people) });
const withChanges = (toChanges: (victim: Person) => Record<string, string>) =>
  withBody((victim) => formBy(victim, toChanges(victim)));
const withCookie =
  (toCookie: (victim: Person, attacker: Person) => string): Attack =>
  (...people) => ({ cookie: toCookie(...people) });
const fromElsewhere = { origin: 'https://evil.test' };

/** The status of the reply, and whether a code is sent to the victim. */
const attacks: [name: string, attack: Attack, status: number, codes: 0 | 1][] = [
  ['no fields', withBody(() => ''), 403, 0],
  ['random bytes', withBody(() => Buffer.from(Array.from({ length: 4_096 }, () => Math.random() * 256))), 403, 0],
  ['thousands of fields', withBody((v) => `${'a&'.repeat(3_900)}${formBy(v)}`), 303, 1],
  ['one byte too many', withBody((v) => formBy(v).padEnd(8_193, '&')), 413, 0],
  ['compressed fields', withBody((v) => gzipSync(formBy(v))), 403, 0],
  ["the attacker's token before the victim's", withBody((v, a) => `token=${a.token}&${formBy(v)}`), 403, 0],
  ["the attacker's token after the victim's", withBody((v, a) => `${formBy(v)}&token=${a.token}`), 303, 1],
  ['two addresses', withBody((v, a) => `${formBy(v)}&${encode({ email: a.email })}`), 303, 1],
  ['a list of addresses', withBody((v) => `${formBy(v, { email: '' })}&email[]=${v.email}`), 303, 0],
  ['NUL in the address', withChanges((v) => ({ email: `\0${v.email}` })), 303, 0],
  ['a lone surrogate in the token', withBody((v) => `token=%ED%A0%80&${formBy(v)}`), 403, 0],
  ['broken escapes', withBody((v) => `%=%zz&%e2%82=1&${formBy(v)}`), 303, 1],
  ['SQL in the intent', withChanges((v) => ({ intent: `${v.intent}' or '1'='1` })), 404, 0],
  ['a header in the address', withChanges((v) => ({ email: `${v.email}\r\nBcc: evil@evil.test` })), 303, 0],
  ['an SMTP command in the address', withChanges((v) => ({ email: `${v.email}>\r\nRCPT TO:<evil@evil.test` })), 303, 0],

  ['plain text, which a form of another site can send', () => ({ type: 'text/plain' }), 415, 0],
  ['two content types', () => ({ type: `text/plain, ${FORM}` }), 415, 0],
  ['the fields in the query', (v) => ({ path: `/login/email?${formBy(v)}`, body: '' }), 403, 0],
  ['a GET with the fields', (v) => ({ method: 'GET', path: `/login/email?${formBy(v)}`, body: undefined }), 404, 0],

  ['no cookie, from another site', () => ({ cookie: '', headers: fromElsewhere }), 403, 0],
  ["the attacker's token", (v, a) => ({ body: formBy(v, { token: a.token }), headers: fromElsewhere }), 403, 0],
  ["the attacker's cookie", withCookie((_, a) => a.cookie), 403, 0],
  ["the attacker's cookie before the victim's", withCookie((v, a) => `${a.cookie}; ${v.cookie}`), 403, 0],
  ["the attacker's cookie after the victim's", withCookie((v, a) => `${v.cookie}; ${a.cookie}`), 303, 1],
  ['a cookie without the __Host- prefix', withCookie((v) => v.cookie.slice('__Host-'.length)), 403, 0],
  ['a cookie of separators', withCookie((v) => ';;=;__Host-usher;=__Host-usher;,'.concat(v.cookie)), 403, 0],
  ['hundreds of other cookies', withCookie((v) => `${'a=1; usher=2; '.repeat(400)}${v.cookie}`), 303, 1],
];

async function send(attack: Attack, httpVersion: '1.1' | '2'): Promise<{ status: number; victim: Person }> {
  const [victim, attacker] = [await arrive(), await arrive()];
  const { cookie = victim.cookie, type = FORM, headers, ...sent } = attack(victim, attacker);
  const { status } = await request(service.url, {
    httpVersion,
    method: 'POST',
    path: '/login/email',
    body: formBy(victim),
    ...sent,
    headers: {
      'x-forwarded-for': newAddress(),
      'content-type': type,
      ...(cookie && { cookie }),
      ...headers,
    },
  });
  expect(codesTo((email) => email === attacker.email || email.includes('evil'))).toBe(0);
  return { status, victim };
}

function codesTo(isAddress: (email: string) => boolean): number {
  return mailbox.codes.filter(({ email }) => isAddress(email)).length;
}

/** Enters the last code that was sent to the victim. */
async function enterCode({ browser, email }: Person, codePage: Awaited<ReturnType<LoginBrowser['open']>>) {
  const code = mailbox.codeFor(email);
  expect((await browser.submit(codePage, '/login/code', { code })).status).toBe(303);
}

describe('a request for a code with', () => {
  it.each(attacks.map((attack, at) => [...attack, at] as const))(
    '%s leaves the victim able to sign in',
    async (_name, attack, status, codes, at) => {
      for (let round = 0; round < ROUNDS; round++) {
        const answered = await send(attack, (at + round) % 2 === 0 ? '1.1' : '2');
        expect(answered.status).toBe(status);
        const { victim } = answered;
        expect(codesTo((email) => email === victim.email)).toBe(codes);
        const page = await victim.browser.open(victim.path);
        await enterCode(victim, await victim.browser.submit(page, '/login/email', { email: victim.email }));
      }
    },
  );

  it('any of these logs no warning and no error', () => {
    expect(log.parsed.filter(({ level }) => level >= 40)).toEqual([]);
  });
});

describe('a hostile text has no effect', () => {
  const HOSTILE = `"><script>alert(1)</script>'&\r\nSet-Cookie: evil=1`;

  it.each(['problem', 'email', 'code'])('in the parameter %s of a link', async (name) => {
    const victim = await arrive();
    for (const value of [HOSTILE, 'constructor', '__proto__', 'x'.repeat(4_000)]) {
      const page = await victim.browser.open(`${victim.path}&${encode({ [name]: value })}`);
      expect(page.status).toBe(200);
      expect(page.alert).toBe('');
      expect(page.body).not.toContain('alert(1)');
    }
  });

  it.each([encodeURIComponent(HOSTILE), '%zz%', '%00'])('in the cookie for the address: %s', async (value) => {
    const victim = await arrive();
    victim.browser.cookie = `${victim.cookie}; usher-email-login=${victim.intent}.${value}`;
    const page = await victim.browser.open(victim.path);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain('<script>alert');
  });
});
