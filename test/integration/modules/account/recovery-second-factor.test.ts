/** The second step after the use of a recovery link: who keeps an authenticator app shows it before adding passkeys. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeBase32 } from '../../../../src/encoding/base32.ts';
import { MINUTE } from '../../../support/clock.ts';
import { LOGIN_CONFIG, LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey } from '../../../support/passkey-page.ts';
import { type MadeLink, makeRecoveryLink, reachLastButton, recover } from '../../../support/recovery.ts';
import { finishSetUp, STEP, setUpApp, TestApp, takeStep } from '../../../support/second-factor.ts';
import { adminClient, createTenant, createTestUser, PUBLIC_URL, type TestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open({
  start: new Date(),
  config: { loginMethods: ['wallet', 'email', 'passkey'] },
});
const { clock, mailbox, service } = fixture;
const { sql } = service.database;
const replica = await fixture.startReplica({ ...LOGIN_CONFIG, loginMethods: ['wallet', 'email', 'passkey'] });
afterAll(async () => {
  await replica.close();
  await fixture.close();
});
// An admin key can make 20 links a day.
beforeEach(() => sql`delete from rate_limits`);
const admin = adminClient(service);
const strict = await createTenant(service, { requiredAssurance: 'PHISHING_RESISTANT', loginMethods: ['passkey'] });

const PASSKEYS = { status: 200, heading: 'Your passkeys' };
const ASKED = { status: 200, heading: 'One more step' };
const newEmail = () => `${randomBytes(6).toString('hex')}@new.test`;
const passkeysOf = (made: MadeLink) => `/login/passkeys?intent=${made.recoveryLinkId}`;

/** Whether the browser, on this page, adds a passkey that counts in full. */
async function addsPasskey(browser: LoginBrowser, page: LoginPage): Promise<boolean> {
  const passkey = new SoftwarePasskey();
  expect(await savePasskey({ browser, page }, passkey, PUBLIC_URL)).toMatchObject(PASSKEYS);
  clock.advance(1);
  const { location } = await sendPasskey(await fixture.arrive({ of: strict }), passkey, PUBLIC_URL);
  return location?.includes('authToken=') ?? false;
}

interface Person {
  readonly user: TestUser;
  readonly app: TestApp;
}

async function createPerson(): Promise<Person> {
  const user = await createTestUser(service);
  const { app } = await setUpApp(fixture, user);
  return { user, app };
}

const withApp = createPerson;
const withYoungApp = async () => {
  const person = await createPerson();
  const countsFrom = new Date(clock.read().getTime() + 7 * 24 * 60 * MINUTE);
  await sql`update totp_secrets set counts_from = ${countsFrom} where user_id = ${person.user.id}`;
  return person;
};
const withoutApp = async () => ({ user: await createTestUser(service) });

/** Uses a link of the person in a new browser. */
async function reachStep({ user }: Pick<Person, 'user'>, removes: readonly string[] = ['PASSKEYS']) {
  const made = await makeRecoveryLink(service, user, removes);
  const browser = new LoginBrowser(service);
  const changed = removes.includes('ADDRESS') ? { email: newEmail(), mailbox } : undefined;
  return { browser, made, page: await recover(browser, made, changed) };
}

describe('the second step', () => {
  it.each([
    ['is asked of somebody who keeps an app', withApp, ['PASSKEYS'], ASKED],
    ['is asked of somebody who gets a new address, too', withApp, ['ADDRESS', 'PASSKEYS'], ASKED],
    ['is not asked if the link removes the app', withApp, ['PASSKEYS', 'SECOND_FACTOR'], PASSKEYS],
    ['is not asked for an app that is too young', withYoungApp, ['PASSKEYS'], PASSKEYS],
    ['is not asked for a young app that the link removes', withYoungApp, ['PASSKEYS', 'SECOND_FACTOR'], PASSKEYS],
    ['is not asked without an app', withoutApp, ['PASSKEYS'], PASSKEYS],
    ['is not asked without an app that the link removes', withoutApp, ['PASSKEYS', 'SECOND_FACTOR'], PASSKEYS],
  ] as const)('%s', async (_, create, removes, expected) => {
    const { browser, made, page } = await reachStep(await create(), removes);
    expect(page).toMatchObject(expected);
    const opened = await browser.at(replica).open(passkeysOf(made));
    expect(opened.heading === PASSKEYS.heading).toBe(expected === PASSKEYS);
    if (expected === PASSKEYS) expect(await addsPasskey(browser, page)).toBe(true);
  });

  it('is asked of somebody who enrols, and whose secret was imported', async () => {
    const secret = randomBytes(20);
    const email = newEmail();
    const { results } = await admin.batchCreateUsers({ users: [{ email, totpSecret: encodeBase32(secret) }] });
    const user = { id: results[0]?.id ?? '', email } as TestUser;
    const { browser, page } = await reachStep({ user }, []);
    expect(page).toMatchObject(ASKED);
    // Nobody has shown the recovery codes.
    const codes = await takeStep(fixture, { browser, page, app: new TestApp(secret) });
    expect(codes.heading).toBe('Your recovery codes');
    expect(await addsPasskey(browser, await browser.submit(codes, `${STEP}/done`))).toBe(true);
  });

  it('opens the passkeys with the right code, whose first counts in full, and no application', async () => {
    const { user, app } = await createPerson();
    const { browser, made, page } = await reachStep({ user });
    const list = await takeStep(fixture, { browser, page, app });
    expect(list).toMatchObject(PASSKEYS);
    const signedOut = { heading: 'Your account', location: undefined };
    expect(await browser.open(`/login?intent=${made.recoveryLinkId}`)).toMatchObject(signedOut);
    expect(await browser.open('/account')).toMatchObject(signedOut);
    expect((await fixture.arrive({ browser })).page.heading).toBe('Sign in to Test application');
    expect((await admin.listUserSessions({ userId: user.id })).sessions).toEqual([]);
    const [row] = await sql`
      select redeemed_at is not null as is_redeemed, assurance, method from login_intents
      where id = ${made.recoveryLinkId}`;
    expect(row).toEqual({ is_redeemed: true, assurance: 2, method: 'recovery' });
    expect(await sql`select from known_origins where user_id = ${user.id}`).toHaveLength(0);
    expect(await addsPasskey(browser, await browser.open(passkeysOf(made)))).toBe(true);
  });

  it('lets somebody who has nothing set up an app instead, which counts at once', async () => {
    const { user, app: lost } = await createPerson();
    const { browser, page } = await reachStep({ user }, ['PASSKEYS', 'SECOND_FACTOR']);
    const { app, codes } = await finishSetUp(fixture, browser, await browser.submit(page, `${STEP}/new`));
    expect(app.secret).not.toEqual(lost.secret);
    const { secondFactor } = await admin.getSecondFactor({ userId: user.id });
    expect([secondFactor?.recoveryCodesLeft, secondFactor?.countsFrom]).toEqual([10, undefined]);
    const list = await browser.submit(codes, `${STEP}/done`);
    expect(list).toMatchObject(PASSKEYS);
    expect(list.forms.map(({ action }) => action)).not.toContain(`${STEP}/new`);
  });

  it('opens the passkeys with a recovery code, once', async () => {
    const { user, app } = await createPerson();
    const [code = ''] = app.recoveryCodes;
    const enter = async ({ browser, page }: { browser: LoginBrowser; page: LoginPage }) =>
      browser.submit(await browser.submit(page, `${STEP}/recovery`), `${STEP}/recovery`, { code });
    const step = await reachStep({ user });
    const left = await enter(step);
    expect(left.heading).toBe('Recovery codes left: 9');
    const list = await step.browser.submit(left, `${STEP}/done`);
    expect(list).toMatchObject(PASSKEYS);
    expect(await addsPasskey(step.browser, list)).toBe(true);
    const again = await reachStep({ user });
    expect(await enter(again)).toMatchObject({ alert: 'That is not the right code. Please check it and try again.' });
    expect((await again.browser.open(passkeysOf(again.made))).heading).not.toBe(PASSKEYS.heading);
  });

  it('takes no code twice, and none of another link', async () => {
    const { user, app } = await createPerson();
    const first = await reachStep({ user });
    const code = app.codeAt(clock.read());
    expect(await first.browser.submit(first.page, STEP, { code })).toMatchObject(PASSKEYS);
    const second = await reachStep({ user });
    expect(await second.browser.submit(second.page, STEP, { code })).toMatchObject({
      alert: 'This code was used already. Please wait for the next one.',
    });
    expect((await second.browser.open(passkeysOf(second.made))).heading).not.toBe(PASSKEYS.heading);
  });

  it('has five tries, also by several links', async () => {
    const { user, app } = await createPerson();
    const wrong = app.codeAt(clock.read(), 9);
    const first = await reachStep({ user });
    for (let tries = 1; tries <= 3; tries++) await first.browser.submit(first.page, STEP, { code: wrong });
    const { browser, made, page } = await reachStep({ user });
    for (let tries = 4; tries <= 5; tries++) await browser.submit(page, STEP, { code: wrong });
    const { alert } = await takeStep(fixture, { browser, page, app });
    expect(alert).toContain('Too many');
    expect((await browser.open(passkeysOf(made))).heading).not.toBe(PASSKEYS.heading);
    const { signInAttempts } = await admin.listSignInAttempts({ userId: user.id });
    expect(signInAttempts.map(({ method, reason }) => [method, reason])).toContainEqual([
      'recovery',
      'WRONG_SECOND_FACTOR',
    ]);
  });

  it('is asked by the same page after a double click', async () => {
    const { user, app } = await createPerson();
    const browser = new LoginBrowser(service);
    const last = await reachLastButton(browser, await makeRecoveryLink(service, user));
    const pages = await Promise.all([1, 2].map(() => browser.submit(last, '/recover/use')));
    expect(pages).toMatchObject([ASKED, ASKED]);
    const [page = last] = pages;
    expect(await takeStep(fixture, { browser, page, app })).toMatchObject(PASSKEYS);
    expect(await browser.submit(last, '/recover/use')).toMatchObject(PASSKEYS);
  });
});

describe('the held recovery', () => {
  it.each<[string, (person: Person, made: MadeLink) => Promise<unknown>]>([
    ['ends after 10 minutes', async () => clock.advance(10 * MINUTE)],
    ['ends with all sign-ins', ({ user: { id: userId } }) => admin.endUserSessions({ userId })],
    ['ends with the second factor', ({ user: { id: userId } }) => admin.resetSecondFactor({ userId })],
    ['ends with another recovery', ({ user }) => reachStep({ user }, ['WALLET'])],
  ])('%s', async (_, end) => {
    const person = await createPerson();
    const { browser, made, page } = await reachStep(person);
    await end(person, made);
    expect((await takeStep(fixture, { browser, page, app: person.app })).heading).not.toBe(PASSKEYS.heading);
    expect((await browser.open(passkeysOf(made))).heading).not.toBe(PASSKEYS.heading);
  });

  it('vouches for nobody who signs in to its login by the mailbox', async () => {
    const { user } = await createPerson();
    const { made } = await reachStep({ user });
    await admin.resetSecondFactor({ userId: user.id });
    clock.advance(1);
    const thief = new LoginBrowser(service);
    const choice = await thief.open(`/login?intent=${made.recoveryLinkId}`);
    const codePage = await thief.submit(choice, '/login/email', { email: user.email });
    const page = await thief.submit(codePage, '/login/code', { code: mailbox.codeFor(user.email) });
    expect(page).toMatchObject(PASSKEYS);
    // It is as young as after any other sign-in by the mailbox.
    expect(await addsPasskey(thief, page)).toBe(false);
  });
});
