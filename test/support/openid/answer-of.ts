import { Browser } from './browser.ts';
import type { ClientFixture } from './client-fixture.ts';

/** Signs a new browser in, and returns where the provider sends it. Nobody needs to listen there. */
export async function answerOf({ provider }: ClientFixture, url: string): Promise<string> {
  const browser = new Browser(provider.route);
  let page = await browser.open(url);
  for (;;) {
    const location = browser.locationOf(page);
    if (location !== undefined) return location;
    const next = await provider.handlePage(browser, page, () => {});
    if (!next) throw new Error(`The provider asks for nothing: ${page.body}`);
    page = next;
  }
}
