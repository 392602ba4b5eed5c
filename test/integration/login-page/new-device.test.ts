/** The e-mail after a sign-in in a browser and a network that are new to the user. */
import { afterAll, expect, it } from 'vitest';
import { openAccount } from '../../support/account-page.ts';
import { HOUR } from '../../support/clock.ts';
import { LoginBrowser, newAddress } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { savePasskey, TO_PASSKEYS } from '../../support/passkey-page.ts';
import { adminClient, clientsOf, createTestUser, PUBLIC_URL, type TestUser } from '../../support/service.ts';
import type { Wallet } from '../../support/wallet.ts';

const DAY = 24 * HOUR;
const fixture = await LoginFixture.open({
  start: new Date(),
  config: { loginMethods: ['wallet', 'email', 'passkey'] },
});
const { service, mailbox, clock } = fixture;
const admin = adminClient(service);
afterAll(() => fixture.close());

const mailsTo = ({ email }: { email: string }) =>
  mailbox.mails.filter(({ to, kind }) => to === email && kind === 'sign-in notice');

/** Waits until a later notice has arrived: those from before have then, too. */
async function settle(): Promise<void> {
  const other = await createTestUser(service);
  await admin.deleteUser({ userId: other.id });
  await expect.poll(() => mailbox.mails.some(({ to }) => to === other.email)).toBe(true);
}

const browserAt = (address: string) => new LoginBrowser(service, { address });

async function signIn(wallet: Wallet, browser: LoginBrowser) {
  const asked = await fixture.askForMessage(wallet.address, { browser });
  const { location = '' } = await asked.send(wallet.sign(asked.message));
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  const { session } = await clientsOf(service, fixture.tenant).auth.exchangeToken({ authToken });
  return session?.id ?? '';
}

async function createUser(): Promise<{ wallet: Wallet; user: TestUser }> {
  return await fixture.createWalletUser();
}

it('goes out once for a new place, and not again from the same browser or network', async () => {
  const { wallet, user } = await createUser();
  const [home, browser] = [newAddress(), browserAt(newAddress())];
  await signIn(wallet, browserAt(home));
  await expect.poll(() => mailsTo(user)).toHaveLength(1);
  expect(mailsTo(user)[0]?.application.name).toBe(fixture.tenant.name);
  clock.advance(DAY);
  await signIn(wallet, browserAt(home));
  await settle();
  expect(mailsTo(user)).toHaveLength(1);
  await signIn(wallet, browser);
  await expect.poll(() => mailsTo(user)).toHaveLength(2);
});

it('goes out once a day at most', async () => {
  const { wallet, user } = await createUser();
  for (let place = 0; place < 3; place++) await signIn(wallet, browserAt(newAddress()));
  await settle();
  expect(mailsTo(user)).toHaveLength(1);
  clock.advance(DAY);
  await signIn(wallet, browserAt(newAddress()));
  await expect.poll(() => mailsTo(user)).toHaveLength(2);
});

it('does not go out after a code, which then makes the place known', async () => {
  const { wallet, user } = await createUser();
  const browser = browserAt(newAddress());
  const { enter, code } = await fixture.askForCode({ user, browser });
  expect((await enter(code)).location).toContain('authToken=');
  await signIn(wallet, browser);
  await settle();
  expect(mailsTo(user)).toEqual([]);
});

it('has a link whose button ends every sign-in, and which changes nothing when it is opened', async () => {
  const { wallet, user } = await createUser();
  const sessionId = await signIn(wallet, browserAt(newAddress()));
  await expect.poll(() => mailsTo(user)).toHaveLength(1);
  const { sessions } = clientsOf(service, fixture.tenant);
  const link = mailsTo(user)[0]?.link?.url.slice(PUBLIC_URL.length) ?? '';
  const reader = browserAt(newAddress());
  const page = await reader.open(link);
  expect(page.heading).toBe('Was this not you?');
  const row = mailsTo(user)[0]?.action?.url.split('?row=')[1] ?? '';
  expect((await openAccount(fixture, user)).page.body).toContain(`<div class="item" id="${row}">`);
  expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: true });
  const ended = await reader.submit(page, '/account/sign-ins');
  expect(ended.heading).toBe('Every sign-in has ended');
  expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: false });
  clock.advance(8 * DAY);
  expect((await reader.open(link)).heading).toBe('This link does not work any more');
  expect((await reader.submit(page, '/account/sign-ins')).heading).toBe('This link does not work any more');
});

it('has a link that also removes how somebody could sign in again who signed in there', async () => {
  const { wallet, user } = await createUser();
  const { sql } = service.database;
  const addIdentity = (subject: string) => sql`
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    values ('https://acme.test', ${`${subject} ${user.id}`}, ${user.id}, 'acme', ${clock.read()})`;
  const addPasskey = async () => {
    clock.advance(1);
    const { browser, codePage, code } = await fixture.askForCode({ user });
    const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
    await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
  };
  const waysOf = async () => {
    const [row] = await sql`
      select wallet_address, (select array_agg(subject) from user_identities where user_id = ${user.id}) as identities,
        (select array_agg(id order by created_at) from passkeys where user_id = ${user.id}) as passkeys
      from users where id = ${user.id}`;
    return row;
  };
  await addIdentity('own');
  await addPasskey();
  const own = await waysOf();
  clock.advance(HOUR);
  await signIn(wallet, browserAt(newAddress()));
  await expect.poll(() => mailsTo(user)).toHaveLength(1);
  // A replica whose clock is some seconds behind has stored it.
  await sql`update users set wallet_linked_at = ${clock.read()} where id = ${user.id}`;
  clock.advance(-2_000);
  await addIdentity('foreign');
  clock.advance(2_000);
  await addPasskey();
  expect((await waysOf())?.passkeys).toHaveLength(2);
  const reader = browserAt(newAddress());
  const page = await reader.open(mailsTo(user)[0]?.link?.url.slice(PUBLIC_URL.length) ?? '');
  expect(page.body).toContain('It also removes the passkeys');
  expect((await reader.submit(page, '/account/sign-ins')).heading).toBe('Every sign-in has ended');
  expect(await waysOf()).toEqual({ ...own, wallet_address: '' });
});
