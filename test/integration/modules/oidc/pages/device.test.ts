/** When the pages about a device ask a person, and what they store. The device itself: device.test.ts beside this folder. */
import { afterAll, describe, expect, it, test } from 'vitest';
import { DEVICE_LOGIN_SECONDS } from '../../../../../src/modules/oidc/domain/devices/begin-device-login.ts';
import { loginIntentIdsOf } from '../../../../../src/modules/oidc/domain/devices/device-codes.ts';
import { createCode } from '../../../../../src/modules/oidc/domain/tokens/code.ts';
import { deriveTokenKeys } from '../../../../../src/modules/oidc/domain/tokens/token-keys.ts';
import { SECOND } from '../../../../support/clock.ts';
import { beginDevice, decide, enterUserCode, signInForDevice } from '../../../../support/device-client.ts';
import { LoginBrowser } from '../../../../support/login-browser.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import { createRsaJwk } from '../../../../support/oidc.ts';
import { adminClient, createTenant, createTestUser, startTestService } from '../../../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { service, clock } = fixture;
afterAll(() => fixture.close());
const { sql } = service.database;
const keys = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);
const shop = await createTenant(service, { name: 'Shop CLI', openIdConnect: true, deviceLogin: true });

async function signIn() {
  const device = await beginDevice(service, shop);
  const [id = ''] = loginIntentIdsOf(keys.deviceCode, device.deviceCode);
  return { id, device, ...(await signInForDevice(fixture, shop, device)) };
}

const approvalOf = async (id: string) => (await sql`select approved from login_intents where id = ${id}`)[0]?.approved;

test.each<[string, (login: Awaited<ReturnType<typeof signIn>>) => PromiseLike<unknown>]>([
  ['is not completed', ({ id }) => sql`update login_intents set completed_at = null where id = ${id}`],
  ['nobody has completed', ({ id }) => sql`update login_intents set user_id = null where id = ${id}`],
])('the question whether to let a device in is unknown for a login that %s', async (_, change) => {
  const at = await signIn();
  await change(at);
  expect(await at.browser.open(at.approvePath)).toMatchObject({ status: 404, heading: 'This sign-in is not known' });
  expect(await decide(at, 'allow')).toMatchObject({ status: 404 });
  expect(await approvalOf(at.id)).toBe(null);
});

describe('a device that has waited for ten minutes', () => {
  it('can be neither let in nor denied', async () => {
    const at = await signIn();
    const browser = new LoginBrowser(service);
    const request = await enterUserCode(browser, at.device.userCode);
    clock.advance(DEVICE_LOGIN_SECONDS * SECOND - 2);
    expect(await at.browser.open(at.approvePath)).toMatchObject({ status: 200 });
    await sql`update login_intents set expires_at = ${clock.read()} where id = ${at.id}`;
    const over = { status: 410, heading: 'The code has expired' };
    expect(await at.browser.open(at.approvePath)).toMatchObject(over);
    expect(await decide(at, 'allow')).toMatchObject(over);
    expect(await decide(at, 'deny')).toMatchObject(over);
    expect(await browser.submit(request, '/device/request')).toMatchObject(over);
    expect(await approvalOf(at.id)).toBe(null);
  });
});

it('offers to keep the device out beside the way to let it in, until the person has decided', async () => {
  const at = await signIn();
  expect(at.page.body).toMatch(/value="allow">\s*<button>/);
  expect(at.page.body).toMatch(/value="deny">\s*<button class="second">/);
  const result = await decide(at, 'deny');
  expect(result.body).not.toMatch(/class="ways"|undefined|>\s*true/);
  expect(result.forms).toEqual([]);
});

it('marks the field of a wrong code, and empties it', async () => {
  const browser = new LoginBrowser(service);
  const page = await browser.open('/device?user_code=BCDF-GHJK');
  expect(page.body).not.toMatch(/<input[^>]*aria-invalid/);
  const wrong = await browser.submit(page, '/device');
  expect(wrong.body).toContain('aria-describedby="alert" aria-invalid="true"');
  expect(wrong.forms[0]?.fields.user_code).toBe('');
  const long = await browser.open(`/device?user_code=${'B'.repeat(21)}`);
  expect(long.forms[0]?.fields.user_code).toBe('B'.repeat(20));
});

it('takes a code from its own form alone', async () => {
  const { userCode } = await beginDevice(service, shop);
  const [browser, stranger] = [new LoginBrowser(service), new LoginBrowser(service)];
  const { token = '' } = (await stranger.open('/device')).forms[0]?.fields ?? {};
  await browser.open('/device');
  for (const [by, given] of [
    [browser, token],
    [browser, ''],
    [new LoginBrowser(service), token],
  ] as const)
    expect(await by.post('/device', { user_code: userCode, token: given })).toMatchObject({ status: 403 });
  const asked = await stranger.post('/device', { user_code: userCode, token });
  expect(asked.heading).toBe('Shop CLI wants to sign in a device');
});

it('stays in the language that the person has chosen', async () => {
  const { userCode } = await beginDevice(service, shop);
  const browser = new LoginBrowser(service);
  const page = await browser.switchLanguage(await browser.open('/device'), 'de');
  expect(page.heading).toBe('Ein Gerät anmelden');
  const asked = await browser.submit(page, '/device', { user_code: userCode });
  expect(asked.heading).toBe('Shop CLI möchte ein Gerät anmelden');
});

it('stores no notice where Usher sends no e-mails', async () => {
  const { database, config: like } = service;
  await using silent = await startTestService({
    ...{ database, like, clock: clock.read, sendMail: undefined },
    config: { loginMethods: ['wallet'] },
  });
  const { device, ...at } = await signIn();
  await decide({ browser: at.browser.at(silent), page: at.page }, 'allow');
  expect(await approvalOf(at.id)).toBe(true);
  expect(await sql`select from notices where user_id = ${at.user.id}`).toEqual([]);
});

it('takes the approval of the login page of the operator as unknown before the login', async () => {
  const device = await beginDevice(service, shop);
  const [id = ''] = loginIntentIdsOf(keys.deviceCode, device.deviceCode);
  const path = `/device/approve?code=${createCode(keys.deviceApproval, id)}`;
  expect(await new LoginBrowser(service).open(path)).toMatchObject({ status: 404 });
  await adminClient(service).completeLogin({ loginIntentId: id, userId: (await createTestUser(service)).id });
  expect(await new LoginBrowser(service).open(path)).toMatchObject({ status: 200 });
});
