/** How many codes and wallet challenges may be asked for, how often one may be guessed, and who is never locked out. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../support/clock.ts';
import { createDatabase } from '../support/database.ts';
import {
  beginLogin,
  formOf,
  LOGIN_CONFIG,
  LoginBrowser,
  type LoginPage,
  newAddress,
  requestCode,
} from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { Mailbox, wrongCode } from '../support/mail-server.ts';
import { createTenant, createTestUser, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { Wallet } from '../support/wallet.ts';

/** Matches the alert, which names the time to the next permit of the limit that has refused. */
const tooMany = (time: string) =>
  expect.stringMatching(new RegExp(`^Too many codes were requested\\. .* Time to wait: .${time}.\\.$`));
const TOO_MANY = tooMany('\\d+ minutes?');
const ADDRESS_PERMITS = 10;
const ATTEMPTS_PER_CODE = 5;
const CHALLENGES_PER_LOGIN = 20;

const fixture = await LoginFixture.open();
const replica = await fixture.startReplica();
afterAll(async () => {
  await replica.close();
  await fixture.close();
});

const newEmail = () => `${randomUUID()}@example.com`;
const replicaFor = (index: number) => (index % 2 === 0 ? fixture.service : replica);

/** Asks for a code in a new browser. By default, each request comes from an address of its own. */
const ask = (email: string, address = newAddress()) => requestCode(fixture.service, fixture.tenant, email, address);

/** Returns how many of so many requests in new browsers get a code. */
async function countCodes(requests: number, email: (index: number) => string, address?: (index: number) => string) {
  let count = 0;
  for (let index = 0; index < requests; index++) {
    const { alert } = await ask(email(index), address?.(index));
    if (alert === '') count++;
    else expect(alert).toEqual(TOO_MANY);
  }
  return count;
}

describe('strangers get', () => {
  it('ten codes for an address in whatever case, and the next request shows why not', async () => {
    const { email } = await createTestUser(fixture.service, { email: 'ten@Example.com' });
    const spellings = ['ten', 'TEN', 'Ten', 'teN', ' ten'];
    expect(await countCodes(12, (index) => `${spellings[index % 5]}@example.com`)).toBe(ADDRESS_PERMITS);
    const refused = await ask('TEN@example.com');
    expect(refused.alert).toEqual(tooMany('20 minutes'));
    expect(formOf(refused, '/login/email').fields.email).toBe('TEN@example.com');
    expect(fixture.mailbox.sentTo(email)).toHaveLength(ADDRESS_PERMITS);
    expect((await ask('eleven@example.com')).alert).toBe('');
  });

  it.each<[email: string, mark: string, spellings: Readonly<Record<string, string>>]>([
    [
      'one@example.com',
      'marks',
      {
        'a soft hyphen in the domain': 'one@exam\u00adple.com',
        'a joiner in the domain': 'one@exam\u2060ple.com',
        'a filler in the domain': 'one@exam\u3164ple.com',
        'wide letters': 'one@\uff45xample.com',
        'another full stop': 'one@example\u3002com',
        'a full stop at the end': 'one@example.com.',
      },
    ],
    [
      'one@ex\u00e4mple.com',
      'accents',
      { Punycode: 'one@xn--exmple-cua.com', 'an accent that is a letter of its own': 'one@exa\u0308mple.com' },
    ],
  ])('no code for another spelling of the address %s', async (email, mark, spellings) => {
    // Of its own, since limits take letters with accents for those without.
    const spell = (address: string) => address.replace('@', `@${mark}.`);
    expect(await countCodes(ADDRESS_PERMITS, () => spell(email))).toBe(ADDRESS_PERMITS);
    for (const [what, spelling] of Object.entries(spellings))
      expect((await ask(spell(spelling))).alert, what).toEqual(TOO_MANY);
    expect((await ask(spell(email).replace('one', 'two'))).alert).toBe('');
  });

  it('one more every 20 minutes, for an address without a user too', async () => {
    const email = () => 'nobody.here@example.com';
    expect(await countCodes(11, email)).toBe(ADDRESS_PERMITS);
    fixture.clock.advance(20 * MINUTE - SECOND);
    expect(await countCodes(1, email)).toBe(0);
    fixture.clock.advance(SECOND);
    expect(await countCodes(2, email)).toBe(1);
    fixture.clock.advance(60 * MINUTE);
    expect(await countCodes(4, email)).toBe(3);
  });

  it.each<[string, (index: number) => string]>([
    ['an IPv4 address', () => '203.0.113.7'],
    ['an IPv6 prefix of 64 bits', (index) => `2001:db8:1:1::${index}`],
  ])('20 from %s at two replicas at once, and a refusal writes nothing', async (name, address) => {
    const email = (index: number) => `${name.replaceAll(' ', '')}${index}@example.com`;
    const ask30 = Array.from({ length: 30 }, (_, index) =>
      requestCode(replicaFor(index), fixture.tenant, email(index), address(index)),
    );
    const refused = (await Promise.all(ask30)).filter(({ alert }) => alert !== '');
    expect(refused.map(({ alert }) => alert)).toEqual(Array(10).fill(TOO_MANY));
    // The first 30 refused sign-ins of a network are kept.
    for (let count = 10; count < 50; count++) expect((await ask(email(0), address(0))).alert).toEqual(TOO_MANY);
    const rows = () => fixture.service.database.sql`select ctid, * from rate_limits order by key`;
    const before = await rows();
    expect((await ask(email(0), address(0))).alert).toEqual(TOO_MANY);
    // Others may have expired and been removed.
    expect(before).toEqual(expect.arrayContaining(await rows()));
    expect((await ask(email(0))).alert).toBe('');
  });

  it('five for an address from one prefix of 48 bits, so that one network cannot use up the ten', async () => {
    const attack = (index: number) => `2001:db8:3:${index}::1`;
    const email = () => 'someone@example.com';
    expect(await countCodes(8, email, attack)).toBe(5);
    expect(await countCodes(1, email)).toBe(1);
  });

  it.each([
    ['of 48 bits, of IPv6', (index: number) => `2001:db8:2:${index}::1`],
    ['of 24 bits, of IPv4', (index: number) => `192.0.2.${index}`],
  ])('100 from a prefix %s', async (_name, address) => {
    expect(await countCodes(110, newEmail, address)).toBe(100);
    expect((await ask('elsewhere@example.com')).alert).toBe('');
  });

  it('ten codes for an address in letters that only lower() of Postgres folds', async () => {
    // Unlike the embedded database, its lower() folds letters beyond ASCII.
    await using database = await createDatabase("template template0 locale_provider builtin builtin_locale 'C.UTF-8'");
    const mailbox = new Mailbox();
    await using folding = await startTestService({ database, sendMail: mailbox.sendMail, config: LOGIN_CONFIG });
    const tenant = await createTenant(folding);
    await createTestUser(folding, { email: 'ühü@bücher.example' });
    const spellings = ['ühü', 'Ühü', 'ühÜ', 'ÜHÜ', 'u\u0308hü', 'ühu\u0308', 'ÜHU\u0308', 'U\u0308HÜ'];
    const domains = ['BÜCHER.example', 'xn--bcher-kva.example'];
    for (const domain of domains)
      for (const local of spellings) await requestCode(folding, tenant, `${local}@${domain}`);
    expect(mailbox.sentTo('ühü@xn--bcher-kva.example').length).toBe(10);
  });
});

it('after a hundred codes to strangers everywhere, the next have eight digits until 36 seconds have passed', async () => {
  await using other = await LoginFixture.open();
  const { service, tenant, mailbox, clock } = other;
  const known = await other.askForCode();
  expect((await known.enter(known.code)).status).toBe(303);
  const lengthFor = async () => {
    const { email } = await createTestUser(service);
    await requestCode(service, tenant, email);
    return mailbox.codeFor(email).length;
  };
  for (let count = 1; count < 100; count++) expect(await lengthFor()).toBe(6);
  expect(await lengthFor()).toBe(8);
  const asked = await other.askForCode();
  expect(asked.code).toMatch(/^\d{8}$/);
  for (const cut of [asked.code.slice(0, 6), asked.code.slice(2)]) expect((await asked.enter(cut)).status).toBe(200);
  expect((await asked.enter(asked.code)).status).toBe(303);
  expect((await other.askForCode({ browser: known.browser, user: known.user })).code).toMatch(/^\d{6}$/);
  clock.advance(36 * SECOND);
  expect([await lengthFor(), await lengthFor()]).toEqual([6, 8]);
});

// It follows from the other limits.
it.runIf(quickOrLong(false, true))('strangers cause 82 e-mails a day to an address, however they ask', async () => {
  await using other = await LoginFixture.open();
  const { service, tenant, mailbox, clock } = other;
  const { email } = await createTestUser(service);
  /** Asks for a code in a new network, and for two more e-mails with it. */
  const askThrice = async () => {
    const browser = new LoginBrowser(service);
    const page = await browser.open((await beginLogin(service, tenant)).path);
    const codePage = await browser.submit(page, '/login/email', { email });
    if (codePage.alert !== '') return;
    for (let send = 2; send <= 3; send++) {
      clock.advance(30 * SECOND);
      await browser.submit(codePage, '/login/email/again');
    }
  };
  const end = clock.read().getTime() + 24 * 60 * MINUTE;
  while (mailbox.sentTo(email).length < ADDRESS_PERMITS) await askThrice();
  while (clock.read().getTime() < end) {
    await askThrice();
    // One permit more, with the time that it takes to ask again.
    clock.advance(9.5 * MINUTE);
  }
  const count = mailbox.sentTo(email).length;
  expect(count).toBeLessThanOrEqual(82);
  // The test has tried hard enough.
  expect(count).toBeGreaterThanOrEqual(80);
});

describe('while strangers use up the codes of an address and of a network,', () => {
  let networks = 0;

  /** Returns a user who has signed in from the network before, and a code of another one there that is live. */
  async function besiege() {
    const network = `198.51.${networks++}.1`;
    const known = new LoginBrowser(fixture.service, { address: network });
    const { user, enter, code } = await fixture.askForCode({ browser: known });
    expect((await enter(code)).status).toBe(303);
    const fresh = await fixture.askForCode({ browser: new LoginBrowser(fixture.service, { address: network }) });
    for (const { email } of [user, fresh.user]) await countCodes(11, () => email);
    await countCodes(21, newEmail, () => network);
    expect((await ask(user.email)).alert).toEqual(tooMany('20 minutes'));
    expect((await ask(newEmail(), network)).alert).toEqual(tooMany('3 minutes'));
    return { user, known, fresh, network };
  }

  it('a live code of the address works, a browser or a network that has signed in with it gets more, no stranger', async () => {
    const { user, known, fresh, network } = await besiege();
    fixture.clock.advance(30 * SECOND);
    const sent = fixture.mailbox.sentTo(fresh.user.email).length;
    expect((await fresh.browser.submit(fresh.codePage, '/login/email/again')).alert).toEqual(TOO_MANY);
    expect(fixture.mailbox.sentTo(fresh.user.email)).toHaveLength(sent);
    expect((await fresh.enter(fresh.code)).status).toBe(303);

    const elsewhere = new LoginBrowser(fixture.service);
    elsewhere.cookie = known.cookie;
    const neighbor = new LoginBrowser(fixture.service, { address: network });
    for (const browser of [known, elsewhere, neighbor]) {
      const asked = await fixture.askForCode({ browser, user });
      expect((await asked.enter(asked.code)).status).toBe(303);
    }
  });

  it('a known browser has ten permits of its own, and one more every 6 minutes', async () => {
    const { user, known } = await besiege();
    const askAgain = async () => {
      const { page } = await fixture.arrive({ browser: known });
      return (await known.submit(page, '/login/email', { email: user.email })).alert;
    };
    const alerts = [];
    while (alerts.length < 12) alerts.push(await askAgain());
    const refused = tooMany('6 minutes');
    expect(alerts).toEqual([...Array(10).fill(''), refused, refused]);
    fixture.clock.advance(6 * MINUTE);
    expect([await askAgain(), await askAgain()]).toEqual(['', refused]);
  });

  it('a known browser has its live code sent again', async () => {
    const { user, known } = await besiege();
    const asked = await fixture.askForCode({ browser: known, user });
    for (let send = 2; send <= 3; send++) {
      fixture.clock.advance(30 * SECOND);
      expect((await known.submit(asked.codePage, '/login/email/again')).alert).toBe('');
    }
    expect(
      fixture.mailbox
        .sentTo(user.email)
        .slice(-3)
        .map(({ code }) => code),
    ).toEqual(Array(3).fill(asked.code));
  });
});

describe('a person who asks again', () => {
  it.each([
    ['a stranger', 0, 2],
    ['a known browser', 1, 0],
  ])(
    'as %s is sent the live code three times at most, which takes permits of the address only',
    async (_who, signIns, takes) => {
      const user = await createTestUser(fixture.service);
      const browser = new LoginBrowser(fixture.service);
      for (let count = 0; count < signIns; count++) {
        const first = await fixture.askForCode({ user, browser });
        expect((await first.enter(first.code)).status).toBe(303);
      }
      const { email } = user;
      const sentBefore = fixture.mailbox.sentTo(email).length;
      const asked = await fixture.askForCode({ user, browser });
      const again = () => asked.browser.submit(asked.codePage, '/login/email/again');
      const permits = async () => {
        const rows = await fixture.service.database.sql`
          select encode(key, 'hex') as key, empty_ms::bigint::text as at from rate_limits`;
        return new Map(rows.map(({ key, at }) => [key, at]));
      };
      const before = await permits();
      await asked.enter(wrongCode(asked.code));
      for (let send = 2; send <= 3; send++) {
        fixture.clock.advance(30 * SECOND);
        expect((await again()).alert).toBe('');
      }
      fixture.clock.advance(30 * SECOND);
      expect((await again()).alert).toMatch(/^We have sent this code three times/);
      const sent = fixture.mailbox.sentTo(email).slice(sentBefore);
      expect(sent.map(({ code }) => code)).toEqual(Array(3).fill(asked.code));
      // By key: meanwhile the expiry job may remove rows.
      const changed = [...(await permits())].filter(([key, at]) => at !== before.get(key));
      expect(changed).toHaveLength(takes > 0 ? 1 : 0);
      if (takes > 0) expect(await countCodes(12, () => email)).toBe(ADDRESS_PERMITS - 1 - takes);
      expect((await asked.enter(asked.code)).status).toBe(303);
    },
  );

  it.each<[string, (asked: Awaited<ReturnType<LoginFixture['askForCode']>>) => Promise<unknown>]>([
    [
      'after five wrong tries',
      async ({ code, enter }) => {
        for (let miss = 1; miss <= 5; miss++) await enter(wrongCode(code, miss));
      },
    ],
    ['after 10 minutes', async () => fixture.clock.advance(10 * MINUTE)],
    ['in another login', async ({ browser, user }) => fixture.askForCode({ browser, user })],
  ])('is sent a new one %s', async (_when, spend) => {
    const asked = await fixture.askForCode();
    await spend(asked);
    fixture.clock.advance(30 * SECOND);
    await asked.browser.submit(asked.codePage, '/login/email/again');
    expect(new Set(fixture.mailbox.sentTo(asked.user.email).map(({ code }) => code)).size).toBeGreaterThan(1);
    const code = fixture.mailbox.codeFor(asked.user.email);
    expect((await asked.enter(code)).status).toBe(303);
  });
});

/** Submits so many different wrong codes at once. */
const guess = (browser: LoginBrowser, codePage: LoginPage, code: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      browser.at(replicaFor(index)).submit(codePage, '/login/code', { code: wrongCode(code, index + 1) }),
    ),
  );

async function attemptsOf(loginIntentId: string): Promise<number[]> {
  const rows = await fixture.service.database.sql`
    select attempts from login_codes where login_intent_id = ${loginIntentId} order by created_at`;
  return rows.map(({ attempts }) => attempts);
}

it('checks five of many concurrent guesses, and then refuses the right code, too', async (context) => {
  const { rounds, guesses } = quickOrLong({ rounds: 2, guesses: 40 }, { rounds: 25, guesses: 200 });
  report(context, { tried: `${rounds} codes, ${guesses} concurrent guesses each at two replicas` });
  for (let round = 0; round < rounds; round++) {
    const { browser, codePage, code, login } = await fixture.askForCode();
    const replies = await guess(browser, codePage, code, guesses);
    const countAlerts = (start: string) => replies.filter(({ alert }) => alert.startsWith(start)).length;
    expect(countAlerts('That is not the code')).toBe(ATTEMPTS_PER_CODE - 1);
    expect(countAlerts('This code is not valid')).toBe(guesses - ATTEMPTS_PER_CODE + 1);
    expect(await attemptsOf(login.loginIntentId)).toEqual([ATTEMPTS_PER_CODE]);
    expect((await browser.submit(codePage, '/login/code', { code })).location).toBeUndefined();
    expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  }
});

it('gives a login twenty wallet challenges at most, then returns 429 to the script of the page', async () => {
  const { login, browser } = await fixture.arrive();
  const pages = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const other = new LoginBrowser(replicaFor(index));
      return { other, page: await other.open(login.path) };
    }),
  );
  const replies = await Promise.all(
    pages.map(({ other, page }) => {
      const { fields } = formOf(page, '/login/wallet');
      return other.post('/login/wallet/challenge', { ...fields, address: new Wallet().address });
    }),
  );
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(CHALLENGES_PER_LOGIN);
  const refused = replies.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(40 - CHALLENGES_PER_LOGIN);
  expect(JSON.parse(refused[0]?.body ?? '')).toEqual({ error: expect.stringContaining('sign in again') });
  // The login can still be completed by e-mail.
  const ready = await fixture.readyByEmail({ browser, login });
  expect((await ready.submit()).status).toBe(303);
});
