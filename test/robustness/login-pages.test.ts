/** Every page in every language, in a real browser. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderDocument } from '../../src/login-page/pages/document.ts';
import { policyOf } from '../../src/login-page/responses.ts';
import { LANGUAGES } from '../../src/texts/texts.ts';
import { SCREENS } from '../preview/screens.ts';
import { collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { quickOrLong } from '../support/soak.ts';

const ORIGIN = 'http://login.example.com';
const NONCE = 'nonce';
/** A watch, which is also a phone at 200 %, and a phone. */
const [NARROW, WIDE] = [180, 320];

/** For what hangs: a busy machine may take half a minute for a page. */
const TIMEOUT_MS = 120_000;

/** In the short form, axe looks at this language only: colours and structure are the same in the others. */
const LOOKED_AT = 'en';

/** Looking at every page takes minutes on a busy machine. */
const LONG = { timeout: 900_000 };

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let chrome: Browser;
  let context: BrowserContext;
  let page: Page;
  const requested = new Set<string>();
  let problems: readonly string[];

  beforeAll(async () => {
    chrome = await launchChromium();
    context = await chrome.newContext();
    context.setDefaultTimeout(TIMEOUT_MS);
    problems = collectProblems(context);
    page = await context.newPage();
    await page.route('**', (route) => {
      const { origin, pathname } = new URL(route.request().url());
      requested.add(origin);
      const [, tag = '', name = ''] = pathname.split('/');
      const language = LANGUAGES.get(tag);
      const screen = SCREENS.find((candidate) => candidate.name === name);
      if (!language || !screen) return route.fulfill({ status: 404 });
      return route.fulfill({
        contentType: 'text/html; charset=utf-8',
        headers: { 'content-security-policy': policyOf(NONCE) },
        body: renderDocument(screen.render(language), NONCE),
      });
    });
  });
  afterAll(() => chrome?.close());

  describe.each([...LANGUAGES.values()])('in $tag', ({ tag, direction }) => {
    it('every page fits, is accessible in light and dark, and loads nothing from elsewhere', LONG, async () => {
      const looksAt = quickOrLong(tag === LOOKED_AT, true);
      const themes = looksAt ? (['light', 'dark'] as const) : [];
      // What fits a watch also fits a phone, unless it is laid out anew.
      const widths = looksAt ? [NARROW, WIDE] : [NARROW];
      for (const { name } of SCREENS) {
        await page.goto(`${ORIGIN}/${tag}/${name}`);
        expect(await page.evaluate('[document.documentElement.lang, document.dir]')).toEqual([tag, direction]);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 640 });
          const [needed, given] = await page.evaluate<[number, number]>(
            '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
          );
          expect(needed, `${name} at ${width} px`).toBeLessThanOrEqual(given);
        }
        for (const colorScheme of themes) {
          await page.emulateMedia({ colorScheme });
          await expectAccessible(page);
        }
      }
      expect([...requested]).toEqual([ORIGIN]);
      expect(problems).toEqual([]);
    });
  });

  it('every page has at most 20 kB', () => {
    for (const language of LANGUAGES.values()) {
      for (const { name, render } of SCREENS) {
        expect(Buffer.byteLength(renderDocument(render(language), NONCE)), `${language.tag} ${name}`).toBeLessThan(
          20_480,
        );
      }
    }
  });
});
