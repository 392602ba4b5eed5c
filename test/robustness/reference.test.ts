/** The API reference at /docs: that its examples work, and that browsers show it well. */
import { fromJsonString } from '@bufbuild/protobuf';
import { Ajv2020 } from 'ajv/dist/2020.js';
import axe from 'axe-core';
import { afterAll, describe, expect, test } from 'vitest';
import { anchorOf, OPERATIONS, type Operation } from '../../src/api/catalogue.ts';
import { toBufCurl, toCurl } from '../../src/api/docs/example-commands.ts';
import { exampleReply } from '../../src/api/docs/example-reply.ts';
import { OpenApi } from '../../src/api/docs/openapi.ts';
import { collectProblems, launchChromium, PAGE_TIMEOUT_MS, SKIPS_CHROMIUM } from '../support/chromium.ts';
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
] as const;

const service = await startTestService();
const tenant = await createTenant(service);
afterAll(() => service.close());

describe.each(operations)('$name', (operation) => {
  test('has a call with curl that works, and a reply as the service sends it', async () => {
    const { reply } = new OpenApi().describe(operation);
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(reply);
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

test.skipIf(SKIPS_CHROMIUM)('is accessible, and fits a phone, in a light and in a dark scheme', async () => {
  const browser = await launchChromium();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 844 } });
    context.setDefaultTimeout(PAGE_TIMEOUT_MS);
    const problems = collectProblems(context);
    const tab = await context.newPage();
    await tab.goto(`${service.url}/docs`);
    await tab.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true; })`);
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
    for (const [words, id] of SEARCHES) {
      await tab.getByLabel('Search').fill(words);
      expect(await tab.locator(`[id="${id}"]`).isVisible(), words).toBe(true);
    }
    await tab.getByLabel('Search').fill('usher-finds-nothing');
    expect(await tab.locator('.operation:visible').count()).toBe(0);
    await tab.getByLabel('Search').fill('');
    // The other operations, and the other rows of a table, are like these.
    const others = quickOrLong(
      '.operation ~ .operation, section ~ section > .operation, tr:nth-child(n + 5)',
      '.operation ~ .operation',
    );
    await tab.evaluate(`document.querySelectorAll('${others}').forEach((each) => each.remove())`);
    await tab.evaluate(axe.source);
    for (const [colorScheme, rules] of [
      ['light', 'axe.run()'],
      ['dark', `axe.run({ runOnly: 'color-contrast' })`],
    ] as const) {
      await tab.emulateMedia({ colorScheme });
      const { passes, violations } = await tab.evaluate<axe.AxeResults>(rules);
      expect(violations.map(({ id, nodes }) => ({ id, targets: nodes.map(({ html }) => html) }))).toEqual([]);
      expect(passes.map(({ id }) => id)).toContain('color-contrast');
    }
    expect(problems).toEqual([]);
  } finally {
    await browser.close();
  }
});
