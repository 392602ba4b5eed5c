/** How many codes may be asked for, and who is never locked out. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../support/clock.ts';
import { formOf, LoginBrowser, newAddress, requestCode } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { createTestUser, type TestUser } from '../support/service.ts';

const TOO_MANY = expect.stringMatching(/^Too many codes were requested\. Please try again in 20 minutes, /);
const ADDRESS_PERMITS = 10;

const fixture = await LoginFixture.open();
afterAll(() => fixture.close());

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
    expect(formOf(refused, '/login/email').fields.email).toBe('TEN@example.com');
    expect(fixture.mailbox.sentTo(email)).toHaveLength(ADDRESS_PERMITS);
    expect((await ask('eleven@example.com')).alert).toBe('');
  });

  it.each([
    ['a soft hyphen in the domain', 'one@exam\u00adple.com'],
    ['a joiner in the domain', 'one@exam\u2060ple.com'],
    ['a filler in the domain', 'one@exam\u3164ple.com'],
    ['a soft hyphen', 'on\u00ade@example.com'],
    ['wide letters', 'one@\uff45xample.com'],
    ['another full stop', 'one@example\u3002com'],
    ['a full stop at the end', 'one@example.com.'],
    ['Punycode', 'one@xn--exmple-cua.com', 'one@ex\u00e4mple.com'],
    ['an accent that is a letter of its own', 'one@exa\u0308mple.com', 'one@ex\u00e4mple.com'],
  ])('no code for another spelling of the address: %s', async (name, spelling, email = 'one@example.com') => {
    const mark = name.replaceAll(' ', '-');
    const spell = (address: string) => address.replace('@', `@${mark}.`);
    expect(await countCodes(ADDRESS_PERMITS, () => spell(email))).toBe(ADDRESS_PERMITS);
    expect(await countCodes(2, () => spell(spelling))).toBe(0);
    expect((await ask(`two@${mark}.example.com`)).alert).toBe('');
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

  it.each<[string, number, (index: number) => string]>([
    ['20 from an IPv4 address', 20, () => '203.0.113.7'],
    ['20 from an IPv6 prefix of 64 bits', 20, (index) => `2001:db8:1:1::${index}`],
  ])('%s, and a refusal writes nothing', async (name, permits, address) => {
    const email = (index: number) => `${name.replaceAll(' ', '')}${index}@example.com`;
    expect(await countCodes(permits, email, address)).toBe(permits);
    const rows = () => fixture.service.database.sql`select ctid, * from rate_limits order by key`;
    const before = await rows();
    expect((await ask(email(0), address(0))).alert).toEqual(TOO_MANY);
    expect(await rows()).toEqual(before);
    expect((await ask(email(0))).alert).toBe('');
  });

  it('five for an address from one prefix of 48 bits, so that one network cannot use up the ten', async () => {
    const attack = (index: number) => `2001:db8:3:${index}::1`;
    const email = () => 'someone@example.com';
    expect(await countCodes(8, email, attack)).toBe(5);
    expect(await countCodes(1, email)).toBe(1);
  });
});

describe('while strangers use up the codes of an address and of a network,', () => {
  const NETWORK = '198.51.100.1';
  let victim: TestUser;
  let known: LoginBrowser;

  /** Returns what the browser is shown when it asks for a code in a new login. */
  const askIn = async (browser: LoginBrowser) => {
    const { page } = await fixture.arrive({ browser });
    return browser.submit(page, '/login/email', { email: victim.email });
  };

  beforeAll(async () => {
    victim = await createTestUser(fixture.service);
    known = new LoginBrowser(fixture.service, { address: NETWORK });
    const asked = await fixture.askForCode({ browser: known, user: victim });
    expect((await asked.enter(asked.code)).status).toBe(303);
    await countCodes(
      21,
      (index) => `nat${index}@example.com`,
      () => NETWORK,
    );
    await countCodes(11, () => victim.email);
    expect((await ask(victim.email)).alert).toEqual(TOO_MANY);
    expect((await ask('other@example.com', NETWORK)).alert).toEqual(TOO_MANY);
  });

  it('a browser that has signed in with the address gets a code, from any network', async () => {
    expect(await askIn(known)).toMatchObject({ heading: 'Check your e-mail', alert: '' });
    const elsewhere = new LoginBrowser(fixture.service);
    elsewhere.cookie = known.cookie;
    const asked = await fixture.askForCode({ browser: elsewhere, user: victim });
    expect((await asked.enter(asked.code)).status).toBe(303);
  });

  it('a new browser in a network that has signed in with the address gets a code', async () => {
    const asked = await fixture.askForCode({
      browser: new LoginBrowser(fixture.service, { address: NETWORK }),
      user: victim,
    });
    expect((await asked.enter(asked.code)).status).toBe(303);
  });

  it('a known browser has ten permits of its own', async () => {
    let count = 0;
    while ((await askIn(known)).alert === '') count++;
    expect(count).toBeLessThanOrEqual(10);
    fixture.clock.advance(6 * MINUTE);
    expect((await askIn(known)).alert).toBe('');
  });
});

it('a live code works, and is sent again, while strangers use up the codes of its address and network', async () => {
  const address = '198.51.100.2';
  const asked = await fixture.askForCode({ browser: new LoginBrowser(fixture.service, { address }) });
  await countCodes(
    21,
    (index) => `same${index}@example.com`,
    () => address,
  );
  await countCodes(11, () => asked.user.email);
  expect(await asked.browser.submit(asked.codePage, '/login/email/again')).toMatchObject({ alert: '' });
  expect(fixture.mailbox.codeFor(asked.user.email)).toBe(asked.code);
  expect((await asked.enter(asked.code)).status).toBe(303);
});

describe('a person who asks again', () => {
  it('is sent the live code three times at most, which takes no permit', async () => {
    const asked = await fixture.askForCode();
    const { email } = asked.user;
    const again = () => asked.browser.submit(asked.codePage, '/login/email/again');
    const permits = () => fixture.service.database.sql`select ctid, * from rate_limits order by key`;
    const before = await permits();
    await asked.enter(wrongCode(asked.code));
    for (let send = 2; send <= 3; send++) expect((await again()).alert).toBe('');
    expect((await again()).alert).toMatch(/^We have sent this code three times/);
    expect(fixture.mailbox.sentTo(email).map(({ code }) => code)).toEqual(Array(3).fill(asked.code));
    expect(await permits()).toEqual(before);
    expect((await asked.enter(asked.code)).status).toBe(303);
  });

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
    fixture.clock.advance(1);
    await asked.browser.submit(asked.codePage, '/login/email/again');
    expect(new Set(fixture.mailbox.sentTo(asked.user.email).map(({ code }) => code)).size).toBeGreaterThan(1);
    const code = fixture.mailbox.codeFor(asked.user.email);
    expect((await asked.enter(code)).status).toBe(303);
  });
});
