/** A held sign-in ends when the credential of its first step is removed, and outlives the removal of others. */
import { afterAll, expect, it } from 'vitest';
import { follow } from '../../../support/account-page.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import type { LoginBrowser, LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { FLAGS, SoftwarePasskey } from '../../../support/passkey.ts';
import { askedAtSignIn, savePasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { STEP, setUpApp } from '../../../support/second-factor.ts';
import { adminClient, PUBLIC_URL } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const fixture = await LoginFixture.open({
  start: new Date(),
  config: {
    loginMethods: ['wallet', 'email', 'passkey'],
    loginProviders: [acme.settings()],
    loginProviderIds: undefined,
  },
});
const { clock, service } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(async () => {
  await fixture.close();
  await acme.stop();
});

/** Returns a person with an app that counts, and one credential of each kind. */
async function createPerson() {
  const { wallet, user } = await fixture.createWalletUser();
  const asked = await fixture.askForCode({ user });
  const page = await asked.browser.submit(asked.codePage, '/login/code', { code: asked.code, ...TO_PASSKEYS });
  const passkey = new SoftwarePasskey();
  await savePasskey({ browser: asked.browser, page }, passkey, PUBLIC_URL);
  await sql`
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    values (${acme.origin}, ${user.id}, ${user.id}, 'acme', ${clock.read()})`;
  const { app } = await setUpApp(fixture, user);
  // One that is added by code to somebody with a passkey is young.
  await sql`update totp_secrets set counts_from = null where user_id = ${user.id}`;
  return { user, wallet, passkey, app };
}

type Person = Awaited<ReturnType<typeof createPerson>>;
type FirstStep = (person: Person) => Promise<{ browser: LoginBrowser; page: LoginPage }>;
type Removal = (person: Person) => Promise<unknown>;

const byCode: FirstStep = async ({ user }) => {
  const asked = await fixture.askForCode({ user });
  return { browser: asked.browser, page: await asked.enter(asked.code) };
};
const byWallet: FirstStep = async ({ wallet }) => {
  const { browser, message, send } = await fixture.askForMessage(wallet.address);
  return { browser, page: await send(wallet.sign(message)) };
};
const byProvider: FirstStep = async ({ user }) => {
  const { browser, page } = await fixture.arrive();
  const form = page.forms.find(({ fields }) => fields.provider);
  const { location } = await browser.post('/login/provider', { ...form?.fields });
  return { browser, page: await follow(browser, await browser.open(acme.signIn(location, { sub: user.id }))) };
};
const byPasskey: FirstStep = async ({ passkey }) => {
  const { browser, page } = await fixture.arrive();
  const credential = passkey.answer(askedAtSignIn(page, PUBLIC_URL), { flags: FLAGS.verified });
  return { browser, page: await browser.submit(page, '/login/passkey', { credential }) };
};

const removeWallet: Removal = ({ user: { id: userId } }) => admin.updateUser({ userId, walletAddress: '' });
const replaceWallet: Removal = ({ user: { id: userId } }) =>
  admin.updateUser({ userId, walletAddress: `0x${'1'.repeat(40)}` });
const rename: Removal = ({ user: { id: userId } }) => admin.updateUser({ userId, name: 'Another name' });
const removeIdentity: Removal = ({ user: { id: userId } }) =>
  admin.deleteUserIdentity({ userId, issuer: acme.origin, subject: userId });
const removePasskey: Removal = async ({ user: { id: userId } }) => {
  const [passkey] = (await admin.listPasskeys({ userId })).passkeys;
  return admin.deletePasskey({ userId, passkeyId: passkey?.passkeyId ?? '' });
};

it.each([
  ['by wallet ends with the wallet', byWallet, removeWallet, false],
  ['by wallet ends with another wallet', byWallet, replaceWallet, false],
  ['by wallet outlives another name', byWallet, rename, true],
  ['by wallet outlives the account at a provider', byWallet, removeIdentity, true],
  ['by wallet outlives a passkey', byWallet, removePasskey, true],
  ['at a provider ends with the account there', byProvider, removeIdentity, false],
  ['at a provider outlives the wallet', byProvider, removeWallet, true],
  ['by passkey ends with the passkey', byPasskey, removePasskey, false],
  ['by passkey outlives the account at a provider', byPasskey, removeIdentity, true],
  ['by code outlives the wallet', byCode, removeWallet, true],
] as const)('a held sign-in %s', async (_, takeFirst, remove, isAlive) => {
  const person = await createPerson();
  const { browser, page } = await takeFirst(person);
  expect(page.heading).toBe('One more step');
  expect(page.body.includes('Use your passkey instead')).toBe(takeFirst !== byPasskey);
  await remove(person);
  const reply = await browser.submit(page, STEP, { code: person.app.codeAt(clock.read()) });
  expect(reply.location?.includes('authToken=') ?? false).toBe(isAlive);
});
