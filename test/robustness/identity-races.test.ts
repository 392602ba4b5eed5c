/** One account at a provider that several users link at once, on two replicas, also while one of them is erased. */
import { afterAll, expect, test } from 'vitest';
import { openAccount } from '../support/account-page.ts';
import { FakeProvider } from '../support/fake-provider.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const acme = await FakeProvider.start();
const config = { loginProviders: [acme.settings()], loginProviderIds: undefined };
const fixture = await LoginFixture.open({ config, start: new Date() });
const replica = await fixture.startReplica(config);
const admin = adminClient(fixture.service);
const { sql } = fixture.service.database;
afterAll(async () => {
  await replica.close();
  await fixture.close();
  await acme.stop();
});

const rounds = quickOrLong(6, 300);
const timeout = 3_600_000;

/** Returns a browser that is back from the provider with the identity, and has not asked Usher yet. */
async function prepare(user: TestUser, sub: string) {
  const { browser, page } = await openAccount(fixture, user);
  const form = page.forms.find(({ action }) => action === '/account/providers/link');
  const { location } = await browser.post('/account/providers/link', { ...form?.fields });
  return { browser, callback: acme.signIn(location, { sub }) };
}

/** Returns what enters the code that gives the identity to the address. */
async function prepareCode({ of, email, subject }: { of: Tenant; email: string; subject: string }) {
  const { browser, page } = await fixture.arrive({ of });
  const { location } = await browser.submit(page, '/login/provider');
  const linkPage = await browser.open(acme.signIn(location, { sub: subject, email }));
  const codePage = await browser.submit(linkPage, '/login/link');
  const code = fixture.mailbox.codeFor(email);
  return (at?: TestService) => browser.at(at).submit(codePage, '/login/code', { code });
}

const ownersOf = async (subject: string) =>
  (await sql`select user_id from user_identities where subject = ${subject}`).map(({ user_id }) => user_id);

test('an account that two users link at once has one owner', { timeout }, async () => {
  for (let round = 0; round < rounds; round++) {
    const subject = `shared ${round}`;
    const users = [await createTestUser(fixture.service), await createTestUser(fixture.service)] as const;
    const [first, second] = [await prepare(users[0], subject), await prepare(users[1], subject)];
    await Promise.all([first.browser.open(first.callback), second.browser.at(replica).open(second.callback)]);
    const owners = await ownersOf(subject);
    expect(owners).toHaveLength(1);
    expect(users.map(({ id }) => id)).toContain(owners[0]);
  }
});

test('an account with which two people sign up at once makes one of them a user', { timeout }, async () => {
  const of = await createTenant(fixture.service);
  await admin.updateApplication({ applicationId: of.id, allowSignUp: true });
  for (let round = 0; round < rounds; round++) {
    const subject = `signed up ${round}`;
    const emails = [`first-${round}@example.com`, `second-${round}@example.com`];
    const enter = await Promise.all(emails.map((email) => prepareCode({ of, email, subject })));
    const answers = await Promise.all([enter[0]?.(), enter[1]?.(replica)]);
    expect(answers.map((answer) => answer?.alert).sort()).toEqual(['', 'Another account uses this sign-in.']);
    expect(await ownersOf(subject)).toHaveLength(1);
    expect(await sql`select from users where email = any(${emails})`).toHaveLength(1);
  }
});

test('a user who is erased while a code links an account leaves nothing of it', { timeout }, async () => {
  for (let round = 0; round < rounds; round++) {
    const subject = `erased by a code ${round}`;
    const user = await createTestUser(fixture.service);
    const enter = await prepareCode({ of: fixture.tenant, email: user.email, subject });
    const erase = round % 2 ? admin.eraseUser({ userId: user.id }) : admin.deleteUser({ userId: user.id });
    await Promise.all([enter(replica), erase]);
    expect(await ownersOf(subject)).toEqual([]);
  }
});

test('a user who is erased while an account at a provider signs in leaves no browser', async () => {
  const user = await createTestUser(fixture.service);
  const linking = await prepare(user, 'signs in');
  await linking.browser.open(linking.callback);
  await sql.unsafe(`
    create table gate ();
    insert into gate default values;
    create function wait_at_gate() returns trigger language plpgsql as $$
      begin while exists (select from gate) loop perform pg_sleep(0.01); end loop; return new; end $$;
    create trigger gate before update on login_intents for each row when (old.completed_at is null)
      execute function wait_at_gate()`);
  const { browser, page, login } = await fixture.arrive();
  const { location } = await browser.submit(page, '/login/provider');
  const signingIn = browser.open(acme.signIn(location, { sub: 'signs in' }));
  const waiters = () => sql`
    select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  await expect.poll(waiters).not.toEqual([]);
  await admin.eraseUser({ userId: user.id });
  await sql`delete from gate`;
  await signingIn;
  const intents =
    await sql`select user_id, ip_address, user_agent from login_intents where id = ${login.loginIntentId}`;
  // A statement that has waited for a lock runs again, and finds the user no more.
  expect([user.id, null]).toContain(intents[0]?.user_id);
  expect(intents).toMatchObject([{ ip_address: null, user_agent: null }]);
});

test('a user who is erased while an account is linked leaves nothing of it', { timeout }, async () => {
  for (let round = 0; round < rounds; round++) {
    const subject = `erased ${round}`;
    const user = await createTestUser(fixture.service);
    const { browser, callback } = await prepare(user, subject);
    const erase = round % 2 ? admin.eraseUser({ userId: user.id }) : admin.deleteUser({ userId: user.id });
    await Promise.all([browser.at(replica).open(callback), erase]);
    expect(await ownersOf(subject)).toEqual([]);
  }
});
