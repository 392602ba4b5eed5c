/** What somebody gets who guesses codes, from many browsers and at two replicas at once. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MINUTE } from '../support/clock.ts';
import { formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { createTestUser, type TestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { Wallet } from '../support/wallet.ts';

const TRIES_PER_CODE = 5;
const CODES_PER_HOUR = 5;
const MESSAGES_PER_LOGIN = 20;

let fixture: LoginFixture;
let replica: TestService;

beforeAll(async () => {
  fixture = await LoginFixture.open();
  replica = await fixture.startReplica();
});
afterAll(async () => {
  await replica.close();
  await fixture.close();
});

const either = (index: number) => (index % 2 === 0 ? fixture.service : replica);

/** The guesses are different ones, and wrong. */
const guess = (browser: LoginBrowser, codePage: LoginPage, code: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      browser.at(either(index)).submit(codePage, '/login/code', { code: wrongCode(code, index + 1) }),
    ),
  );

async function countTries(loginIntentId: string): Promise<number[]> {
  const rows = await fixture.service.database.sql`
    select attempts from login_codes where login_intent_id = ${loginIntentId} order by created_at`;
  return rows.map(({ attempts }) => attempts);
}

it('a code is looked at five times, however many guesses come at once, and then not even the right one', async (context) => {
  const { rounds, guesses } = quickOrLong({ rounds: 2, guesses: 40 }, { rounds: 25, guesses: 200 });
  for (let round = 0; round < rounds; round++) {
    const { browser, codePage, code, login } = await fixture.askForCode();
    const replies = await guess(browser, codePage, code, guesses);
    const alerts = replies.map(({ alert }) => alert);
    expect(alerts.filter((alert) => alert.startsWith('That is not the code'))).toHaveLength(TRIES_PER_CODE - 1);
    expect(alerts.filter((alert) => alert.startsWith('This code is not valid'))).toHaveLength(
      guesses - TRIES_PER_CODE + 1,
    );
    expect(await countTries(login.loginIntentId)).toEqual([TRIES_PER_CODE]);
    expect((await browser.submit(codePage, '/login/code', { code })).location).toBeUndefined();
    expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  }
  report(context, {
    tried: `${rounds} codes, ${guesses} guesses each at once over two instances`,
    lost: 'nothing',
    figures: `${TRIES_PER_CODE} tries per code`,
  });
});

it('an address is guessed at 25 times an hour at most, from any number of browsers and logins', async (context) => {
  const { hours, askers } = quickOrLong({ hours: 2, askers: 12 }, { hours: 12, askers: 36 });
  const { email } = await createTestUser(fixture.service);
  const granted: number[] = [];
  for (let sixth = 0; sixth < hours * 6; sixth++) {
    const before = fixture.mailbox.codes.length;
    const arrivals = await Promise.all(
      Array.from({ length: Math.ceil(askers / 6) }, (_, index) => fixture.arrive({ at: either(index) })),
    );
    await Promise.all(
      arrivals.map(async ({ browser, page, login }) => {
        const codePage = await browser.submit(page, '/login/email', { email });
        if (codePage.alert !== '') return;
        await guess(browser, codePage, fixture.mailbox.codeFor(email), 8);
        expect(await countTries(login.loginIntentId)).toEqual([TRIES_PER_CODE]);
      }),
    );
    granted.push(fixture.mailbox.codes.length - before);
    fixture.clock.advance(10 * MINUTE);
  }
  const perHour = granted.slice(5).map((_, at) => granted.slice(at, at + 6).reduce((sum, count) => sum + count));
  report(context, {
    tried: `${hours} hours of codes asked for by ${askers} browsers an hour, over two instances`,
    lost: 'nothing',
    figures: `${Math.max(...perHour)} codes in any hour`,
  });
  expect(Math.max(...perHour)).toBe(CODES_PER_HOUR);
});

it('a login asks a wallet to sign twenty times at most, and says so to the script of the page', async () => {
  const { login, browser } = await fixture.arrive();
  const pages = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const other = new LoginBrowser(either(index));
      return { other, page: await other.open(login.path) };
    }),
  );
  const replies = await Promise.all(
    pages.map(({ other, page }) => {
      const { fields } = formOf(page, '/login/wallet');
      return other.post('/login/wallet/challenge', { ...fields, address: new Wallet().address });
    }),
  );
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(MESSAGES_PER_LOGIN);
  const refused = replies.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(40 - MESSAGES_PER_LOGIN);
  expect(JSON.parse(refused[0]?.body ?? '')).toEqual({
    error: 'Too many signatures were requested. Go back to the application and sign in again.',
  });
  const { sql } = fixture.service.database;
  expect(await sql`select 1 from wallet_challenges where login_intent_id = ${login.loginIntentId}`).toHaveLength(
    MESSAGES_PER_LOGIN,
  );
  // Another way to sign in is still open.
  const ready = await fixture.readyByEmail({ browser, login });
  expect((await ready.submit()).status).toBe(303);
});
