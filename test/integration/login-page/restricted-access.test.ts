/** Who gets through each door of a restricted application. What ends with the access: test/integration/modules/oidc/lost-access.test.ts. */
import { randomUUID } from 'node:crypto';
import type { ConnectError } from '@connectrpc/connect';
import { afterAll, describe, expect, it, test } from 'vitest';
import { FakeProvider } from '../../support/fake-provider.ts';
import { LoginBrowser, type LoginPage } from '../../support/login-browser.ts';
import { type Arrived, LoginFixture } from '../../support/login-fixture.ts';
import { authorizationOf, beginOidcLogin, createRsaJwk, parametersOf } from '../../support/oidc.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { savePasskey, sendPasskey } from '../../support/passkey-page.ts';
import { restrict, STANDINGS } from '../../support/restricted-access.ts';
import {
  adminClient,
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type TestUser,
} from '../../support/service.ts';
import { Wallet } from '../../support/wallet.ts';

const acme = await FakeProvider.start();
const config = {
  loginMethods: ['wallet', 'email', 'passkey'] as const,
  loginProviders: [acme.settings()],
  loginProviderIds: undefined,
};
const fixture = await LoginFixture.open({ config, start: new Date(), oidcSigningKeys: [createRsaJwk()] });
const { service, mailbox } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(async () => {
  await fixture.close();
  await acme.stop();
});

const shop = await createTenant(service, { name: 'Shop', singleSignOn: true });
const grafana = await createTenant(service, {
  name: 'Grafana',
  singleSignOn: true,
  openIdConnect: true,
  allowSignUp: true,
});
await admin.updateApplication({ applicationId: grafana.id, supportUri: 'mailto:help@example.com' });
const access = await restrict(service, grafana.id);
const REFUSED = 'Your account may not use Grafana';

interface Tried {
  readonly loginIntentId: string;
  readonly reply: LoginPage;
}

const wallets = new Map<string, Wallet>();

/** Signs the user in to Grafana. */
const DOORS: Readonly<Record<string, (user: TestUser) => Promise<Tried>>> = {
  async code(user) {
    const asked = await fixture.askForCode({ of: grafana, user });
    return { ...asked.login, reply: await asked.enter(asked.code) };
  },
  async wallet(user) {
    const wallet = wallets.get(user.id) as Wallet;
    const asked = await fixture.askForMessage(wallet.address, { of: grafana });
    return { ...asked.login, reply: await asked.send(wallet.sign(asked.message)) };
  },
  async passkey(user) {
    const asked = await fixture.askForCode({ of: shop, user });
    const passkey = new SoftwarePasskey();
    const page = await asked.browser.submit(asked.codePage, '/login/code', { code: asked.code, passkey: '1' });
    await savePasskey({ browser: asked.browser, page }, passkey, PUBLIC_URL);
    const arrived = await fixture.arrive({ of: grafana });
    return { ...arrived.login, reply: await sendPasskey(arrived, passkey, PUBLIC_URL) };
  },
  async provider(user) {
    const { issuer } = acme.settings();
    await sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
      values (${issuer ?? ''}, ${user.id}, ${user.id}, 'acme', now())`;
    const { browser, login, page } = await fixture.arrive({ of: grafana });
    const form = page.forms.find(({ fields }) => fields.provider === 'acme');
    const { location } = await browser.post('/login/provider', { ...form?.fields });
    return { ...login, reply: await browser.open(acme.signIn(location, { sub: user.id })) };
  },
  async 'Continue as'(user) {
    const arrived = await rememberedAt(user);
    return { ...arrived.login, reply: await arrived.browser.submit(arrived.page, '/login/continue') };
  },
};

/** Returns a browser that has signed in at the shop, at the door of Grafana. */
async function rememberedAt(user: TestUser): Promise<Arrived> {
  const { browser, submit } = await fixture.readyByEmail({ of: shop, user });
  await submit();
  return fixture.arrive({ browser, of: grafana });
}

describe.each(Object.entries(DOORS))('by %s', (_, signIn) => {
  it.each(STANDINGS)('a user who is %s signs in, or is refused after the proof', async (standing) => {
    const wallet = new Wallet();
    const user = await access.createUser(standing, { walletAddress: wallet.address });
    wallets.set(user.id, wallet);
    const { loginIntentId, reply } = await signIn(user);
    if (standing === 'neither') {
      expect(reply).toMatchObject({ status: 200, heading: REFUSED, location: undefined, alert: '' });
      expect(reply.forms.map(({ action }) => action)).toEqual(expect.arrayContaining(['/login', '/login/cancel']));
      expect(reply.body).toContain('href="mailto:help@example.com"');
    } else expect(reply).toMatchObject({ status: 303 });
    expect(await fixture.isCompleted(loginIntentId)).toBe(standing !== 'neither');
  });
});

/** Returns the message of the refusal, if any. */
const tryToComplete = (loginIntentId: string, userId: string) =>
  admin.completeLogin({ loginIntentId, userId }).then(
    () => undefined,
    ({ rawMessage }: ConnectError) => rawMessage,
  );

describe('by CompleteLogin', () => {
  it.each(STANDINGS)('a user who is %s signs in, or is refused', async (standing) => {
    const { id: userId } = await access.createUser(standing);
    const loginIntentId = await createLoginIntent(service, grafana);
    const reason = await tryToComplete(loginIntentId, userId);
    expect(reason).toBe(standing === 'neither' ? 'Access not allowed' : undefined);
    expect(await fixture.isCompleted(loginIntentId)).toBe(standing !== 'neither');
  });

  it('nobody learns whether a user who cannot sign in would have access', async () => {
    const { id: userId } = await access.createUser('neither');
    await admin.deactivateUser({ userId });
    const loginIntentId = await createLoginIntent(service, grafana);
    expect(await tryToComplete(loginIntentId, userId)).toBe('User not found');
    await admin.reactivateUser({ userId });
    expect(await tryToComplete(loginIntentId, userId)).toBe('Access not allowed');
    await admin.eraseUser({ userId });
    expect(await tryToComplete(loginIntentId, userId)).toBe('User not found');
  });
});

test('a stranger cannot sign up, and sees the page that a user without access sees', async () => {
  const stranger = { ...(await createTestUser(service)), email: `${randomUUID()}@example.com` };
  const { browser, page, login } = await fixture.arrive({ of: grafana });
  const sent = mailbox.mails.length;
  const codePage = await browser.submit(page, '/login/email', { email: stranger.email });
  expect(codePage).toMatchObject({ status: 200, heading: 'Check your e-mail' });
  expect(mailbox.mails.length).toBe(sent);
  const known = await access.createUser('neither');
  const asked = await fixture.askForCode({ of: grafana, user: known });
  const withoutOwn = ({ body }: LoginPage, ...own: string[]) =>
    own.reduce(
      (text, each) => text.replaceAll(each, ''),
      body.replaceAll(/nonce="[^"]*"|value="[^"]*"|nonce-[\w+/=]*/g, ''),
    );
  expect(withoutOwn(codePage, stranger.email, login.loginIntentId)).toBe(
    withoutOwn(asked.codePage, known.email, asked.login.loginIntentId),
  );
  const { loginIntent } = await admin.getLoginIntent({ loginIntentId: login.loginIntentId });
  expect(loginIntent?.allowSignUp).toBe(false);
});

describe('over OpenID Connect', () => {
  it('the refusal stays on the page, whose way back sends access_denied', async () => {
    const user = await access.createUser('neither');
    const browser = new LoginBrowser(service);
    const { submit } = await fixture.readyByEmail({
      of: grafana,
      browser,
      user,
      login: await beginOidcLogin(browser, grafana),
    });
    const reply = await submit();
    expect(reply).toMatchObject({ heading: REFUSED, location: undefined });
    const back = await browser.submit(reply, '/login/cancel');
    expect(parametersOf(back.location)).toMatchObject({ error: 'access_denied', iss: PUBLIC_URL });
  });

  it.each(STANDINGS)('prompt=none of a user who is %s is answered without a page', async (standing) => {
    const { browser } = await rememberedAt(await access.createUser(standing));
    const { location } = await browser.open(`/oidc/authorize?${authorizationOf(grafana, { prompt: 'none' })}`);
    const { code, error } = parametersOf(location);
    if (standing === 'neither') expect({ code, error }).toEqual({ code: undefined, error: 'access_denied' });
    else expect({ code, error }).toEqual({ code: expect.any(String), error: undefined });
  });
});
