/** Passkeys and "Continue as" over TLS in Chromium, in three languages, and on a port that is not that of the page. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES, type TextKey } from '../../src/texts/texts.ts';
import { createCertificate } from '../support/certificate.ts';
import { answerFor, collectProblems, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { beginLogin, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';
import { addAuthenticator } from '../support/virtual-authenticator.ts';

const CALLBACK = 'http://127.0.0.1/callback';
const METHODS = ['email', 'passkey'] as const;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: LoginFixture;
  let secured: TestService;
  let chrome: Browser;
  let context: BrowserContext;
  let problems: readonly string[];
  let forum: Tenant;

  beforeAll(async () => {
    const config = { publicUrl: undefined, loginMethods: METHODS };
    fixture = await LoginFixture.open({ name: 'Shop', redirectUris: [CALLBACK], config });
    secured = await fixture.startReplica({ ...config, tls: await createCertificate() });
    const admin = adminClient(fixture.service);
    forum = await createTenant(fixture.service, { name: 'Forum', redirectUris: [CALLBACK] });
    for (const { id: applicationId } of [fixture.tenant, forum])
      await admin.updateApplication({ applicationId, singleSignOn: true });
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    await secured?.close();
    await fixture?.close();
  });

  async function openBrowser(locale: string) {
    const headers = { 'x-forwarded-for': newAddress() };
    context = await chrome.newContext({ ignoreHTTPSErrors: true, locale, extraHTTPHeaders: headers });
    problems = collectProblems(context);
    const page = await context.newPage();
    await answerFor(page, `${CALLBACK}*`, '<h1>Signed in</h1>');
    return { page, ...(await addAuthenticator(page)) };
  }

  /** Opens a login on the page of a replica. The other one, without TLS, is that of the application. */
  async function openLogin(page: Page, origin: string, of = fixture.tenant, prompt?: 'LOGIN'): Promise<string> {
    const login = await beginLogin(fixture.service, of, { redirectUri: CALLBACK, ...(prompt && { prompt }) });
    await page.goto(origin + login.path);
    return login.loginIntentId;
  }

  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
  const find = async (id: string) => {
    const [row] = await fixture.service.database.sql`select user_id, method from login_intents where id = ${id}`;
    return row;
  };

  async function enterCode(page: Page, user: TestUser): Promise<void> {
    fixture.clock.advance(1);
    await page.locator('input[name=email]').fill(user.email);
    await page.locator('input[name=email]').press('Enter');
    await page.locator('input[name=code]').waitFor();
    await page.locator('input[name=code]').fill(fixture.mailbox.codeFor(user.email));
  }

  // In English: passkeys.test.ts.
  it.each(quickOrLong(['ar'], ['en', 'de', 'ar']))(
    'over TLS, in %s, a person saves a passkey, continues in another application and signs in with the passkey',
    async (tag) => {
      const origin = `https://localhost:${secured.port}`;
      const text = (key: TextKey) => LANGUAGES.get(tag)?.text(key) ?? '';
      const { page, setPresent } = await openBrowser(tag);
      const user = await createTestUser(fixture.service);
      await openLogin(page, origin);
      await enterCode(page, user);
      await heading(page, text('passkey.offer.title'));
      expect(await page.locator('html').getAttribute('dir')).toBe(tag === 'ar' ? 'rtl' : 'ltr');
      await setPresent(true);
      await page.getByRole('button', { name: text('passkey.offer.submit') }).click();
      await heading(page, 'Signed in');
      await setPresent(false);
      const cookies = (await context.cookies(origin)).filter(({ name }) => name.startsWith('__Host-usher'));
      expect(cookies.map(({ secure, httpOnly }) => [secure, httpOnly])).toEqual(cookies.map(() => [true, true]));
      expect(cookies.map(({ name }) => name)).toContain('__Host-usher-sso');

      const continued = await openLogin(page, origin, forum);
      await heading(page, text('continue.title'));
      await page.locator('form[action="/login/continue"] button').click();
      await heading(page, 'Signed in');
      expect(await find(continued)).toEqual({ user_id: user.id, method: 'email' });

      // The browser suggests it in the e-mail field.
      await setPresent(true);
      const again = await openLogin(page, origin, forum, 'LOGIN');
      await heading(page, 'Signed in');
      expect(await find(again)).toEqual({ user_id: user.id, method: 'passkey' });
      expect(problems).toEqual([]);
    },
  );

  it('a passkey signs in at the origin of the page, and not at another port of the same host', async () => {
    const { page, setPresent } = await openBrowser('en');
    const user = await createTestUser(fixture.service);
    const own = `http://localhost:${fixture.service.port}`;
    // It believes to be at the other port, as behind a proxy that somebody else runs.
    const other = await fixture.startReplica({ publicUrl: own, loginMethods: METHODS });
    await openLogin(page, own);
    await enterCode(page, user);
    await heading(page, 'Sign in faster next time');
    await setPresent(true);
    await page.getByRole('button', { name: 'Save a passkey' }).click();
    await heading(page, 'Signed in');
    await context.clearCookies();
    const refused = await openLogin(page, `http://localhost:${other.port}`);
    await page.locator('#alert', { hasText: 'The passkey did not work.' }).waitFor();
    expect(await find(refused)).toEqual({ user_id: null, method: null });
    const accepted = await openLogin(page, own);
    await heading(page, 'Signed in');
    expect(await find(accepted)).toEqual({ user_id: user.id, method: 'passkey' });
    await other.close();
  });
});
