/** The way back into an account in a real browser, on a phone, in both directions of writing. */
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  collectProblems,
  expectAccessible,
  expectContrast,
  launchChromium,
  SKIPS_CHROMIUM,
} from '../support/chromium.ts';
import { newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { makeRecoveryLink } from '../support/recovery.ts';
import { createTestUser } from '../support/service.ts';

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: LoginFixture;
  let chrome: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    fixture = await LoginFixture.open({
      config: { publicUrl: undefined, loginMethods: ['email', 'wallet', 'passkey'] },
    });
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    await fixture?.close();
  });

  async function open(options: BrowserContextOptions = {}) {
    context = await chrome.newContext({
      viewport: { width: 320, height: 640 },
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
      ...options,
    });
    const problems = collectProblems(context);
    const urls: string[] = [];
    context.on('request', (request) => void urls.push(request.url()));
    return { page: await context.newPage(), problems, urls };
  }

  it.each([
    ['light, in English', { colorScheme: 'light' }, 'Back into your account', 'Your passkeys'],
    ['dark, in Arabic', { colorScheme: 'dark', locale: 'ar' }, 'العودة إلى حسابك', 'مفاتيح مرورك'],
  ] as const)('leads from the link to the passkeys by keyboard, %s', async (_, options, title, end) => {
    const user = await createTestUser(fixture.service, { name: 'Ada Lovelace' });
    const made = await makeRecoveryLink(fixture.service, user, ['PASSKEYS', 'WALLET']);
    const { page, problems, urls } = await open(options);
    await page.goto(made.url);
    await page.locator('#code').waitFor();
    expect(await page.locator('h1').textContent()).toBe(title);
    await expectAccessible(page);
    await expectContrast(page);
    // The token is in no address, not even that of the page.
    expect([...urls, page.url()].join(' ')).not.toContain(made.url.slice(-43));
    await page.keyboard.type('11111111');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('#alert').textContent()).not.toBe('');
    await expectAccessible(page);
    await page.locator('#code').fill(made.spokenCode);
    await page.keyboard.press('Enter');
    await page.locator('.ends-here').waitFor();
    await expectAccessible(page);
    await expectContrast(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    await page.locator('main form button').first().click();
    await page.locator('#new-passkey').waitFor();
    expect(await page.locator('h1').textContent()).toBe(end);
    expect(problems).toEqual([]);
  });

  it('keeps the link over a change of the language, and works without a script', async () => {
    const user = await createTestUser(fixture.service);
    const made = await makeRecoveryLink(fixture.service, user);
    const { page } = await open();
    await page.goto(made.url);
    await page.locator('#code').waitFor();
    await page.locator('#lang').selectOption('de');
    await expect
      .poll(async () => {
        const button = page.locator('.language button');
        if (await button.isVisible().catch(() => false)) await button.click().catch(() => {});
        return page.locator('h1').textContent();
      })
      .toBe('Zurück in Ihr Konto');
    await page.locator('#code').waitFor();
    await context.close();
    const { page: plain } = await open({ javaScriptEnabled: false });
    await plain.goto(made.url);
    await plain.locator('#link').fill(made.url);
    await plain.keyboard.press('Enter');
    await plain.locator('#code').fill(made.spokenCode);
    await plain.keyboard.press('Enter');
    await plain.locator('.ends-here').waitFor();
  });
});
