/** The API reference at /docs: that it is whole, that its examples work, and that browsers show it well. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/api/catalogue.ts';
import { anchorOf } from '../../../src/api/docs/anchor.ts';
import { toCurl } from '../../../src/api/docs/example-commands.ts';
import { exampleReply } from '../../../src/api/docs/example-reply.ts';
import { OpenApi } from '../../../src/api/docs/openapi.ts';
import { ERRORS } from '../../../src/domain/errors.ts';
import { collectProblems, launchChromium, SKIPS_CHROMIUM } from '../../support/chromium.ts';
import { request } from '../../support/http.ts';
import { runExample } from '../../support/reference-examples.ts';
import { createTenant, startTestService, type Tenant, type TestService } from '../../support/service.ts';

const operations = OPERATIONS.map((operation) => ({ ...operation, name: anchorOf(operation.method) }));

let service: TestService;
let tenant: Tenant;
let page: string;
beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service);
  page = (await request(service.url, { path: '/docs' })).body;
});
afterAll(() => service.close());

test('describes every operation and every error, and each of its links leads somewhere', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(operations.map(({ name }) => name)));
  expect(ids).toEqual(expect.arrayContaining(Object.keys(ERRORS).map((reason) => `error-${reason}`)));
  const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, id = '']) => id);
  expect(links.filter((id) => !ids.includes(id))).toEqual([]);
});

test('is a page without script, which browsers may keep and need not fetch again', async () => {
  const { status, headers } = await request(service.url, { path: '/docs' });
  expect({ status, headers }).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'public, max-age=300' },
  });
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; img-src data:;/);
  expect(page).not.toMatch(/<script|\son\w+=|\sstyle=/);

  const head = await request(service.url, { method: 'HEAD', path: '/docs' });
  expect(head).toMatchObject({ status: 200, body: '', headers: { etag: headers.etag, vary: 'accept-encoding' } });
  const known = await request(service.url, { path: '/docs', headers: { 'if-none-match': `"other", ${headers.etag}` } });
  expect(known).toMatchObject({ status: 304, body: '' });
});

test.each(['/docs', '/openapi.json'])('%s is compressed for whoever takes that', async (path) => {
  const get = (coding: string) => request(service.url, { path, headers: { 'accept-encoding': coding } });
  const { bytes } = await get('identity');
  const [br, gzip, refused] = await Promise.all(['gzip, deflate, br', 'gzip;q=0.5', 'br;q=0, gzip;q=0.0'].map(get));
  expect(br?.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(br?.bytes ?? '').equals(bytes)).toBe(true);
  expect(br?.bytes.length).toBeLessThan(bytes.length / 5);
  expect(gunzipSync(gzip?.bytes ?? '').equals(bytes)).toBe(true);
  expect(refused?.headers).not.toHaveProperty('content-encoding');
});

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
});

test.skipIf(SKIPS_CHROMIUM)('is accessible, and fits a phone, in a light and in a dark scheme', async () => {
  const browser = await launchChromium();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 844 } });
    const problems = collectProblems(context);
    const tab = await context.newPage();
    await tab.goto(`${service.url}/docs`);
    await tab.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true; })`);
    for (const width of [1280, 320]) {
      await tab.setViewportSize({ width, height: 844 });
      expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBe(width);
    }
    // The other operations are like these.
    await tab.evaluate(`document.querySelectorAll('.operation ~ .operation').forEach((each) => each.remove())`);
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
