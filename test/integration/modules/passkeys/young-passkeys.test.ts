/** Passkeys that somebody may have added who only reads the user's e-mails: for seven days they count for less. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseOperators } from '../../../../src/config/operators.ts';
import { openAccount } from '../../../support/account-page.ts';
import { HOUR } from '../../../support/clock.ts';
import { LoginBrowser, type LoginPage, newAddress } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { FLAGS, type Oddities, SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type Tenant,
  type TestUser,
} from '../../../support/service.ts';

const OPERATOR = 'operator@young.test';
/** The operator must open the console with a passkey. */
const operators = parseOperators(`${OPERATOR} admin passkey\nclerk@young.test viewer\n`);
const fixture = await LoginFixture.open({ config: { loginMethods: ['wallet', 'email', 'passkey'], operators } });
const { clock, mailbox, service, tenant } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
let strict: Tenant;
let resistant: Tenant;
afterAll(() => fixture.close());

const WEEK = 7 * 24 * HOUR;
const TOO_NEW = 'This passkey is new and does not work here yet. Use another one, or wait 7 days.';

beforeAll(async () => {
  strict = await createTenant(service);
  await admin.updateApplication({ applicationId: strict.id, loginMethods: ['passkey'], singleSignOn: true });
  await admin.updateApplication({ applicationId: tenant.id, singleSignOn: true });
  resistant = await createTenant(service, { requiredAssurance: 'PHISHING_RESISTANT' });
});

/** Opens the list of passkeys after a sign-in by code. */
async function openByCode(user: TestUser) {
  const { browser, codePage, code } = await fixture.askForCode({ user });
  return { browser, page: await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS }) };
}

/** Opens the list of passkeys after a sign-in with a passkey. */
async function openByPasskey(passkey: SoftwarePasskey, odd?: Oddities) {
  const { browser, page } = await fixture.arrive();
  await sendPasskey({ browser, page }, passkey, PUBLIC_URL, odd);
  const [{ id } = { id: '' }] = await sql`select id from login_intents order by completed_at desc nulls last limit 1`;
  return { browser, page: await browser.open(`/login/passkeys?intent=${id}`) };
}

async function add(opened: { browser: LoginBrowser; page: LoginPage }): Promise<SoftwarePasskey> {
  clock.advance(1);
  const passkey = new SoftwarePasskey();
  expect((await savePasskey(opened, passkey, PUBLIC_URL)).heading).toBe('Your passkeys');
  return passkey;
}

const signIn = async (passkey: SoftwarePasskey, of: Tenant, odd?: Oddities, browser = new LoginBrowser(service)) =>
  sendPasskey(await fixture.arrive({ of, browser }), passkey, PUBLIC_URL, odd);

async function isYoung(passkey: SoftwarePasskey): Promise<boolean> {
  const { alert, location } = await signIn(passkey, strict);
  expect({ alert, isRedirected: location !== undefined }).toEqual(
    alert ? { alert: TOO_NEW, isRedirected: false } : { alert: '', isRedirected: true },
  );
  return alert !== '';
}

async function createOwner() {
  const user = await createTestUser(service);
  return { user, first: await add(await openByCode(user)) };
}

it('the first passkey counts in full at once, after any sign-in', async () => {
  const { first } = await createOwner();
  expect(await isYoung(first)).toBe(false);
});

it('the first passkey of a person who opens the console with one is young in every application', async () => {
  const user = await createTestUser(service, { email: OPERATOR });
  const first = await add(await openByCode(user));
  expect(await isYoung(first)).toBe(true);
  expect((await signIn(first, tenant)).location).toContain('authToken=');
  clock.advance(WEEK);
  expect(await isYoung(first)).toBe(false);
});

it('the first passkey of an operator who needs none counts in full at once', async () => {
  const user = await createTestUser(service, { email: 'clerk@young.test' });
  expect(await isYoung(await add(await openByCode(user)))).toBe(false);
});

it('another one that is added after a sign-in by code signs in to applications for passkeys only after 7 days', async () => {
  const { user, first } = await createOwner();
  const second = await add(await openByCode(user));
  expect(await isYoung(second)).toBe(true);
  expect(await isYoung(first)).toBe(false);
  expect((await signIn(second, tenant)).location).toContain('authToken=');
  clock.advance(WEEK);
  expect(await isYoung(second)).toBe(false);
});

it.each<[string, boolean, Oddities | undefined]>([
  ['with verification of the person counts in full', false, undefined],
  ['without it is young', true, { flags: FLAGS.verified }],
])('another one that is added after a sign-in with a passkey %s', async (_name, expected, odd) => {
  const { first } = await createOwner();
  expect(await isYoung(await add(await openByPasskey(first, odd)))).toBe(expected);
});

it('a young passkey adds only young ones', async () => {
  const { user } = await createOwner();
  const young = await add(await openByCode(user));
  expect(await isYoung(await add(await openByPasskey(young)))).toBe(true);
});

/** Returns the path of the link in the latest e-mail of the kind to the address. */
async function linkIn(kind: string, to: string): Promise<string> {
  const find = () => mailbox.mails.filter((mail) => mail.to === to && mail.kind === kind).at(-1);
  await expect.poll(() => find()?.link).toBeDefined();
  return (find()?.link?.url ?? '').slice(PUBLIC_URL.length);
}

async function pressButton(path: string, action: string): Promise<void> {
  const browser = new LoginBrowser(service);
  await browser.submit(await browser.open(path), action);
}

async function removeOnPage({ browser, page }: { browser: LoginBrowser; page: LoginPage }): Promise<void> {
  await browser.submit(page, '/login/passkeys/delete');
}

/** Ways in which the only passkey of a user goes. Each may be of use to somebody who reads the user's e-mails. */
const REMOVALS: Readonly<Record<string, (user: TestUser, passkey: SoftwarePasskey) => Promise<void>>> = {
  'on its page after a sign-in by code': async (user) => removeOnPage(await openByCode(user)),
  'on its page after a sign-in with it': async (_, passkey) => removeOnPage(await openByPasskey(passkey)),
  'by the link in its notice': async ({ email }) =>
    pressButton(await linkIn('passkey notice', email), '/account/passkey'),
  'by the link that undoes a change of address': async (user) => {
    const { browser } = await openAccount(fixture, user);
    const email = `${crypto.randomUUID()}@example.com`;
    const codePage = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
    await browser.submit(codePage, '/account/email/code', { code: mailbox.codeFor(email) });
    await pressButton(await linkIn('change of address', user.email), '/account/undo');
  },
  'by the link in the notice of a sign-in in a new place': async (user, passkey) => {
    await signIn(passkey, tenant, undefined, new LoginBrowser(service, { address: newAddress() }));
    await pressButton(await linkIn('sign-in notice', user.email), '/account/sign-ins');
  },
};

it.each(Object.entries(REMOVALS))('a passkey in place of one that was removed %s is young', async (_name, remove) => {
  const { user, first } = await createOwner();
  clock.advance(1);
  await remove(user, first);
  expect((await admin.listPasskeys({ userId: user.id })).passkeys).toEqual([]);
  clock.advance(1_000);
  const next = await add(await openByCode(user));
  expect((await signIn(next, resistant)).alert).toBe(TOO_NEW);
  expect(await isYoung(next)).toBe(true);
  clock.advance(WEEK);
  expect(await isYoung(next)).toBe(false);
});

it('an operator who removes the passkeys of a user lets the next one count in full', async () => {
  const { user } = await createOwner();
  const [{ passkeyId } = { passkeyId: '' }] = (await admin.listPasskeys({ userId: user.id })).passkeys;
  await admin.deletePasskey({ userId: user.id, passkeyId });
  expect(await isYoung(await add(await openByCode(user)))).toBe(false);
});

it('no other application continues the sign-in of a young passkey', async () => {
  const { user, first } = await createOwner();
  const young = await add(await openByCode(user));
  for (const [passkey, heading] of [
    [first, 'Continue'],
    [young, 'Sign in'],
  ] as const) {
    const browser = new LoginBrowser(service);
    await signIn(passkey, tenant, undefined, browser);
    const { page } = await fixture.arrive({ of: strict, browser });
    expect(page.forms.some(({ action }) => action === '/login/continue')).toBe(heading === 'Continue');
  }
});

it('the login has level 3 only for a passkey that counts in full and verifies the person', async () => {
  const { user, first } = await createOwner();
  const levelOf = async () =>
    (await sql`select assurance from login_intents order by completed_at desc nulls last limit 1`)[0]?.assurance;
  const young = await add(await openByCode(user));
  expect(await levelOf()).toBe(1);
  clock.advance(1);
  await signIn(young, tenant);
  expect(await levelOf()).toBe(1);
  await signIn(first, tenant, { flags: FLAGS.verified });
  expect(await levelOf()).toBe(1);
  await signIn(first, tenant);
  expect(await levelOf()).toBe(3);
});

it('the link in the notice of a passkey removes it and ends every sign-in, and only its button does', async () => {
  const { user, first } = await createOwner();
  const sessionId = await beginSession(service, tenant, user);
  // As an application asks that accepts an answer of a moment ago.
  const isActive = async () => (await clientsOf(service, tenant).sessions.checkSession({ sessionId })).active;
  expect(await isActive()).toBe(true);
  const passkey = await add(await openByCode(user));
  const { browser: account } = await openAccount(fixture, user);
  await expect
    .poll(() => mailbox.mails.filter(({ to, kind }) => to === user.email && kind === 'passkey notice').length)
    .toBe(2);
  const mail = mailbox.mails.filter(({ to, kind }) => to === user.email && kind === 'passkey notice').at(-1);
  const stranger = new LoginBrowser(service);
  const question = await stranger.open((mail?.link?.url ?? '').slice(PUBLIC_URL.length));
  expect(question.heading).toBe('Was this not you?');
  expect((await admin.listPasskeys({ userId: user.id })).passkeys).toHaveLength(2);
  expect((await stranger.submit(question, '/account/passkey')).heading).toBe('The passkey is removed');
  expect((await admin.listPasskeys({ userId: user.id })).passkeys).toHaveLength(1);
  expect((await signIn(passkey, tenant)).alert).toContain('not known any more');
  expect(await isYoung(first)).toBe(false);
  expect((await account.open('/account/name')).heading).toBe('Your account');
  expect(await isActive()).toBe(false);
  clock.advance(WEEK);
  expect((await stranger.submit(question, '/account/passkey')).heading).toBe('This link does not work any more');
});
