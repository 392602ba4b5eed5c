/** Sessions show the browser of the person, not the server that exchanges the auth token. */
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../../support/clock.ts';
import { LoginBrowser, type LoginPage, newAddress } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../support/passkey-page.ts';
import {
  adminClient,
  clientsOf,
  createLoginIntent,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  type TestUser,
} from '../../support/service.ts';
import { Wallet } from '../../support/wallet.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['wallet', 'email', 'passkey'] } });
const { clock, service, tenant } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
const { auth, sessions } = clientsOf(service, tenant);
await admin.updateApplication({ applicationId: tenant.id, singleSignOn: true });
afterAll(() => fixture.close());

/** A browser with an address and a name that no other has. */
function newDevice() {
  const ipAddress = newAddress();
  const userAgent = `Browser at ${ipAddress}`;
  return { browser: new LoginBrowser(service, { address: ipAddress, userAgent }), origin: { ipAddress, userAgent } };
}

const exchange = ({ location = '' }: LoginPage) =>
  auth.exchangeToken({ authToken: new URL(location).searchParams.get('authToken') ?? '' });

async function originOf({ id: userId }: { id: string }) {
  const [session] = (await sessions.listSessions({ userId })).sessions;
  return session && { ipAddress: session.ipAddress, userAgent: session.userAgent };
}

/** What the calls of these tests come from. */
const SERVER = { ipAddress: '127.0.0.1', userAgent: expect.stringContaining('connect-es') };

/** Each signs the user in with a new browser, and returns what the session must show. */
const METHODS = {
  async code(user: TestUser) {
    const { browser, origin } = newDevice();
    const asked = await fixture.askForCode({ user, browser });
    return { page: await asked.enter(asked.code), origin, browser };
  },
  async wallet({ id: userId }: TestUser) {
    const { browser, origin } = newDevice();
    const wallet = new Wallet();
    await admin.updateUser({ userId, walletAddress: wallet.address });
    const asked = await fixture.askForMessage(wallet.address, { browser });
    return { page: await asked.send(wallet.sign(asked.message)), origin, browser };
  },
  async passkey(user: TestUser) {
    const passkey = new SoftwarePasskey();
    const asked = await fixture.askForCode({ user });
    const page = await asked.browser.submit(asked.codePage, '/login/code', { code: asked.code, ...TO_PASSKEYS });
    await savePasskey({ browser: asked.browser, page }, passkey, PUBLIC_URL);
    const { browser, origin } = newDevice();
    return { page: await sendPasskey(await fixture.arrive({ browser }), passkey, PUBLIC_URL), origin, browser };
  },
  async 'continue as'(user: TestUser) {
    const { browser, origin } = await METHODS.code(user);
    const { page } = await fixture.arrive({ browser });
    return { page: await browser.submit(page, '/login/continue'), origin, browser };
  },
};

describe.each(Object.entries(METHODS))('a sign-in by %s', (_name, signIn) => {
  it('gives the session its address and browser', async () => {
    const user = await createTestUser(service);
    const { page, origin } = await signIn(user);
    await exchange(page);
    expect(await originOf(user)).toEqual(origin);
    expect(origin).not.toEqual(SERVER);
  });

  it('from another browser gives them to the session that lives', async () => {
    const user = await createTestUser(service);
    await exchange((await METHODS.code(user)).page);
    clock.advance(MINUTE);
    const { page, origin } = await signIn(user);
    await exchange(page);
    expect(await originOf(user)).toEqual(origin);
  });
});

describe('a login completed by CompleteLogin', () => {
  async function complete(user: TestUser, told: { ipAddress?: string; userAgent?: string }) {
    clock.advance(1);
    const loginIntentId = await createLoginIntent(service, tenant);
    const { authToken } = await admin.completeLogin({ loginIntentId, userId: user.id, ...told });
    await auth.exchangeToken({ authToken });
    return originOf(user);
  }

  it('shows the server that exchanges the token, unless the page tells of the browser', async () => {
    expect(await complete(await createTestUser(service), {})).toEqual(SERVER);
    const told = { ipAddress: '2001:db8::7', userAgent: 'Browser ü' };
    expect(await complete(await createTestUser(service), told)).toEqual(told);
    const [one, other] = [{ ipAddress: '192.0.2.1' }, { userAgent: 'Browser' }];
    expect(await complete(await createTestUser(service), one)).toEqual({ ...one, userAgent: '' });
    expect(await complete(await createTestUser(service), other)).toEqual({ ipAddress: '', ...other });
  });

  it('leaves what a sign-in before it has shown, unless it tells of another browser', async () => {
    const user = await createTestUser(service);
    const { page, origin } = await METHODS.code(user);
    await exchange(page);
    expect(await complete(user, {})).toEqual(origin);
    expect(await complete(user, { ipAddress: '192.0.2.2' })).toEqual({ ipAddress: '192.0.2.2', userAgent: '' });
  });

  it('takes no text for an address, and shows 512 characters of a user agent', async () => {
    const user = await createTestUser(service);
    await expect(complete(user, { ipAddress: 'localhost' })).rejects.toThrow('Validation failed');
    await expect(complete(user, { userAgent: 'x'.repeat(8_193) })).rejects.toThrow('Validation failed');
    const long = await complete(user, { ipAddress: '192.0.2.3', userAgent: `${'x'.repeat(511)}🙂` });
    expect(long?.userAgent).toBe(`${'x'.repeat(511)}\ufffd`);
  });
});

it('a browser that calls itself by a long name gets 512 characters of it', async () => {
  const user = await createTestUser(service);
  const browser = new LoginBrowser(service, { userAgent: 'x'.repeat(4_000) });
  const asked = await fixture.askForCode({ user, browser });
  await exchange(await asked.enter(asked.code));
  expect((await originOf(user))?.userAgent).toBe('x'.repeat(512));
});

it('a token of another user, or of another login, does not show what it does not have', async () => {
  const [ada, bob] = [await createTestUser(service), await createTestUser(service)];
  const { page } = await METHODS.code(ada);
  const loginIntentId = await createLoginIntent(service, tenant);
  const { authToken } = await admin.completeLogin({ loginIntentId, userId: bob.id });
  await sql`update login_intents set user_id = ${ada.id}, ip_address = '192.0.2.9', user_agent = 'Other' where id = ${loginIntentId}`;
  await auth.exchangeToken({ authToken });
  expect(await originOf(bob)).toEqual(SERVER);
  expect(page.location).toContain(REDIRECT_URI);
});

it('a login whose user is erased keeps neither', async () => {
  const user = await createTestUser(service);
  await METHODS.code(user);
  const find = () => sql`
    select from login_intents where user_id = ${user.id} and (ip_address is not null or user_agent is not null)`;
  expect(await find()).toHaveLength(1);
  await admin.eraseUser({ userId: user.id });
  expect(await find()).toEqual([]);
});
