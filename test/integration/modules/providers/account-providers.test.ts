/** Accounts at other providers on the account page, and for operators. */
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { follow, openAccount, tokenOf } from '../../../support/account-page.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import type { LoginBrowser, LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, createTestUser, type TestUser } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const config = { loginProviders: [acme.settings()], loginProviderIds: undefined };
const log = new RecordedLog('error');
const fixture = await LoginFixture.open({ config, start: new Date(), logger: log.logger });
const admin = adminClient(fixture.service);
afterAll(async () => {
  await fixture.close();
  await acme.stop();
});

async function leave(browser: LoginBrowser, page: LoginPage): Promise<string | undefined> {
  const form = page.forms.find(({ action }) => action === '/account/providers/link');
  return (await browser.post('/account/providers/link', { ...form?.fields })).location;
}

function noticesTo({ email }: { email: string }) {
  return fixture.mailbox.mails
    .filter(({ to, kind }) => to === email && kind === 'identity notice')
    .flatMap(({ subject: [key] }) => key);
}

async function identitiesOf({ id: userId }: { id: string }): Promise<string[]> {
  return (await admin.listUserIdentities({ userId })).identities.map(({ subject }) => subject);
}

test('a person links an account, gets a notice, signs in with it, and removes it', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, page } = await openAccount(fixture, user);
  const callback = acme.signIn(await leave(browser, page), { sub: 'ada' });
  const linked = await follow(browser, await browser.open(callback));
  expect(linked.body).toContain('The account is linked.');
  expect(await identitiesOf(user)).toEqual(['ada']);
  await expect.poll(() => noticesTo(user)).toEqual(['mail.identityLinked.subject']);
  expect(JSON.parse((await browser.open('/account/data')).body)).toMatchObject({ identities: [{ subject: 'ada' }] });

  const arrived = await fixture.arrive();
  const form = arrived.page.forms.find(({ fields }) => fields.provider);
  const sent = await arrived.browser.post('/login/provider', { ...form?.fields });
  expect((await arrived.browser.open(acme.signIn(sent.location, { sub: 'ada' }))).status).toBe(303);

  const removed = await follow(browser, await browser.submit(linked, '/account/providers/unlink'));
  expect(removed.body).toContain('The account is no longer linked.');
  expect(await identitiesOf(user)).toEqual([]);
  await expect.poll(() => noticesTo(user)).toEqual(['mail.identityLinked.subject', 'mail.identityRemoved.subject']);
  // A second click finds nothing to remove.
  await browser.submit(linked, '/account/providers/unlink');
  expect(await fixture.service.database.sql`select from notices`).toHaveLength(0);
  expect(noticesTo(user)).toHaveLength(2);
});

test('an account that is linked already stays so, without another notice', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, page } = await openAccount(fixture, user);
  for (let time = 0; time < 2; time++) {
    const callback = acme.signIn(await leave(browser, page), { sub: 'linked twice' });
    expect((await follow(browser, await browser.open(callback))).body).toContain('The account is linked.');
  }
  await expect.poll(() => noticesTo(user)).toEqual(['mail.identityLinked.subject']);
  expect(await fixture.service.database.sql`select from notices`).toHaveLength(0);
});

test('an account that another user has is not linked, and its owner keeps it', async () => {
  const [owner, other] = [await createTestUser(fixture.service), await createTestUser(fixture.service)];
  const first = await openAccount(fixture, owner);
  await first.browser.open(acme.signIn(await leave(first.browser, first.page), { sub: 'shared' }));
  const second = await openAccount(fixture, other);
  const callback = acme.signIn(await leave(second.browser, second.page), { sub: 'shared' });
  const refused = await follow(second.browser, await second.browser.open(callback));
  expect(refused.alert).toBe('Another account uses this sign-in.');
  expect([await identitiesOf(owner), await identitiesOf(other)]).toEqual([['shared'], []]);
});

test('nothing is linked in another browser, to another user, or once the sign-in is old', async () => {
  const [user, other] = [await createTestUser(fixture.service), await createTestUser(fixture.service)];
  const own = await openAccount(fixture, user);
  const callback = acme.signIn(await leave(own.browser, own.page), { sub: 'nobody' });
  const foreign = await openAccount(fixture, other);
  await foreign.browser.open(callback);
  // The browser has changed hands since.
  await own.browser.post('/account/logout', { token: tokenOf(own.page) });
  await openAccount(fixture, other, own.browser);
  await own.browser.open(callback);
  const late = await openAccount(fixture, user);
  const lateCallback = acme.signIn(await leave(late.browser, late.page), { sub: 'nobody' });
  fixture.clock.advance(16 * 60_000);
  await late.browser.open(lateCallback);
  expect([await identitiesOf(user), await identitiesOf(other)]).toEqual([[], []]);
});

test.each<[string, (user: TestUser) => Promise<unknown>]>([
  ['the address changes', ({ id, email }) => admin.updateUser({ userId: id, email: `new.${email}` })],
  ['the account is closed', ({ id }) => admin.deactivateUser({ userId: id })],
])('nothing is linked, and the page does not say so, if %s while the provider answers', async (what, change) => {
  const user = await createTestUser(fixture.service);
  const { browser, page } = await openAccount(fixture, user);
  const callback = acme.signIn(await leave(browser, page), { sub: what });
  acme.answers.set('/userinfo', async (_request, response) => {
    await change(user);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ sub: what }));
  });
  const back = await follow(browser, await browser.open(callback));
  acme.answers.clear();
  expect(back.body).not.toContain('The account is linked.');
  expect(acme.requests.at(-1)).toBe('/userinfo');
  expect(await fixture.service.database.sql`select from user_identities where subject = ${what}`).toHaveLength(0);
});

test('whoever declines at the provider comes back to the account', async () => {
  const { browser, page } = await openAccount(fixture, await createTestUser(fixture.service));
  const back = await follow(browser, await browser.open(acme.refuse(await leave(browser, page))));
  expect(back).toMatchObject({
    status: 200,
    alert: expect.stringContaining('You have not signed in at \u2068Acme\u2069.'),
  });
});

test('a provider that is down is an alert with its name, on the way there and back', async () => {
  const { browser, page } = await openAccount(fixture, await createTestUser(fixture.service));
  const callback = acme.signIn(await leave(browser, page));
  acme.answers.set('/token', (_request, response) => void response.writeHead(503).end());
  const back = await follow(browser, await browser.open(callback));
  acme.answers.clear();
  expect(back.alert).toContain('\u2068Acme\u2069 cannot sign you in at the moment.');
});

test('whoever signed in more than 10 minutes ago signs in again before leaving for the provider', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, page } = await openAccount(fixture, user);
  fixture.clock.advance(11 * 60_000);
  expect(await leave(browser, page)).toContain('/login?intent=');
});

test.each([
  [11, true],
  [16, false],
])('an answer %i minutes after the sign-in is not redeemed, and an alert says so: %s', async (minutes, hasAlert) => {
  const user = await createTestUser(fixture.service);
  const { browser, page } = await openAccount(fixture, user);
  fixture.clock.advance(9 * 60_000);
  const callback = acme.signIn(await leave(browser, page), { sub: `after ${minutes} minutes` });
  fixture.clock.advance((minutes - 9) * 60_000);
  const before = [...acme.requests];
  const { alert } = await follow(browser, await browser.open(callback));
  expect(alert !== '').toBe(hasAlert);
  expect(acme.requests).toEqual(before);
  expect(await identitiesOf(user)).toEqual([]);
});

test('an answer that cannot be stored is a failure of Usher, not of the provider', async () => {
  const { sql } = fixture.service.database;
  const { browser, page } = await openAccount(fixture, await createTestUser(fixture.service));
  const callback = acme.signIn(await leave(browser, page), { sub: 'cannot be stored' });
  await sql`alter table user_identities add constraint refused check (subject <> 'cannot be stored')`;
  onTestFinished(() => sql`alter table user_identities drop constraint refused`.then(() => {}));
  expect(await browser.open(callback)).toMatchObject({ status: 500, location: undefined });
  expect(log.parsed).toMatchObject([{ err: { type: 'PostgresError' } }]);
});

test('a network may have 60 answers linked at once, also wrong ones', async () => {
  const { browser, page } = await openAccount(fixture, await createTestUser(fixture.service));
  const { searchParams } = new URL((await leave(browser, page)) ?? '');
  const callback = acme.answerOf(searchParams, { code: 'guessed' });
  const before = acme.requests.length;
  let alert = '';
  for (let answers = 0; answers < 70 && !alert.startsWith('Too many'); answers++)
    alert = (await follow(browser, await browser.open(callback))).alert;
  expect(alert).toContain('Too many');
  expect(acme.requests.slice(before).filter((path) => path === '/token')).toHaveLength(60);
});

test('an operator sees and removes identities, and an erasure leaves none', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, page } = await openAccount(fixture, user);
  await browser.open(acme.signIn(await leave(browser, page), { sub: 'operated' }));
  const [identity] = (await admin.listUserIdentities({ userId: user.id })).identities;
  expect(identity).toMatchObject({ issuer: acme.origin, subject: 'operated', provider: 'acme' });
  const removed = { userId: user.id, issuer: acme.origin, subject: 'operated' };
  for (let time = 0; time < 2; time++) await admin.deleteUserIdentity(removed);
  expect(await identitiesOf(user)).toEqual([]);
  await expect
    .poll(() => noticesTo(user).sort())
    .toEqual(['mail.identityLinked.subject', 'mail.identityRemoved.subject']);
  const events = await fixture.service.database.sql`
    select actor_type, actor from audit_events where resource = ${user.id} and action = 'AdminService/DeleteUserIdentity'`;
  expect(events).toEqual([{ actor_type: 'admin_key', actor: 'admin' }]);

  const again = await openAccount(fixture, user);
  await again.browser.open(acme.signIn(await leave(again.browser, again.page), { sub: 'erased' }));
  expect(await identitiesOf(user)).toEqual(['erased']);
  await admin.eraseUser({ userId: user.id });
  expect(await fixture.service.database.sql`select from user_identities where subject = 'erased'`).toHaveLength(0);
});
