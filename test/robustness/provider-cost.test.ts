/** What a sign-in at another provider costs Usher: at most twice the CPU of one by code, without the wait for the provider. The long form judges it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readUsage } from '../lab/bench/read-usage.ts';
import { medianOf } from '../lab/bench/statistics.ts';
import { cloneDatabase } from '../support/database.ts';
import { FakeProvider } from '../support/fake-provider.ts';
import { beginLogin, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { MailServer } from '../support/mail-server.ts';
import { startUsher } from '../support/process.ts';
import { createTenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MAX_RATIO = 2;
const ROUNDS = quickOrLong(1, 15);
const SIGN_INS = quickOrLong(2, 10);
const METADATA = '/.well-known/openid-configuration';
/** Time for the process to finish its work after the last reply. */
const SETTLE_MS = 100;

test('sign-ins at a provider ask once for its metadata, and cost at most twice the CPU of those by code', {
  timeout: 900_000,
}, async (context) => {
  await using database = await cloneDatabase();
  await using mail = await MailServer.start();
  await using acme = await FakeProvider.start();
  await using usher = await startUsher(database.url, {
    LOGIN_METHODS: 'email,acme',
    LOGIN_PROVIDERS_FILE: await acme.writeSettings(),
    SMTP_URL: mail.url,
    MAIL_FROM: 'login@usher.test',
    TRUSTED_PROXIES: '127.0.0.1',
    WEBHOOK_DELIVERY: 'false',
  });
  const tenant = await createTenant(usher);
  const emails = Array.from({ length: SIGN_INS * (ROUNDS + 1) }, (_, count) => `person-${count}@example.com`);
  await database.sql`
    with people as (
      insert into users (id, email, wallet_address, created_at)
      select gen_random_uuid(), email, '', now() from unnest(${emails}::text[]) email returning id, email
    )
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    select ${acme.origin}, email, id, 'acme', now() from people`;

  const arrive = async () => {
    const browser = new LoginBrowser(usher);
    return { browser, page: await browser.open((await beginLogin(usher, tenant)).path) };
  };
  const signInByCode = async (email: string) => {
    const { browser, page } = await arrive();
    const codePage = await browser.submit(page, '/login/email', { email });
    const find = () => mail.emails.findLast(({ to }) => to.includes(email))?.raw ?? '';
    await expect.poll(find, { timeout: 60_000, interval: 5 }).not.toBe('');
    const code = /^Subject: (\d{6}) /m.exec(find())?.[1] ?? '';
    return browser.submit(codePage, '/login/code', { code });
  };
  const signInAtProvider = async (sub: string) => {
    const { browser, page } = await arrive();
    const { location } = await browser.submit(page, '/login/provider');
    return browser.open(acme.signIn(location, { sub }));
  };
  /** Returns the CPU time of one sign-in. */
  const measure = async (signIn: (email: string) => Promise<LoginPage>, people: readonly string[]) => {
    const before = readUsage(usher.pid).cpuMicros;
    for (const email of people) {
      const { status, heading, alert, location } = await signIn(email);
      expect({ status, heading, alert, location }).toMatchObject({ location: expect.stringContaining('authToken=') });
    }
    await sleep(SETTLE_MS);
    return (readUsage(usher.pid).cpuMicros - before) / people.length;
  };

  const warmUp = emails.splice(0, SIGN_INS);
  await measure(signInByCode, warmUp);
  // It loads the library, and asks for metadata and keys, which the others find. All ask for the profile: the ID token has no address.
  const first = await measure(signInAtProvider, warmUp.slice(0, 1));
  await measure(signInAtProvider, warmUp);

  const costs: { code: number; provider: number }[] = [];
  while (emails.length > 0) {
    const people = emails.splice(0, SIGN_INS);
    costs.push({ code: await measure(signInByCode, people), provider: await measure(signInAtProvider, people) });
  }
  const ratio = medianOf(costs.map(({ code, provider }) => provider / code));
  const [code, provider] = [medianOf(costs.map((cost) => cost.code)), medianOf(costs.map((cost) => cost.provider))];
  const figures = `${provider.toFixed(0)} us at a provider, ${code.toFixed(0)} us by code: ${ratio.toFixed(2)}x; the first of a process ${first.toFixed(0)} us`;
  report(context, { tried: `${ROUNDS} rounds of ${SIGN_INS} sign-ins of each kind`, figures });
  expect(acme.requests.filter((path) => path === METADATA)).toHaveLength(1);
  if (quickOrLong(false, true)) expect(ratio, figures).toBeLessThanOrEqual(MAX_RATIO);
});
