/** The limits on guessing codes hold for many browsers at two replicas at once. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { SECOND } from '../support/clock.ts';
import { formOf, LoginBrowser, type LoginPage, requestCode } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { createTestUser } from '../support/service.ts';
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

it.each([
  ['of 48 bits, of IPv6', (index: number) => `2001:db8:2:${index}::1`],
  ['of 24 bits, of IPv4', (index: number) => `192.0.2.${index}`],
])('sends 100 of 110 codes asked for from a prefix %s', async (_name, address) => {
  const { service, tenant } = fixture;
  let sent = 0;
  for (let index = 0; index < 110; index++) {
    const page = await requestCode(service, tenant, `${randomUUID()}@example.com`, address(index));
    if (page.alert === '') sent++;
    expect(page.heading).toBe(page.alert === '' ? 'Check your e-mail' : 'Sign in to Test application');
  }
  expect(sent).toBe(100);
  expect((await requestCode(service, tenant, 'elsewhere@example.com')).alert).toBe('');
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
