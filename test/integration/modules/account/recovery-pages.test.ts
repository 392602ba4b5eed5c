/** What the pages of a recovery link say and ask again, and what a second click on the last button does. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { beginSession } from '../../../support/account-page.ts';
import { MINUTE } from '../../../support/clock.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { LOGIN_CONFIG, LoginBrowser, type LoginPage, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { wrongCode } from '../../../support/mail-server.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { enterDigits, makeRecoveryLink, openLink, reachLastButton, recover } from '../../../support/recovery.ts';
import { adminClient, clientsOf, createTestUser, type TestUser } from '../../../support/service.ts';
import { Wallet } from '../../../support/wallet.ts';

const acme = await FakeProvider.start();
const log = new RecordedLog('error');
const fixture = await LoginFixture.open({
  logger: log.logger,
  config: {
    loginMethods: ['wallet', 'email', 'passkey'],
    loginProviders: [{ ...acme.settings(), name: 'Acme & Sons' }],
    loginProviderIds: undefined,
  },
});
const { clock, mailbox, service, tenant } = fixture;
const { sql } = service.database;
afterAll(async () => {
  await fixture.close();
  await acme.stop();
});
// An admin key can make 20 links a day.
beforeEach(() => sql`delete from rate_limits`);
const admin = adminClient(service);

const DEAD = { status: 404, heading: 'This link cannot be used' };
const PASSKEYS = 'Your passkeys';
const newEmail = () => `${randomBytes(6).toString('hex')}@new.test`;
const statusOf = async ({ id: userId }: TestUser) =>
  (await admin.listRecoveryLinks({ userId })).recoveryLinks.map(({ status }) => status);
const actionsOf = ({ forms }: LoginPage) => forms.map(({ action }) => action);

describe('the last page', () => {
  const OWN = {
    PASSKEYS: ['Your passkeys stop working'],
    IDENTITIES: ['Acme & Sons no longer signs you in', 'former no longer signs you in'],
    WALLET: ['Your wallet no longer signs you in'],
    SECOND_FACTOR: [],
  };

  /** Returns a person with one of each. */
  async function createPerson() {
    const user = await createTestUser(service, { walletAddress: new Wallet().address });
    await sql`
      insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
        is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
      values (${user.id}, ${randomUUID()}, ${randomBytes(16)}, 'usher.test', '', 0, '{}', ${randomUUID()}, false, false,
        false, 'Phone', ${clock.read()})`;
    for (const provider of ['acme', 'former'])
      await sql`
        insert into user_identities (issuer, subject, user_id, provider, created_at)
        values (${`https://${provider}.test`}, ${user.id}, ${user.id}, ${provider}, ${clock.read()})`;
    return user;
  }

  const lossesOf = ({ body }: LoginPage) =>
    [...body.matchAll(/<li><strong>(.*?)<\/strong>/gs)].map(([, what]) => textOf(what)).sort();
  const EVERYWHERE = 'You are signed out everywhere';

  it.each(Object.keys(OWN) as (keyof typeof OWN)[])(
    'names what somebody loses who has lost %s, and no more',
    async (what) => {
      const page = await enterDigits(
        new LoginBrowser(service),
        await makeRecoveryLink(service, await createPerson(), [what]),
      );
      expect(lossesOf(page)).toEqual([...OWN[what], EVERYWHERE].sort());
      expect(page.body).not.toContain('From now on you sign in with');
    },
  );

  it('names the lost address, and the new one', async () => {
    const [user, email] = [await createPerson(), newEmail()];
    const made = await makeRecoveryLink(service, user, ['ADDRESS']);
    const page = await reachLastButton(new LoginBrowser(service), made, { email, mailbox });
    expect(lossesOf(page)).toEqual([EVERYWHERE, `${user.email} no longer signs you in`].sort());
    expect(textOf(page.body)).toContain(`From now on you sign in with ${email}`);
  });

  it('takes no address that its code does not prove, and asks for another that somebody has taken', async () => {
    const [user, email] = [await createTestUser(service), newEmail()];
    const browser = new LoginBrowser(service);
    const made = await makeRecoveryLink(service, user, ['ADDRESS']);
    const last = await reachLastButton(browser, made, { email, mailbox });
    const forged = await browser.submit(last, '/recover/use', { proof: wrongCode(mailbox.codeFor(email)) });
    expect([forged.status, actionsOf(forged), log.lines.splice(0)]).toEqual([422, ['/recover/address/code'], []]);
    await createTestUser(service, { email });
    const taken = await browser.submit(last, '/recover/use');
    expect([taken.status, actionsOf(taken), taken.alert]).toEqual([
      422,
      ['/recover/address'],
      expect.stringMatching(/./),
    ]);
    expect(await statusOf(user)).toEqual(['OPEN']);
  });

  it('ends every session at once, and says so where nobody can add a passkey', async () => {
    await using replica = await fixture.startReplica({ ...LOGIN_CONFIG, loginMethods: ['email'] });
    const user = await createTestUser(service);
    const sessionId = await beginSession(fixture, user);
    // As an application asks that accepts an answer of a moment ago.
    const isActive = async () => (await clientsOf(replica, tenant).sessions.checkSession({ sessionId })).active;
    expect(await isActive()).toBe(true);
    const page = await recover(new LoginBrowser(replica), await makeRecoveryLink(service, user));
    expect(page.heading).toBe('You are back');
    expect(await isActive()).toBe(false);
  });
});

test.each(['', 'ada', 'ada@new.test, eve@new.test'])('asks again for a new address where %j is none', async (email) => {
  const browser = new LoginBrowser(service);
  const made = await makeRecoveryLink(service, await createTestUser(service), ['ADDRESS']);
  const page = await browser.submit(await enterDigits(browser, made), '/recover/address', { email });
  expect([page.status, actionsOf(page), page.alert]).toEqual([
    422,
    ['/recover/address'],
    expect.stringContaining('e-mail address'),
  ]);
  expect((await browser.submit(page, '/recover/address', { email: newEmail() })).heading).toBe('Check your e-mail');
});

describe('the code for the new address', () => {
  async function askForCode() {
    const [email, browser] = [newEmail(), new LoginBrowser(service)];
    const made = await makeRecoveryLink(service, await createTestUser(service), ['ADDRESS']);
    const codePage = await browser.submit(await enterDigits(browser, made), '/recover/address', { email });
    const enter = (fields: Record<string, string>) => browser.submit(codePage, '/recover/address/code', fields);
    return { code: mailbox.codeFor(email), enter };
  }

  it('is asked again after a wrong one, and the address after five', async () => {
    const { code, enter } = await askForCode();
    for (let miss = 1; miss <= 5; miss++) {
      const page = await enter({ proof: wrongCode(code, miss) });
      expect([page.status, actionsOf(page)]).toEqual([422, [miss < 5 ? '/recover/address/code' : '/recover/address']]);
    }
    const late = await enter({ proof: code });
    expect([late.status, actionsOf(late)]).toEqual([422, ['/recover/address']]);
  });

  it('that belongs to no change leads back to the address', async () => {
    const { enter } = await askForCode();
    const page = await enter({ change: 'x', proof: '' });
    expect([page.status, actionsOf(page)]).toEqual([422, ['/recover/address']]);
  });

  it('is no refusal where Usher fails, of which the log has the cause', async () => {
    const { code, enter } = await askForCode();
    const made = await makeRecoveryLink(service, await createTestUser(service), ['ADDRESS']);
    const browser = new LoginBrowser(service);
    const page = await enterDigits(browser, made);
    const ask = () => browser.submit(page, '/recover/address', { email: 'fails@new.test' });
    await sql`alter table login_codes add constraint fails check (attempts = 0 and email <> 'fails@new.test') not valid`;
    const answers = [await enter({ proof: wrongCode(code) }), await ask()];
    await sql`alter table login_codes drop constraint fails`;
    expect(answers.map(({ status }) => status)).toEqual([500, 500]);
    expect(log.lines.splice(0).join()).not.toContain('TypeError');
    expect((await enter({ proof: code })).heading).toBe('This is what changes');
    expect((await ask()).heading).toBe('Check your e-mail');
  });
});

describe('a used link', () => {
  async function useLink() {
    const browser = new LoginBrowser(service);
    const made = await makeRecoveryLink(service, await createTestUser(service));
    const last = await reachLastButton(browser, made);
    const copy = new LoginBrowser(service);
    copy.cookie = browser.cookie;
    expect((await browser.submit(last, '/recover/use')).heading).toBe(PASSKEYS);
    return { browser, copy, last, made };
  }

  it('opens nothing in the browser that has used it, but for a second click', async () => {
    const { browser, last, made } = await useLink();
    expect(await openLink(browser, made)).toMatchObject(DEAD);
    expect((await browser.submit(last, '/recover/use')).heading).toBe(PASSKEYS);
    clock.advance(11 * MINUTE);
    expect(await browser.submit(last, '/recover/use')).toMatchObject(DEAD);
  });

  it('answers a second click also where the answer to the first was lost', async () => {
    const { copy, last } = await useLink();
    expect((await copy.submit(last, '/recover/use')).heading).toBe(PASSKEYS);
  });
});
