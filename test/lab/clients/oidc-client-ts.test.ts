/** `oidc-client-ts` in Chromium: a page of another origin, which has no server that could keep a secret. */
import { build } from 'esbuild';
import type { UserManager } from 'oidc-client-ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { collectProblems, launchChromium, SKIPS_CHROMIUM } from '../../support/chromium.ts';
import { PERSON } from '../../support/openid/provider.ts';
import { servePages } from '../../support/openid/serve-pages.ts';
import { startUsherProvider, trustCertificate, type UsherProvider } from '../../support/openid/usher-provider.ts';
import { adminClient, createTestUser } from '../../support/service.ts';
import { quickOrLong } from '../../support/soak.ts';

/** The whole client. Its callback ends a sign-in, in the page or in a hidden frame of it. */
const SCRIPT = `
  import { UserManager, WebStorageStateStore } from 'oidc-client-ts';

  globalThis.connect = (authority, clientId) => {
    globalThis.manager = new UserManager({
      authority,
      client_id: clientId,
      redirect_uri: location.origin + '/callback',
      silent_redirect_uri: location.origin + '/callback',
      post_logout_redirect_uri: location.origin + '/signed-out',
      scope: 'openid email profile',
      loadUserInfo: true,
      automaticSilentRenew: false,
      userStore: new WebStorageStateStore({ store: localStorage }),
      stateStore: new WebStorageStateStore({ store: localStorage }),
    });
    return globalThis.manager;
  };
  const [authority, clientId] = (localStorage.getItem('client') ?? '').split(' ');
  if (location.pathname === '/callback') {
    const user = await connect(authority, clientId).signinCallback();
    document.body.append(user?.profile.email ?? '');
  } else if (clientId) connect(authority, clientId);
  globalThis.isReady = true;
`;

declare const manager: UserManager;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  const stack = new AsyncDisposableStack();
  let chrome: Browser;
  let pages: Awaited<ReturnType<typeof servePages>>;
  let provider: UsherProvider;

  beforeAll(async () => {
    const stdin = { contents: SCRIPT, resolveDir: import.meta.dirname };
    const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false });
    pages = stack.use(await servePages(outputFiles[0]?.text));
    const { origin } = pages;
    provider = stack.use(
      await startUsherProvider({
        tls: await trustCertificate(),
        redirectUris: [`${origin}/callback`],
        loggedOutUris: [`${origin}/signed-out`],
        isPublic: true,
      }),
    );
    chrome = stack.adopt(await launchChromium(), (browser) => browser.close());
  });
  afterAll(() => stack.disposeAsync());

  /** Opens the client on a phone, for a new person. The browser ends with the test. */
  async function open() {
    const { origin } = pages;
    const person = await createTestUser(provider.service, { name: PERSON.name });
    const context = await chrome.newContext({ viewport: { width: 360, height: 740 }, ignoreHTTPSErrors: true });
    onTestFinished(() => context.close());
    const problems = collectProblems(context);
    const page = await context.newPage();
    await visit(page, origin);
    const client = `${provider.route.issuer} ${provider.client.clientId}`;
    await page.evaluate((value) => localStorage.setItem('client', value), client);
    await visit(page, origin);
    return { context, origin, page, person, problems };
  }

  async function visit(page: Page, url: string): Promise<void> {
    await page.goto(url);
    await page.waitForFunction('globalThis.isReady');
  }

  /** Signs the person in, on the page of Usher. */
  async function signIn({ origin, page, person }: Awaited<ReturnType<typeof open>>): Promise<void> {
    await page.evaluate(() => void manager.signinRedirect());
    await page.locator('#email').fill(person.email);
    await page.keyboard.press('Enter');
    await page.locator('#code').waitFor();
    await page.locator('#code').fill(provider.mailbox.codeFor(person.email));
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/callback?**`);
    await page.getByText(person.email).waitFor();
  }

  const readUser = (page: Page) =>
    page.evaluate(async () => {
      const user = await manager.getUser();
      return { ...user, profile: user?.profile };
    });

  /** Renews without a page, and returns the new refresh token, or the error. */
  const renew = (page: Page) =>
    page.evaluate(() =>
      manager.signinSilent().then(
        (user) => user?.refresh_token,
        (error) => `failed: ${error.error ?? error.message}`,
      ),
    );

  const askForUser = (page: Page, accessToken: string | undefined) =>
    page.evaluate(async (token) => {
      const reply = await fetch(`${manager.settings.authority}/oidc/userinfo`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return [reply.status, reply.headers.get('www-authenticate')];
    }, accessToken);

  test('a page signs in with PKCE, and renews its tokens, also after a lost reply', async () => {
    const at = await open();
    const { page, person, problems } = at;
    await signIn(at);
    const first = await readUser(page);
    expect(first.profile).toMatchObject({ email: person.email, name: PERSON.name, sub: person.id });
    const second = await renew(page);
    expect(second).toMatch(/^urt_/);
    expect(second).not.toBe(first.refresh_token);

    let lost = 0;
    await page.route('**/oidc/token', async (route) => {
      lost++;
      await route.fetch();
      await route.abort();
    });
    expect(await renew(page)).toMatch(/^failed/);
    await page.unroute('**/oidc/token');
    expect(lost).toBe(1);
    expect(await renew(page)).toMatch(/^urt_/);
    // Chromium reports the lost reply.
    expect(problems).toHaveLength(1);
  });

  test('two tabs that renew at once both stay signed in', async () => {
    const at = await open();
    await signIn(at);
    const other = await at.context.newPage();
    await visit(other, at.origin);
    for (let round = 0; round < quickOrLong(1, 3); round++) {
      const renewed = await Promise.all([renew(at.page), renew(other)]);
      for (const token of renewed) expect(token).toMatch(/^urt_/);
    }
    expect(at.problems).toEqual([]);
  });

  test('without a refresh token it renews in a hidden frame, until the person signs out', async () => {
    const at = await open();
    const { origin, page, problems } = at;
    await signIn(at);
    const forgetToken = () =>
      page.evaluate(async () => {
        const user = await manager.getUser();
        if (user) await manager.storeUser(Object.assign(user, { refresh_token: undefined }));
      });
    await forgetToken();
    expect(await renew(page)).toMatch(/^urt_/);
    const { access_token: accessToken } = await readUser(page);
    expect(await askForUser(page, accessToken)).toEqual([200, null]);

    await page.evaluate(() => void manager.signoutRedirect());
    await page.waitForURL(`${origin}/signed-out`);
    await page.waitForFunction('globalThis.isReady');
    expect(await askForUser(page, accessToken)).toEqual([401, 'Bearer realm="usher", error="invalid_token"']);
    expect(await renew(page)).toBe('failed: login_required');
    expect(problems).toEqual([]);
  });

  test('a page revokes its tokens, and learns that an operator has ended its grant', async () => {
    const at = await open();
    const { page } = at;
    const admin = adminClient(provider.service);
    const { applicationId } = provider;
    const userId = at.person.id;
    await signIn(at);
    const { access_token: accessToken } = await readUser(page);
    expect((await admin.listUserGrants({ userId })).grants).toHaveLength(1);
    await page.evaluate(() => manager.revokeTokens());
    expect((await admin.listUserGrants({ userId })).grants).toEqual([]);
    expect(await askForUser(page, accessToken)).toMatchObject([401, expect.any(String)]);

    // The browser does not remember the sign-in of tokens that were revoked.
    await page.evaluate(() => manager.removeUser());
    expect(await renew(page)).toBe('failed: login_required');
    await signIn(at);
    const [grant] = (await admin.listUserGrants({ userId })).grants;
    await admin.endUserGrant({ applicationId, userId, grantId: grant?.grantId ?? '' });
    expect(await renew(page)).toBe('failed: invalid_grant');
  });

  test('a page of another origin reads nothing with a stolen refresh token', async () => {
    const at = await open();
    await signIn(at);
    const { refresh_token: refreshToken } = await readUser(at.page);
    await using other = await servePages('globalThis.isReady = true');
    const foreign = await at.context.newPage();
    await visit(foreign, other.origin);
    const reply = await foreign.evaluate(
      async ([url, client_id, refresh_token]) => {
        const body = new URLSearchParams({ grant_type: 'refresh_token', client_id, refresh_token });
        return fetch(url, { method: 'POST', body }).then(
          (read) => read.text(),
          (error) => error.message,
        );
      },
      [`${provider.route.issuer}/oidc/token`, provider.client.clientId, refreshToken ?? ''] as const,
    );
    expect(reply).toBe('Failed to fetch');
  });
});
