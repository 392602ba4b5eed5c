/** Signing in with a second step, and what ends it. */
import { afterAll, describe, expect, it } from 'vitest';
import { encodeBase32 } from '../../../src/encoding/base32.ts';
import { LoginBrowser, textOf } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import {
  createPersonWithApp,
  finishSetUp,
  reachStep,
  STEP,
  setUpApp,
  TestApp,
  takeStep,
} from '../../support/second-factor.ts';
import { adminClient, clientsOf, createTenant, type TestUser } from '../../support/service.ts';

const fixture = await LoginFixture.open({ start: new Date() });
afterAll(fixture.close);
const { service, clock } = fixture;

/** Without passkeys. */
const PHONE_OF_2015 =
  'Mozilla/5.0 (Linux; Android 5.0.2; SM-G530H) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/41.0.2272.96 Mobile Safari/537.36';

const createPerson = () => createPersonWithApp(fixture);
const reach = (by: Parameters<typeof reachStep>[1]) => reachStep(fixture, by);

describe('the second step', () => {
  it('is asked after the code, and completes the login', async () => {
    const { user, app } = await createPerson();
    const step = await reach({ user });
    expect(await fixture.isCompleted(step.login.loginIntentId)).toBe(false);
    const { location = '' } = await takeStep(fixture, { ...step, app });
    const authToken = new URL(location).searchParams.get('authToken') ?? '';
    await clientsOf(service, fixture.tenant).auth.exchangeToken({ authToken });
    const { sessions } = await adminClient(service).listUserSessions({ userId: user.id });
    expect(sessions).toMatchObject([{ assurance: 2 }]);
  });

  it('refuses the code of another try, and a wrong one', async () => {
    const { user, app } = await createPerson();
    const first = await reach({ user });
    const code = app.codeAt(clock.read());
    expect(
      await first.browser.submit(first.page, STEP, { code: code === '123456' ? '123457' : '123456' }),
    ).toMatchObject({
      alert: 'That is not the right code. Please check it and try again.',
    });
    expect((await first.browser.submit(first.page, STEP, { code })).location).toContain('authToken');
    const second = await reach({ user });
    expect(await second.browser.submit(second.page, STEP, { code })).toMatchObject({
      alert: 'This code was used already. Please wait for the next one.',
    });
  });

  it('takes each recovery code once, and says how many are left', async () => {
    const { user, app } = await createPerson();
    const [code = ''] = app.recoveryCodes;
    const step = await reach({ user });
    const form = await step.browser.submit(step.page, `${STEP}/recovery`);
    const left = await step.browser.submit(form, `${STEP}/recovery`, { code: code.toUpperCase().replaceAll('-', ' ') });
    expect(left).toMatchObject({ status: 200, heading: 'Recovery codes left: 9' });
    expect((await step.browser.submit(left, `${STEP}/done`)).location).toContain('authToken');
    const again = await reach({ user });
    const refused = await again.browser.submit(
      await again.browser.submit(again.page, `${STEP}/recovery`),
      `${STEP}/recovery`,
      { code },
    );
    expect(refused.alert).toBe('That is not the right code. Please check it and try again.');
  });

  it('lets another person sign in instead', async () => {
    const { user } = await createPerson();
    const { browser, page } = await reach({ user });
    const choice = await browser.submit(page, '/login');
    expect(choice.heading).toContain('Sign in to');
    expect(choice.forms.map(({ action }) => action)).toContain('/login/email');
  });

  it('names the address to which the code of the first step was sent, and no other', async () => {
    const { wallet, user } = await fixture.createWalletUser();
    await setUpApp(fixture, user);
    const byCode = await reach({ user });
    expect(textOf(byCode.page.body)).toContain(user.email);
    const asked = await fixture.askForMessage(wallet.address);
    const byWallet = await asked.send(wallet.sign(asked.message));
    expect(byWallet.heading).toBe('One more step');
    expect(textOf(byWallet.body)).not.toContain(user.email);
  });

  it('gives way to the choice if the app is removed meanwhile, and to a set-up where two factors are demanded', async () => {
    const { user } = await createPerson();
    const of = await createTenant(service, { requiredAssurance: 'TWO_FACTORS' });
    const [step, strict] = [await reach({ user }), await reach({ user, of })];
    // As the account page does it: sign-ins stay.
    await service.database.sql`delete from totp_secrets where user_id = ${user.id}`;
    await service.database.sql`update users set has_second_factor = false where id = ${user.id}`;
    const reload = ({ browser, login }: typeof step) => browser.open(`${STEP}?intent=${login.loginIntentId}`);
    expect((await reload(step)).heading).toContain('Sign in to');
    expect((await reload(strict)).heading).toBe('Set up an authenticator app');
  });

  it('is not taken in another browser', async () => {
    const { user, app } = await createPerson();
    const step = await reach({ user });
    const other = new LoginBrowser(service);
    const page = await other.open(`${STEP}?intent=${step.login.loginIntentId}`);
    expect(page.heading).toContain('Sign in');
    const forged = { intent: step.login.loginIntentId, token: page.forms[0]?.fields.token ?? '' };
    await other.post(STEP, { ...forged, code: app.codeAt(clock.read()) });
    expect(await fixture.isCompleted(step.login.loginIntentId)).toBe(false);
  });
});

describe('an application that demands two factors', () => {
  it('is entered in one pass by somebody who sets up an app', async () => {
    const of = await createTenant(service, { requiredAssurance: 'TWO_FACTORS' });
    const browser = new LoginBrowser(service, { userAgent: PHONE_OF_2015 });
    const asked = await fixture.askForCode({ of, browser });
    expect((await fixture.arrive({ of })).page.body).toContain('or a code from your authenticator app as well');
    const { app, codes } = await finishSetUp(fixture, browser, await asked.enter(asked.code));
    expect(app.recoveryCodes).toHaveLength(10);
    const { location = '' } = await browser.submit(codes, `${STEP}/done`);
    const authToken = new URL(location).searchParams.get('authToken') ?? '';
    const { session } = await clientsOf(service, of).auth.exchangeToken({ authToken });
    expect(session).toMatchObject({ assurance: 2 });
    // The next time it is one code more.
    const again = await fixture.askForCode({ of, browser, user: asked.user });
    const step = { browser, page: await again.enter(again.code), app };
    expect((await takeStep(fixture, step)).location).toContain('authToken');
  });
});

describe('the account page', () => {
  it('removes the app with its codes after a sign-in with two factors, and not before', async () => {
    const { user, browser } = await createPerson();
    const stale = await browser.open('/account/second-factor');
    expect(stale.forms.map(({ action }) => action)).toEqual(['/account/login']);
    const { token = '' } = stale.forms[0]?.fields ?? {};
    await browser.post('/account/second-factor/remove', { token });
    const admin = adminClient(service);
    expect((await admin.getSecondFactor({ userId: user.id })).secondFactor).toBeDefined();
    await admin.resetSecondFactor({ userId: user.id });
    expect((await admin.getSecondFactor({ userId: user.id })).secondFactor).toBeUndefined();
    expect(await service.database.sql`select from recovery_codes where user_id = ${user.id}`).toHaveLength(0);
    const asked = await fixture.askForCode({ user });
    expect((await asked.enter(asked.code)).location).toContain('authToken');
  });
});

it('asks for the code of an app that was imported, and then shows ten recovery codes, once', async () => {
  const admin = adminClient(service);
  const secret = Buffer.from('12345678901234567890');
  const email = 'imported@example.com';
  const { results } = await admin.batchCreateUsers({ users: [{ email, totpSecret: encodeBase32(secret) }] });
  const userId = results[0]?.id ?? '';
  const app = new TestApp(secret);
  const user = { id: userId, email } as TestUser;
  const first = await reach({ user });
  const codes = await takeStep(fixture, { ...first, app });
  expect(codes.heading).toBe('Your recovery codes');
  expect((await first.browser.submit(codes, `${STEP}/done`)).location).toContain('authToken');
  expect((await admin.getSecondFactor({ userId })).secondFactor).toMatchObject({ recoveryCodesLeft: 10 });
  clock.advance(30_000);
  const second = await reach({ user });
  expect((await takeStep(fixture, { ...second, app })).location).toContain('authToken');
});
