/** OpenID Connect in Chromium on a phone, over TLS: answers by redirect and in a form, on Usher's page and on another. */
import { scryptSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { createDirectory } from '../support/directory.ts';
import { startExample } from '../support/example-application.ts';
import { findFreePort } from '../support/free-port.ts';
import { authorizationOf, CODE_VERIFIER } from '../support/oidc.ts';
import { basicOf } from '../support/oidc-client.ts';
import { PERSON, send } from '../support/openid/provider.ts';
import { servePages } from '../support/openid/serve-pages.ts';
import { startUsherProvider, trustCertificate, type UsherProvider } from '../support/openid/usher-provider.ts';
import { REPOSITORY } from '../support/process.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const PASSWORD = 'correct horse';

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  const stack = new AsyncDisposableStack();
  let chrome: Browser;
  let pages: Awaited<ReturnType<typeof servePages>>;
  let usher: UsherProvider;

  beforeAll(async () => {
    pages = stack.use(await servePages());
    usher = stack.use(await startProvider());
    chrome = stack.adopt(await launchChromium(), (browser) => browser.close());
  });
  afterAll(() => stack.disposeAsync());

  const startProvider = async (authPageUrl?: string) =>
    startUsherProvider({
      tls: await trustCertificate(),
      redirectUris: [`${pages.origin}/callback`],
      ...(authPageUrl !== undefined && { authPageUrl }),
    });

  /** Opens a client of Usher in a browser, which ends with the test. */
  async function open({ provider = usher, ...options }: BrowserContextOptions & { provider?: UsherProvider } = {}) {
    const { origin, forms } = pages;
    forms.length = 0;
    const context = await chrome.newContext({
      viewport: { width: 360, height: 740 },
      ignoreHTTPSErrors: true,
      ...options,
    });
    onTestFinished(() => context.close());
    const problems = collectProblems(context);
    const page = await context.newPage();
    const redirectUri = `${origin}/callback`;
    const authorize = (changes: Readonly<Record<string, string>> = {}) => {
      const query = authorizationOf(provider.client, { redirect_uri: redirectUri, ...changes });
      return page.goto(`${provider.route.issuer}/oidc/authorize?${query}`);
    };
    return { authorize, forms, origin, page, problems, provider, redirectUri };
  }

  async function signIn(page: Page, { mailbox }: UsherProvider): Promise<void> {
    await page.locator('#email').fill(PERSON.email);
    await page.keyboard.press('Enter');
    await page.locator('#code').waitFor();
    await page.locator('#code').fill(mailbox.codeFor(PERSON.email));
    await page.keyboard.press('Enter');
  }

  /** Redeems what the client has got. */
  async function expectTokens(
    { provider, redirectUri }: Awaited<ReturnType<typeof open>>,
    answer: URLSearchParams | undefined,
  ): Promise<void> {
    const { code, ...rest } = Object.fromEntries(answer ?? []);
    expect(rest).toEqual({ state: 'a state & of the application', iss: provider.route.issuer });
    const { clientId, clientSecret: apiKey } = provider.client;
    const fields = { grant_type: 'authorization_code', code: code ?? '', redirect_uri: redirectUri };
    const form = { ...fields, code_verifier: CODE_VERIFIER };
    const headers = basicOf({ clientId, apiKey });
    const url = `${provider.route.issuer}/oidc/token`;
    expect(await send(provider, url, { method: 'POST', headers, form })).toMatchObject({ status: 200 });
  }

  test.each(quickOrLong(['dark'] as const, ['light', 'dark'] as const))(
    'the answer comes in a form that sends itself, in the %s theme',
    async (theme) => {
      const at = await open({ colorScheme: theme });
      const { authorize, forms, page, problems, provider, redirectUri } = at;
      await authorize({ response_mode: 'form_post', ui_locales: 'de' });
      expect(await page.locator('html').getAttribute('lang')).toBe('de');
      await expectAccessible(page);
      await signIn(page, provider);
      await page.waitForURL(redirectUri);
      await expectTokens(at, forms[0]);
      expect(forms).toHaveLength(1);

      // The next time the person only continues, and the way back shows nothing that could be sent twice.
      await authorize({ response_mode: 'form_post' });
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(redirectUri);
      await expectTokens(at, forms[1]);
      await page.goBack();
      await expect.poll(() => page.url()).not.toBe(redirectUri);
      expect(forms).toHaveLength(2);
      expect(problems).toEqual([]);
    },
  );

  test('without JavaScript the person sends the form with a button', async () => {
    const at = await open({ javaScriptEnabled: false });
    const { authorize, forms, page, provider, redirectUri } = at;
    await authorize({ response_mode: 'form_post' });
    await signIn(page, provider);
    await page.waitForURL('**/oidc/return?**');
    expect(await page.locator('body').innerText()).toContain(new URL(redirectUri).host);
    const box = await page.getByRole('button', { name: 'Continue' }).boundingBox();
    expect(box && box.x >= 0 && box.x + box.width <= 360).toBe(true);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(redirectUri);
    await expectTokens(at, forms[0]);
  });

  test.each([
    ['with an ID token', true],
    ['without one, after the person has agreed', false],
  ])('the form of another site signs out %s', async (_, hasToken) => {
    const { authorize, forms, page, problems, provider, redirectUri } = await open();
    await authorize({ response_mode: 'form_post' });
    await signIn(page, provider);
    await page.waitForURL(redirectUri);
    const { issuer } = provider.route;
    const { clientId, clientSecret: apiKey } = provider.client;
    const code = forms[0]?.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: CODE_VERIFIER };
    const headers = basicOf({ clientId, apiKey });
    const { body } = await send(provider, `${issuer}/oidc/token`, { method: 'POST', headers, form });
    const hint = hasToken ? JSON.parse(body).id_token : '';
    await page.route('https://shop.example/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<!doctype html><html lang="en"><title>Shop</title><form method="post" action="${issuer}/oidc/logout">
          <input type="hidden" name="id_token_hint" value="${hint}"><button>Leave</button></form>`,
      }),
    );
    await page.goto('https://shop.example/');
    await page.getByRole('button', { name: 'Leave' }).click();
    if (!hasToken) {
      await page.getByRole('heading', { name: 'Do you want to sign out?' }).waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Sign out' }).click();
    }
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    await authorize({ prompt: 'none' });
    expect(new URL(page.url()).searchParams.get('error')).toBe('login_required');
    expect(problems).toEqual([]);
  });

  test('the client is told that the person has cancelled', async () => {
    const { authorize, forms, page, redirectUri } = await open();
    await authorize({ response_mode: 'form_post' });
    await page.getByRole('button', { name: /cancel/i }).click();
    await page.waitForURL(redirectUri);
    expect(forms[0]?.get('error')).toBe('access_denied');
  });

  test('a login page of the operator answers by query and in a form', async () => {
    const port = String(await findFreePort());
    await using provider = await startProvider(`http://localhost:${port}/`);
    const at = await open({ provider });
    const { authorize, forms, page, problems, redirectUri } = at;
    await startPage(provider, port);
    for (const mode of ['query', 'form_post']) {
      await page.context().clearCookies();
      await authorize({ response_mode: mode });
      await page.getByLabel('E-mail address').fill(PERSON.email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL(`${redirectUri}**`);
      await expectTokens(at, mode === 'query' ? new URL(page.url()).searchParams : forms[0]);
    }
    expect(problems).toEqual([]);
  });

  /** Starts the example of a login page. */
  async function startPage({ route }: UsherProvider, PORT: string): Promise<void> {
    const directory = await createDirectory();
    const files = { PASSWORDS_FILE: join(directory, 'passwords.json'), NODE_EXTRA_CA_CERTS: join(directory, 'ca.pem') };
    const passwords = { [PERSON.email]: `salt:${scryptSync(PASSWORD, 'salt', 32).toString('hex')}` };
    await writeFile(files.PASSWORDS_FILE, JSON.stringify(passwords));
    await writeFile(files.NODE_EXTRA_CA_CERTS, (await trustCertificate()).cert);
    const env = { ...files, USHER_URL: route.issuer, ADMIN_KEY, PORT };
    const page = await startExample(join(REPOSITORY, 'test/examples/login-page/app.ts'), env);
    onTestFinished(() => page.close());
  }
});
