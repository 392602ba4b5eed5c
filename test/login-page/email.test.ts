import { hash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { openClient } from '../../src/database/open-client.ts';
import { deriveLoginCodeKeys, digestLoginCode } from '../../src/domain/login/login-code.ts';
import { createLogger } from '../../src/log.ts';
import { HOUR, MINUTE, type TestClock } from '../support/clock.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import {
  type BegunLogin,
  beginLogin,
  formOf,
  LOGIN_CONFIG,
  LoginBrowser,
  type LoginPage,
  randomAddress,
} from '../support/login-browser.ts';
import { type AskedForCode, LoginFixture } from '../support/login-fixture.ts';
import { MailServer, RudeServer } from '../support/mail-server.ts';
import { Mailbox, wrongCode } from '../support/mailbox.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
  testConfig,
} from '../support/service.ts';

const WRONG = 'That is not the code we sent. Please check it and try again.';
const NO_LONGER_VALID = 'This code is not valid any more. Please send a new one.';
const NO_CODE = 'Please enter the six digits from the e-mail.';
const TOO_MANY = 'Too many codes have been asked for. Please try again in an hour.';

const REDIRECT_URI_WITH_QUERY = 'https://app.test/callback?tenant=a%20b&empty=';

let fixture: LoginFixture;
let clock: TestClock;
let mailbox: Mailbox;
let service: TestService;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await LoginFixture.open({ redirectUris: [REDIRECT_URI, REDIRECT_URI_WITH_QUERY] });
  ({ clock, mailbox, service, tenant } = fixture);
});
afterAll(() => fixture.close());

const typeCode = ({ browser, codePage }: AskedForCode, code: string) =>
  browser.submit(codePage, '/login/code', { code });

describe('with the code', () => {
  it('the person arrives at the application, which exchanges the token', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const login = await beginLogin(service, tenant, {
      redirectUri: REDIRECT_URI_WITH_QUERY,
      state: 'x&authToken=ü +%/',
    });
    const waiting = await fixture.askForCode({ login, user });
    const { status, location = '', body, headers } = await typeCode(waiting, waiting.code);
    expect({ status, body }).toEqual({ status: 303, body: '' });
    expect(location.startsWith(`${REDIRECT_URI_WITH_QUERY}&authToken=`)).toBe(true);
    const { searchParams } = new URL(location);
    expect([...searchParams.keys()]).toEqual(['tenant', 'empty', 'authToken', 'state', 'iss']);
    expect(searchParams.get('state')).toBe('x&authToken=ü +%/');
    expect(searchParams.get('iss')).toBe(PUBLIC_URL);
    expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
    const authToken = searchParams.get('authToken') ?? '';
    const answer = await clientsOf(service, tenant).auth.exchangeToken({ authToken });
    expect(answer.user).toMatchObject({ email: user.email, name: 'Ada', walletAddress: user.walletAddress });
    expect(answer.session?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['spaces around and between', (code: string) => `  ${code.slice(0, 3)} ${code.slice(3)} `],
    ['a tab and a line break', (code: string) => `\t${code}\r\n`],
    ['a no-break space', (code: string) => `${code.slice(0, 3)}\u00a0${code.slice(3)}`],
  ])('it signs in with %s', async (_spelling, spell) => {
    const waiting = await fixture.askForCode();
    expect((await typeCode(waiting, spell(waiting.code))).status).toBe(303);
  });

  it('it signs in whatever the case the address was typed in, and the letter goes to the address of the user', async () => {
    const { id, email } = await createTestUser(service, { email: 'Grace.Hopper@Example.COM' });
    const browser = new LoginBrowser(service);
    const page = await browser.open((await beginLogin(service, tenant)).path);
    const codePage = await browser.submit(page, '/login/email', { email: ' grace.hopper@example.com ' });
    expect(mailbox.letters.at(-1)).toEqual({
      email,
      code: expect.stringMatching(/^\d{6}$/),
      applicationName: tenant.name,
    });
    const { location = '' } = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
    const [, payload = ''] = (new URL(location).searchParams.get('authToken') ?? '').split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString()).sub).toBe(id);
  });

  it('the fifth try counts', async () => {
    const waiting = await fixture.askForCode();
    for (let miss = 1; miss <= 4; miss++) {
      expect((await typeCode(waiting, wrongCode(waiting.code, miss))).alert).toBe(WRONG);
    }
    expect((await typeCode(waiting, waiting.code)).status).toBe(303);
  });

  it('it signs in until just before its 10 minutes are over', async () => {
    const waiting = await fixture.askForCode();
    clock.advance(10 * MINUTE - 1);
    expect((await typeCode(waiting, waiting.code)).status).toBe(303);
  });

  it('a new one signs in after five wrong tries at the old one', async () => {
    const waiting = await fixture.askForCode();
    for (let miss = 1; miss <= 5; miss++) await typeCode(waiting, wrongCode(waiting.code, miss));
    clock.advance(1);
    const again = await waiting.browser.submit(waiting.codePage, '/login/email/again');
    const renewed = { ...waiting, codePage: again };
    expect((await typeCode(renewed, mailbox.codeFor(waiting.user.email))).status).toBe(303);
  });

  it('it signs in after the encryption key has been rotated', async () => {
    const waiting = await fixture.askForCode();
    const { secrets } = service.config;
    const encryptionKeys = [randomBytes(32), ...(secrets.encryptionKeys ?? [])];
    await using rotated = await fixture.startReplica({ secrets: { ...secrets, encryptionKeys } });
    const { fields } = formOf(waiting.codePage, '/login/code');
    const browser = waiting.browser.at(rotated);
    expect((await browser.post('/login/code', { ...fields, code: wrongCode(waiting.code) })).alert).toBe(WRONG);
    expect((await browser.post('/login/code', { ...fields, code: waiting.code })).status).toBe(303);
  });

  it('the address stays on the page for another try', async () => {
    const waiting = await fixture.askForCode();
    const again = await typeCode(waiting, wrongCode(waiting.code));
    expect(formOf(again, '/login/code').fields.email).toBe(waiting.user.email);
    expect(formOf(again, '/login/email/again').fields.email).toBe(waiting.user.email);
  });
});

interface Attempt {
  readonly reply: LoginPage;
  /** The login that must not be completed by it. */
  readonly login: BegunLogin;
}

const spellings: [name: string, spell: (code: string) => string, alert: string][] = [
  ['the right code in full-width digits', (code) => respell(code, 0xff10), WRONG],
  ['the right code in Arabic-Indic digits', (code) => respell(code, 0x0660), WRONG],
  ['the right code in mathematical bold digits', (code) => respell(code, 0x1d7ce), WRONG],
  ['the right code with a zero before it', (code) => `0${code}`, WRONG],
  ['the right code with a sign', (code) => `+${code}`, WRONG],
  ['the right code as a decimal fraction', (code) => `${code}.0`, WRONG],
  ['the right code without its last digit', (code) => code.slice(0, 5), WRONG],
  ['the right code twice on end', (code) => `${code}${code}`, WRONG],
  ['the right code among others', (code) => `${wrongCode(code)},${code}`, WRONG],
  ['the right code with a zero-width joiner', (code) => `${code}\u200d`, WRONG],
  ['the right code with NUL', (code) => `${code}\0`, NO_CODE],
  ['no code', () => '', NO_CODE],
  ['spaces', () => '      ', WRONG],
  ['more digits than any code has', (code) => code.repeat(200), NO_CODE],
];

const attacks: [name: string, attempt: () => Promise<Attempt>, alert: string][] = [
  [
    'the right code after five wrong ones',
    async () => {
      const waiting = await fixture.askForCode();
      const alerts = [];
      for (let miss = 1; miss <= 5; miss++) alerts.push((await typeCode(waiting, wrongCode(waiting.code, miss))).alert);
      expect(alerts).toEqual([WRONG, WRONG, WRONG, WRONG, NO_LONGER_VALID]);
      return { ...waiting, reply: await typeCode(waiting, waiting.code) };
    },
    NO_LONGER_VALID,
  ],
  [
    'the right code after a hundred guesses at once',
    async () => {
      const waiting = await fixture.askForCode();
      const guesses = Array.from({ length: 100 }, (_, miss) => wrongCode(waiting.code, miss + 1));
      const replies = await Promise.all(guesses.map((guess) => typeCode(waiting, guess)));
      expect(replies.filter(({ alert }) => alert === WRONG)).toHaveLength(4);
      expect(replies.filter(({ alert }) => alert === NO_LONGER_VALID)).toHaveLength(96);
      return { ...waiting, reply: await typeCode(waiting, waiting.code) };
    },
    NO_LONGER_VALID,
  ],
  [
    'a code that has been used',
    async () => {
      const used = await fixture.askForCode();
      expect((await typeCode(used, used.code)).status).toBe(303);
      const login = await beginLogin(service, tenant);
      const codePage = await used.browser.open(login.path);
      const fields = { ...formOf(codePage, '/login/email').fields, email: used.user.email, code: used.code };
      return { login, reply: await used.browser.post('/login/code', fields) };
    },
    NO_LONGER_VALID,
  ],
  [
    'the code of another login of the same person in the same browser',
    async () => {
      const first = await fixture.askForCode();
      const { browser, user } = first;
      const second = await fixture.askForCode({ browser, user });
      if (first.code === second.code) throw new Error('Two codes are equal by chance');
      return { ...second, reply: await typeCode(second, first.code) };
    },
    WRONG,
  ],
  [
    'the code of another browser at the same login, which has asked for one itself',
    async () => {
      const victim = await fixture.askForCode();
      const attacker = await fixture.askForCode({ login: victim.login });
      return { ...attacker, reply: await typeCode(attacker, victim.code) };
    },
    WRONG,
  ],
  [
    'the code of another browser at the same login, which has asked for none',
    async () => {
      const victim = await fixture.askForCode();
      const browser = new LoginBrowser(service);
      const page = await browser.open(victim.login.path);
      const { fields } = formOf(page, '/login/email');
      const typed = { email: victim.user.email, code: victim.code };
      return { ...victim, reply: await browser.post('/login/code', { ...fields, ...typed }) };
    },
    NO_LONGER_VALID,
  ],
  [
    'the code sent to another address',
    async () => {
      const own = await fixture.askForCode();
      const { browser, login } = own;
      const other = await fixture.askForCode({ browser, login });
      return { ...other, reply: await typeCode(other, own.code) };
    },
    WRONG,
  ],
  [
    'a code of 10 minutes of age',
    async () => {
      const waiting = await fixture.askForCode();
      clock.advance(10 * MINUTE);
      return { ...waiting, reply: await typeCode(waiting, waiting.code) };
    },
    NO_LONGER_VALID,
  ],
  [
    'a code that a newer one has taken the place of',
    async () => {
      const first = await fixture.askForCode();
      const second = await fixture.askForCode(first);
      if (first.code === second.code) throw new Error('Two codes are equal by chance');
      return { ...second, reply: await typeCode(second, first.code) };
    },
    WRONG,
  ],
  [
    'the code that was made for an address nobody has',
    async () => {
      const { browser, login, page } = await fixture.arrive();
      const codePage = await browser.submit(page, '/login/email', { email: 'nobody@example.com' });
      // Nobody is told it, so it is put where it can be guessed.
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
      const waiting = await fixture.askForCode();
      await adminClient(service).deleteUser({ userId: waiting.user.id });
      return { ...waiting, reply: await typeCode(waiting, waiting.code) };
    },
    'That did not work. Please try again.',
  ],
  ...spellings.map(([name, spell, alert]): [string, () => Promise<Attempt>, string] => [
    name,
    async () => {
      const waiting = await fixture.askForCode();
      return { ...waiting, reply: await typeCode(waiting, spell(waiting.code)) };
    },
    alert,
  ]),
];

function respell(code: string, zero: number): string {
  return [...code].map((digit) => String.fromCodePoint(zero + Number(digit))).join('');
}

describe('nobody gets in with', () => {
  it.each(attacks)('%s', async (_name, attempt, alert) => {
    const { reply, login } = await attempt();
    expect({ status: reply.status, alert: reply.alert, location: reply.location }).toEqual({
      status: 200,
      alert,
      location: undefined,
    });
    expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  });

  it('one’s own code as somebody else, whatever address is sent along with it', async () => {
    const own = await fixture.askForCode();
    const victim = await createTestUser(service);
    const { location = '' } = await own.browser.submit(own.codePage, '/login/code', {
      email: victim.email,
      code: own.code,
    });
    const authToken = new URL(location).searchParams.get('authToken') ?? '';
    const { user } = await clientsOf(service, tenant).auth.exchangeToken({ authToken });
    expect(user?.email).toBe(own.user.email);
  });

  it('the code of a login that has expired: 410', async () => {
    const login = await beginLogin(service, tenant);
    clock.advance(25 * MINUTE);
    const waiting = await fixture.askForCode({ login });
    clock.advance(5 * MINUTE);
    const { status, location } = await typeCode(waiting, waiting.code);
    expect({ status, location }).toEqual({ status: 410, location: undefined });
  });
});

describe('at rest', () => {
  it('a code is nowhere in the database, nor is a hash of it that a million tries would undo', async () => {
    const letters = [await fixture.askForCode(), await fixture.askForCode(), await fixture.askForCode()];
    const { sql } = service.database;
    const tables = await sql`select table_name from information_schema.tables where table_schema = 'public'`;
    const rows = await Promise.all(
      tables.map(({ table_name }) => sql`select row_to_json(t)::text as json from ${sql(table_name)} t`),
    );
    const everything = rows.flat().map(({ json }) => String(json));
    const isKept = (secret: string) => everything.some((json) => json.includes(secret));
    for (const { code, login } of letters) {
      expect(isKept(login.loginIntentId)).toBe(true);
      const [row] = await sql`select id, code_digest from login_codes where login_intent_id = ${login.loginIntentId}`;
      const salted = [code, `${row?.id}:${code}`, `${row?.id}${code}`, `${login.loginIntentId}:${code}`];
      for (const text of salted) expect(isKept(hash('sha256', text))).toBe(false);
      expect(row?.code_digest).toHaveLength(32);
    }
    // Six digits may be found in some ID by chance, but not all three times.
    expect(letters.filter(({ code }) => isKept(code)).length).toBeLessThan(letters.length);
  });

  it('equal codes do not look alike', () => {
    const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);
    expect(digestLoginCode(keys, 'a', '123456')).not.toEqual(digestLoginCode(keys, 'b', '123456'));
  });
});

describe('how many codes', () => {
  /** Asks once, from a browser and an IP address of its own unless given. */
  async function ask(email: string, { address = randomAddress(), by = service, of = tenant } = {}): Promise<LoginPage> {
    const browser = new LoginBrowser(by, { address });
    const page = await browser.open((await beginLogin(by, of)).path);
    return browser.submit(page, '/login/email', { email });
  }

  it('five an hour go to an address, in whatever case it is typed, and the page says so', async () => {
    const { email } = await createTestUser(service, { email: 'five@Example.com' });
    const spellings = [
      'five@example.com',
      'FIVE@EXAMPLE.COM',
      'Five@example.com',
      'five@Example.Com',
      ' five@example.com',
    ];
    for (const spelling of spellings) expect((await ask(spelling)).alert).toBe('');
    const refused = await ask('fIVE@example.com');
    expect(refused.alert).toBe(TOO_MANY);
    expect(formOf(refused, '/login/email').fields.email).toBe('fIVE@example.com');
    expect(mailbox.letters.filter((letter) => letter.email === email)).toHaveLength(5);
    expect((await ask('six@example.com')).alert).toBe('');
  });

  it('five an hour go to an address nobody has', async () => {
    for (let count = 0; count < 5; count++) expect((await ask('nobody.at.all@example.com')).alert).toBe('');
    expect((await ask('nobody.at.all@example.com')).alert).toBe(TOO_MANY);
  });

  it('twenty an hour are asked for from one IP address, for whomever', async () => {
    const address = randomAddress();
    for (let count = 0; count < 20; count++) {
      expect((await ask(`caller.${count}@example.com`, { address })).alert).toBe('');
    }
    const refused = await ask('caller.20@example.com', { address });
    expect(refused.alert).toBe(TOO_MANY);
    expect((await ask('caller.20@example.com')).alert).toBe('');
  });

  it('and of one network, where the address is of IPv6', async () => {
    for (let host = 1; host <= 20; host++) {
      expect((await ask(`ipv6.${host}@example.com`, { address: `2001:db8:0:7::${host}` })).alert).toBe('');
    }
    expect((await ask('ipv6.21@example.com', { address: '2001:DB8:0:7:ffff::1' })).alert).toBe(TOO_MANY);
    expect((await ask('ipv6.21@example.com', { address: '2001:db8:0:8::1' })).alert).toBe('');
  });

  it('a refusal writes nothing', async () => {
    const address = randomAddress();
    for (let count = 0; count < 20; count++) await ask(`writer.${count}@example.com`, { address });
    const rows = () => service.database.sql`select ctid, * from rate_limits order by key`;
    const before = await rows();
    expect((await ask('writer.20@example.com', { address })).alert).toBe(TOO_MANY);
    expect(await rows()).toEqual(before);
  });

  it('exactly five of thirty at once, whichever replica they come to', async () => {
    await using replica = await fixture.startReplica();
    const { email } = await createTestUser(service);
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, index) => ask(email, { by: index % 2 ? service : replica })),
    );
    expect(replies.filter(({ alert }) => alert === '')).toHaveLength(5);
    expect(replies.filter(({ alert }) => alert === TOO_MANY)).toHaveLength(25);
    expect(mailbox.letters.filter((letter) => letter.email === email)).toHaveLength(5);
  });

  it('exactly twenty of thirty at once from one IP address', async () => {
    const address = randomAddress();
    const users = await Promise.all(Array.from({ length: 30 }, () => createTestUser(service)));
    const before = mailbox.letters.length;
    const replies = await Promise.all(users.map(({ email }) => ask(email, { address })));
    expect(replies.filter(({ alert }) => alert === '')).toHaveLength(20);
    expect(replies.filter(({ alert }) => alert === TOO_MANY)).toHaveLength(10);
    expect(mailbox.letters).toHaveLength(before + 20);
  });

  it('each becomes free again an hour after it was used', async () => {
    const email = 'sliding@example.com';
    const isLetThrough = async (...waits: number[]) => {
      const seen = [];
      for (const wait of waits) {
        clock.advance(wait);
        seen.push((await ask(email)).alert === '');
      }
      return seen;
    };
    // Used at 0, 10, 20, 30 and 40 minutes.
    expect(await isLetThrough(0, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    // The first is free at 60:00.000, and a refusal in between has not put it off.
    expect(await isLetThrough(20 * MINUTE - 1, 1, 0)).toEqual([false, true, false]);
    expect(await isLetThrough(10 * MINUTE - 1, 1, 0)).toEqual([false, true, false]);
    expect(await isLetThrough(HOUR, 0, 0, 0, 0, 0)).toEqual([true, true, true, true, true, false]);
  });

  it('five an hour go to an address, also in letters that only Postgres takes for the same', async () => {
    await using database = await createFoldingDatabase();
    const letters = new Mailbox();
    await using folding = await startTestService({ database, deliver: letters.deliver, config: LOGIN_CONFIG });
    const of = await createTenant(folding);
    const { email } = await createTestUser(folding, { email: 'iii@example.com' });
    const spellings = ['iii', 'İii', 'iİi', 'iiİ', 'İİi', 'İiİ', 'iİİ', 'İİİ'];
    for (const spelling of spellings) await ask(`${spelling}@example.com`, { by: folding, of });
    expect(letters.letters.filter((letter) => letter.email === email).length).toBeLessThanOrEqual(5);
  });
});

/** A database whose lower() knows letters beyond ASCII, unlike the embedded one. */
async function createFoldingDatabase(): Promise<TestDatabase> {
  const server = openClient(inject('postgresUrl'), { max: 1, onnotice: () => {} });
  await server`create database folding template template0 locale_provider builtin builtin_locale 'C.UTF-8'`;
  const url = new URL(inject('postgresUrl'));
  url.pathname = 'folding';
  await migrateDatabase(url.href);
  const sql = openClient(url.href, { max: 1, onnotice: () => {} });
  return {
    url: url.href,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end();
      await server`drop database folding with (force)`;
      await server.end();
    },
  };
}

describe('whether an address is known', () => {
  /** What a caller can tell apart: the reply without what is new in every reply. */
  function visibleOf({ status, headers, body }: LoginPage, email: string): string {
    const policy = headers['content-security-policy'] ?? '';
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
    const { date: _, 'x-request-id': __, ...rest } = headers;
    return JSON.stringify({ status, headers: rest, body })
      .replaceAll(nonce, 'NONCE')
      .replaceAll(email, 'EMAIL')
      .replace(/name=\\"token\\" value=\\"[\w-]+/g, 'TOKEN')
      .replace(/name=\\"intent\\" value=\\"[\w-]+/g, 'INTENT')
      .replace(/intent=[\w-]+/g, 'intent=INTENT');
  }

  /** All that is seen from asking for codes, one too many of them, and from guessing at each. */
  async function observe(email: string): Promise<string[]> {
    const seen: string[] = [];
    for (let round = 0; round < 6; round++) {
      const { browser, page } = await fixture.arrive();
      const codePage = await browser.submit(page, '/login/email', { email });
      seen.push(visibleOf(codePage, email));
      if (codePage.alert !== '') continue;
      const letter = mailbox.letters.findLast((candidate) => candidate.email === email);
      const guess = wrongCode(letter?.code ?? '000000');
      for (let guesses = 0; guesses < 6; guesses++) {
        seen.push(visibleOf(await browser.submit(codePage, '/login/code', { code: guess }), email));
      }
    }
    return seen;
  }

  it('is not in any reply, to the byte, from the first to the one too many', async () => {
    const [known, unknown, deleted] = ['ada.known@example.com', 'bob.other@example.com', 'eve.leave@example.com'];
    await createTestUser(service, { email: known });
    const { id: userId } = await createTestUser(service, { email: deleted });
    await adminClient(service).deleteUser({ userId });
    const seen = await observe(known);
    expect(seen).toHaveLength(5 * 7 + 1);
    expect(seen[0]).toContain('EMAIL');
    expect(await observe(unknown)).toEqual(seen);
    expect(await observe(deleted)).toEqual(seen);
    expect(mailbox.letters.filter(({ email }) => email === known)).toHaveLength(5);
    expect(mailbox.letters.filter(({ email }) => email === unknown || email === deleted)).toEqual([]);
  });
});

describe('by a real mail server', () => {
  async function withMailService<T>(
    port: number,
    run: (mail: { service: TestService; tenant: Tenant; log: () => string }) => Promise<T>,
  ): Promise<T> {
    await using database = await cloneDatabase();
    let log = '';
    const logger = createLogger('trace', {
      write(line) {
        log += line;
      },
    });
    const like = testConfig(database.url, {
      SMTP_URL: `smtp://usher:let%20me%20in@127.0.0.1:${port}`,
      MAIL_FROM: 'Usher <login@usher.test>',
    });
    await using mailing = await startTestService({ database, like, logger });
    return await run({ service: mailing, tenant: await createTenant(mailing, { name: 'The Shop' }), log: () => log });
  }

  async function askIn({ service: by, tenant: of }: { service: TestService; tenant: Tenant }, email: string) {
    const browser = new LoginBrowser(by);
    const page = await browser.open((await beginLogin(by, of)).path);
    const startedAt = performance.now();
    const codePage = await browser.submit(page, '/login/email', { email });
    return { browser, codePage, tookMs: performance.now() - startedAt };
  }

  it('the code arrives in a letter from MAIL_FROM, and signs in', async () => {
    await using server = await MailServer.start({
      authOptional: false,
      onAuth({ username, password }, _session, done) {
        if (password === 'let me in') done(null, { user: username });
        else done(new Error('No'));
      },
    });
    const { letters } = server;
    await withMailService(server.port, async (mail) => {
      const { email } = await createTestUser(mail.service);
      const { browser, codePage } = await askIn(mail, email.toUpperCase());
      await vi.waitFor(() => expect(letters).toHaveLength(1), 5_000);
      const [letter] = letters;
      expect(letter).toMatchObject({ from: 'login@usher.test', to: [email], user: 'usher' });
      expect(letter?.raw).toMatch(/^From: Usher <login@usher\.test>\r$/m);
      expect(letter?.raw).toMatch(new RegExp(`^To: ${email}\r$`, 'm'));
      const code = /^Subject: (\d{6}) is your code for The Shop\r$/m.exec(letter?.raw ?? '')?.[1] ?? '';
      expect(letter?.raw).toContain(`Your code for The Shop is ${code}. It is good for 10 minutes.`);
      expect((await browser.submit(codePage, '/login/code', { code })).status).toBe(303);
      await askIn(mail, 'nobody@example.com');
      await askIn(mail, email);
      await vi.waitFor(() => expect(letters).toHaveLength(2), 5_000);
      expect(letters.map(({ to }) => to)).toEqual([[email], [email]]);
      expect(mail.log()).not.toContain(code);
      expect(mail.log()).not.toContain(email);
    });
  });

  it('one that hangs delays no reply', async () => {
    await using server = await RudeServer.start(() => {});
    await withMailService(server.port, async (mail) => {
      const { email } = await createTestUser(mail.service);
      for (const address of [email, 'nobody@example.com', email]) {
        const { codePage, tookMs } = await askIn(mail, address);
        expect(codePage.heading).toBe('Check your e-mail');
        expect(tookMs).toBeLessThan(2_000);
      }
      await vi.waitFor(() => expect(server.connections).toBe(2), 5_000);
      // At the end it is waited for a moment.
      await mail.service.close();
      expect(mail.log().match(/"code":"shutdown","msg":"login code not sent"/g)).toHaveLength(2);
    });
  });

  it('one that is slow gets the letters even when the service ends', async () => {
    await using server = await MailServer.start({
      onAuth: (_credentials, _session, done) => done(null, { user: 'usher' }),
      onRcptTo: (_address, _session, done) => setTimeout(done, 500),
    });
    await withMailService(server.port, async (mail) => {
      const { email } = await createTestUser(mail.service);
      await askIn(mail, email);
      await mail.service.close();
      expect(server.letters.map(({ to }) => to)).toEqual([[email]]);
      expect(mail.log()).not.toContain('login code not sent');
    });
  });

  it('one that is not there delays no reply, and is in the log', async () => {
    const gone = await RudeServer.start(() => {});
    const { port } = gone;
    await gone[Symbol.asyncDispose]();
    await withMailService(port, async (mail) => {
      const { email } = await createTestUser(mail.service);
      const { codePage, tookMs } = await askIn(mail, email);
      expect(codePage.heading).toBe('Check your e-mail');
      expect(tookMs).toBeLessThan(2_000);
      await vi.waitFor(() => expect(mail.log()).toContain('login code not sent'), 5_000);
      expect(mail.log()).toMatch(/"code":"E[A-Z]+"/);
      expect(mail.log()).not.toContain(email);
      expect(mail.log()).not.toContain('let me in');
      expect(mail.log()).not.toContain('let%20me%20in');
    });
  });

  it('one that will not deliver to the address gets it into no log', async () => {
    await using server = await MailServer.start({
      onAuth: (_credentials, _session, done) => done(null, { user: 'usher' }),
      onRcptTo: ({ address }, _session, done) => done(new Error(`no mailbox ${address} here`)),
    });
    await withMailService(server.port, async (mail) => {
      const { email } = await createTestUser(mail.service);
      await askIn(mail, email);
      await vi.waitFor(() => expect(mail.log()).toContain('login code not sent'), 5_000);
      expect(mail.log()).not.toContain(email);
    });
  });
});
