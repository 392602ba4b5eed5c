/** Changes on their way to the database while every sign-in of the user ends. */
import { drizzle } from 'drizzle-orm/postgres-js';
import { afterAll, expect, it } from 'vitest';
import type { Run } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { endUserSessions } from '../../../../src/domain/lifecycle/end-user-sessions.ts';
import { openAccount, tokenOf } from '../../../support/account-page.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { holdLock, waitForLockWaiters } from '../../../support/lock.ts';
import type { LoginBrowser, LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { askedForNew, savePasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { runPrepared } from '../../../support/recording-database.ts';
import { adminClient, createTestUser, PUBLIC_URL, type TestUser } from '../../../support/service.ts';
import { Wallet } from '../../../support/wallet.ts';

const acme = await FakeProvider.start();
const fixture = await LoginFixture.open({
  config: {
    loginMethods: ['wallet', 'email', 'passkey'],
    loginProviders: [acme.settings()],
    loginProviderIds: undefined,
  },
  start: new Date(),
});
const { clock, mailbox, service } = fixture;
const { database } = service;
const admin = adminClient(service);
afterAll(async () => {
  await fixture.close();
  await acme.stop();
});

interface SignedIn {
  readonly user: TestUser;
  readonly browser: LoginBrowser;
  readonly page: LoginPage;
}

/** Prepares a change, and returns what sends it. */
type Prepare = (signedIn: SignedIn) => Promise<() => Promise<LoginPage>>;

const change =
  (path: string, fields: Record<string, string> = {}): Prepare =>
  async ({ browser }) => {
    const token = tokenOf(await browser.open('/account/name'));
    return () => browser.post(path, { token, ...fields });
  };

/** The list of passkeys, with one, after a sign-in by code in another browser. */
async function openPasskeys({ user }: Pick<SignedIn, 'user'>) {
  const { browser, codePage, code } = await fixture.askForCode({ user });
  const list = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  return { browser, page: await savePasskey({ browser, page: list }, new SoftwarePasskey(), PUBLIC_URL) };
}

const CHANGES: [string, Prepare][] = [
  ['name', change('/account/name', { name: 'Eve' })],
  ['removed wallet', change('/account/wallet')],
  ['sign-out everywhere', change('/account/sessions/end-all')],
  ['deletion', (given) => change('/account/delete', { email: given.user.email })(given)],
  [
    'address',
    async ({ user, browser }) => {
      const email = `new-${user.email}`;
      const codePage = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
      return () => browser.submit(codePage, '/account/email/code', { code: mailbox.codeFor(email) });
    },
  ],
  [
    'new wallet',
    async ({ user, browser }) => {
      await admin.updateUser({ userId: user.id, walletAddress: '' });
      const wallet = new Wallet();
      const page = await browser.open('/account/wallet/new');
      const { body } = await browser.post('/account/wallet/challenge', {
        token: tokenOf(page),
        address: wallet.address,
      });
      const signature = wallet.sign(JSON.parse(body).message);
      return () => browser.submit(page, '/account/wallet/new', { signature });
    },
  ],
  [
    'linked account',
    async ({ browser, page }) => {
      const form = page.forms.find(({ action }) => action === '/account/providers/link');
      const { location } = await browser.post('/account/providers/link', { ...form?.fields });
      const callback = acme.signIn(location, { sub: crypto.randomUUID() });
      return () => browser.open(callback);
    },
  ],
  [
    'removed link',
    async ({ user, ...given }) => {
      const subject = crypto.randomUUID();
      await database.sql`
        insert into user_identities (issuer, subject, user_id, provider, created_at)
        values (${acme.origin}, ${subject}, ${user.id}, 'acme', now())`;
      return change('/account/providers/unlink', { issuer: acme.origin, subject })({ user, ...given });
    },
  ],
  [
    'new passkey',
    async (given) => {
      const { browser, page } = await openPasskeys(given);
      const credential = new SoftwarePasskey().create(askedForNew(page, PUBLIC_URL));
      return () => browser.submit(page, '/login/passkey/new', { credential });
    },
  ],
  [
    'new name of a passkey',
    async (given) => {
      const { browser, page } = await openPasskeys(given);
      return () => browser.submit(page, '/login/passkeys/name', { name: 'Of Eve' });
    },
  ],
  [
    'removed passkey',
    async (given) => {
      const { browser, page } = await openPasskeys(given);
      return () => browser.submit(page, '/login/passkeys/delete');
    },
  ],
];

/** Ends every sign-in of the user in a transaction that commits after `during`. */
async function endMeanwhile({ id: userId }: TestUser, during: () => Promise<unknown>): Promise<void> {
  await database.sql.begin(async ($client) => {
    const run: Run = (statement, parameters) => runPrepared($client, statement(drizzle.mock()), parameters);
    const now = clock.read();
    await endUserSessions({ now, run: withAudit(run, { ...BY_USHER, action: 'test', now }) }, { userId });
    await during();
  });
}

async function readStored({ id }: TestUser) {
  const { sql } = database;
  return {
    user: await sql`select email, name, wallet_address, deleted_at from users where id = ${id}`,
    identities: await sql`select subject from user_identities where user_id = ${id}`,
    passkeys: await sql`select id, name from passkeys where user_id = ${id}`,
  };
}

it.each(CHANGES)('the %s that waits while every sign-in of the user ends is not stored', async (_name, prepare) => {
  const user = await createTestUser(service, { name: 'Ada', walletAddress: new Wallet().address });
  const send = await prepare({ user, ...(await openAccount(fixture, user)) });
  const before = await readStored(user);
  let sending: Promise<LoginPage> | undefined;
  await endMeanwhile(user, () => {
    sending = send();
    return waitForLockWaiters(database, 1);
  });
  await sending;
  expect(await readStored(user)).toEqual(before);
});

it('a wait for anything else does not refuse a change', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  const { browser } = await openAccount(fixture, user);
  const send = await change('/account/name', { name: 'Grace' })({
    user,
    browser,
    page: await browser.open('/account'),
  });
  const lock = await holdLock(database, `update users set profile_image = 'x' where id = '${user.id}'`);
  const sending = send();
  await waitForLockWaiters(database, 1);
  await lock.release();
  await sending;
  expect((await readStored(user)).user).toMatchObject([{ name: 'Grace' }]);
});
