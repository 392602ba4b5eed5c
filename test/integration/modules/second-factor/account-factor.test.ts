/** Setting up an authenticator app, and what the account page changes about it. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { digestRecoveryCode } from '../../../../src/domain/second-factor/recovery-codes.ts';
import { beginSession, follow, openAccount, tokenOf } from '../../../support/account-page.ts';
import { MINUTE } from '../../../support/clock.ts';
import { formOf, LoginBrowser, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { authorizationOf, createRsaJwk } from '../../../support/oidc.ts';
import { TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import {
  createPersonWithApp,
  finishSetUp,
  openWithApp,
  reachStep,
  STEP,
  scanApp,
  setUpApp,
  takeStep,
} from '../../../support/second-factor.ts';
import { adminClient, clientsOf, createTenant, createTestUser, PUBLIC_URL } from '../../../support/service.ts';

const log = new RecordedLog('error');
const fixture = await LoginFixture.open({
  logger: log.logger,
  start: new Date(),
  config: { loginMethods: ['email', 'passkey'] },
  oidcSigningKeys: [createRsaJwk()],
});
const { clock, mailbox, service, tenant } = fixture;
const { sql } = service.database;
afterAll(fixture.close);
beforeEach(() => sql`delete from rate_limits`);
const admin = adminClient(service);
const strict = await createTenant(service, { openIdConnect: true, requiredAssurance: 'TWO_FACTORS' });

const PATH = '/account/second-factor';
const REMOVED = 'The authenticator app is removed';
const SET_UP = 'Set up an authenticator app';
const REFUSED = 'This link does not work any more';

const factorOf = async (userId: string) => (await admin.getSecondFactor({ userId })).secondFactor;
const codesOf = async (userId: string) => [
  ...(await sql`select digest from recovery_codes where user_id = ${userId} order by digest`),
];
/** As an application asks that accepts an answer of a moment ago. */
const isActive = async (sessionId: string) =>
  (await clientsOf(service, tenant).sessions.checkSession({ sessionId })).active;

/** Returns somebody with a session and an app. */
async function createPerson() {
  const user = await createTestUser(service);
  const sessionId = await beginSession(fixture, user);
  const { app, browser } = await setUpApp(fixture, user);
  expect(await isActive(sessionId)).toBe(true);
  return { user, app, browser, sessionId };
}

describe('after a sign-in with two factors', () => {
  it('new recovery codes take the place of the old ones', async () => {
    const person = await createPersonWithApp(fixture);
    const browser = await openWithApp(fixture, person);
    const before = await codesOf(person.user.id);
    const page = await browser.submit(await browser.open(PATH), `${PATH}/codes`);
    expect(page).toMatchObject({ status: 200, heading: 'Your recovery codes' });
    const after = await codesOf(person.user.id);
    expect(after).toHaveLength(10);
    expect(after).not.toEqual(before);
  });

  it('the app is removed, and the person stays signed in everywhere', async () => {
    const person = await createPerson();
    const browser = await openWithApp(fixture, person);
    const page = await browser.submit(await browser.open(PATH), `${PATH}/remove`, { everywhere: '' });
    expect(page.heading).toBe(person.user.email);
    expect(textOf(page.body)).toContain(REMOVED);
    expect(await factorOf(person.user.id)).toBeUndefined();
    expect(await isActive(person.sessionId)).toBe(true);
  });

  it('the app is removed, and every sign-in ends if the person wishes', async () => {
    const person = await createPerson();
    const browser = await openWithApp(fixture, person);
    const page = await browser.submit(await browser.open(PATH), `${PATH}/remove`);
    expect(page.heading).toBe('Your account');
    expect(textOf(page.body)).toContain('You are signed out everywhere.');
    expect(await factorOf(person.user.id)).toBeUndefined();
    expect(await isActive(person.sessionId)).toBe(false);
  });

  it('nothing can be changed once that is 15 minutes ago', async () => {
    const browser = await openWithApp(fixture, await createPersonWithApp(fixture));
    const actionsAfter = async (ms: number) => {
      clock.advance(ms);
      return (await browser.open(PATH)).forms.map(({ action }) => action);
    };
    expect(await actionsAfter(10 * MINUTE)).toEqual([`${PATH}/codes`, `${PATH}/remove`]);
    expect(await actionsAfter(5 * MINUTE)).toEqual(['/account/login']);
  });

  it('codes of an app that has gone meanwhile are not made', async () => {
    const person = await createPersonWithApp(fixture);
    const browser = await openWithApp(fixture, person);
    const page = await browser.open(PATH);
    await sql`delete from totp_secrets where user_id = ${person.user.id}`;
    expect(await browser.submit(page, `${PATH}/codes`)).toMatchObject({ status: 200, heading: person.user.email });
  });
});

it('after a sign-in with one factor neither the app nor the codes can be changed', async () => {
  const { user, browser } = await createPersonWithApp(fixture);
  const before = await codesOf(user.id);
  const token = tokenOf(await browser.open('/account/name'));
  for (const change of ['codes', 'remove']) {
    const page = await browser.post(`${PATH}/${change}`, { token });
    expect(page.forms.map(({ action }) => action)).toEqual(['/account/login']);
    expect(page.alert).not.toBe('');
  }
  expect(await factorOf(user.id)).toBeDefined();
  expect(await codesOf(user.id)).toEqual(before);
});

it('the set-up begins with a new sign-in if the last one is 10 minutes old', async () => {
  const { browser } = await openAccount(fixture, await createTestUser(service));
  expect(await browser.open(`${PATH}/new`)).toMatchObject({ heading: SET_UP, status: 200 });
  clock.advance(10 * MINUTE);
  const page = await browser.open(`${PATH}/new`);
  expect(page).toMatchObject({ heading: SET_UP, forms: [{ action: '/account/login' }] });
});

it('the link in the notice of a new app removes it and ends every sign-in', async () => {
  const { user, sessionId } = await createPerson();
  const find = () =>
    mailbox.mails.find(({ to, kind, link }) => to === user.email && kind === 'second factor notice' && link);
  await expect.poll(find).toBeDefined();
  const stranger = new LoginBrowser(service);
  expect((await stranger.open(`${PATH}/added?t=x`)).heading).toBe(REFUSED);
  const question = await stranger.open((find()?.link?.url ?? '').slice(PUBLIC_URL.length));
  expect(await factorOf(user.id)).toBeDefined();
  expect((await stranger.submit(question, `${PATH}/added`)).heading).toBe(REMOVED);
  expect(await factorOf(user.id)).toBeUndefined();
  expect(await isActive(sessionId)).toBe(false);
});

describe('the set-up', () => {
  it('shows the same key again after a wrong code, and the way to passkeys within a login', async () => {
    const { browser, ...asked } = await fixture.askForCode({ of: strict });
    const page = await asked.enter(asked.code);
    expect(page.body).toContain('No passkey yet?');
    const app = scanApp(page);
    const wrong = await browser.submit(page, `${STEP}/new`, { code: app.codeAt(clock.read(), 9) });
    expect(wrong).toMatchObject({ status: 422, heading: SET_UP, alert: expect.stringContaining('not the right code') });
    expect(scanApp(wrong).secret).toEqual(app.secret);
    const codes = await browser.submit(wrong, `${STEP}/new`, { code: app.codeAt(clock.read()) });
    expect(codes.heading).toBe('Your recovery codes');
  });

  it('shows no other way after a sign-in', async () => {
    const { browser } = await openAccount(fixture, await createTestUser(service));
    const page = await browser.open(PATH);
    expect(page).toMatchObject({ status: 200, heading: SET_UP, alert: '' });
    expect(page.body).not.toContain('No passkey yet?');
    const wrong = await browser.submit(page, `${STEP}/new`, { code: scanApp(page).codeAt(clock.read(), 9) });
    expect(wrong).toMatchObject({ status: 422, heading: SET_UP });
  });

  it('is that of the browser that has taken the first step', async () => {
    const { user, login, ...asked } = await fixture.askForCode({ of: strict });
    const page = await asked.enter(asked.code);
    const thief = new LoginBrowser(service);
    const own = await thief.open(`${STEP}/new?intent=${login.loginIntentId}`);
    expect(own.heading).toContain('Sign in to');
    const fields = { ...formOf(page, `${STEP}/new`).fields, token: tokenOf(own) };
    const refused = await thief.post(`${STEP}/new`, { ...fields, code: scanApp(page).codeAt(clock.read()) });
    expect(refused.heading).toContain('Sign in to');
    expect(await factorOf(user.id)).toBeUndefined();
  });

  it('leads to another sign-in once something has ended this one, and says so where Usher fails', async () => {
    const { user, browser, ...asked } = await fixture.askForCode({ of: strict });
    const page = await asked.enter(asked.code);
    const enter = () => browser.submit(page, `${STEP}/new`, { code: scanApp(page).codeAt(clock.read()) });
    await sql`alter table totp_secrets add constraint fails check (false) not valid`;
    const { status } = await enter();
    await sql`alter table totp_secrets drop constraint fails`;
    expect([status, log.lines.splice(0).join().includes('TypeError')]).toEqual([500, false]);
    await sql`update users set email_changed_at = ${clock.read()} where id = ${user.id}`;
    expect((await enter()).heading).toContain('Sign in to');
    expect(await factorOf(user.id)).toBeUndefined();
  });

  it('of no login leads to the choice of how to sign in', async () => {
    const { browser } = await fixture.arrive();
    for (const intent of ['', 'x', crypto.randomUUID()]) {
      const page = await browser.open(`${STEP}/new?intent=${intent}&client_id=${tenant.clientId}`);
      expect(page.status).toBeLessThan(500);
      expect(page.heading).not.toBe(SET_UP);
    }
  });

  it('leads back to the passkeys, from where the person came', async () => {
    const { browser, codePage, code } = await fixture.askForCode();
    const list = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
    const { codes } = await finishSetUp(fixture, browser, await browser.submit(list, `${STEP}/new`));
    const back = await browser.submit(codes, `${STEP}/done`);
    expect(back.heading).toBe('Your passkeys');
    // Who has an app is not asked to set one up.
    expect(back.forms.map(({ action }) => action)).not.toContain(`${STEP}/new`);
  });

  it('leaves the application time for the code of OpenID Connect', async () => {
    const browser = new LoginBrowser(service);
    const choice = await follow(browser, await browser.open(`/oidc/authorize?${authorizationOf(strict)}`));
    const { email } = await createTestUser(service);
    const codePage = await browser.submit(choice, '/login/email', { email });
    const page = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
    const { codes } = await finishSetUp(fixture, browser, page);
    clock.advance(5 * MINUTE);
    const { location = '' } = await browser.submit(codes, `${STEP}/done`);
    const intent = formOf(codes, `${STEP}/done`).fields.intent ?? '';
    expect(new URL(location).searchParams.get('code')).toBeTruthy();
    const [login] = await sql`select completed_at, authenticated_at from login_intents where id = ${intent}`;
    expect(login?.completed_at.getTime() - login?.authenticated_at.getTime()).toBeGreaterThan(4 * MINUTE);
  });
});

it('the second step is not asked any more for a login that another page has completed', async () => {
  const { user } = await createPersonWithApp(fixture);
  const { browser, login } = await reachStep(fixture, { user });
  await admin.completeLogin({ loginIntentId: login.loginIntentId, userId: user.id });
  expect((await browser.open(`${STEP}?intent=${login.loginIntentId}`)).heading).not.toBe('One more step');
});

describe('somebody without recovery codes', () => {
  it('gets none for the last of them', async () => {
    const { user, app } = await createPersonWithApp(fixture);
    const [code = ''] = app.recoveryCodes;
    const own = digestRecoveryCode(user.id, code) ?? Buffer.of();
    await sql`delete from recovery_codes where user_id = ${user.id} and digest <> ${own}`;
    const { browser, page } = await reachStep(fixture, { user });
    const left = await browser.submit(await browser.submit(page, `${STEP}/recovery`), `${STEP}/recovery`, { code });
    expect(left.heading).toBe('Recovery codes left: 0');
  });

  it('gets none for a code of an app that was used before', async () => {
    const { user, app } = await createPersonWithApp(fixture);
    await sql`delete from recovery_codes where user_id = ${user.id}`;
    await sql`update totp_secrets set last_used_at = ${clock.read()} where user_id = ${user.id}`;
    const step = await reachStep(fixture, { user });
    expect((await takeStep(fixture, { ...step, app })).location).toContain('authToken=');
  });
});
