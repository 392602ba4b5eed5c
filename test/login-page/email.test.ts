/** Signing in with a code from an e-mail. Its limits: test/robustness/login-limits.test.ts. */
import { hash, randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { deriveLoginCodeKeys, digestLoginCode } from '../../src/domain/login/login-code.ts';
import { LANGUAGES } from '../../src/texts/texts.ts';
import { MINUTE, SECOND } from '../support/clock.ts';
import { beginLogin, formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { type Arrival, type Arrived, type AskedForCode, LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { adminClient, clientsOf, createTestUser, PUBLIC_URL, REDIRECT_URI, type TestUser } from '../support/service.ts';

/** The first of five tries. */
const WRONG = 'That is not the code we sent. You can try 4 more times.';
const NO_LONGER_VALID = 'This code is not valid any more. Please have a new one sent.';
const NO_CODE = 'Please enter the digits from the e-mail.';

const REDIRECT_URI_WITH_QUERY = 'https://app.test/callback?tenant=a%20b&empty=';

const fixture = await LoginFixture.open({ redirectUris: [REDIRECT_URI, REDIRECT_URI_WITH_QUERY] });
const { clock, mailbox, service, tenant } = fixture;
afterAll(() => fixture.close());

const shiftDigits = (code: string, zero: number) =>
  code.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
const authTokenOf = ({ location = '' }: LoginPage) => new URL(location).searchParams.get('authToken') ?? '';

describe('a person signs in', () => {
  it('and arrives at the application, which exchanges the token', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const state = 'x&authToken=ü +%/';
    const login = await beginLogin(service, tenant, { redirectUri: REDIRECT_URI_WITH_QUERY, state });
    const asked = await fixture.askForCode({ login, user });
    const reply = await asked.enter(asked.code);
    const { location = '', headers } = reply;
    expect({ status: reply.status, body: reply.body }).toEqual({ status: 303, body: '' });
    expect(location.startsWith(`${REDIRECT_URI_WITH_QUERY}&authToken=`)).toBe(true);
    const { searchParams } = new URL(location);
    expect([...searchParams.keys()]).toEqual(['tenant', 'empty', 'authToken', 'state', 'iss']);
    expect(searchParams.get('state')).toBe(state);
    expect(searchParams.get('iss')).toBe(PUBLIC_URL);
    expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
    const answer = await clientsOf(service, tenant).auth.exchangeToken({ authToken: authTokenOf(reply) });
    expect(answer.user).toMatchObject({ email: user.email, name: 'Ada', walletAddress: user.walletAddress });
    expect(answer.session?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['spaces around and between', (code: string) => `  ${code.slice(0, 3)} ${code.slice(3)} `],
    ['a no-break space', (code: string) => `${code.slice(0, 3)}\u00a0${code.slice(3)}`],
    ['a hyphen', (code: string) => `${code.slice(0, 3)}-${code.slice(3)}`],
    ['words around it', (code: string) => `Your code is ${code.slice(0, 3)} ${code.slice(3)}!`],
    ['full-width digits', (code: string) => shiftDigits(code, 0xff10)],
    ['Arabic digits', (code: string) => shiftDigits(code, 0x660)],
    ['Persian digits', (code: string) => shiftDigits(code, 0x6f0)],
  ])('with %s in the code', async (_spelling, spell) => {
    const asked = await fixture.askForCode();
    expect((await asked.enter(spell(asked.code))).status).toBe(303);
  });

  it('with the address in any case, and the e-mail goes to the address of the user', async () => {
    const { id, email } = await createTestUser(service, { email: 'Grace.Hopper@Example.COM' });
    const { browser, page } = await fixture.arrive();
    const codePage = await browser.submit(page, '/login/email', { email: ' grace.hopper@example.com ' });
    const code = expect.stringMatching(/^\d{6}$/);
    expect(mailbox.codes.at(-1)).toEqual({ email, code, applicationName: tenant.name });
    const reply = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
    const [, payload = ''] = authTokenOf(reply).split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString()).sub).toBe(id);
  });

  it('at the fifth try, just before the code is 10 minutes old, with the address still on the page', async () => {
    const asked = await fixture.askForCode();
    clock.advance(10 * MINUTE - 1);
    for (let miss = 1; miss <= 4; miss++) {
      const again = await asked.enter(wrongCode(asked.code, miss));
      const chances = miss < 4 ? `${5 - miss} more times` : 'once more';
      expect(again.alert).toBe(`That is not the code we sent. You can try ${chances}.`);
      expect(formOf(again, '/login/code').fields.email).toBe(asked.user.email);
      expect(formOf(again, '/login/email/again').fields.email).toBe(asked.user.email);
    }
    expect((await asked.enter(asked.code)).status).toBe(303);
  });

  it('after the encryption key has been rotated', async () => {
    const asked = await fixture.askForCode();
    const { secrets } = service.config;
    const encryptionKeys = [randomBytes(32), ...(secrets.encryptionKeys ?? [])];
    await using rotated = await fixture.startReplica({ secrets: { ...secrets, encryptionKeys } });
    expect((await asked.enter(wrongCode(asked.code), rotated)).alert).toBe(WRONG);
    clock.advance(30 * SECOND);
    await asked.browser.at(rotated).submit(asked.codePage, '/login/email/again');
    expect(mailbox.sentTo(asked.user.email).map(({ code }) => code)).toEqual([asked.code, asked.code]);
    expect((await asked.enter(asked.code, rotated)).status).toBe(303);
  });
});

/** A login that must not be completed, and the reply to the attempt. */
type Attempt = Promise<Pick<Arrived, 'login'> & { readonly reply: LoginPage }>;

async function enter(asked: AskedForCode, code = asked.code): Attempt {
  return { login: asked.login, reply: await asked.enter(code) };
}

/** Enters the code of one login at another. */
const replayed = (arrivalAfter: (first: AskedForCode) => Arrival & { user?: TestUser }) => async (): Attempt => {
  const first = await fixture.askForCode();
  const second = await fixture.askForCode(arrivalAfter(first));
  if (first.code === second.code) throw new Error('Two codes are equal by chance');
  return enter(second, first.code);
};

const attempts: [name: string, attempt: () => Attempt, alert: string][] = [
  [
    'a code that has been used',
    async () => {
      const used = await fixture.askForCode();
      expect((await used.enter(used.code)).status).toBe(303);
      const { login, page } = await fixture.arrive({ browser: used.browser });
      const fields = { ...formOf(page, '/login/email').fields, email: used.user.email, code: used.code };
      return { login, reply: await used.browser.post('/login/code', fields) };
    },
    NO_LONGER_VALID,
  ],
  [
    'the code of another browser at the same login, from one that has asked for none',
    async () => {
      const victim = await fixture.askForCode();
      const { browser, page, login } = await fixture.arrive({ login: victim.login });
      const fields = { ...formOf(page, '/login/email').fields, email: victim.user.email, code: victim.code };
      return { login, reply: await browser.post('/login/code', fields) };
    },
    NO_LONGER_VALID,
  ],
  ['the code of another login in the same browser', replayed(({ browser, user }) => ({ browser, user })), WRONG],
  ['the code of another browser at the same login', replayed(({ login }) => ({ login })), WRONG],
  ['a code that one for another address has replaced', replayed(({ browser, login }) => ({ browser, login })), WRONG],
  [
    'a code that is 10 minutes old',
    async () => {
      const asked = await fixture.askForCode();
      clock.advance(10 * MINUTE);
      return enter(asked);
    },
    NO_LONGER_VALID,
  ],
  [
    'the right code after five wrong ones, though it has been sent again before the last',
    async () => {
      const asked = await fixture.askForCode();
      for (let miss = 1; miss <= 4; miss++) await asked.enter(wrongCode(asked.code, miss));
      clock.advance(30 * SECOND);
      await asked.browser.submit(asked.codePage, '/login/email/again');
      expect((await asked.enter(wrongCode(asked.code, 5))).alert).toBe(NO_LONGER_VALID);
      return enter(asked);
    },
    NO_LONGER_VALID,
  ],
  [
    'the code that was generated for an address without a user',
    async () => {
      const { browser, login, page } = await fixture.arrive();
      const codePage = await browser.submit(page, '/login/email', { email: 'nobody@example.com' });
      // Nobody is sent it: the test makes it one that can be guessed.
      const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);
      const { sql } = service.database;
      const [row] = await sql`select id from login_codes where login_intent_id = ${login.loginIntentId}`;
      await sql`update login_codes set code_digest = ${digestLoginCode(keys, row?.id, '123456')} where id = ${row?.id}`;
      return { login, reply: await browser.submit(codePage, '/login/code', { code: '123456' }) };
    },
    WRONG,
  ],
  [
    'the code of a user who has been deleted since',
    async () => {
      const asked = await fixture.askForCode();
      await adminClient(service).deleteUser({ userId: asked.user.id });
      return enter(asked);
    },
    NO_LONGER_VALID,
  ],
  spelled('with a zero before it', (code) => `0${code}`),
  spelled('with NUL', (code) => `${code}\0`, NO_CODE),
  spelled('200 times', (code) => code.repeat(200), NO_CODE),
];

function spelled(name: string, spell: (code: string) => string, alert = WRONG): (typeof attempts)[number] {
  const attempt = async () => {
    const asked = await fixture.askForCode();
    return enter(asked, spell(asked.code));
  };
  return [`the right code ${name}`, attempt, alert];
}

describe('nobody signs in with', () => {
  it('a code that was sent to an address which is not the user’s any more', async () => {
    const asked = await fixture.askForCode();
    await adminClient(service).updateUser({ userId: asked.user.id, email: `new.${asked.user.email}` });
    await fixture.expectRefused(asked, await asked.enter(asked.code), NO_LONGER_VALID);
    // Nor as somebody else, who has got the address since.
    await createTestUser(service, { email: asked.user.email });
    await fixture.expectRefused(asked, await asked.enter(asked.code), NO_LONGER_VALID);
  });

  it.each(attempts)('%s', async (_name, attempt, alert) => {
    const { reply, login } = await attempt();
    await fixture.expectRefused({ login }, reply, alert);
  });

  it('their own code as another user, whatever address they send', async () => {
    const own = await fixture.askForCode();
    const { email } = await createTestUser(service);
    const reply = await own.browser.submit(own.codePage, '/login/code', { email, code: own.code });
    const { user } = await clientsOf(service, tenant).auth.exchangeToken({ authToken: authTokenOf(reply) });
    expect(user?.email).toBe(own.user.email);
  });
});

it('the database has no code, and no hash of one that a million guesses reveal', async () => {
  const { code, login } = await fixture.askForCode();
  const { sql } = service.database;
  const [row] = await sql`
    select id, code_digest, row_to_json(login_codes)::text as json
    from login_codes where login_intent_id = ${login.loginIntentId}`;
  // An ID may contain six digits by chance.
  expect(row?.json.replaceAll(/"[\da-f-]{36}"/g, '')).not.toContain(code);
  const salted = [code, `${row?.id}:${code}`, `${row?.id}${code}`, `${login.loginIntentId}:${code}`];
  for (const text of salted) expect(row?.code_digest.toString('hex')).not.toBe(hash('sha256', text));
  expect(row?.code_digest).toHaveLength(32);
  const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);
  expect(digestLoginCode(keys, 'a', '123456')).not.toEqual(digestLoginCode(keys, 'b', '123456'));
});

it('replies do not reveal whether an address has a user, up to the limit of codes and tries', async () => {
  const [known, unknown, deleted] = ['ada.known@example.com', 'bob.other@example.com', 'eve.leave@example.com'];
  await createTestUser(service, { email: known });
  const { id: userId } = await createTestUser(service, { email: deleted });
  await adminClient(service).deleteUser({ userId });
  const seen = await observe(known);
  expect(seen).toHaveLength(10 + 6 + 1);
  expect(seen[0]).toContain('EMAIL');
  expect(await observe(unknown)).toEqual(seen);
  expect(await observe(deleted)).toEqual(seen);
  expect([known, unknown, deleted].map((email) => mailbox.sentTo(email).length)).toEqual([10, 0, 0]);
});

it.each([...LANGUAGES.keys()])('replies in %s do not reveal whether an address has a user', async (tag) => {
  const known = `known.${tag}@example.com`;
  await createTestUser(service, { email: known });
  const seen = await Promise.all(
    [known, `other.${tag}@example.com`].map(async (email) => {
      const { browser, page } = await fixture.arrive({ browser: new LoginBrowser(service, { languages: tag }) });
      const codePage = await browser.submit(page, '/login/email', { email });
      expect(codePage.headers['content-language']).toBe(tag);
      const refused = await browser.submit(codePage, '/login/code', { code: '000000x' });
      return [visibleOf(codePage, email), visibleOf(refused, email)];
    }),
  );
  expect(seen[1]).toEqual(seen[0]);
});

/** Asks for eleven codes, of which ten are allowed, and enters six wrong ones at the first. */
async function observe(email: string): Promise<string[]> {
  const seen: string[] = [];
  for (let round = 0; round < 11; round++) {
    const { browser, page } = await fixture.arrive();
    const codePage = await browser.submit(page, '/login/email', { email });
    seen.push(visibleOf(codePage, email));
    if (round > 0) continue;
    const code = wrongCode(mailbox.sentTo(email).at(-1)?.code ?? '000000');
    for (let guess = 0; guess < 6; guess++) {
      seen.push(visibleOf(await browser.submit(codePage, '/login/code', { code }), email));
    }
  }
  return seen;
}

/** Returns the reply without what differs between any two replies. */
function visibleOf({ status, headers, body }: LoginPage, email: string): string {
  const nonce = /'nonce-([^']+)'/.exec(headers['content-security-policy'] ?? '')?.[1] ?? '';
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return JSON.stringify({ status, headers: rest, body })
    .replaceAll(nonce, 'NONCE')
    .replaceAll(email, 'EMAIL')
    .replace(/name=\\"token\\" value=\\"[\w-]+/g, 'TOKEN')
    .replace(/name=\\"once\\" value=\\"[\w-]+/g, 'ONCE')
    .replace(/name=\\"intent\\" value=\\"[\w-]+/g, 'INTENT')
    .replace(/intent=[\w-]+/g, 'intent=INTENT');
}
