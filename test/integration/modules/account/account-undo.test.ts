/** The link that undoes a change of address also takes back what an intruder has added. */
import { afterAll, expect, it } from 'vitest';
import { openAccount, tokenOf } from '../../../support/account-page.ts';
import { HOUR, MINUTE } from '../../../support/clock.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { createTestUser, PUBLIC_URL, type TestUser } from '../../../support/service.ts';
import { Wallet } from '../../../support/wallet.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['wallet', 'email', 'passkey'] } });
const { clock, mailbox, service } = fixture;
const { sql } = service.database;
afterAll(() => fixture.close());

async function addPasskey(user: TestUser): Promise<void> {
  const { browser, codePage, code } = await fixture.askForCode({ user });
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
}

const addIdentity = ({ id }: TestUser, subject: string) => sql`
  insert into user_identities (issuer, subject, user_id, provider, created_at)
  values ('https://acme.test', ${`${subject} ${id}`}, ${id}, 'acme', ${clock.read()})`;

async function addWallet(browser: LoginBrowser): Promise<void> {
  const wallet = new Wallet();
  const page = await browser.open('/account/wallet/new');
  const { body } = await browser.post('/account/wallet/challenge', { token: tokenOf(page), address: wallet.address });
  clock.advance(1);
  await browser.submit(page, '/account/wallet/new', { signature: wallet.sign(JSON.parse(body).message) });
}

async function waysOf({ id }: TestUser) {
  const [{ email, wallet_address: wallet } = {}] = await sql`select email, wallet_address from users where id = ${id}`;
  const identities = await sql`select subject from user_identities where user_id = ${id}`;
  const passkeys = await sql`select id from passkeys where user_id = ${id} order by created_at`;
  return { email, wallet, identities: [...identities], passkeys: [...passkeys] };
}

/** Changes the address, and returns the page of the link to the old one. */
async function changeAddress(user: TestUser, browser: LoginBrowser) {
  const email = `${crypto.randomUUID()}@example.com`;
  const codePage = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
  await browser.submit(codePage, '/account/email/code', { code: mailbox.codeFor(email) });
  const find = () => mailbox.mails.find(({ to, kind }) => to === user.email && kind === 'change of address');
  await expect.poll(find).toBeDefined();
  const victim = new LoginBrowser(service);
  return { email, victim, question: await victim.open((find()?.link?.url ?? '').slice(PUBLIC_URL.length)) };
}

it('removes the passkey, the wallet and the account that were added since the sign-in', async () => {
  const user = await createTestUser(service, { walletAddress: '' });
  await addPasskey(user);
  await addIdentity(user, 'own');
  const own = await waysOf(user);
  clock.advance(HOUR);
  const { browser } = await openAccount(fixture, user);
  await addPasskey(user);
  await addWallet(browser);
  const { email, victim, question } = await changeAddress(user, browser);
  clock.advance(HOUR);
  await addPasskey({ ...user, email });
  await addIdentity(user, 'foreign');
  expect((await waysOf(user)).passkeys).toHaveLength(3);
  expect((await waysOf(user)).wallet).not.toBe('');
  expect((await victim.submit(question, '/account/undo')).heading).toBe('Your e-mail address is back');
  expect(await waysOf(user)).toEqual(own);
  clock.advance(MINUTE);
  await addPasskey(user);
  await victim.submit(question, '/account/undo');
  expect((await waysOf(user)).passkeys).toHaveLength(2);
});

it('keeps the wallet from before, and one that an operator has set', async () => {
  const user = await createTestUser(service, { walletAddress: new Wallet().address });
  const own = await waysOf(user);
  const { browser } = await openAccount(fixture, user);
  const { victim, question } = await changeAddress(user, browser);
  await victim.submit(question, '/account/undo');
  expect(await waysOf(user)).toEqual(own);
});
