/**
 * What Lighthouse says of a page of each kind: it looks at what browsers do with a page, beside what axe and the tests of
 * each page find. A page takes ten seconds of CPU, so the short form looks at the one that most people see.
 */
import { type BrowserContext, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM_ARGS, PAGE_TIMEOUT_MS, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { ConsoleFixture, OPERATORS } from '../support/console-fixture.ts';
import { createConsoleSamples } from '../support/console-samples.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { runShell } from '../support/process.ts';
import { clientsOf, REDIRECT_URI } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';
import { CHROMIUM_PATH } from '../support/tools.ts';

// The command, so that the types of Lighthouse are needed nowhere. It finds the browser by its port.
const COMMAND = [
  ...['lighthouse', '--quiet', '--output=json', '--no-enable-error-reporting'],
  // Not its measurements of time, which say more of the machine.
  ...['--only-categories=accessibility,best-practices', '--throttling-method=provided'],
  // The person who is signed in stays so.
  '--disable-storage-reset',
  '--disable-full-page-screenshot',
].join(' ');

/** What it reports, as far as this test reads it. */
interface Report {
  readonly finalDisplayedUrl: string;
  readonly runtimeError?: { readonly message: string };
  readonly categories: Readonly<
    Record<string, { score: number; auditRefs: readonly { id: string; weight: number }[] }>
  >;
  readonly audits: Readonly<Record<string, { score: number | null; title: string; details?: object }>>;
}

describe.skipIf(SKIPS_CHROMIUM)('Lighthouse', () => {
  let fixture: ConsoleFixture;
  let context: BrowserContext;
  let port: number;
  let origin: string;

  beforeAll(async () => {
    const config = { publicUrl: undefined, loginMethods: ['email', 'wallet', 'passkey'] as const };
    fixture = await ConsoleFixture.open({ config });
    origin = `http://localhost:${fixture.service.port}`;
    port = await findFreePort();
    // Lighthouse opens tabs of its own, which share the cookies of a profile only.
    context = await chromium.launchPersistentContext(await createDirectory(), {
      executablePath: CHROMIUM_PATH,
      args: [...CHROMIUM_ARGS, `--remote-debugging-port=${port}`],
      timeout: PAGE_TIMEOUT_MS,
    });
    context.setDefaultTimeout(PAGE_TIMEOUT_MS);
  });
  afterAll(async () => {
    await context?.close();
    await fixture?.close();
  });

  /** Returns the scores of the page, and what costs points. */
  async function judge(url: string) {
    const { exitCode, stdout, stderr } = await runShell(`${COMMAND} --port=${port} '${url}'`, {
      CHROME_PATH: CHROMIUM_PATH,
    });
    if (exitCode !== 0) throw new Error(stderr);
    const lhr: Report = JSON.parse(stdout);
    if (lhr.runtimeError) throw new Error(lhr.runtimeError.message);
    const weighty = Object.values(lhr.categories).flatMap(({ auditRefs }) =>
      auditRefs.filter(({ weight }) => weight > 0),
    );
    const failed = weighty.flatMap(({ id }) => {
      const { score, details, title } = lhr.audits[id] ?? {};
      return score === null || score === 1 ? [] : [{ id, title, details: JSON.stringify(details) }];
    });
    const scores = Object.fromEntries(Object.entries(lhr.categories).map(([id, { score }]) => [id, score]));
    return { url: lhr.finalDisplayedUrl, scores, failed };
  }

  const clean = (url: string) => ({ url, scores: { accessibility: 1, 'best-practices': 1 }, failed: [] });

  it('finds nothing to better in the login page', async () => {
    const { auth } = clientsOf(fixture.service, fixture.tenant);
    const { clientId } = fixture.tenant;
    const { authUrl } = await auth.generateAuthUrl({ clientId, redirectUri: REDIRECT_URI, state: 'state' });
    const url = origin + authUrl.slice(new URL(authUrl).origin.length);
    expect(await judge(url)).toEqual(clean(url));
  });

  const itInLongForm = it.runIf(quickOrLong(false, true));

  itInLongForm('finds nothing to better in the account page', async () => {
    const { email } = await createConsoleSamples(fixture);
    const page = await context.newPage();
    await page.goto(`${origin}/account`);
    fixture.clock.advance(1);
    await page.locator('form button').first().click();
    await page.locator('#email').fill(email);
    await page.keyboard.press('Enter');
    await page.locator('#code').waitFor();
    await page.locator('#code').fill(fixture.mailbox.codeFor(email));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor();
    expect(await judge(`${origin}/account`)).toEqual(clean(`${origin}/account`));
  });

  itInLongForm.each(['/docs', '/docs/AuthService', '/docs/errors'])('finds nothing to better in %s', async (path) => {
    expect(await judge(origin + path)).toEqual(clean(origin + path));
  });

  // After the test that gives it something to show.
  itInLongForm('finds nothing to better in the console', async () => {
    const page = await context.newPage();
    fixture.clock.advance(1);
    await page.goto(fixture.createLink(OPERATORS.admin));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${fixture.url}/`);
    for (const path of ['/', '/audit', '/users', '/health'])
      expect(await judge(fixture.url + path)).toEqual(clean(fixture.url + path));
  });
});
