/** Signing in at other providers in Chromium: at another Usher, and at a certified provider. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { findFreePort } from '../support/free-port.ts';
import { beginLogin, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { startReferenceProvider } from '../support/openid/reference-provider.ts';
import { startUsherProvider, trustCertificate, type UsherProvider } from '../support/openid/usher-provider.ts';
import { adminClient, clientsOf, createTestUser } from '../support/service.ts';

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let chrome: Browser;
  let upstream: UsherProvider;
  let reference: Awaited<ReturnType<typeof startReferenceProvider>>;
  let fixture: LoginFixture;
  let origin: string;
  /** Any page that is there. */
  let redirectUri: string;
  let userId: string;

  beforeAll(async () => {
    const tls = await trustCertificate();
    const port = await findFreePort();
    origin = `http://localhost:${port}`;
    redirectUri = `${origin}/healthz`;
    const callback = (id: string) => `${origin}/login/callback/${id}`;
    upstream = await startUsherProvider({ tls, redirectUris: [callback('usher')], requirePkce: true });
    reference = await startReferenceProvider({ tls, redirectUris: [callback('certified')] });
    const common = { type: 'openid', trustEmail: true, emailDomains: [] } as const;
    const loginProviders = [
      { ...common, ...upstream.client, id: 'usher', name: 'Other Usher', issuer: upstream.route.issuer },
      { ...common, ...reference.client, id: 'certified', name: 'Certified', issuer: reference.route.issuer },
    ];
    const config = { port, publicUrl: undefined, loginProviders, loginProviderIds: undefined };
    fixture = await LoginFixture.open({ config, start: new Date(), redirectUris: [redirectUri] });
    userId = (await createTestUser(fixture.service, { email: PERSON.email })).id;
    chrome = await launchChromium();
  });
  afterAll(async () => {
    await chrome?.close();
    await Promise.all([fixture?.close(), upstream?.[Symbol.asyncDispose](), reference?.[Symbol.asyncDispose]()]);
  });

  async function open(theme: 'light' | 'dark' = 'light') {
    const context = await chrome.newContext({
      viewport: { width: 320, height: 800 },
      colorScheme: theme,
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
      ignoreHTTPSErrors: true,
    });
    const problems = collectProblems(context);
    const page = await context.newPage();
    const { path } = await beginLogin(fixture.service, fixture.tenant, { redirectUri });
    await page.goto(origin + path);
    return { context, page, problems };
  }

  async function userOf(page: Page) {
    await page.waitForURL(`${redirectUri}?**`);
    const authToken = new URL(page.url()).searchParams.get('authToken') ?? '';
    return (await clientsOf(fixture.service, fixture.tenant).auth.exchangeToken({ authToken })).user;
  }

  it('a person signs in at another Usher, whose address finds the account here', async () => {
    const { context, page, problems } = await open();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Other Usher' }).click();
    await page.waitForURL(`${upstream.route.issuer}/**`);
    await page.locator('#email').fill(PERSON.email);
    await page.keyboard.press('Enter');
    await page.locator('#code').waitFor();
    await page.locator('#code').fill(upstream.mailbox.codeFor(PERSON.email));
    await page.keyboard.press('Enter');
    expect(await userOf(page)).toMatchObject({ email: PERSON.email });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('a person signs in at a certified provider, and is the same user the second time', async () => {
    for (const theme of ['light', 'dark'] as const) {
      // The pages of the provider load a font from elsewhere, so problems are not collected.
      const { context, page } = await open(theme);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Certified' }).click();
      await page.waitForURL(`${reference.route.issuer}/**`);
      await page.locator('[name=login]').fill('ada');
      await page.locator('[name=password]').fill('any');
      await page.keyboard.press('Enter');
      expect(await userOf(page)).toMatchObject({ email: PERSON.email });
      await context.close();
    }
    const { identities } = await adminClient(fixture.service).listUserIdentities({ userId });
    expect(identities.map(({ provider }) => provider).sort()).toEqual(['certified', 'usher']);
  });
});
