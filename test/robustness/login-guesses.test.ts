/** The limits on guessing codes hold for many browsers at two replicas at once. */
import { afterAll, expect, it } from 'vitest';
import { formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { Wallet } from '../support/wallet.ts';

const ATTEMPTS_PER_CODE = 5;
const CHALLENGES_PER_LOGIN = 20;

const fixture = await LoginFixture.open();
const replica = await fixture.startReplica();
afterAll(async () => {
  await replica.close();
  await fixture.close();
});

const replicaFor = (index: number) => (index % 2 === 0 ? fixture.service : replica);

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
