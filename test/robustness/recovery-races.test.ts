/** The last button of a recovery, pressed at the same moment as something else happens on another replica. */
import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { dumpTables } from '../support/dump.ts';
import { beginLogin, LOGIN_CONFIG, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { Mailbox } from '../support/mail-server.ts';
import { SoftwarePasskey } from '../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../support/passkey-page.ts';
import { makeRecoveryLink, reachLastButton } from '../support/recovery.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  startTestService,
  type TestUser,
} from '../support/service.ts';

const ROUNDS = 8;
const mailbox = new Mailbox();
const config: Parameters<typeof startTestService>[0] = {
  sendMail: mailbox.sendMail,
  config: { ...LOGIN_CONFIG, loginMethods: ['wallet', 'email', 'passkey'], databaseConnections: 8 },
};
const service = await startTestService(config);
const replica = await startTestService({ ...config, database: service.database, like: service.config });
afterAll(async () => {
  await replica.close();
  await service.close();
});
const tenant = await createTenant(service);
const admin = adminClient(replica);
const { sql } = service.database;

async function createOwner() {
  const user = await createTestUser(service);
  const browser = new LoginBrowser(service);
  const codePage = await browser.submit(await browser.open((await beginLogin(service, tenant)).path), '/login/email', {
    email: user.email,
  });
  const page = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(user.email), ...TO_PASSKEYS });
  const passkey = new SoftwarePasskey();
  await savePasskey({ browser, page }, passkey, PUBLIC_URL);
  return { user, passkey };
}

async function begin(removes = ['PASSKEYS']) {
  await sql`delete from rate_limits`;
  const owner = await createOwner();
  const made = await makeRecoveryLink(service, owner.user, removes);
  const browser = new LoginBrowser(service);
  const last = await reachLastButton(browser, made);
  return { ...owner, made, browser, last, press: () => browser.submit(last, '/recover/use') };
}

const passkeysOf = async ({ id }: TestUser) => (await sql`select from passkeys where user_id = ${id}`).length;
const statusOf = async ({ id }: TestUser) =>
  (await sql`select status from recovery_links where user_id = ${id}`).map(({ status }) => status);
const isIn = ({ heading }: LoginPage) => heading === 'Your passkeys';

/** Both at once, the second a few microseconds to milliseconds later in each round. */
async function race<First, Second>(round: number, first: () => Promise<First>, second: () => Promise<Second>) {
  const later = new Promise((resolve) => setTimeout(resolve, round % 4)).then(second);
  return Promise.all([first(), later]);
}

test.for(Array.from({ length: ROUNDS }, (_, round) => round))('a revocation of the link, round %s', async (round) => {
  const { user, made, press } = await begin();
  const [page] = await race(round, press, () => admin.revokeRecoveryLink({ recoveryLinkId: made.recoveryLinkId }));
  expect([await statusOf(user), await passkeysOf(user)]).toEqual(isIn(page) ? [['USED'], 0] : [['REVOKED'], 1]);
});

test.for(Array.from({ length: ROUNDS }, (_, round) => round))('a use in another browser, round %s', async (round) => {
  const { user, made, press } = await begin();
  const other = new LoginBrowser(replica);
  const last = await reachLastButton(other, made);
  const pages = await race(round, press, () => other.submit(last, '/recover/use'));
  expect(pages.map(isIn).sort()).toEqual([false, true]);
  expect([await statusOf(user), await passkeysOf(user)]).toEqual([['USED'], 0]);
});

test.for(Array.from({ length: ROUNDS }, (_, round) => round))('a deactivation, round %s', async (round) => {
  const { user, press } = await begin();
  await race(round, press, () => admin.deactivateUser({ userId: user.id }));
  // The deactivation may also come between the use and the page of the passkeys.
  const [status] = await statusOf(user);
  expect(await passkeysOf(user)).toBe(status === 'USED' ? 0 : 1);
  expect(['USED', 'OPEN']).toContain(status);
  expect((await admin.getUser({ userId: user.id })).user?.deactivatedAt).toBeDefined();
});

test.for(Array.from({ length: ROUNDS }, (_, round) => round))('an erasure, round %s', async (round) => {
  const { user, press } = await begin();
  await race(round, press, () => admin.eraseUser({ userId: user.id }));
  for (const table of ['recovery_links', 'passkeys', 'known_origins', 'login_codes', 'user_identities']) {
    expect(await sql`select from ${sql(table)} where user_id = ${user.id}`, table).toHaveLength(0);
  }
  const intents = await sql`select ip_address from login_intents where user_id = ${user.id}`;
  expect(intents.filter(({ ip_address: address }) => address !== null)).toEqual([]);
  const { notices: _, ...dump } = await dumpTables(service.database, user.email);
  expect(dump).toEqual({});
});

test.for(Array.from({ length: ROUNDS }, (_, round) => round))('a change of the address, round %s', async (round) => {
  const { user, press } = await begin();
  const email = `${randomBytes(6).toString('hex')}@other.test`;
  const [page] = await race(round, press, () => admin.updateUser({ userId: user.id, email }));
  expect((await admin.getUser({ userId: user.id })).user?.email).toBe(email);
  expect([await statusOf(user), await passkeysOf(user)]).toEqual(isIn(page) ? [['USED'], 0] : [['OPEN'], 1]);
});

test.for(Array.from({ length: 2 * ROUNDS }, (_, round) => round))(
  'a sign-in with the lost passkey, round %s',
  async (round) => {
    const { user, passkey, press } = await begin();
    const intruder = new LoginBrowser(replica);
    const page = await intruder.open((await beginLogin(replica, tenant)).path);
    const [used, signedIn] = await race(round, press, () =>
      sendPasskey({ browser: intruder, page }, passkey, PUBLIC_URL),
    );
    expect(isIn(used)).toBe(true);
    const authToken = new URL(signedIn.location ?? PUBLIC_URL).searchParams.get('authToken') ?? 'none';
    await expect(clientsOf(service, tenant).auth.exchangeToken({ authToken })).rejects.toThrow();
    expect(await passkeysOf(user)).toBe(0);
    expect((await admin.listUserSessions({ userId: user.id })).sessions).toEqual([]);
  },
);

test.for(Array.from({ length: ROUNDS }, (_, round) => round))(
  'another passkey of an intruder who has just signed in, round %s',
  async (round) => {
    const { user, passkey, press } = await begin();
    const intruder = new LoginBrowser(replica);
    const choice = await intruder.open((await beginLogin(replica, tenant, { prompt: 'PASSKEYS' })).path);
    const page = await sendPasskey({ browser: intruder, page: choice }, passkey, PUBLIC_URL);
    expect(page.heading).toBe('Your passkeys');
    const [used] = await race(round, press, () =>
      savePasskey({ browser: intruder, page }, new SoftwarePasskey(), PUBLIC_URL),
    );
    expect(isIn(used)).toBe(true);
    expect(await passkeysOf(user)).toBe(0);
  },
);

test('a crash after the first of the two statements: what was lost is gone, and the person goes on', async () => {
  const { user, passkey, press } = await begin();
  const { loginIntentId } = await beginLogin(service, tenant);
  await admin.completeLogin({ loginIntentId, userId: user.id });
  // The second statement raises the count of cut-offs once more.
  await sql.unsafe(`
    create function crash() returns trigger language plpgsql as $$ begin raise exception 'crash'; end $$;
    create trigger crash before update on users for each row
      when (new.id = '${user.id}' and new.cutoff_count = 2) execute function crash()`);
  expect(isIn(await press())).toBe(false);
  await sql.unsafe('drop trigger crash on users; drop function crash()');
  expect([await statusOf(user), await passkeysOf(user)]).toEqual([['USED'], 0]);
  expect((await admin.listUserSessions({ userId: user.id })).sessions).toEqual([]);
  const intruder = new LoginBrowser(replica);
  const page = await intruder.open((await beginLogin(replica, tenant)).path);
  expect((await sendPasskey({ browser: intruder, page }, passkey, PUBLIC_URL)).location ?? '').not.toContain(
    'authToken',
  );
  // The first statement has completed the login of this browser.
  expect(isIn(await press())).toBe(true);
});
