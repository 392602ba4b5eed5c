/** Addresses with domains beyond ASCII, in each spelling that a browser, a provider or an operator may use. */
import { afterAll, expect, test } from 'vitest';
import { follow, openAccount } from '../../support/account-page.ts';
import { cloneDatabase, createDatabase, LAYOUT } from '../../support/database.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { adminClient, clientsOf, createTestUser } from '../../support/service.ts';

const corp = await FakeProvider.start();
// Unlike the embedded database, its lower() changes letters beyond ASCII. Postgres has this locale since 17, Citus not yet.
const database =
  LAYOUT === 'distributed'
    ? await cloneDatabase()
    : await createDatabase("template template0 locale_provider builtin builtin_locale 'C.UTF-8'");
const loginMethods = ['email'] as const;
const loginProviders = [
  corp.settings({ id: 'corp', name: 'Corp', trustEmail: true, emailDomains: ['BÜCHER.example', 'corp.test'] }),
];
const config = { loginMethods, loginProviders, loginProviderIds: undefined };
const fixture = await LoginFixture.open({ database, config, start: new Date() });
const admin = adminClient(fixture.service);
afterAll(async () => {
  await fixture.close();
  await corp.stop();
  await database[Symbol.asyncDispose]();
});

/** As Chromium sends it, composed, decomposed and in capitals. */
const spell = (local: string) =>
  ['xn--bcher-kva.example', 'bücher.example', 'bu\u0308cher.example', 'BÜCHER.EXAMPLE'].map((it) => `${local}@${it}`);

async function signInByCode(email: string) {
  const { browser, page } = await fixture.arrive();
  const codePage = await browser.submit(page, '/login/email', { email });
  const { to } = fixture.mailbox.mails.at(-1) ?? { to: '' };
  const signedIn = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(to) });
  return { to, codePage, user: await userOf(signedIn.location) };
}

async function signInAtCorp(claims: Record<string, unknown>) {
  const { browser, page } = await fixture.arrive();
  const form = page.forms.find(({ fields }) => fields.provider);
  const { location } = await browser.post('/login/provider', { ...form?.fields });
  return browser.open(corp.signIn(location, { email_verified: true, ...claims }));
}

async function userOf(location: string | undefined) {
  const authToken = new URL(location ?? '').searchParams.get('authToken') ?? '';
  return (await clientsOf(fixture.service, fixture.tenant).auth.exchangeToken({ authToken })).user;
}

test.each([0, 1, 2, 3])('a user created with one spelling exists in all of them (%i)', async (at) => {
  const spellings = spell(`operator-${at}`);
  const user = await createTestUser(fixture.service, { email: spellings[at] ?? '' });
  expect(user.email).toBe(spellings[0]);
  const other = await createTestUser(fixture.service);
  for (const email of spellings) {
    await expect(admin.createUser({ email })).rejects.toThrow('User already exists');
    await expect(admin.updateUser({ userId: other.id, email })).rejects.toThrow('User already exists');
    expect((await admin.getUser({ email })).user?.id).toBe(user.id);
    expect((await admin.getUser({ userId: user.id, email })).user?.id).toBe(user.id);
    expect((await admin.listUsers({ email })).users.map(({ id }) => id)).toEqual([user.id]);
    expect((await admin.listUsers({ emailPrefix: email })).users.map(({ id }) => id)).toEqual([user.id]);
    expect((await signInByCode(email)).user?.id).toBe(user.id);
  }
});

test('a user from before, in whichever spelling, gets codes and signs in', async () => {
  for (const [at, email] of spell('former').entries()) {
    const id = `00000000-0000-4000-8000-00000000000${at}`;
    const stored = email.replace('former', `former-${at}`);
    await database.sql`
      insert into users (id, email, wallet_address, created_at) values (${id}, ${stored}, '', now())`;
    for (const spelling of spell(`former-${at}`)) {
      const { to, user } = await signInByCode(spelling);
      expect({ to, id: user?.id, email: user?.email }).toEqual({ to: stored, id, email: stored });
      expect((await admin.getUser({ email: spelling })).user?.id).toBe(id);
      await expect(admin.createUser({ email: spelling })).rejects.toThrow('User already exists');
    }
    const page = await signInAtCorp({ sub: `former-${at}`, email: spell(`former-${at}`)[0] });
    expect((await userOf(page.location))?.id).toBe(id);
  }
});

test('of several users from before, the one whose spelling browsers send signs in', async () => {
  const ids = new Map<string, string>();
  for (const [at, email] of spell('crowd').entries()) {
    const id = `00000000-0000-4000-9000-00000000000${at}`;
    ids.set(email, id);
    await database.sql`
      insert into users (id, email, wallet_address, created_at) values (${id}, ${email}, '', now())
      on conflict do nothing`;
  }
  for (const email of spell('crowd'))
    expect((await signInByCode(email)).user?.id).toBe(ids.get(spell('crowd')[0] ?? ''));
});

test('people who sign up in two spellings are one user', async () => {
  await using open = await LoginFixture.open({ config, start: new Date() });
  await adminClient(open.service).updateApplication({ applicationId: open.tenant.id, allowSignUp: true });
  for (const email of spell('new')) {
    const { browser, page } = await open.arrive();
    const codePage = await browser.submit(page, '/login/email', { email });
    const signedIn = await browser.submit(codePage, '/login/code', {
      code: open.mailbox.codeFor(spell('new')[0] ?? ''),
    });
    expect(signedIn.status).toBe(303);
  }
  expect((await adminClient(open.service).listUsers({})).users.map(({ email }) => email)).toEqual([spell('new')[0]]);
});

test('a trusted provider signs in the user with the address, in whichever spelling of it and of emailDomains', async () => {
  const user = await createTestUser(fixture.service, { email: 'linked@bücher.example' });
  for (const [at, email] of spell('linked').entries()) {
    const page = await signInAtCorp({ sub: `linked-${at}`, email });
    expect((await userOf(page.location))?.id).toBe(user.id);
  }
});

test.each([
  ['a Kelvin sign', 'kate', '\u212aate'],
  ['a dotted capital I', 'ida', '\u0130da'],
  ['a decomposed one', 'ivo', 'I\u0307vo'],
  ['a zero-width space', 'zoe', 'zo\u200be'],
])('a trusted provider signs in nobody else with %s', async (_, local, lookalike) => {
  await createTestUser(fixture.service, { email: `${local}@corp.test` });
  const page = await signInAtCorp({ sub: `like-${local}`, email: `${lookalike}@corp.test` });
  expect(page).toMatchObject({ location: undefined, heading: expect.stringContaining('Corp') });
  expect(await database.sql`select from user_identities where subject = ${`like-${local}`}`).toHaveLength(0);
});

test('the form and the API refuse addresses with invisible characters', async () => {
  const { browser, page } = await fixture.arrive();
  const refused = await browser.submit(page, '/login/email', { email: 'a\u200bda@example.com' });
  expect(refused.alert).toContain('e-mail address');
  await expect(admin.createUser({ email: 'a\u200bda@example.com' })).rejects.toThrow('Validation failed');
});

test('pages and e-mails show the address in Unicode, and the mail server gets A-labels', async () => {
  const user = await createTestUser(fixture.service, { email: 'shown@bücher.example' });
  const { to, codePage } = await signInByCode(user.email);
  expect(to).toBe('shown@xn--bcher-kva.example');
  expect(codePage.body).toContain('shown@bücher.example');
  const { page } = await openAccount(fixture, user);
  // The address may break at the sign and at dots.
  expect(page.body.replaceAll('<wbr>', '')).toContain('shown@bücher.example');
  expect(page.body).not.toContain('xn--');
});

test('a change of address takes and shows either spelling, and so does the deletion', async () => {
  const user = await createTestUser(fixture.service);
  const { browser, page } = await openAccount(fixture, user);
  const form = await browser.open('/account/email');
  const codePage = await follow(
    browser,
    await browser.submit(form, '/account/email', { email: 'moved@BÜCHER.example' }),
  );
  expect(codePage.body).toContain('moved@bücher.example');
  const code = fixture.mailbox.codeFor('moved@xn--bcher-kva.example');
  await browser.submit(codePage, '/account/email/code', { code });
  expect((await admin.getUser({ userId: user.id })).user?.email).toBe('moved@xn--bcher-kva.example');
  const notices = () => fixture.mailbox.mails.filter(({ to }) => to === user.email).map((mail) => JSON.stringify(mail));
  await expect.poll(() => notices().at(-1)).toContain('moved@bücher.example');
  const deletion = await browser.open('/account/delete');
  expect(deletion.body).toContain('moved@bücher.example');
  await browser.submit(deletion, '/account/delete', { email: 'Moved@bücher.example' });
  await expect(admin.getUser({ userId: user.id })).rejects.toThrow('User not found');
  expect(page.status).toBe(200);
});
