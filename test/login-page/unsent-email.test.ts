/** The page for a code whose e-mail could not be sent. How often it is tried: test/integration/mail/mail-queue.test.ts. */
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { MailError } from '../../src/mail/mail-error.ts';
import { SECOND } from '../support/clock.ts';
import { formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { createTestUser } from '../support/service.ts';

const NOT_SENT = 'We could not send the e-mail. Please try again later.';
/** Sending again would be of no use, so it fails at once. */
const AWAY = new MailError({ code: 'EAUTH', responseCode: 535 }, { isOfServer: true });
const REFUSED = new MailError({ code: 'EENVELOPE', responseCode: 550 }, { isOfServer: false });

const fixture = await LoginFixture.open();
const { clock, mailbox, service } = fixture;
afterAll(() => fixture.close());
beforeEach(() => {
  mailbox.failure = undefined;
});

/** Asks for a code. `reload` shows the page for it once the result of the e-mail is stored. */
async function ask(email: string) {
  const { browser, page, login } = await fixture.arrive();
  let codePage = await browser.submit(page, '/login/email', { email });
  const again = async () => {
    clock.advance(30 * SECOND);
    codePage = await browser.submit(codePage, '/login/email/again');
    return codePage;
  };
  const reload = () => browser.open(`/login/code?intent=${login.loginIntentId}`);
  const rowOf = async () => {
    const [row] = await service.database.sql`
      select sends, is_unsent as "isUnsent" from login_codes where login_intent_id = ${login.loginIntentId}`;
    return row;
  };
  return { again, reload, rowOf, login, codePage };
}

describe.each(['known', 'unknown'])('with an address that is %s', (kind) => {
  const newEmail = async () =>
    kind === 'known' ? (await createTestUser(service)).email : `${crypto.randomUUID()}@example.com`;

  it('the next page says that the e-mail was not sent, until one is', async () => {
    mailbox.failure = AWAY;
    const asked = await ask(await newEmail());
    await expect.poll(asked.rowOf).toEqual({ sends: 0, isUnsent: true });
    expect((await asked.reload()).alert).toBe(NOT_SENT);
    mailbox.failure = undefined;
    await asked.again();
    await expect.poll(asked.rowOf).toEqual({ sends: 1, isUnsent: false });
    expect((await asked.reload()).alert).toBe('');
  });

  it('an e-mail that was not sent does not count', async () => {
    mailbox.failure = AWAY;
    const asked = await ask(await newEmail());
    for (let send = 0; send < 4; send++) {
      await expect.poll(asked.rowOf).toEqual({ sends: 0, isUnsent: true });
      expect((await asked.again()).alert).toBe(NOT_SENT);
    }
    await expect.poll(asked.rowOf).toEqual({ sends: 0, isUnsent: true });
    mailbox.failure = undefined;
    for (let sends = 1; sends <= 3; sends++) {
      await asked.again();
      await expect.poll(asked.rowOf).toEqual({ sends, isUnsent: false });
    }
    expect((await asked.again()).alert).toMatch(/^We have sent this code three times/);
  });
});

test('what the mail server says to one address does not show, and its e-mail counts', async () => {
  mailbox.failure = REFUSED;
  const { email } = await createTestUser(service);
  const asked = await ask(email);
  expect((await asked.reload()).alert).toBe('');
  expect(await asked.rowOf()).toEqual({ sends: 1, isUnsent: false });
  expect(mailbox.sentTo(email)).toEqual([]);
});

test('another browser at the same login does not see it', async () => {
  mailbox.failure = AWAY;
  const { email } = await createTestUser(service);
  const asked = await ask(email);
  await expect.poll(asked.rowOf).toEqual({ sends: 0, isUnsent: true });
  const other = new LoginBrowser(service);
  const page: LoginPage = await other.open(asked.login.path);
  expect(formOf(page, '/login/email').fields.email).toBe('');
  expect((await other.open(`/login/code?intent=${asked.login.loginIntentId}`)).alert).toBe('');
});
