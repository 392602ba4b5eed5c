/** What passkeys cost: a sign-in little more than one by code, as the long form judges, and the memory of their library where it is needed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readUsage } from '../lab/bench/read-usage.ts';
import { medianOf } from '../lab/bench/statistics.ts';
import { cloneDatabase } from '../support/database.ts';
import { beginLogin, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { MailServer } from '../support/mail-server.ts';
import { SoftwarePasskey } from '../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../support/passkey-page.ts';
import { startUsher } from '../support/process.ts';
import { createTenant, PUBLIC_URL } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MAX_RATIO = 1.3;
const ROUNDS = quickOrLong(1, 15);
const SIGN_INS = quickOrLong(2, 10);
/** Time for the process to finish its work after the last reply. */
const SETTLE_MS = 100;

/** Writes when a file of the library is loaded. */
const PROBE = `
import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    if (url.includes('/@simplewebauthn/')) process.stderr.write('loaded the library\\n');
    return next(url, context);
  },
});`;

test('a sign-in with a passkey costs at most 1.3 times the CPU of one by code, and one by code loads no library of passkeys', {
  timeout: 900_000,
}, async (context) => {
  await using database = await cloneDatabase();
  await using mail = await MailServer.start();
  await using usher = await startUsher(database.url, {
    LOGIN_METHODS: 'email,passkey',
    SMTP_URL: mail.url,
    MAIL_FROM: 'login@usher.test',
    TRUSTED_PROXIES: '127.0.0.1',
    WEBHOOK_DELIVERY: 'false',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROBE)}`,
  });
  const tenant = await createTenant(usher);
  const emails = Array.from({ length: SIGN_INS * (ROUNDS + 2) }, (_, count) => `person-${count}@example.com`);
  await database.sql`
    insert into users (id, email, wallet_address, created_at)
    select gen_random_uuid(), email, '', now() from unnest(${emails}::text[]) email`;

  const arrive = async () => {
    const browser = new LoginBrowser(usher);
    return { browser, page: await browser.open((await beginLogin(usher, tenant)).path) };
  };
  const signInByCode = async (fields = {}) => {
    const email = emails.pop() ?? '';
    const { browser, page } = await arrive();
    const codePage = await browser.submit(page, '/login/email', { email });
    const find = () => mail.emails.findLast(({ to }) => to.includes(email))?.raw ?? '';
    await expect.poll(find, { timeout: 60_000, interval: 5 }).not.toBe('');
    const code = /^Subject: (\d{6}) /m.exec(find())?.[1] ?? '';
    return { browser, page: await browser.submit(codePage, '/login/code', { code, ...fields }) };
  };
  /** Returns the CPU time of one sign-in. */
  const measure = async (signIn: () => Promise<{ page: LoginPage }>) => {
    const before = readUsage(usher.pid).cpuMicros;
    for (let count = 0; count < SIGN_INS; count++) {
      const { status, heading, alert, location } = (await signIn()).page;
      expect({ status, heading, alert, location }).toMatchObject({ location: expect.stringContaining('authToken=') });
    }
    await sleep(SETTLE_MS);
    return (readUsage(usher.pid).cpuMicros - before) / SIGN_INS;
  };

  await measure(signInByCode);
  expect(usher.stderr).not.toContain('loaded the library');
  const withoutBytes = usher.residentBytes();
  const passkey = new SoftwarePasskey();
  await savePasskey(await signInByCode(TO_PASSKEYS), passkey, PUBLIC_URL);
  const growth = usher.residentBytes() - withoutBytes;
  await expect.poll(() => usher.stderr).toContain('loaded the library');
  const signInByPasskey = async () => ({ page: await sendPasskey(await arrive(), passkey, PUBLIC_URL) });
  await measure(signInByPasskey);

  const costs: { code: number; passkey: number }[] = [];
  for (let round = 0; round < ROUNDS; round++)
    costs.push({ code: await measure(signInByCode), passkey: await measure(signInByPasskey) });
  const ratio = medianOf(costs.map((cost) => cost.passkey / cost.code));
  const [code, byPasskey] = [medianOf(costs.map((cost) => cost.code)), medianOf(costs.map((cost) => cost.passkey))];
  const figures = `${byPasskey.toFixed(0)} us with a passkey, ${code.toFixed(0)} us by code: ${ratio.toFixed(2)}x; the library took ${(growth / 2 ** 20).toFixed(0)} MiB`;
  report(context, { tried: `${ROUNDS} rounds of ${SIGN_INS} sign-ins of each kind`, figures });
  if (quickOrLong(false, true)) expect(ratio, figures).toBeLessThanOrEqual(MAX_RATIO);
});
