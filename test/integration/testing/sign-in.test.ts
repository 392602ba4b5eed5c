/** What `signIn` leaves behind and refuses is what a browser on the login page leaves behind and is refused. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getTableName } from 'drizzle-orm';
import { afterAll, expect, test } from 'vitest';
import { TABLES } from '../../../src/database/schema/tables.ts';
import { SignInRefusedError, type TestApplication } from '../../../src/testing/test-usher.ts';
import { startUsher } from '../../../src/testing/usher-testing.ts';
import { createDirectory } from '../../support/directory.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { startWithDatabase } from '../../support/find-test-database.ts';
import { LoginBrowser, type LoginPage } from '../../support/login-browser.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { savePasskey, sendPasskey } from '../../support/passkey-page.ts';
import { Wallet } from '../../support/wallet.ts';

const REDIRECT_URI = 'http://127.0.0.1/callback';
const USER_AGENT = 'usher-testing';
const stack = new AsyncDisposableStack();
const acme = stack.use(await FakeProvider.start());
const providers = join(await createDirectory(), 'providers.json');
await writeFile(providers, JSON.stringify([acme.settings({ trustEmail: true })]));
const { usher, database } = stack.use(
  await startWithDatabase(() => startUsher({ env: { LOGIN_PROVIDERS_FILE: providers } })),
);
const { sql } = database;
afterAll(() => stack.disposeAsync());

/** They hold what was proved on the way, or progress of jobs. */
const PROOFS =
  /^(login_codes|rate_limits|wallet_challenges|proved_identities|passkeys|hourly_counts|expiry_marks|audit_outbox)$/;

interface Person {
  readonly id: string;
  readonly email: string;
  readonly wallet: Wallet;
  readonly passkey: SoftwarePasskey;
}

async function createPerson(): Promise<Person> {
  const wallet = new Wallet();
  const { id, email } = await usher.createUser({ name: 'Ada', walletAddress: wallet.address });
  return { id, email, wallet, passkey: new SoftwarePasskey() };
}

/** Opens the login page, and signs in there. Returns the page that follows. */
const IN_BROWSER: Readonly<
  Record<string, (browser: LoginBrowser, page: LoginPage, person: Person) => Promise<LoginPage>>
> = {
  async email(browser, page, { email }) {
    const codePage = await browser.submit(page, '/login/email', { email });
    return browser.submit(codePage, '/login/code', { code: usher.mails(email).at(-1)?.code ?? '' });
  },
  async wallet(browser, page, { wallet }) {
    const fields = page.forms.find(({ action }) => action === '/login/wallet')?.fields;
    const { body } = await browser.post('/login/wallet/challenge', { ...fields, address: wallet.address });
    return browser.submit(page, '/login/wallet', { signature: wallet.sign(JSON.parse(body).message) });
  },
  passkey: (browser, page, { passkey }) => sendPasskey({ browser, page }, passkey, usher.url),
  async acme(browser, page, { email }) {
    const form = page.forms.find(({ fields }) => fields.provider === 'acme');
    const { location } = await browser.post('/login/provider', { ...form?.fields });
    return browser.open(acme.signIn(location, { sub: email, email, email_verified: true, name: '' }));
  },
};

async function beginLogin({ client, clientId }: TestApplication, demands: object = {}): Promise<string> {
  const login = { clientId, redirectUri: REDIRECT_URI, state: 'a state', ...demands };
  return (await client.auth.generateAuthUrl(login)).authUrl;
}

async function openPage(authUrl: string) {
  const browser = new LoginBrowser(usher, { userAgent: USER_AGENT });
  const { pathname, search } = new URL(authUrl);
  return { browser, page: await browser.open(pathname + search) };
}

/** Gives the person a passkey that is no longer young. */
async function addPasskey(person: Person): Promise<void> {
  const { browser, page } = await openPage(await beginLogin(await usher.createApplication(), { prompt: 'PASSKEYS' }));
  const offer = await IN_BROWSER.email?.(browser, page, person);
  if (offer) await savePasskey({ browser, page: offer }, person.passkey, usher.url);
}

/** Returns the rows that the work has added or changed, without what is different each time. */
async function findNewRows(work: () => Promise<unknown>) {
  const before = await readRows();
  await work();
  await usher.settle();
  const known = new Set(before.map(({ raw }) => raw));
  return (await readRows())
    .filter(({ raw }) => !known.has(raw))
    .map(({ shown }) => shown)
    .sort();
}

async function readRows() {
  const names = TABLES.map(({ table }) => getTableName(table)).filter((table) => !PROOFS.test(table));
  const rows = await Promise.all(
    names.map(async (table) => (await sql`select * from ${sql(table)}`).map((row) => ({ table, row }))),
  );
  return rows
    .flat()
    .map(({ table, row }) => ({ raw: `${table} ${print(row)}`, shown: `${table} ${print(row, hide)}` }));
}

const print = (row: object, replace = (_: string, value: unknown) => value) =>
  JSON.stringify(Object.fromEntries(Object.entries(row).map(([key, value]) => [key, replace(key, show(value))])));
const show = (value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** Only the browser of a real passkey names it. */
function hide(key: string, value: unknown): unknown {
  if (key === 'passkey_id') return 'any';
  if (value instanceof Date || value instanceof Buffer) return value.constructor.name;
  return typeof value === 'string'
    ? value
        .replace(/0x[0-9a-f]{40}/g, 'wallet')
        .replace(/[0-9a-f-]{36}/g, 'ID')
        .replace(/user-\d+@/g, 'user@')
    : value;
}

const FLOORS = ['ANY', 'TWO_FACTORS', 'PHISHING_RESISTANT'] as const;
const ACCESS = ['open', 'let in', 'kept out'] as const;
const CELLS = ['email', 'wallet', 'passkey', 'acme'].flatMap((method) =>
  FLOORS.flatMap((floor) => ACCESS.map((access) => ({ method, floor, access }))),
);
const [real, made] = [await createPerson(), await createPerson()];
await addPasskey(real);
await addPasskey(made);
await usher.clock.advance('30d');

test.each(CELLS)('by $method, with the floor $floor, $access', async ({ method, floor, access }) => {
  const application = await usher.createApplication({ requiredAssurance: floor, restrictAccess: access !== 'open' });
  const people = method === 'passkey' ? [real, made] : [await createPerson(), await createPerson()];
  const [inBrowser, direct] = people as [Person, Person];
  if (access === 'let in')
    for (const { id: userId } of people)
      await usher.admin.addApplicationUser({ applicationId: application.id, userId });
  const urls = [await beginLogin(application), await beginLogin(application)] as const;
  const { browser, page } = await openPage(urls[0]);
  const isOffered = isShown(page, method);
  let location: string | undefined;
  const expected = await findNewRows(async () => {
    if (isOffered) ({ location } = (await IN_BROWSER[method]?.(browser, page, inBrowser)) ?? { location: undefined });
    // The page keeps a refusal after its answer.
    const isRefused = async () =>
      (await sql`select from audit_events where application_id = ${application.id} and action like 'SignIn/%'`).length >
      0;
    if (isOffered && access === 'kept out') await expect.poll(isRefused).toBe(true);
  });
  let refusal: unknown;
  let redirectUrl: string | undefined;
  const rows = await findNewRows(async () => {
    const signedIn = usher.signIn(urls[1], direct.email, { method });
    ({ redirectUrl } = await signedIn.catch((error) => {
      refusal = error;
      return { redirectUrl: undefined };
    }));
  });
  if (refusal !== undefined) expect(refusal).toBeInstanceOf(SignInRefusedError);
  const isCompleted = location?.startsWith(REDIRECT_URI) ?? false;
  expect([method, floor, access, redirectUrl !== undefined]).toEqual([method, floor, access, isCompleted]);
  // What the page does not offer leaves no rows there.
  if (!isOffered) expect(refusal).toMatchObject({ reason: expect.stringMatching(/ASSURANCE_NOT_MET/) });
  else expect(rows).toEqual(expected);
  if (!isCompleted) return;
  const claims = [location ?? '', redirectUrl ?? ''].map((url) => readClaims(url));
  expect(claims[1]).toEqual(claims[0]);
});

function isShown({ forms, body }: LoginPage, method: string): boolean {
  if (method === 'passkey') return body.includes('id="passkey"');
  return forms.some(({ action, fields }) => action === `/login/${method}` || fields.provider === method);
}

/** Returns the claims of the auth token that are equal for all users and times. */
function readClaims(redirectUrl: string) {
  const { searchParams } = new URL(redirectUrl);
  const [, payload = ''] = (searchParams.get('authToken') ?? '').split('.');
  const { iss, aud, ...claims } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return {
    iss,
    aud,
    names: Object.keys(claims).sort(),
    amr: claims.amr,
    acr: claims.acr,
    state: searchParams.get('state'),
  };
}
