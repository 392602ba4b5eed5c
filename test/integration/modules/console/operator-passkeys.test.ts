/** Operators who must sign in with a passkey: whoever reads their e-mails can add one, and gets no further. */
import { afterAll, expect, test } from 'vitest';
import { parseOperators } from '../../../../src/config/operators.ts';
import { HOUR } from '../../../support/clock.ts';
import { ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { FLAGS, type Oddities, SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { adminClient, PUBLIC_URL } from '../../../support/service.ts';

const email = OPERATORS.admin;
/** An operator who may sign in with anything. */
const other = OPERATORS.support;
const fixture = await ConsoleFixture.open({
  config: {
    loginMethods: ['email', 'passkey'],
    operators: parseOperators(`${email} admin passkey\n${other} support\n`),
    operatorsFile: undefined,
  },
});
const { clock, mailbox, service } = fixture;
for (const address of [email, other]) await adminClient(service).createUser({ email: address });
afterAll(() => fixture.close());

/** Follows the redirect of the console to the login page. */
async function arrive(location: string | undefined) {
  clock.advance(1_000);
  const browser = new LoginBrowser(service);
  return { browser, page: await browser.open((location ?? '').slice(PUBLIC_URL.length)) };
}

async function addByCode(location: string | undefined, address: string = email): Promise<SoftwarePasskey> {
  const { browser, page } = await arrive(location);
  const codePage = await browser.submit(page, '/login/email', { email: address });
  const list = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(address), ...TO_PASSKEYS });
  return add({ browser, page: list });
}

async function add(opened: { browser: LoginBrowser; page: LoginPage }): Promise<SoftwarePasskey> {
  const passkey = new SoftwarePasskey();
  expect((await savePasskey(opened, passkey, PUBLIC_URL)).heading).toBe('Your passkeys');
  return passkey;
}

/** Signs in to the console with the passkey. @param meanwhile runs before the browser is back at the console */
async function open(passkey: SoftwarePasskey, odd?: Oddities, meanwhile?: () => PromiseLike<unknown>) {
  const console = new ConsoleBrowser(fixture.url);
  const opened = await arrive((await console.open('/login')).location);
  const { location = '' } = await sendPasskey(opened, passkey, PUBLIC_URL, odd);
  await meanwhile?.();
  return console.open(location.slice(fixture.url.length));
}

const REFUSED = { status: 403, heading: 'This passkey is new' };

test('a passkey that was added after a code, and those that it adds, open the console after 7 days', async () => {
  const first = await addByCode((await new ConsoleBrowser(fixture.url).open('/login')).location);
  expect(await open(first)).toMatchObject(REFUSED);
  const opened = await arrive((await new ConsoleBrowser(fixture.url).open('/login')).location);
  const path = `/login/passkeys${new URL((await new ConsoleBrowser(fixture.url).open('/login')).location ?? '').search}`;
  const again = await opened.browser.open(path.replace('/login/passkeys', '/login'));
  await sendPasskey({ browser: opened.browser, page: again }, first, PUBLIC_URL);
  const second = await add({ browser: opened.browser, page: await opened.browser.open(path) });
  expect(await open(second)).toMatchObject(REFUSED);
  clock.advance(7 * 24 * HOUR);
  expect(await open(first)).toMatchObject({ location: '/' });
  expect(await open(second)).toMatchObject({ location: '/' });
});

test('the printed link signs nobody in, and a passkey that is added after it opens the console at once', async () => {
  const console = new ConsoleBrowser(fixture.url);
  const reply = await console.useLink(fixture.createLink(email));
  expect(reply.location).toContain(`${PUBLIC_URL}/login?intent=`);
  expect((await console.open('/users')).heading).not.toBe('Users');
  expect(await open(await addByCode(reply.location))).toMatchObject({ location: '/' });
});

test('a printed link vouches for the sign-in that it begins, and for no other', async () => {
  const { sql } = service.database;
  const vouched = async () => (await sql`select from login_intents where vouched_user_id is not null`).length;
  await new ConsoleBrowser(fixture.url).open('/login');
  const before = await vouched();
  await new ConsoleBrowser(fixture.url).useLink(fixture.createLink(email));
  expect(await vouched()).toBe(before + 1);
});

test('a new passkey does not open the console beside an old one, nor once it is removed', async () => {
  const begin = async () => (await new ConsoleBrowser(fixture.url).open('/login')).location;
  const old = await addByCode(await begin());
  clock.advance(7 * 24 * HOUR);
  expect(await open(old)).toMatchObject({ location: '/' });
  const young = await addByCode(await begin());
  expect(await open(young)).toMatchObject(REFUSED);
  expect(await open(old)).toMatchObject({ location: '/' });
  const remove = () => service.database.sql`delete from passkeys where credential_id = ${young.id}`;
  expect(await open(young, undefined, remove)).toMatchObject(REFUSED);
});

test('a sign-in without a passkey is told that it needs one, not that it is new', async () => {
  const console = new ConsoleBrowser(fixture.url);
  const { browser, page } = await arrive((await console.open('/login')).location);
  const codePage = await browser.submit(page, '/login/email', { email });
  const { location = '' } = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
  const reply = await console.open(location.slice(fixture.url.length));
  expect(reply).toMatchObject({ status: 403, heading: 'You cannot use the console' });
});

test('a new passkey opens the console for an operator who needs none', async () => {
  const passkey = await addByCode((await new ConsoleBrowser(fixture.url).open('/login')).location, other);
  expect(await open(passkey)).toMatchObject({ location: '/' });
});

test('a passkey that does not verify the person leads to a sign-in with one that does', async () => {
  const { location } = await new ConsoleBrowser(fixture.url).useLink(fixture.createLink(email));
  const passkey = await addByCode(location);
  const refused = await open(passkey, { flags: FLAGS.verified });
  expect(refused).toMatchObject({ status: 403, heading: 'You cannot use the console' });
  expect(refused.body).toContain('href="/login?passkey"');
  const { page } = await arrive((await new ConsoleBrowser(fixture.url).open('/login?passkey')).location);
  expect(page.forms.some(({ action }) => action === '/login/email')).toBe(false);
  expect(page.body).toContain('data-verification="required"');
  expect(await open(passkey)).toMatchObject({ location: '/' });
});
