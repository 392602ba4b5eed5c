import { expect, it, vi } from 'vitest';
import { HOUR, MINUTE, TestClock } from '../support/clock.ts';
import { beginLogin, formOf, LOGIN_CONFIG, LoginBrowser } from '../support/login-browser.ts';
import { Mailbox } from '../support/mailbox.ts';
import { clientsOf, createTenant, createTestUser, logIn, startTestService } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

it('codes, messages for wallets and counts are removed when they have expired, and only then', async () => {
  const clock = new TestClock();
  const mailbox = new Mailbox();
  const overrides = { clock: clock.read, deliver: mailbox.deliver, config: LOGIN_CONFIG };
  await using service = await startTestService(overrides);
  const { database, config } = service;
  const tenant = await createTenant(service);

  /** Leaves behind a row of each kind. */
  const visit = async () => {
    const { email } = await createTestUser(service);
    const login = await beginLogin(service, tenant);
    const browser = new LoginBrowser(service);
    const page = await browser.open(login.path);
    await browser.submit(page, '/login/email', { email });
    const { fields } = formOf(page, '/login/wallet');
    await browser.post('/login/wallet/challenge', { ...fields, address: new Wallet().address });
    return login.loginIntentId;
  };
  /** What is left after a replica has started, which begins with the house. */
  const countAfterSweep = async (expected: object) => {
    await using _replica = await startTestService({ ...overrides, database, like: config });
    await vi.waitFor(async () => {
      const [counts] = await database.sql`
        select (select count(*)::int from login_codes) as codes,
               (select count(*)::int from wallet_challenges) as messages,
               (select count(*)::int from rate_limits) as counts,
               (select count(*)::int from login_intents) as intents`;
      expect(counts).toEqual(expected);
    }, 3_000);
  };

  await visit();
  clock.advance(9 * MINUTE);
  await visit();
  await countAfterSweep({ codes: 2, messages: 2, counts: 4, intents: 2 });
  clock.advance(MINUTE + 1);
  await countAfterSweep({ codes: 1, messages: 1, counts: 4, intents: 2 });
  clock.advance(HOUR - 10 * MINUTE);
  await countAfterSweep({ codes: 0, messages: 0, counts: 2, intents: 2 });
  clock.advance(2 * HOUR);
  await countAfterSweep({ codes: 0, messages: 0, counts: 0, intents: 0 });
});

it('sessions that have expired are removed as well', async () => {
  const clock = new TestClock();
  await using service = await startTestService({ clock: clock.read });
  const { database, config } = service;
  const tenant = await createTenant(service);
  const authToken = await logIn(service, tenant, await createTestUser(service));
  const { auth } = clientsOf(service, tenant);
  await auth.exchangeToken({ authToken });
  clock.advance(15 * MINUTE + 1);
  await using _replica = await startTestService({ clock: clock.read, database, like: config });
  await vi.waitFor(async () => expect(await database.sql`select 1 from sessions`).toHaveLength(0), 3_000);
});
