/** Forms, cookies and addresses made by somebody who means harm. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/log.ts';
import { type HttpRequest, request } from '../support/http.ts';
import { beginLogin, formOf, LOGIN_CONFIG, LoginBrowser, randomAddress, textOf } from '../support/login-browser.ts';
import { Mailbox } from '../support/mail-server.ts';
import { createTenant, createTestUser, startTestService, type Tenant, type TestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const FORM = 'application/x-www-form-urlencoded';
const ROUNDS = quickOrLong(1, 10);

const mailbox = new Mailbox();
let log = '';
let service: TestService;
let tenant: Tenant;

beforeAll(async () => {
  const logger = createLogger('warn', {
    write(line) {
      log += line;
    },
  });
  service = await startTestService({ deliver: mailbox.deliver, logger, config: LOGIN_CONFIG });
  tenant = await createTenant(service);
});
afterAll(() => service.close());

/** Someone on the page of a login: what the form holds, and the cookie of the browser. */
interface Person {
  readonly browser: LoginBrowser;
  readonly path: string;
  readonly intent: string;
  readonly token: string;
  readonly cookie: string;
  readonly email: string;
}

async function arrive(): Promise<Person> {
  const { email } = await createTestUser(service);
  const { path, loginIntentId: intent } = await beginLogin(service, tenant);
  const browser = new LoginBrowser(service);
  const { token = '' } = formOf(await browser.open(path), '/login/email').fields;
  return { browser, path, intent, token, cookie: browser.cookie ?? '', email };
}

const encode = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
/** The form as the page sends it. */
const formBy = ({ intent, token, email }: Person, changes: Record<string, string> = {}) =>
  encode({ intent, token, email, ...changes });

/** What is sent in the place of the victim's form for a code, by somebody who sees another login of their own. */
type Attack = (
  victim: Person,
  attacker: Person,
) => Omit<Partial<HttpRequest>, 'headers'> & {
  cookie?: string;
  type?: string | undefined;
  headers?: Record<string, string>;
};

const withBody =
  (body: (victim: Person, attacker: Person) => string | Buffer): Attack =>
  (victim, attacker) => ({
    body: body(victim, attacker),
  });
const withCookie =
  (cookie: (victim: Person, attacker: Person) => string): Attack =>
  (victim, attacker) => ({
    cookie: cookie(victim, attacker),
  });

/** Answered with the status, and a code is sent to the victim or to nobody. */
const attacks: [name: string, attack: Attack, status: number, codes: 0 | 1][] = [
  ['no fields', withBody(() => ''), 403, 0],
  ['separators only', withBody(() => '&&=&==&&'), 403, 0],
  ['random bytes', withBody(() => Buffer.from(Array.from({ length: 4_096 }, () => Math.random() * 256))), 403, 0],
  ['thousands of fields', withBody((victim) => `${'a&'.repeat(3_900)}${formBy(victim)}`), 303, 1],
  ['a byte too much', withBody((victim) => formBy(victim).padEnd(8_193, '&')), 413, 0],
  ['megabytes', withBody((victim) => `${formBy(victim)}&x=${'x'.repeat(3_000_000)}`), 413, 0],
  ['compressed fields', withBody((victim) => gzipSync(formBy(victim))), 403, 0],
  ['the token twice, a foreign one first', withBody((v, a) => `token=${a.token}&${formBy(v)}`), 403, 0],
  ['the token twice, a foreign one last', withBody((v, a) => `${formBy(v)}&token=${a.token}`), 303, 1],
  ['two addresses', withBody((v, a) => `${formBy(v)}&${encode({ email: a.email })}`), 303, 1],
  ['the intent twice', withBody((v, a) => `${formBy(v)}&intent=${a.intent}`), 303, 1],
  ['a list of addresses', withBody((v) => `${formBy(v, { email: '' })}&email[]=${v.email}`), 303, 0],
  ['NUL in the address', withBody((v) => formBy(v, { email: `\0${v.email}` })), 303, 0],
  ['NUL in the token', withBody((v) => formBy(v, { token: `${v.token}\0` })), 403, 0],
  ['NUL in the intent', withBody((v) => formBy(v, { intent: `${v.intent}\0` })), 404, 0],
  ['a lone surrogate in the address', withBody((v) => `${formBy(v, { email: '' })}%ED%A0%80@x`), 303, 0],
  ['a lone surrogate in the token', withBody((v) => `token=%ED%A0%80&${formBy(v)}`), 403, 0],
  ['a lone surrogate in the intent', withBody((v) => `intent=%ED%A0%80&${formBy(v)}`), 404, 0],
  ['broken escapes', withBody((v) => `%=%zz&%e2%82=1&${formBy(v)}`), 303, 1],
  ['SQL in the intent', withBody((v) => formBy(v, { intent: `${v.intent}' or '1'='1` })), 404, 0],
  ['a path in the intent', withBody((v) => formBy(v, { intent: '../../readyz' })), 404, 0],
  ['an intent of 7 KB', withBody((v) => formBy(v, { intent: 'é'.repeat(1_100) })), 404, 0],
  ['an address of 7 KB', withBody((v) => formBy(v, { email: 'é'.repeat(1_100) })), 303, 0],
  ['another line in the address', withBody((v) => formBy(v, { email: `${v.email}\r\nBcc: evil@evil.test` })), 303, 0],
  ['a command in the address', withBody((v) => formBy(v, { email: `${v.email}>\r\nRCPT TO:<evil@evil.test` })), 303, 0],
  ['a second address behind a comma', withBody((v) => formBy(v, { email: `${v.email},evil@evil.test` })), 303, 0],
  ['a name before the address', withBody((v) => formBy(v, { email: `Evil <${v.email}>` })), 303, 0],

  ['no content type', () => ({ type: undefined }), 415, 0],
  ['plain text, as a form of another site can send it', () => ({ type: 'text/plain' }), 415, 0],
  ['JSON', (v) => ({ type: 'application/json', body: JSON.stringify(v) }), 415, 0],
  ['a multipart form', () => ({ type: 'multipart/form-data; boundary=x' }), 415, 0],
  ['two content types', () => ({ type: `text/plain, ${FORM}` }), 415, 0],
  ['the fields in the query', (v) => ({ path: `/login/email?${formBy(v)}`, body: '' }), 403, 0],
  ['a GET with the fields', (v) => ({ method: 'GET', path: `/login/email?${formBy(v)}`, body: undefined }), 404, 0],
  ['a PUT', () => ({ method: 'PUT' }), 404, 0],

  ['no cookie, as from another site', () => ({ cookie: '', headers: { origin: 'https://evil.test' } }), 403, 0],
  [
    'the cookie from another site, with a token of there',
    (v, a) => ({ body: formBy(v, { token: a.token }), headers: { origin: 'https://evil.test' } }),
    403,
    0,
  ],
  ['the cookie of another login', withCookie((_, a) => a.cookie), 403, 0],
  ['the cookie of another login before the own', withCookie((v, a) => `${a.cookie}; ${v.cookie}`), 403, 0],
  ['the cookie of another login after the own', withCookie((v, a) => `${v.cookie}; ${a.cookie}`), 303, 1],
  ['the cookie without the prefix that only https can set', withCookie((v) => v.cookie.slice(7)), 403, 0],
  ['a cookie in quotation marks', withCookie((v) => v.cookie.replace(/=(.*)/, '="$1"')), 403, 0],
  ['a cookie that was made up', withCookie(() => `__Host-usher=${'A'.repeat(43)}`), 403, 0],
  ['a cookie of 6 KB', withCookie(() => `__Host-usher=${'A'.repeat(6_000)}`), 403, 0],
  ['a cookie of separators', withCookie((v) => ';;=;__Host-usher;=__Host-usher;,'.concat(v.cookie)), 403, 0],
  ['hundreds of other cookies', withCookie((v) => `${'a=1; usher=2; '.repeat(400)}${v.cookie}`), 303, 1],
];

async function attackWith(attack: Attack, httpVersion: '1.1' | '2'): Promise<{ status: number; victim: Person }> {
  const [victim, attacker] = [await arrive(), await arrive()];
  const { cookie = victim.cookie, headers, ...sent } = attack(victim, attacker);
  const type = 'type' in sent ? sent.type : FORM;
  const { status } = await request(service.url, {
    httpVersion,
    method: 'POST',
    path: '/login/email',
    body: formBy(victim),
    ...sent,
    headers: {
      'x-forwarded-for': randomAddress(),
      ...(type && { 'content-type': type }),
      ...(cookie && { cookie }),
      ...headers,
    },
  });
  const strangers = mailbox.codes.filter(({ email }) => email === attacker.email || email.includes('evil'));
  expect(strangers).toEqual([]);
  return { status, victim };
}

describe('a form for a code with', () => {
  it.each(attacks.map((attack, at) => [...attack, at] as const))('%s', async (_name, attack, status, codes, at) => {
    for (let round = 0; round < ROUNDS; round++) {
      const answered = await attackWith(attack, (at + round) % 2 === 0 ? '1.1' : '2');
      expect(answered.status).toBe(status);
      const { victim } = answered;
      expect(mailbox.codes.filter(({ email }) => email === victim.email)).toHaveLength(codes);
      // Whatever it was, the victim can still sign in.
      const page = await victim.browser.open(victim.path);
      const codePage = await victim.browser.submit(page, '/login/email', { email: victim.email });
      const code = mailbox.codeFor(victim.email);
      expect((await victim.browser.submit(codePage, '/login/code', { code })).status).toBe(303);
    }
  });

  it('any of these leaves no trace in the log of warnings and errors', (context) => {
    report(context, { tried: `${ROUNDS} times each of ${attacks.length} hostile forms`, lost: 'nothing' });
    expect(log).toBe('');
  });
});

it('a form sent again and again sends five codes, and the last of them signs in', async () => {
  const victim = await arrive();
  for (let replay = 0; replay < 8; replay++) {
    await victim.browser.post('/login/email', { intent: victim.intent, token: victim.token, email: victim.email });
  }
  expect(mailbox.codes.filter(({ email }) => email === victim.email)).toHaveLength(5);
  const codePage = await victim.browser.open(`/login/code?intent=${victim.intent}`);
  const code = mailbox.codeFor(victim.email);
  expect((await victim.browser.submit(codePage, '/login/code', { code })).status).toBe(303);
});

describe('what somebody else wrote is shown as text, and does nothing', () => {
  const HOSTILE = `"><script>alert(1)</script>'&\r\nSet-Cookie: evil=1`;

  it('in the state, which no page shows, and which goes back as it came', async () => {
    const { path } = await beginLogin(service, tenant, { state: HOSTILE });
    const browser = new LoginBrowser(service);
    const page = await browser.open(path);
    expect(page.body).not.toContain('alert(1)');
    const { location = '', cookies } = await browser.submit(page, '/login/cancel');
    expect(location).toMatch(/^[\x21-\x7e]+$/);
    expect(new URL(location).searchParams.get('state')).toBe(HOSTILE);
    expect(cookies).toEqual([]);
  });

  it.each(['problem', 'email', 'alert', 'code', 'error'])('in the query of a link, as %s', async (name) => {
    const victim = await arrive();
    for (const value of [HOSTILE, 'constructor', '__proto__', 'x'.repeat(4_000)]) {
      const page = await victim.browser.open(`${victim.path}&${encode({ [name]: value })}`);
      expect(page.status).toBe(200);
      expect(page.alert).toBe('');
      expect(page.body).not.toContain('alert(1)');
    }
  });

  it.each([
    ['HTML', encodeURIComponent(HOSTILE)],
    ['what is no escape', '%zz%'],
    ['NUL', '%00'],
    ['kilobytes', '%22'.repeat(1_500)],
  ])('in the cookie that remembers the address: %s', async (_name, value) => {
    const victim = await arrive();
    victim.browser.cookie = `${victim.cookie}; usher-email=${value}`;
    for (const path of [victim.path, `/login/code?intent=${victim.intent}`]) {
      const page = await victim.browser.open(path);
      expect(page.status).toBe(200);
      expect(page.body).not.toContain('<script>alert');
      expect(textOf(page.heading)).not.toBe('');
    }
  });
});
