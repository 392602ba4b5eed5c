/** Chromium, for tests of pages. CI fails without it; on a developer's machine these tests are skipped. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { CHROMIUM_PATH, lacks } from './tools.ts';

/** For what hangs: on a busy machine, a page may take half a minute. */
export const PAGE_TIMEOUT_MS = 120_000;

/**
 * Each window would load two pages for suggestions in its address bar, and keep a process for the next site: half of
 * what a window costs.
 */
const FEATURES_OF_WINDOWS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess'];
/** Playwright turns these off. Chromium takes the last list only. */
const FEATURES_OFF_BY_PLAYWRIGHT = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  // A process, and what it would draw for nobody.
  '--in-process-gpu',
  '--disable-gpu-compositing',
  '--disable-software-rasterizer',
  '--no-first-run',
  '--disable-background-networking',
  `--disable-features=${[...FEATURES_OF_WINDOWS, ...FEATURES_OFF_BY_PLAYWRIGHT].join(',')}`,
];

export const SKIPS_CHROMIUM = lacks('CHROMIUM');

export async function launchChromium(args: readonly string[] = []) {
  const options = { executablePath: CHROMIUM_PATH, args: [...CHROMIUM_ARGS, ...args], timeout: PAGE_TIMEOUT_MS };
  const browser = await chromium.launch(options);
  return browser.on('context', (context) => context.setDefaultTimeout(PAGE_TIMEOUT_MS));
}

/**
 * Answers requests of the page to an application that does not exist, redirected ones included: routes of Playwright do
 * not see those until Chromium tries again to load what it could not.
 */
export async function answerFor(page: Page, urlPattern: string, html: string): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  cdp.on('Fetch.requestPaused', ({ requestId }) => {
    const responseHeaders = [{ name: 'content-type', value: 'text/html' }];
    const response = { requestId, responseCode: 200, responseHeaders, body: Buffer.from(html).toString('base64') };
    // The page may be closed meanwhile.
    cdp.send('Fetch.fulfillRequest', response).catch(() => {});
  });
  await cdp.send('Fetch.enable', { patterns: [{ urlPattern }] });
}

/** Returns a list that gets what goes wrong on the pages, such as a script that the policy forbids. */
export function collectProblems(context: BrowserContext): readonly string[] {
  const problems: string[] = [];
  context.on('console', (message) => {
    // Chromium reports each status above 399.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
  });
  context.on('weberror', (error) => void problems.push(String(error.error())));
  return problems;
}

/** Each page compiles it, so it is the short form. */
const AXE_SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function loadAxe(page: Page): Promise<void> {
  await page.evaluate(AXE_SOURCE);
}

/** Describing each element that passes takes most of the time of axe. */
export const AXE = "axe.run({ resultTypes: ['violations'] })";
export const AXE_OF_COLOURS = "axe.run({ resultTypes: ['violations'], runOnly: ['color-contrast'] })";

/** Expects axe to find nothing serious, and to have compared the colours. */
export async function expectAccessible(page: Page): Promise<void> {
  await loadAxe(page);
  await expectNothingGrave(page, AXE);
}

/** Expects the same of the colours alone, on a page that `expectAccessible` has checked with other colours. */
export function expectContrast(page: Page): Promise<void> {
  return expectNothingGrave(page, AXE_OF_COLOURS);
}

async function expectNothingGrave(page: Page, script: string): Promise<void> {
  const { violations, passes } = await page.evaluate<AxeResults>(script);
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(grave.map(({ id, nodes }) => ({ id, targets: nodes.map(({ html }) => html) }))).toEqual([]);
  expect(passes.map(({ id }) => id)).toContain('color-contrast');
}
