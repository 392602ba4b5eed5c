/** The page of a person's account in a real browser. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { beginSession } from '../support/account-page.ts';
import {
  collectProblems,
  expectAccessible,
  expectContrast,
  launchChromium,
  SKIPS_CHROMIUM,
} from '../support/chromium.ts';
import { newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { adminClient, createTestUser, type TestUser } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

/** Markup, a change of direction that nothing ends, and a word without a break. */
const HOSTILE = `<img src=x onerror=alert(1)>\u202e\u2066${'W'.repeat(200)}`;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: LoginFixture;
  let chrome: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    fixture = await LoginFixture.open({
      name: HOSTILE,
      config: { publicUrl: undefined, loginMethods: ['email', 'wallet', 'passkey'] },
    });
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    await fixture?.close();
  });

  /** Opens the account page in a new browser. */
  async function open(options: BrowserContextOptions = {}) {
    context = await chrome.newContext({
      viewport: { width: 320, height: 640 },
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
      ...options,
    });
    const problems = collectProblems(context);
    const hosts = new Set<string>();
    context.on('request', (request) => void hosts.add(new URL(request.url()).host));
    const page = await context.newPage();
    await page.goto(`http://localhost:${fixture.service.port}/account`);
    return { page, problems, hosts };
  }

  /** Signs in by keyboard, wherever the browser has the focus at first. */
  async function signIn(page: Page, user: TestUser): Promise<void> {
    fixture.clock.advance(1);
    await press(page, 'form button');
    await page.locator('#email').waitFor();
    await page.locator('#email').focus();
    await page.keyboard.type(user.email);
    await page.keyboard.press('Enter');
    await page.locator('#code').waitFor();
    await page.locator('#code').focus();
    await page.keyboard.type(fixture.mailbox.codeFor(user.email));
    await page.keyboard.press('Enter');
    await page.locator('#you').waitFor();
  }

  /** Goes to the element with the tabulator key, and presses Enter there. */
  async function press(page: Page, selector: string): Promise<void> {
    for (let stop = 0; stop < 40; stop++) {
      await page.keyboard.press('Tab');
      const [isThere, outline] = await page.evaluate<[boolean, string]>(
        `[document.activeElement.matches(${JSON.stringify(selector)}), getComputedStyle(document.activeElement).outlineStyle]`,
      );
      expect(outline).not.toBe('none');
      if (isThere) return page.keyboard.press('Enter');
    }
    throw new Error(`No way with the keyboard to ${selector}`);
  }

  const heading = (page: Page, text: string) => page.getByRole('heading', { name: text, exact: true }).waitFor();

  // Forms without JavaScript: test/integration/modules/account/account.test.ts.
  it.each(quickOrLong([true], [true, false]))(
    'a person does everything with the keyboard (JavaScript: %s)',
    async (javaScriptEnabled) => {
      const user = await createTestUser(fixture.service, { name: 'Ada' });
      await beginSession(fixture, user);
      const { page, problems, hosts } = await open({ javaScriptEnabled });
      await signIn(page, user);
      await press(page, 'a[href$="/name"]');
      await page.locator('#name').waitFor();
      await page.locator('#name').focus();
      await page.keyboard.press('Control+A');
      await page.keyboard.type('Countess');
      await page.keyboard.press('Enter');
      await heading(page, 'Countess');
      expect(await page.getByRole('status').first().textContent()).toBe('Your name is changed.');
      await press(page, 'form[action$="/sessions/end"] button');
      await page.getByText('You are signed out there.').waitFor();
      await press(page, 'a[href$="/delete"]');
      await page.locator('#email').waitFor();
      await page.locator('#email').focus();
      await page.keyboard.type(user.email);
      await page.keyboard.press('Enter');
      await heading(page, 'Your account is deleted');
      await expect(adminClient(fixture.service).getUser({ userId: user.id })).rejects.toThrow('User not found');
      expect(problems).toEqual([]);
      expect([...hosts]).toEqual([`localhost:${fixture.service.port}`]);
    },
  );

  it.each(quickOrLong([true], [true, false]))(
    'the Back button signs nobody in after a sign-out (JavaScript: %s)',
    async (javaScriptEnabled) => {
      const user = await createTestUser(fixture.service, { name: 'Ada' });
      const { page } = await open({ javaScriptEnabled });
      await signIn(page, user);
      await page.goBack();
      await heading(page, 'Ada');
      await page.locator('form[action$="/logout"] button').click();
      await page.locator('form[action$="/account/login"]').waitFor();
      for (let times = 1; times <= 4; times++) {
        await page.goBack();
        await page.waitForLoadState();
        expect(await page.locator('#you').count(), `Back ${times} times: ${page.url()}`).toBe(0);
        const other = await context.newPage();
        await other.goto(`http://localhost:${fixture.service.port}/account/name`);
        await other.locator('form[action$="/account/login"]').waitFor();
        await other.close();
      }
    },
  );

  it.each(quickOrLong(['ar'], ['en', 'ar']))('names of others stay text and inside the page (%s)', async (locale) => {
    const user = await createTestUser(fixture.service, { name: HOSTILE });
    const sessionId = await beginSession(fixture, user);
    const { sql } = fixture.service.database;
    await sql`update sessions set user_agent = ${HOSTILE + 'x'.repeat(10_240)}, ip_address = '2001:db8::1' where id = ${sessionId}`;
    await sql`
      insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
        is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
      values (${user.id}, gen_random_uuid(), ${Buffer.from(user.id)}, 'localhost', '', 0, '{}', gen_random_uuid(),
        true, true, true, ${HOSTILE.slice(0, 64)}, now())`;
    const { page, problems, hosts } = await open({ locale, colorScheme: 'light' });
    await signIn(page, user);
    expect(await page.evaluate('document.dir')).toBe(locale === 'ar' ? 'rtl' : 'ltr');
    expect(await page.evaluate('document.querySelectorAll("main img").length')).toBe(0);
    // An open embedding would turn round what follows, in spite of `<bdi>`.
    expect(await page.locator('main').innerText()).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    for (const width of [1_280, 320]) {
      await page.setViewportSize({ width, height: 640 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      const cut = await page.evaluate<string[]>(`[...document.querySelectorAll('.page, .page *:not(.hide, .hide *)')]
        .filter((each) => { const { left, right } = each.getBoundingClientRect(); return left < 0 || right > innerWidth; })
        .map((each) => each.outerHTML.slice(0, 200))`);
      expect(cut, `at ${width} px`).toEqual([]);
    }
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectContrast(page);
    expect(Buffer.byteLength(await page.content())).toBeLessThan(40_960);
    expect(problems).toEqual([]);
    expect([...hosts]).toEqual([`localhost:${fixture.service.port}`]);
  });
});
