/** The page for a code: sending it again, the attempts that are left, and the way back to the choice. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { SECOND } from '../support/clock.ts';
import { request } from '../support/http.ts';
import { holdLock, waitForLockWaiters } from '../support/lock.ts';
import { beginLogin, formOf, type LoginPage, newAddress, textOf } from '../support/login-browser.ts';
import { type Arrived, type AskedForCode, LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { createTenant, createTestUser, REDIRECT_URI } from '../support/service.ts';

const SENT_JUST_NOW = /^We have just sent the code\./;

const fixture = await LoginFixture.open();
const { clock, mailbox, service } = fixture;
afterAll(() => fixture.close());

const newEmail = () => `${randomUUID()}@example.com`;
const askAgain = ({ browser, codePage }: AskedForCode) => browser.submit(codePage, '/login/email/again');
const countSent = ({ user }: AskedForCode) => mailbox.sentTo(user.email).length;

/** Posts a form without following the redirect, and returns its query. */
async function redirectAfter(
  { browser, page }: Pick<Arrived, 'browser' | 'page'>,
  path: string,
  typed: Record<string, string>,
) {
  const reply = await request(service.url, {
    method: 'POST',
    path,
    headers: {
      cookie: browser.cookie ?? '',
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': newAddress(),
    },
    body: new URLSearchParams({ ...formOf(page, '/login/email').fields, ...typed }).toString(),
  });
  const { searchParams } = new URL(reply.headers.location ?? '', 'https://usher.test');
  for (const name of ['intent', 'client_id']) searchParams.delete(name);
  return Object.fromEntries(searchParams);
}

describe('a person who asks for the code again', () => {
  it('gets it 30 seconds after the first e-mail and 60 seconds after it, and is told to wait before', async () => {
    const asked = await fixture.askForCode();
    const refused = await askAgain(asked);
    expect(refused.heading).toBe('Check your e-mail');
    expect(refused.alert).toMatch(SENT_JUST_NOW);
    clock.advance(30 * SECOND - 1);
    expect((await askAgain(asked)).alert).toMatch(SENT_JUST_NOW);
    expect(countSent(asked)).toBe(1);
    clock.advance(1);
    expect((await askAgain(asked)).alert).toBe('');
    expect(countSent(asked)).toBe(2);
    clock.advance(30 * SECOND - 1);
    expect((await askAgain(asked)).alert).toMatch(SENT_JUST_NOW);
    clock.advance(1);
    expect((await askAgain(asked)).alert).toBe('');
    expect(countSent(asked)).toBe(3);
    clock.advance(60 * SECOND);
    expect((await askAgain(asked)).alert).toMatch(/^We have sent this code three times/);
    expect(mailbox.sentTo(asked.user.email).map(({ code }) => code)).toEqual(Array(3).fill(asked.code));
    expect((await asked.enter(asked.code)).status).toBe(303);
  });

  it('twice at the same time gets it once', async () => {
    const asked = await fixture.askForCode();
    clock.advance(30 * SECOND);
    const row = `select from login_codes where login_intent_id = '${asked.login.loginIntentId}' for update`;
    await using lock = await holdLock(service.database, row);
    const both = Promise.all([askAgain(asked), askAgain(asked)]);
    // Both have seen that nobody has had it sent again.
    await waitForLockWaiters(service.database, 2);
    await lock.release();
    const alerts = (await both).map(({ alert }) => alert);
    expect(alerts.sort()).toEqual(['', expect.stringMatching(SENT_JUST_NOW)]);
    expect(countSent(asked)).toBe(2);
  });

  it('by entering the same address again is shown the page for the code, which is on its way', async () => {
    const asked = await fixture.askForCode();
    const again = await asked.browser.submit(asked.page, '/login/email', { email: asked.user.email });
    expect(again).toMatchObject({ heading: 'Check your e-mail', alert: '' });
    expect(countSent(asked)).toBe(1);
    for (let send = 2; send <= 3; send++) {
      clock.advance(30 * SECOND);
      await asked.browser.submit(asked.page, '/login/email', { email: asked.user.email });
    }
    clock.advance(30 * SECOND);
    const spent = await asked.browser.submit(asked.page, '/login/email', { email: asked.user.email });
    expect(spent).toMatchObject({ heading: 'Check your e-mail', alert: expect.stringMatching(/three times/) });
  });
});

describe('the redirect to the page for a code', () => {
  it.each([
    ['a known address', async () => (await createTestUser(service)).email],
    ['an unknown address', async () => newEmail()],
  ])('tells the digits of the code and the seconds to the next for %s', async (_which, toEmail) => {
    const arrived = await fixture.arrive();
    const email = await toEmail();
    const ask = (path = '/login/email') => redirectAfter(arrived, path, { email });
    expect(await ask()).toEqual({ digits: '6', wait: '30' });
    clock.advance(10 * SECOND);
    expect(await ask()).toEqual({ digits: '6', wait: '20' });
    const again = '/login/email/again';
    expect(await ask(again)).toEqual({ digits: '6', wait: '20', problem: 'CODE_SENT_JUST_NOW' });
    clock.advance(25 * SECOND);
    expect(await ask(again)).toEqual({ digits: '6', wait: '25' });
    clock.advance(30 * SECOND);
    expect(await ask(again)).toEqual({ digits: '6' });
    expect(await ask(again)).toEqual({ digits: '6', problem: 'CODE_SENT_TOO_OFTEN' });
    const lefts = [];
    for (let miss = 1; miss <= 4; miss++) {
      const { left, problem } = await redirectAfter(arrived, '/login/code', {
        code: wrongFor(email, miss),
        digits: '6',
      });
      expect(problem).toBe('WRONG_CODE');
      lefts.push(left);
    }
    expect(lefts).toEqual(['4', '3', '2', '1']);
    const last = await redirectAfter(arrived, '/login/code', { code: wrongFor(email, 5), digits: '6' });
    expect(last).toEqual({ digits: '6', problem: 'CODE_NOT_VALID' });
  });

  const wrongFor = (email: string, miss: number) => wrongCode(mailbox.sentTo(email).at(-1)?.code ?? '000000', miss);

  it('tells of eight digits, which the page still knows after a wrong code', async () => {
    await using other = await LoginFixture.open();
    for (let count = 1; count <= 100; count++) {
      const { browser, page } = await other.arrive();
      await browser.submit(page, '/login/email', { email: newEmail() });
    }
    const asked = await other.askForCode();
    const digitsOn = ({ body }: LoginPage) => /data-digits="(\d+)"/.exec(body)?.[1];
    expect(asked.code).toHaveLength(8);
    expect([asked.codePage, await asked.enter('00000000')].map(digitsOn)).toEqual(['8', '8']);
  });
});

it.each([
  [REDIRECT_URI, 'You will return to app.test'],
  ['http://127.0.0.1:4242/callback', 'You will return to 127.0.0.1:4242'],
  ['com.example.app:/callback', ''],
])('the choice of a login for %s says %j', async (redirectUri, text) => {
  const of = await createTenant(service, { redirectUris: [redirectUri] });
  const { page } = await fixture.arrive({ of, login: await beginLogin(service, of, { redirectUri }) });
  expect(textOf(/<\/h1>(.*?)<\/div>/s.exec(page.body)?.[1]).trim()).toBe(text);
});

it.each([
  ['digits', 'constructor'],
  ['digits', '9999999999'],
  ['left', '-1'],
  ['left', '1e3'],
  ['wait', '<b>'],
  ['wait', '99999999999'],
])('a link with the %s %s shows the page for the code as usual', async (name, value) => {
  const { browser, login } = await fixture.askForCode();
  const query = new URLSearchParams({ intent: login.loginIntentId, problem: 'WRONG_CODE', [name]: value });
  const page = await browser.open(`/login/code?${query}`);
  const alert = 'That is not the code we sent. Please check it and try again.';
  expect(page).toMatchObject({ status: 200, heading: 'Check your e-mail', alert });
  expect(page.body).toContain('data-digits="6"');
});
