/** A person uses everything that the login page and the account page have, and deletes the account. */
import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { removeExpired } from '../../src/jobs/expiry.ts';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { openAccount } from '../support/account-page.ts';
import { HOUR } from '../support/clock.ts';
import { dumpDatabase, tablesWith } from '../support/dump.ts';
import { beginLogin, LoginBrowser, type LoginPage, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { SoftwarePasskey } from '../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../support/passkey-page.ts';
import { adminClient, clientsOf, createTestWebhook, PUBLIC_URL } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const receiver = await WebhookReceiver.open();
// Endpoints may answer with what they were told.
receiver.respond = ({ body }, response) => void response.end(body);
const fixture = await LoginFixture.open({
  config: {
    loginMethods: ['wallet', 'email', 'passkey'],
    webhookDelivery: true,
    webhookAllowedNetworks: ['127.0.0.0/8'],
  },
});
const { clock, mailbox, service, tenant } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(async () => {
  await fixture.close();
  await receiver[Symbol.asyncDispose]();
});

/** Who uses everything, and in which browser. */
interface Person {
  readonly mark: string;
  readonly address: string;
  readonly agent: string;
  readonly email: string;
  readonly newEmail: string;
  readonly wallet: Wallet;
  readonly passkey: SoftwarePasskey;
  readonly browser: LoginBrowser;
}

const authTokenOf = ({ location = '' }: LoginPage) => new URL(location).searchParams.get('authToken') ?? '';

/** Exchanges the token from a server, which has neither the address nor the user agent of the person. */
async function exchange(page: LoginPage): Promise<void> {
  await clientsOf(service, tenant).auth.exchangeToken({ authToken: authTokenOf(page) });
}

/** Signs up with a wallet and an address, saves a passkey, and signs in with each. */
async function arrive(): Promise<Person> {
  const mark = randomBytes(8).toString('hex');
  const [address, wallet, passkey] = [newAddress(), new Wallet(), new SoftwarePasskey()];
  const agent = `agent-${mark}`;
  const elsewhere = () => new LoginBrowser(service, { address, userAgent: agent });
  const browser = elsewhere();
  const emails = { email: `${mark}@example.com`, newEmail: `new-${mark}@example.com` };
  const person = { mark, address, agent, ...emails, wallet, passkey, browser };
  const proof = await fixture.askForMessage(wallet.address, { browser });
  const link = await proof.send(wallet.sign(proof.message));
  const codePage = await browser.submit(link, '/login/link', { email: person.email });
  const code = mailbox.codeFor(person.email);
  const list = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  const saved = await savePasskey({ browser, page: list }, passkey, PUBLIC_URL);
  expect(saved.heading).toBe('Your passkeys');
  await exchange(await browser.submit(saved, '/login'));
  await exchange(await sendPasskey(await fixture.arrive({ browser: elsewhere() }), passkey, PUBLIC_URL));
  const again = await fixture.askForMessage(wallet.address, { browser: elsewhere() });
  await exchange(await again.send(wallet.sign(again.message)));
  return person;
}

test('an account that was used for everything, exported, changed and deleted leaves nothing', async () => {
  await admin.updateApplication({ applicationId: tenant.id, allowSignUp: true, singleSignOn: true });
  const { webhookId } = await createTestWebhook(service, tenant, { url: receiver.url });
  await clientsOf(service, tenant).webhooks.updateWebhook({ webhookId, eventTypes: ['*'] });
  const person = await arrive();
  const { mark, address, email, newEmail, wallet, passkey } = person;
  const [{ id } = { id: '' }] = (await admin.listUsers({ email })).users;
  await admin.updateUser({ userId: id, name: `Ada ${mark}`, profileImage: `https://img.test/${mark}` });
  const [stored] = await sql`select credential_id, public_key from passkeys where user_id = ${id}`;
  const [remembered] = await sql`select token_digest from remembered_sign_ins where user_id = ${id}`;
  const bytes = [stored?.credential_id, stored?.public_key, remembered?.token_digest].map((value) =>
    value.toString('hex'),
  );
  const traces = [mark, address, wallet.address, ...bytes];
  const of = async (texts: readonly string[]) => tablesWith(await dumpDatabase(service.database), texts);
  // The proof below is one of something that was there.
  for (const trace of traces) expect(await of([trace]), trace).not.toEqual([]);
  await expect.poll(() => of([mark])).toContain('webhook_attempts');

  const user = { id, email, name: `Ada ${mark}`, walletAddress: wallet.address, profileImage: '' };
  const elsewhere = () => new LoginBrowser(service, { address });
  const { browser } = await openAccount(fixture, user, elsewhere());
  const file = JSON.parse((await browser.open('/account/data')).body);
  expect(file).toMatchObject({
    user: { email, name: user.name, walletAddress: wallet.address },
    sessions: [{ ipAddress: address, userAgent: person.agent, method: 'wallet' }],
    logins: expect.arrayContaining([
      expect.objectContaining({ ipAddress: address, userAgent: person.agent, method: 'passkey' }),
    ]),
    passkeys: [{ credentialId: passkey.id.toString('base64url') }],
  });
  expect(file.rememberedSignIns).toBeGreaterThan(0);
  await browser.submit(await browser.open('/account/name'), '/account/name', { name: `Countess ${mark}` });
  const codePage = await browser.submit(await browser.open('/account/email'), '/account/email', { email: newEmail });
  await browser.submit(codePage, '/account/email/code', { code: mailbox.codeFor(newEmail) });
  const findNotice = () => mailbox.mails.findLast(({ kind, to }) => kind === 'change of address' && to === email);
  await expect.poll(findNotice).toBeDefined();
  const undo = findNotice()?.link?.url ?? '';
  // Another change of address is pending, and so are logins.
  await browser.submit(await browser.open('/account/email'), '/account/email', { email: `third-${mark}@example.com` });
  await fixture.askForCode({ user: { ...user, email: newEmail }, browser: elsewhere() });
  await fixture.askForMessage(wallet.address, { browser: elsewhere() });
  await sql`analyze`;

  const form = await browser.open('/account/delete');
  const gone = await browser.submit(form, '/account/delete', { email: newEmail });
  expect(gone.heading).toBe('Your account is deleted');
  await expect.poll(() => of(traces)).toEqual([]);

  // Nothing that the person still has brings any of it back, or tells that it was there.
  expect((await browser.open('/account')).heading).toBe('Your account');
  const question = await browser.open(undo.slice(PUBLIC_URL.length));
  expect((await browser.submit(question, '/account/undo')).heading).toBe('This link does not work any more');
  const refused = await sendPasskey(await fixture.arrive({ browser: elsewhere() }), passkey, PUBLIC_URL);
  expect(refused.alert).toContain('This passkey is not known any more.');
  for (const each of [browser, person.browser]) {
    const offered = await each.open((await beginLogin(service, tenant)).path);
    expect(offered).toMatchObject({ status: 200, heading: `Sign in or sign up to ${tenant.name}` });
  }
  expect(await of(traces)).toEqual([]);

  await using stack = new AsyncDisposableStack();
  const database = new Database(service.database.url, { connections: 1, statementTimeoutMs: 60_000 });
  stack.defer(() => database.close());
  await removeExpired(database, { now: new Date(clock.read().getTime() + 2 * HOUR), webhookLogDays: 3 });
  expect(await of(traces)).toEqual([]);
});
