/** Passkeys on the login page: signing in, the offer after a code, and the list. The checks: test/domain/passkeys. */
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { follow } from '../../../support/account-page.ts';
import { MINUTE } from '../../../support/clock.ts';
import { formOf, LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { type AskedForCode, LoginFixture } from '../../../support/login-fixture.ts';
import { wrongCode } from '../../../support/mail-server.ts';
import { authorizationOf, createRsaJwk } from '../../../support/oidc.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { askedAtSignIn, savePasskey, sendPasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  type TestUser,
} from '../../../support/service.ts';
import { StatementExplainer } from '../../../support/statement-explainer.ts';

const UNKNOWN =
  'This passkey is not known any more. Use your e-mail address. You may remove the passkey from your device.';
const NOT_HERE = 'This way to sign in is not available here. Please choose another one.';
const INVALID = 'The passkey did not work. Please try again, or use your e-mail address.';

const log = new RecordedLog('error');
const fixture = await LoginFixture.open({
  logger: log.logger,
  config: { loginMethods: ['wallet', 'email', 'passkey'] },
  oidcSigningKeys: [createRsaJwk()],
});
const { clock, service } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(() => fixture.close());

const OFFER = 'Sign in faster next time';
const LIST = 'Your passkeys';

/** Signs in by code in a browser that can save passkeys. */
async function enterCode(asked: AskedForCode, fields: Record<string, string> = { passkey: '1' }): Promise<LoginPage> {
  return asked.browser.submit(asked.codePage, '/login/code', { code: asked.code, ...fields });
}

/** Signs a new user in by code, and saves a passkey. */
async function createOwner(passkey = new SoftwarePasskey()) {
  const asked = await fixture.askForCode();
  const page = await enterCode(asked);
  const saved = await savePasskey({ browser: asked.browser, page }, passkey, PUBLIC_URL);
  return { ...asked, passkey, saved, page };
}

/** Opens the list of the user's passkeys after a sign-in by code. */
async function openList(user?: TestUser, browser?: LoginBrowser) {
  const asked = await fixture.askForCode({ ...(user && { user }), ...(browser && { browser }) });
  const page = await enterCode(asked, TO_PASSKEYS);
  expect(page).toMatchObject({ status: 200, heading: LIST });
  return { ...asked, page };
}

function tokenOf({ location = '' }: LoginPage) {
  return decodeJwt(new URL(location).searchParams.get('authToken') ?? '');
}

const names = ({ body }: LoginPage) => [...body.matchAll(/<strong><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name);

describe('a person signs in with a passkey', () => {
  it('at another application, in another browser, without typing an address', async () => {
    const { passkey, user } = await createOwner();
    const arrived = await fixture.arrive();
    expect(arrived.page.body).not.toContain('data-verification');
    const reply = await sendPasskey(arrived, passkey, PUBLIC_URL);
    expect(reply).toMatchObject({ status: 303, body: '' });
    expect(reply.location?.startsWith(`${REDIRECT_URI}?authToken=`)).toBe(true);
    expect(tokenOf(reply)).toMatchObject({ sub: user.id, amr: ['passkey'] });
  });

  it('and sends the form twice: both times the browser returns to the application', async () => {
    const { passkey, user } = await createOwner();
    const arrived = await fixture.arrive();
    const replies = [await sendPasskey(arrived, passkey, PUBLIC_URL), await sendPasskey(arrived, passkey, PUBLIC_URL)];
    expect(replies.map(tokenOf)).toMatchObject([{ sub: user.id }, { sub: user.id }]);
    const elsewhere = await new LoginBrowser(service).open(arrived.login.path);
    expect(elsewhere).toMatchObject({ status: 409 });
  });

  it('and is known in this browser from then on', async () => {
    const { passkey, user } = await createOwner();
    const arrived = await fixture.arrive();
    await sendPasskey(arrived, passkey, PUBLIC_URL);
    const rows = await sql`select from known_origins where user_id = ${user.id}`;
    expect(rows.length).toBeGreaterThan(2);
  });

  it('until an operator removes it', async () => {
    const { passkey, user } = await createOwner();
    const [{ passkeyId } = { passkeyId: '' }] = (await admin.listPasskeys({ userId: user.id })).passkeys;
    await admin.deletePasskey({ userId: user.id, passkeyId });
    const findNotice = () =>
      fixture.mailbox.mails.findLast(({ kind, to }) => kind === 'passkey notice' && to === user.email);
    await expect.poll(() => findNotice()?.subject).toEqual(['mail.passkeyRemoved.subject']);
    const arrived = await fixture.arrive();
    const reply = await sendPasskey(arrived, passkey, PUBLIC_URL);
    await fixture.expectRefused(arrived, reply, UNKNOWN);
    expect(reply.body).toContain('data-problem="unknown"');
  });
});

describe('the page refuses', () => {
  it('a forged answer, and lets the person use the e-mail address', async () => {
    const { passkey } = await createOwner();
    const arrived = await fixture.arrive();
    const reply = await sendPasskey(arrived, passkey, PUBLIC_URL, { forges: true });
    await fixture.expectRefused(arrived, reply, INVALID);
    const again = await fixture.askForCode({ browser: arrived.browser, login: arrived.login });
    expect((await enterCode(again, {})).status).toBe(303);
  });

  it('forms of passkeys where they are not enabled, or not for the application', async () => {
    await using other = await fixture.startReplica({ loginMethods: ['wallet', 'email'] });
    const arrived = await fixture.arrive({ at: other });
    expect(arrived.page.body).not.toMatch(/id="passkey"|name="passkey"|webauthn/);
    const paths = ['passkey', 'passkey/new', 'passkey/later', 'passkeys/name', 'passkeys/delete'];
    const { token = '' } = arrived.page.forms[0]?.fields ?? {};
    for (const path of paths) expect((await arrived.browser.post(`/login/${path}`, { token })).status).toBe(404);

    const restricted = await createTenant(service);
    await admin.updateApplication({ applicationId: restricted.id, loginMethods: ['email'] });
    const { passkey } = await createOwner();
    const { browser, login, page } = await fixture.arrive({ of: restricted });
    expect(page.body).not.toMatch(/id="passkey"|name="passkey"|webauthn/);
    const asked = await fixture.arrive();
    const { fields } = formOf(page, '/login/email');
    const credential = passkey.answer(askedAtSignIn(asked.page, PUBLIC_URL));
    const reply = await browser.post('/login/passkey', { ...fields, credential });
    await fixture.expectRefused({ login }, reply, NOT_HERE);
  });
});

describe('the offer', () => {
  it('comes once after a code, saves a passkey, and leads to the application', async () => {
    const { browser, user, page, saved, passkey } = await createOwner();
    expect(page).toMatchObject({ status: 200, heading: OFFER });
    expect(saved.status).toBe(303);
    expect(tokenOf(saved).sub).toBe(user.id);
    expect(await sql`select credential_id from passkeys where user_id = ${user.id}`).toEqual([
      { credential_id: passkey.id },
    ]);
    const again = await fixture.askForCode({ browser, user });
    expect((await enterCode(again)).status).toBe(303);
  });

  it('comes when the login is complete already', async () => {
    const asked = await fixture.askForCode();
    await enterCode(asked);
    expect(await fixture.isCompleted(asked.login.loginIntentId)).toBe(true);
    expect(tokenOf(await asked.browser.open(asked.login.path)).sub).toBe(asked.user.id);
  });

  it('comes after a wallet, too', async () => {
    const { wallet } = await fixture.createWalletUser();
    const { browser, page, message } = await fixture.askForMessage(wallet.address);
    const reply = await browser.submit(page, '/login/wallet', { signature: wallet.sign(message), passkey: '1' });
    expect(reply.heading).toBe(OFFER);
  });

  it.each(['', '0', 'true'])('does not come to a browser that says %j', async (passkey) => {
    expect((await enterCode(await fixture.askForCode(), { passkey })).status).toBe(303);
  });

  it('does not come for 90 days after it was refused', async () => {
    const asked = await fixture.askForCode();
    const page = await enterCode(asked);
    const { location = '', cookies } = await asked.browser.submit(page, '/login/passkey/later');
    expect(location.startsWith(REDIRECT_URI)).toBe(true);
    expect(cookies.join()).toMatch(/usher-passkey=later; Max-Age=7776000; Path=\/; HttpOnly; Secure; SameSite=Lax/);
    const again = await fixture.askForCode({ browser: asked.browser, user: asked.user });
    expect((await enterCode(again)).status).toBe(303);
  });

  it('is for the browser that has signed in, for 10 minutes', async () => {
    const asked = await fixture.askForCode();
    const path = `/login/passkey/new?intent=${asked.login.loginIntentId}`;
    expect((await asked.browser.open(path)).heading).toBe('Sign in to Test application');
    await enterCode(asked);
    expect((await asked.browser.open(path)).heading).toBe(OFFER);
    expect((await new LoginBrowser(service).open(path)).status).toBe(409);
    clock.advance(10 * MINUTE);
    expect((await asked.browser.open(path)).location?.startsWith(REDIRECT_URI)).toBe(true);
    expect((await asked.browser.open('/login/passkey/new?intent=1')).status).toBe(404);
  });

  it('leaves the application time for the code of OpenID Connect', async () => {
    const of = await createTenant(service, { openIdConnect: true });
    const browser = new LoginBrowser(service);
    const choice = await follow(browser, await browser.open(`/oidc/authorize?${authorizationOf(of)}`));
    const { email } = await createTestUser(service);
    const codePage = await browser.submit(choice, '/login/email', { email });
    const offer = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(email), passkey: '1' });
    const { intent = '' } = formOf(offer, '/login/passkey/later').fields;
    clock.advance(5 * MINUTE);
    const { location = '' } = await browser.submit(offer, '/login/passkey/later');
    expect(new URL(location).searchParams.get('code')).toBeTruthy();
    const [login] = await sql`select completed_at, authenticated_at from login_intents where id = ${intent}`;
    expect(login?.completed_at.getTime() - login?.authenticated_at.getTime()).toBe(5 * MINUTE);
  });

  it('has no place for an authenticator app, and looks for none', async () => {
    using explainer = new StatementExplainer(service.database, { modes: [] });
    const offer = await enterCode(await fixture.askForCode());
    expect(offer.forms.map(({ action }) => action)).toEqual(['/login/passkey/new', '/login/passkey/later']);
    expect(explainer.explained.map(({ name }) => name)).not.toContain('select_factor_owner');
  });

  it('says what is wrong with a passkey, and with one that was saved before', async () => {
    const { browser, page, passkey } = await createOwner();
    expect(await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL, { rpId: 'x' })).toMatchObject({
      heading: OFFER,
      alert: INVALID,
    });
    expect(await savePasskey({ browser, page }, passkey, PUBLIC_URL)).toMatchObject({
      heading: OFFER,
      alert: 'You have this passkey already.',
    });
  });
});

describe('the list', () => {
  it('follows a sign-in from "Manage passkeys", and leads back to the application', async () => {
    const { user, passkey } = await createOwner();
    const browser = new LoginBrowser(service);
    const { page: choice, login } = await fixture.arrive({ browser });
    const [, footer = ''] = choice.body.split('<footer>');
    expect(footer).toMatch(/<form method="get" action="\/login">.* name="then" value="passkeys">/);
    const page = await browser.open(`${login.path}&then=passkeys`);
    expect(page.body).not.toContain('Manage passkeys');
    const list = await sendPasskey({ browser, page }, passkey, PUBLIC_URL);
    expect(list).toMatchObject({ status: 200, heading: LIST });
    expect(names(list)).toEqual(['Google Password Manager']);
    const { location = '' } = await browser.submit(list, '/login');
    expect(tokenOf({ ...list, location }).sub).toBe(user.id);
  });

  it('keeps its place through a wrong code and a second submit', async () => {
    const asked = await fixture.askForCode();
    const wrong = await asked.browser.submit(asked.codePage, '/login/code', {
      code: wrongCode(asked.code),
      ...TO_PASSKEYS,
    });
    const fields = { code: asked.code };
    expect((await asked.browser.submit(wrong, '/login/code', fields)).heading).toBe(LIST);
    expect((await asked.browser.submit(wrong, '/login/code', fields)).heading).toBe(LIST);
  });

  it('adds, renames and removes', async () => {
    const { browser, page, user } = await openList();
    const added = await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
    expect(added).toMatchObject({ status: 200, heading: LIST, alert: '' });
    const renamed = await browser.submit(added, '/login/passkeys/name', { name: 'Key <b> on the ring' });
    expect(names(renamed)).toEqual(['Key &#60;b&#62; on the ring']);
    const unnamed = await browser.submit(renamed, '/login/passkeys/name', { name: '' });
    expect(unnamed).toMatchObject({ heading: LIST, alert: 'Please enter your name.' });
    const removed = await browser.submit(unnamed, '/login/passkeys/delete');
    expect(names(removed)).toEqual([]);
    expect(removed.body).toContain('You have no passkeys yet.');
    const notices = () =>
      fixture.mailbox.mails.filter(({ to, kind }) => to === user.email && kind === 'passkey notice');
    await expect
      .poll(() => notices().map(({ subject: [key] }) => key))
      .toEqual(['mail.passkeyAdded.subject', 'mail.passkeyRemoved.subject']);
    const again = await browser.submit(unnamed, '/login/passkeys/delete');
    expect(again).toMatchObject({ heading: LIST });
    const { id } = formOf(renamed, '/login/passkeys/delete').fields;
    const events = await sql`select action, actor_type from audit_events where resource = ${id ?? ''} order by action`;
    expect(events.map(({ action, actor_type }) => `${actor_type}: ${action}`)).toEqual([
      'login_page: POST /login/passkey/new',
      'login_page: POST /login/passkeys/delete',
      'login_page: POST /login/passkeys/name',
    ]);
    expect(await sql`select from passkeys where user_id = ${user.id}`).toEqual([]);
  });

  it('renames and removes nothing more once somebody has changed a lot', async () => {
    const { browser, page } = await openList();
    const added = await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
    const rename = (name: string) => browser.submit(added, '/login/passkeys/name', { name });
    for (let time = 1; time < 60; time++) await rename('Phone');
    expect(names(await rename('Ring'))).toEqual(['Ring']);
    for (const refused of [await rename('Key'), await browser.submit(added, '/login/passkeys/delete')]) {
      expect(refused.alert).toBe('Too many attempts. Please wait a minute.');
      expect(names(refused)).toEqual(['Ring']);
    }
    clock.advance(MINUTE);
    expect(names(await rename('Key'))).toEqual(['Key']);
  });

  it('offers an app to somebody who has neither a passkey nor an app', async () => {
    const { browser, page, login, user } = await openList();
    const setApp = (has: boolean) => sql`update users set has_second_factor = ${has} where id = ${user.id}`;
    await setApp(true);
    const withApp = await browser.open(`${login.path}&then=passkeys`);
    await setApp(false);
    const added = await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
    const offersApp = ({ forms }: LoginPage) => forms.some(({ action }) => action === '/login/second-factor/new');
    expect([page, withApp, added].map((each) => [each.heading, offersApp(each)])).toEqual([
      [LIST, true],
      [LIST, false],
      [LIST, false],
    ]);
  });

  it('says that nothing was added where Usher fails, as the offer does, and the log why', async () => {
    await sql`alter table passkeys add constraint fails check (name <> 'Bitwarden')`;
    const bitwarden = () => new SoftwarePasskey({ aaguid: 'd548826e-79b4-db40-a3d8-11116f7e8349' });
    const list = await openList();
    expect((await savePasskey(list, bitwarden(), PUBLIC_URL)).status).toBe(500);
    const asked = await fixture.askForCode();
    const offer = { browser: asked.browser, page: await enterCode(asked) };
    expect((await savePasskey(offer, bitwarden(), PUBLIC_URL)).status).toBe(500);
    await sql`alter table passkeys drop constraint fails`;
    expect(log.parsed.map(({ err }) => Object(err).constraint)).toEqual(['fails', 'fails']);
  });

  it('has a name in the language of the page for a passkey of a strange device', async () => {
    const { browser, login } = await openList();
    const page = await browser.open(`${login.path}&then=passkeys&lang=ja`);
    const strange = new SoftwarePasskey({ aaguid: '00000000-0000-0000-0000-000000000000' });
    expect(names(await savePasskey({ browser, page }, strange, PUBLIC_URL))).toEqual(['パスキー']);
  });

  it('is not changed by another browser, or for another user', async () => {
    const owner = await createOwner();
    const [{ passkeyId: id } = { passkeyId: '' }] = (await admin.listPasskeys({ userId: owner.user.id })).passkeys;
    const mine = await openList();
    const { token = '', intent = '' } = mine.page.forms[0]?.fields ?? {};
    await mine.browser.post('/login/passkeys/delete', { token, intent, id });
    await mine.browser.post('/login/passkeys/name', { token, intent, id, name: 'mine' });
    const stranger = new LoginBrowser(service);
    await stranger.open(owner.login.path);
    const page = await stranger.open((await fixture.arrive({ browser: stranger })).login.path);
    const own = page.forms[0]?.fields.token ?? '';
    await stranger.post('/login/passkeys/delete', { token: own, intent: owner.login.loginIntentId, id });
    const { passkeys } = await admin.listPasskeys({ userId: owner.user.id });
    expect(passkeys.map(({ passkeyId, name }) => [passkeyId, name])).toEqual([[id, 'Google Password Manager']]);
  });

  it('holds ten, and says so', async () => {
    let { browser, page } = await openList();
    for (let count = 0; count < 10; count++)
      page = await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
    expect(names(page)).toHaveLength(10);
    page = await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
    expect(page).toMatchObject({
      heading: LIST,
      alert: 'You have as many passkeys as we can store. Remove one first.',
    });
  });
});

it('operators see passkeys without their keys', async () => {
  const { user } = await createOwner();
  const { passkeys } = await admin.listPasskeys({ userId: user.id });
  expect(passkeys).toMatchObject([
    {
      name: 'Google Password Manager',
      rpId: 'usher.test',
      transports: ['internal', 'hybrid'],
      backupEligible: true,
      backedUp: true,
      userVerified: true,
    },
  ]);
  expect(JSON.stringify(passkeys, (_, value) => (typeof value === 'bigint' ? '' : value))).not.toMatch(
    /publicKey|public_key|credential/i,
  );
  await expect(admin.listPasskeys({ userId: crypto.randomUUID() })).rejects.toThrow('User not found');
  await expect(admin.deletePasskey({ userId: user.id, passkeyId: crypto.randomUUID() })).rejects.toThrow(
    'Passkey not found',
  );
});

it('signs in on a page that has been idle until the login expires', async () => {
  const { passkey } = await createOwner();
  const arrived = await fixture.arrive();
  clock.advance(29 * MINUTE);
  const { location } = await sendPasskey(arrived, passkey, PUBLIC_URL);
  expect(location).toContain('authToken=');
});
