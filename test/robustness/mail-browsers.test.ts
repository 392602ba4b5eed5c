/** E-mails as a browser shows them. What they hold: test/mail. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHtmlText } from '../../src/mail/mail-text.ts';
import { LANGUAGES } from '../../src/texts/texts.ts';
import { MAILS } from '../preview/mails.ts';
import { expectAccessible, expectContrast, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { quickOrLong } from '../support/soak.ts';

/** Screenshots are written there, if it is set. */
const SCREENSHOTS = process.env.SCREENSHOTS;

/** In the short form, axe looks at these languages only: colours and structure are the same in the others. */
const LOOKED_AT = new Set(['en', 'ar']);

/** For what hangs: looking at every e-mail takes minutes on a busy machine. */
const LONG = { timeout: 900_000 };

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let chrome: Browser;
  beforeAll(async () => {
    chrome = await launchChromium();
  });
  afterAll(() => chrome?.close());

  it.each([...LANGUAGES.values()])(
    '$name every e-mail is accessible in light and dark, fits narrow screens, and loads nothing',
    LONG,
    async (language) => {
      const context = await chrome.newContext({ viewport: { width: 320, height: 800 } });
      context.setDefaultTimeout(LONG.timeout);
      const requests: string[] = [];
      context.on('request', (request) => void requests.push(request.url()));
      const page = await context.newPage();
      const looksAt = quickOrLong(LOOKED_AT.has(language.tag), true);
      for (const { name, create } of MAILS) {
        await page.setContent(toHtmlText(create(language)));
        for (const colorScheme of looksAt ? (['light', 'dark'] as const) : (['light'] as const)) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width: 320, height: 800 });
          expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(320);
          if (looksAt) await (colorScheme === 'light' ? expectAccessible(page) : expectContrast(page));
          await page.setViewportSize({ width: 700, height: 800 });
          const table = await page.locator('.sheet').boundingBox();
          expect(table?.width, name).toBe(480);
          if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}-${language.tag}-${colorScheme}.png` });
        }
      }
      await context.close();
      expect(requests).toEqual([]);
    },
  );
});
