/** E-mails about changes of an account: each change has one, whoever makes it, and it outlives its process. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MailError } from '../../../src/mail/mail-error.ts';
import { openAccount } from '../../support/account-page.ts';
import { HOUR, SECOND } from '../../support/clock.ts';
import { LoginBrowser } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { adminClient, createTestUser, PUBLIC_URL } from '../../support/service.ts';
import { Wallet } from '../../support/wallet.ts';

let fixture: LoginFixture;
beforeEach(async () => {
  fixture = await LoginFixture.open();
});
afterEach(() => fixture.close());

const newAddress = () => `${crypto.randomUUID()}@example.com`;

const noticesTo = (email: string) =>
  fixture.mailbox.mails.filter(({ to, code }) => to === email && !code).map(({ subject: [key] }) => key);

const admin = () => adminClient(fixture.service);

const countStored = async () => (await fixture.service.database.sql`select from notices`).length;

async function changeAddress(browser: LoginBrowser): Promise<string> {
  const email = newAddress();
  const codePage = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
  fixture.mailbox.failure = new MailError({ code: 'ECONNECTION' }, { isOfServer: true });
  await browser.submit(codePage, '/account/email/code', { code: fixture.mailbox.codeFor(email) });
  return email;
}

/** Makes a change of another user, whose notice wakes the service. */
async function wake(): Promise<void> {
  const { id: userId } = await createTestUser(fixture.service);
  await admin().deleteUser({ userId });
}

/** The mail server is back, at a time when every notice is due. */
async function recover(): Promise<void> {
  fixture.mailbox.failure = undefined;
  fixture.clock.advance(2 * HOUR);
  await wake();
}

it('the link that undoes a change of address arrives although the replica that made the change has ended', async () => {
  const user = await createTestUser(fixture.service);
  const ending = await fixture.startReplica();
  const { browser } = await openAccount(fixture, user, new LoginBrowser(ending));
  const email = await changeAddress(browser);
  await ending.close();
  await recover();
  await expect.poll(() => noticesTo(user.email)).toEqual(['mail.addressChanged.subject']);
  const link = fixture.mailbox.mails.findLast(({ to }) => to === user.email)?.link?.url ?? '';
  const stranger = new LoginBrowser(fixture.service);
  const undone = await stranger.submit(await stranger.open(link.slice(PUBLIC_URL.length)), '/account/undo');
  expect(undone.heading).toBe('Your e-mail address is back');
  expect((await admin().getUser({ userId: user.id })).user?.email).toBe(user.email);
  // The address that was lost again is told, too: an abandoned mailbox may have a new owner.
  await expect.poll(() => noticesTo(email)).toEqual(['mail.addressChanged.subject']);
  await expect.poll(countStored).toBe(0);
});

it('a person who removes the wallet and then deletes the account gets a notice of both', async () => {
  const user = await createTestUser(fixture.service, { walletAddress: new Wallet().address });
  const { browser } = await openAccount(fixture, user);
  await browser.submit(await browser.open('/account/wallet'), '/account/wallet');
  await expect.poll(() => noticesTo(user.email)).toEqual(['mail.walletRemoved.subject']);
  await browser.submit(await browser.open('/account/delete'), '/account/delete', { email: user.email });
  await expect.poll(() => noticesTo(user.email)).toEqual(['mail.walletRemoved.subject', 'mail.accountDeleted.subject']);
  await expect.poll(countStored).toBe(0);
});

const wallet = () => new Wallet().address;

it.each([
  ['deletes the account', (userId: string) => admin().deleteUser({ userId }), ['accountDeleted']],
  ['erases the account', (userId: string) => admin().eraseUser({ userId }), ['accountDeleted']],
  [
    'deletes and then erases the account',
    async (userId: string) => {
      await admin().deleteUser({ userId });
      await admin().eraseUser({ userId });
    },
    ['accountDeleted'],
  ],
  ['changes the address', (userId: string) => admin().updateUser({ userId, email: newAddress() }), ['addressChanged']],
  ['removes the wallet', (userId: string) => admin().updateUser({ userId, walletAddress: '' }), ['walletRemoved']],
  [
    'replaces address and wallet',
    (userId: string) => admin().updateUser({ userId, email: newAddress(), walletAddress: wallet() }),
    ['addressChanged', 'walletLinked', 'walletRemoved'],
  ],
  ['changes the name', (userId: string) => admin().updateUser({ userId, name: 'Countess' }), []],
])('an operator who %s causes a notice to the former address', async (_, change, kinds) => {
  const user = await createTestUser(fixture.service, { walletAddress: wallet() });
  await change(user.id);
  await expect.poll(() => noticesTo(user.email).sort()).toEqual(kinds.map((kind) => `mail.${kind}.subject`));
  await expect.poll(countStored).toBe(0);
  expect(noticesTo(user.email)).toHaveLength(kinds.length);
});

it('replicas that look for the same notices send each once', async () => {
  await using replica = await fixture.startReplica();
  const users = await Promise.all(Array.from({ length: 12 }, () => createTestUser(fixture.service)));
  const services = [fixture.service, replica];
  await Promise.all(
    users.map(({ id }, at) => adminClient(services[at % 2] ?? replica).updateUser({ userId: id, email: newAddress() })),
  );
  await expect.poll(countStored).toBe(0);
  expect(users.map(({ email }) => noticesTo(email).length)).toEqual(users.map(() => 1));
});

it('a mail server that fails gets the notice again, later each time, and one that refuses it does not', async () => {
  const refused = await createTestUser(fixture.service);
  fixture.mailbox.failure = new MailError({ responseCode: 550 }, { isOfServer: false });
  await admin().deleteUser({ userId: refused.id });
  await expect.poll(countStored).toBe(0);

  const user = await createTestUser(fixture.service);
  // Such as a wrong password for the mail server.
  fixture.mailbox.failure = new MailError({ code: 'EAUTH', responseCode: 535 }, { isOfServer: true });
  await admin().deleteUser({ userId: user.id });
  const delays = [];
  for (let attempts = 1; attempts <= 4; attempts++) {
    const readDue = () => fixture.service.database.sql`
      select due_at from notices where attempts = ${attempts} and user_id = ${user.id}
        and due_at - ${fixture.clock.read()} <> interval '1 minute'`;
    await expect.poll(async () => (await readDue()).length).toBe(1);
    const [due] = await readDue();
    delays.push(due?.due_at.getTime() - fixture.clock.read().getTime());
    fixture.clock.advance(due?.due_at.getTime() - fixture.clock.read().getTime());
    await wake();
  }
  expect(delays).toEqual([5, 10, 20, 40].map((seconds) => seconds * SECOND));
  await recover();
  await expect.poll(() => noticesTo(user.email)).toEqual(['mail.accountDeleted.subject']);
  expect(noticesTo(refused.email)).toEqual([]);
});

it('a notice that could not be sent for a day is given up', async () => {
  const user = await createTestUser(fixture.service);
  fixture.mailbox.failure = new MailError({ code: 'ECONNECTION' }, { isOfServer: true });
  await admin().deleteUser({ userId: user.id });
  const count = async () => (await fixture.service.database.sql`select from notices where user_id = ${user.id}`).length;
  await expect.poll(count).toBe(1);
  fixture.clock.advance(24 * HOUR);
  await wake();
  await expect.poll(count).toBe(0);
  expect(noticesTo(user.email)).toEqual([]);
});
