/**
 * What sign-ins with a passkey and at another provider cost Usher beside those by code, without the wait for the
 * provider. The long form judges CPU times.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { readUsage } from '../lab/bench/read-usage.ts';
import { medianOf } from '../lab/bench/statistics.ts';
import { cloneDatabase } from '../support/database.ts';
import { FakeProvider } from '../support/fake-provider.ts';
import { beginLogin, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { MailServer } from '../support/mail-server.ts';
import { SoftwarePasskey } from '../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../support/passkey-page.ts';
import { startUsher } from '../support/process.ts';
import { createTenant, PUBLIC_URL } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const ROUNDS = quickOrLong(1, 15);
const SIGN_INS = quickOrLong(2, 10);
const METADATA = '/.well-known/openid-configuration';
/** Time for the process to finish its work after the last reply. */
const SETTLE_MS = 100;

/** Writes when a file of the library of passkeys is loaded. */
const PROBE = `
import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    if (url.includes('/@simplewebauthn/')) process.stderr.write('loaded the library\\n');
    return next(url, context);
  },
});`;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const database = stack.use(await cloneDatabase());
const mail = stack.use(await MailServer.start());
const acme = stack.use(await FakeProvider.start());
const usher = stack.use(
  await startUsher(database.url, {
    LOGIN_METHODS: 'email,passkey,acme',
    LOGIN_PROVIDERS_FILE: await acme.writeSettings(),
    SMTP_URL: mail.url,
    MAIL_FROM: 'login@usher.test',
    TRUSTED_PROXIES: '127.0.0.1',
    WEBHOOK_DELIVERY: 'false',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROBE)}`,
  }),
);
const tenant = await createTenant(usher);

type SignIn = (email: string) => Promise<{ readonly browser: LoginBrowser; readonly page: LoginPage }>;

/** Returns the addresses of new users, each with an identity at the provider. */
async function createPeople(count = SIGN_INS): Promise<string[]> {
  const rows = await database.sql`
    with people as (
      insert into users (id, email, wallet_address, created_at)
      select id, id || '@example.com', '', now() from (select gen_random_uuid() as id from generate_series(1, ${count}::int))
      returning id, email
    )
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    select ${acme.origin}, email, id, 'acme', now() from people returning subject as email`;
  return rows.map(({ email }) => email);
}

const arrive = async () => {
  const browser = new LoginBrowser(usher);
  return { browser, page: await browser.open((await beginLogin(usher, tenant)).path) };
};

async function signInByCode(email: string, fields = {}) {
  const { browser, page } = await arrive();
  const codePage = await browser.submit(page, '/login/email', { email });
  const find = () => mail.emails.findLast(({ to }) => to.includes(email))?.raw ?? '';
  await expect.poll(find, { timeout: 60_000, interval: 5 }).not.toBe('');
  const code = /^Subject: (\d{6}) /m.exec(find())?.[1] ?? '';
  return { browser, page: await browser.submit(codePage, '/login/code', { code, ...fields }) };
}

/** Returns the CPU time of one sign-in, in microseconds. */
async function measure(signIn: SignIn, people: readonly string[]): Promise<number> {
  const before = readUsage(usher.pid).cpuMicros;
  for (const email of people) {
    const { status, heading, alert, location } = (await signIn(email)).page;
    expect({ status, heading, alert, location }).toMatchObject({ location: expect.stringContaining('authToken=') });
  }
  await sleep(SETTLE_MS);
  return (readUsage(usher.pid).cpuMicros - before) / people.length;
}

interface Way {
  readonly maxRatio: number;
  /** How often the provider is asked for its metadata. */
  readonly asks: number;
  /** Returns how somebody signs in, and what the first time has cost. */
  readonly prepare: () => Promise<readonly [SignIn, figures: string]>;
}

const WAYS: Readonly<Record<string, Way>> = {
  'with a passkey, whose library is loaded by the first': {
    maxRatio: 1.3,
    asks: 0,
    async prepare() {
      expect(usher.stderr).not.toContain('loaded the library');
      const withoutBytes = usher.residentBytes();
      const passkey = new SoftwarePasskey();
      const [email = ''] = await createPeople(1);
      await savePasskey(await signInByCode(email, TO_PASSKEYS), passkey, PUBLIC_URL);
      const growth = usher.residentBytes() - withoutBytes;
      await expect.poll(() => usher.stderr).toContain('loaded the library');
      const signIn = async () => {
        const arrived = await arrive();
        return { ...arrived, page: await sendPasskey(arrived, passkey, PUBLIC_URL) };
      };
      return [signIn, `the library took ${(growth / 2 ** 20).toFixed(0)} MiB`];
    },
  },
  'at a provider, whose metadata the first asks for,': {
    maxRatio: 2,
    asks: 1,
    async prepare() {
      const signIn = async (sub: string) => {
        const { browser, page } = await arrive();
        const { location } = await browser.submit(page, '/login/provider');
        return { browser, page: await browser.open(acme.signIn(location, { sub })) };
      };
      const first = await measure(signIn, await createPeople(1));
      return [signIn, `the first of a process ${first.toFixed(0)} us`];
    },
  },
};

test.for(Object.entries(WAYS))(
  'sign-ins %s cost little more than those by code',
  { timeout: 900_000 },
  async ([name, { maxRatio, asks, prepare }], context) => {
    await measure(signInByCode, await createPeople());
    const [signIn, figuresOfFirst] = await prepare();
    await measure(signIn, await createPeople());
    const costs: { code: number; other: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const people = await createPeople();
      costs.push({ code: await measure(signInByCode, people), other: await measure(signIn, people) });
    }
    const ratio = medianOf(costs.map(({ code, other }) => other / code));
    const [code, other] = [medianOf(costs.map((cost) => cost.code)), medianOf(costs.map((cost) => cost.other))];
    const figures = `${other.toFixed(0)} us, ${code.toFixed(0)} us by code: ${ratio.toFixed(2)}x; ${figuresOfFirst}`;
    report(context, { tried: `${ROUNDS} rounds of ${SIGN_INS} sign-ins ${name}`, figures });
    expect(acme.requests.filter((path) => path === METADATA)).toHaveLength(asks);
    if (quickOrLong(false, true)) expect(ratio, figures).toBeLessThanOrEqual(maxRatio);
  },
);
