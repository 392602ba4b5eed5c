/** The API reference below /docs: that its examples work, and that browsers show it well. */
import { fromJsonString } from '@bufbuild/protobuf';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { anchorOf, type Operation } from '../../src/api/catalogue.ts';
import { toBufCurl, toCurl } from '../../src/reference/docs/example-commands.ts';
import { OpenApi } from '../../src/reference/docs/openapi.ts';
import { exampleReply } from '../../src/reference/docs/operation.ts';
import { renderReference } from '../../src/reference/docs/page.ts';
import { AXE, AXE_OF_COLOURS, collectProblems, launchChromium, loadAxe, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { OPERATIONS } from '../support/operations.ts';
import { runExample, variablesOf } from '../support/reference-examples.ts';
import { createTenant, startTestService } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const operations = OPERATIONS.map((operation, index) => ({
  ...operation,
  name: anchorOf(operation.method),
  isFirst: OPERATIONS.findIndex(({ method }) => method.parent === operation.method.parent) === index,
}));

/** What people type, and a section that tells about it. */
const SEARCHES = [
  ['logout', 'SessionService.RevokeSession'],
  ['password', 'concepts'],
  ['SSO', 'openid-connect'],
  ['OAuth', 'login'],
  ['token expired', 'troubleshooting'],
  ['rate limit', 'limits'],
  ['cookie', 'troubleshooting'],
  ['CORS', 'troubleshooting'],
  ['localhost', 'troubleshooting'],
  ['callback', 'webhooks'],
  ['MFA', 'assurance'],
  ['2fa', 'assurance'],
  ['totp', 'assurance'],
  ['docker', 'operating'],
  ['prometheus', 'operating'],
  ['impersonate', 'AdminService.CompleteLogin'],
  ['cli', 'devices'],
] as const;

const paths = [...renderReference({ publicUrl: 'https://usher.test' }).keys()].filter(
  (path) => !path.endsWith('.json'),
);

/** Pages of services have the same parts: in the short form axe looks at one of them. */
const isLikeAuthService = (path: string) => /Service/.test(path) && path !== '/docs/AuthService';

const openApi = new OpenApi();
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const service = await startTestService();
const tenant = await createTenant(service);
afterAll(() => service.close());

describe.each(operations)('$name', (operation) => {
  test('has a call with curl that works, and a reply as the service sends it', async () => {
    const { reply } = openApi.describe(operation);
    const validate = ajv.compile(reply);
    const { exitCode, stdout } = await runExample(operation, `${toCurl(operation).replace('curl', 'curl -sf')}`, {
      service,
      tenant,
    });
    expect({ exitCode, isAsDescribed: validate(JSON.parse(stdout)) }).toEqual({ exitCode: 0, isAsDescribed: true });
    expect(validate(exampleReply(reply)), JSON.stringify(validate.errors)).toBe(true);
  });

  test('has a call with buf curl that works', async () => {
    // The short form runs buf once for each service, and otherwise sends what buf would.
    if (!quickOrLong(operation.isFirst, true)) return expect(await sendLikeBuf(operation)).toBe(200);
    const { exitCode, stdout, stderr } = await runExample(operation, toBufCurl(operation), { service, tenant });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    JSON.parse(stdout);
  });
});

/** Sends the call with `buf curl` over Connect, and returns the status. @throws for fields that the schema does not have */
async function sendLikeBuf(operation: Operation): Promise<number> {
  const example = toBufCurl(operation);
  const variables = await variablesOf(operation, example, { service, tenant });
  const filled = example.replaceAll(/\$([A-Z_]+)/g, (_, name: string) => variables[name] ?? '');
  const [, url = '', header = '', credential = '', options = ''] =
    /^buf curl "([^"]+)" \\\n {2}-H "([^":]+): ([^"]+)"(?: \\\n {2}-d ([\s\S]+))?$/.exec(filled) ?? [];
  const [, quoted, here] = /^'([^']+)'$|^@- <<EOF\n([\s\S]+)\nEOF$/.exec(options) ?? [];
  const body = options === '' ? '{}' : (quoted ?? here ?? '');
  fromJsonString(operation.method.input, body);
  const headers = { 'content-type': 'application/json', [header]: credential };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

describe.skipIf(SKIPS_CHROMIUM)('in a browser', () => {
  let browser: Browser;
  let problems: readonly string[];
  let tab: Page;

  beforeAll(async () => {
    browser = await launchChromium();
    const context = await browser.newContext({ viewport: { width: 1280, height: 844 } });
    problems = collectProblems(context);
    tab = await context.newPage();
  });
  afterAll(() => browser?.close());
  afterEach(() => expect(problems).toEqual([]));

  const open = (path: string) => tab.goto(service.url + path);
  const pathNow = () => tab.evaluate<string>('location.pathname + location.hash');
  /** Returns the results of a search, as they are listed: groups, and sections. */
  async function findAll(words: string): Promise<readonly string[]> {
    await tab.getByRole('searchbox', { name: 'Search' }).fill(words);
    await tab.locator('.results output', { hasText: /found/ }).waitFor();
    return tab.locator('.results a').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
  }

  test.each(paths)('%s is accessible, and fits a phone, in a light and in a dark scheme', async (path) => {
    await open(path);
    await tab.evaluate(`document.querySelectorAll('details:not([hidden])').forEach((each) => { each.open = true; })`);
    onTestFinished(() => tab.setViewportSize({ width: 1280, height: 844 }));
    for (const width of [1280, 320]) {
      await tab.setViewportSize({ width, height: 844 });
      expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBe(width);
    }
    // No end of a line is below its button.
    const covered = `[...document.querySelectorAll('.sheet')].filter(({ firstChild: button, lastChild: pre }) => {
      const lines = pre.firstChild.getClientRects();
      return lines.length > 0 && lines[0].top < button.getBoundingClientRect().bottom;
    }).length`;
    expect(await tab.evaluate(covered)).toBe(0);
    if (quickOrLong(isLikeAuthService(path), false)) return;
    // The other operations, and the other rows of a table, are like these.
    const others = quickOrLong('.operation ~ .operation, tr:nth-child(n + 5)', '.operation ~ .operation');
    await tab.evaluate(`document.querySelectorAll('${others}').forEach((each) => each.remove())`);
    await loadAxe(tab);
    for (const [colorScheme, rules] of [
      ['light', AXE],
      ['dark', AXE_OF_COLOURS],
    ] as const) {
      await tab.emulateMedia({ colorScheme });
      const { passes, violations } = await tab.evaluate<AxeResults>(rules);
      expect(violations.map(({ id, nodes }) => ({ id, targets: nodes.map(({ html }) => html) }))).toEqual([]);
      expect(passes.map(({ id }) => id)).toContain('color-contrast');
    }
  });

  test('finds what people search on every page, names no page without it, and says if there is nothing', async () => {
    await open('/docs');
    for (const [words, id] of SEARCHES) {
      const found = await findAll(words);
      expect(
        found.filter((href) => href.endsWith(`#${id}`)),
        words,
      ).toHaveLength(1);
      const groups = tab.locator('.results p');
      expect(await tab.locator('.results p + ul > li:first-child').count(), words).toBe(await groups.count());
    }
    expect(await findAll('usher-finds-nothing')).toEqual([]);
    expect(await tab.locator('.results p').count()).toBe(0);
    await tab.getByRole('searchbox').fill('');
    await tab.locator('.results').waitFor({ state: 'hidden' });
  });

  test('marks what is found on the page, shows the first of it, and opens the first section with Enter', async () => {
    const marks = `[...CSS.highlights.get('found')].map(String)`;
    const place = `[...CSS.highlights.get('found')][0].getBoundingClientRect().top`;
    await open('/docs/SessionService');
    await findAll('Successor');
    await expect.poll(() => tab.evaluate<string[]>(marks)).not.toEqual([]);
    expect(new Set((await tab.evaluate<string[]>(marks)).map((mark) => mark.toLowerCase()))).toEqual(
      new Set(['successor']),
    );
    const top = await tab.evaluate<number>(place);
    expect(top).toBeGreaterThan(0);
    expect(top).toBeLessThan(844);
    await findAll('ListAuditEvents');
    await tab.getByRole('searchbox').press('Enter');
    await expect.poll(pathNow).toMatch(/^\/docs\/AdminService(-\w+)?#AdminService\.ListAuditEvents$/);
    expect(await tab.getByRole('searchbox').inputValue()).toBe('ListAuditEvents');
    await expect.poll(() => tab.evaluate<string[]>(marks)).toContain('ListAuditEvents');
  });

  test.each([
    ['/docs#SessionService.RenewSession', '/docs/SessionService#SessionService.RenewSession'],
    ['/docs#WebhookService', '/docs/WebhookService#WebhookService'],
    ['/docs#error-USER_NOT_FOUND', '/docs/errors#error-USER_NOT_FOUND'],
    ['/docs#limits', '/docs/concepts#limits'],
    ['/docs#operators', '/docs#operators'],
    ['/docs/AdminService-Gone#AuthService.ExchangeToken', '/docs/AuthService#AuthService.ExchangeToken'],
  ])('leads from the old address %s to %s', async (from, to) => {
    await open('/docs/concepts');
    await open(from);
    await expect.poll(pathNow).toBe(to);
    const target = tab.locator(`[id="${to.split('#')[1]}"]`);
    await target.waitFor();
    expect(await target.isVisible()).toBe(true);
  });

  test('can be used with the keyboard alone, and without its script', async () => {
    await open('/docs/UserService');
    await tab.keyboard.press('Tab');
    expect(await tab.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Tab');
    expect(await tab.evaluate(`document.querySelector('main').contains(document.activeElement)`)).toBe(true);
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(`${service.url}/docs`);
    expect(await plain.locator('input[type=search]').isVisible()).toBe(false);
    await plain.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Concepts' }).click();
    expect(await plain.getByRole('heading', { level: 1 }).textContent()).toBe('Concepts');
    await context.close();
  });
});
