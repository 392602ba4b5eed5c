/** E-mails as a browser shows them. What they hold: test/mail. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHtmlText } from '../../src/mail/html-text.ts';
import { LANGUAGES } from '../../src/texts/texts.ts';
import { MAILS } from '../preview/mails.ts';
import { expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';

/** Screenshots are written there, if it is set. */
const SCREENSHOTS = process.env.SCREENSHOTS;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let chrome: Browser;
  beforeAll(async () => {
    chrome = await launchChromium();
  });
  afterAll(() => chrome?.close());

  describe.each(['light', 'dark'] as const)('%s, in', (colorScheme) => {
    it.each([...LANGUAGES.values()])(
      '$name every e-mail is accessible, fits narrow screens, and loads nothing',
      async (language) => {
        const context = await chrome.newContext({ colorScheme, viewport: { width: 320, height: 800 } });
        const requests: string[] = [];
        context.on('request', (request) => void requests.push(request.url()));
        const page = await context.newPage();
        for (const { name, create } of MAILS) {
          await page.setViewportSize({ width: 320, height: 800 });
          await page.setContent(toHtmlText(create(language)));
          expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(320);
          await expectAccessible(page);
          await page.setViewportSize({ width: 700, height: 800 });
          const table = await page.locator('.sheet').boundingBox();
          expect(table?.width, name).toBe(480);
          if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}-${language.tag}-${colorScheme}.png` });
        }
        await context.close();
        expect(requests).toEqual([]);
      },
    );
  });
});
