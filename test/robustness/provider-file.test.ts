/** The file of login providers, changed while a process runs. */
import { rename, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { FakeProvider } from '../support/fake-provider.ts';
import { beginLogin, LoginBrowser } from '../support/login-browser.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { createTenant, type Tenant } from '../support/service.ts';

const stack = new AsyncDisposableStack();
let acme: FakeProvider;
let other: FakeProvider;
let database: TestDatabase;
let path: string;
let usher: UsherProcess;
let tenant: Tenant;

beforeAll(async () => {
  acme = stack.use(await FakeProvider.start());
  other = stack.use(await FakeProvider.start());
  database = stack.use(await cloneDatabase());
  path = await acme.writeSettings();
  const env = { LOGIN_METHODS: '', LOGIN_PROVIDERS_FILE: path, WEBHOOK_DELIVERY: 'false' };
  usher = stack.use(await startUsher(database.url, env, { keepsLog: true }));
  tenant = await createTenant(usher);
});
afterAll(() => stack.disposeAsync());

/** Replaces the file at once: a reader of one that is written in place may get a part of it. */
async function writeText(text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

const write = (...providers: object[]) => writeText(JSON.stringify(providers));

async function open() {
  const browser = new LoginBrowser(usher);
  return { browser, page: await browser.open((await beginLogin(usher, tenant)).path) };
}

/** The file is looked at every few seconds. Asking more often keeps the machine from other tests. */
const POLL = { interval: 250 };

/** Returns the providers of the page. */
const offered = async () => (await open()).page.forms.flatMap(({ fields }) => fields.provider ?? []);

/** Returns how the log says it, as often as it does. */
const logged = (message: string) => usher.stdout.split('\n').filter((line) => line.includes(`"msg":"${message}"`));

/** Signs in as somebody whom Usher knows, and returns the secret that the provider got. */
async function signIn(): Promise<string> {
  const { browser, page } = await open();
  expect(page.status).toBe(200);
  const { location } = await browser.submit(page, '/login/provider');
  const { location: done } = await browser.open(acme.signIn(location, { sub: 'ada', email: 'ada@acme.test' }));
  expect(done).toContain('authToken=');
  return acme.secret;
}

test('a provider that is added is offered, and one that is removed is not, nor accepted', async () => {
  expect(await offered()).toEqual(['acme']);
  const { browser, page } = await open();
  await write(other.settings({ id: 'other', name: 'Other' }), acme.settings());
  await expect.poll(offered, POLL).toEqual(['other', 'acme']);
  await write(other.settings({ id: 'other', name: 'Other' }));
  await expect.poll(offered, POLL).toEqual(['other']);
  const late = await browser.submit(page, '/login/provider');
  expect(late.alert).toBe('This way to sign in is not available here. Please choose another one.');
  await write(acme.settings());
  await expect.poll(offered, POLL).toEqual(['acme']);
  await expect.poll(() => logged('login providers read again')).toHaveLength(3);
});

test('a file that cannot be used is logged once, without its text, and the providers stay', async () => {
  const before = logged('login providers read again').length;
  await writeText('[{ "clientSecret": "a-secret-of-usher" ');
  await expect.poll(() => logged('login providers not read again')).toHaveLength(1);
  expect(await offered()).toEqual(['acme']);
  await write({ ...acme.settings(), issuer: 'http://elsewhere.test' });
  await expect.poll(() => logged('login providers not read again')).toHaveLength(2);
  expect(logged('login providers not read again').at(-1)).toContain('entry 1: issuer must be an https URL');
  expect(await offered()).toEqual(['acme']);
  await write(acme.settings());
  await expect.poll(() => logged('login providers read again')).toHaveLength(before + 1);
  expect(usher.stdout + usher.stderr).not.toContain('a-secret-of-usher');
});

test('a secret that changes is used for the next sign-in', async () => {
  const userId = crypto.randomUUID();
  await database.sql`
    with ada as (
      insert into users (id, email, wallet_address, created_at) values (${userId}, 'ada@acme.test', '', now()) returning id
    )
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    select ${acme.origin}, 'ada', id, 'acme', now() from ada`;
  // On a busy machine the metadata of the provider may come too late at first.
  await expect.poll(signIn, POLL).toBe('a-secret-of-usher');
  await write(acme.settings({ clientSecret: 'another-secret' }));
  await expect.poll(signIn, POLL).toBe('another-secret');
});
