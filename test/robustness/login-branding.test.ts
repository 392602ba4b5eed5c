/** Uploaded logos in a real browser, under the policy of the page. */
import { afterAll, describe, expect, it } from 'vitest';
import { collectProblems, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { png } from '../support/images.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { adminClient } from '../support/service.ts';

const LOGOS = [
  { colorScheme: 'light', width: 120 },
  { colorScheme: 'dark', width: 90 },
] as const;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', async () => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());

  it('the page shows the logo for light and for dark pages, from its own host', async () => {
    const fixture = stack.use(await LoginFixture.open({ config: { publicUrl: undefined } }));
    const { service, tenant } = fixture;
    const admin = adminClient(service);
    await admin.setApplicationLogo({ applicationId: tenant.id, theme: 'light', image: png(120, 40) });
    await admin.setApplicationLogo({ applicationId: tenant.id, theme: 'dark', image: png(90, 30) });
    const { login } = await fixture.arrive();
    const chrome = stack.adopt(await launchChromium(), (browser) => browser.close());
    const context = await chrome.newContext();
    const problems = collectProblems(context);
    const hosts = new Set<string>();
    context.on('request', (request) => void hosts.add(new URL(request.url()).host));
    const page = await context.newPage();
    for (const { colorScheme, width } of LOGOS) {
      await page.emulateMedia({ colorScheme });
      await page.goto(`http://localhost:${service.port}${login.path}`, { waitUntil: 'load' });
      const shown = await page.evaluate<{ path: string; size: number[] }>(`(() => {
        const image = document.querySelector('picture.logo img');
        return { path: new URL(image.currentSrc).pathname, size: [image.naturalWidth, image.width] };
      })()`);
      expect(shown).toEqual({ path: expect.stringContaining(`/${colorScheme}/`), size: [width, width] });
    }
    expect([...hosts]).toEqual([`localhost:${service.port}`]);
    expect(problems).toEqual([]);
  });
});
