/** The API reference at /docs: that it is whole, and how it is served. Its examples: test/robustness/reference.test.ts. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import quickStarts from '../../../gen/quick-starts.json' with { type: 'json' };
import { anchorOf, OPERATIONS } from '../../../src/api/catalogue.ts';
import { SETUPS } from '../../../src/api/docs/quick-starts.ts';
import { SEARCH_WORDS } from '../../../src/api/docs/search-words.ts';
import { ERRORS } from '../../../src/domain/core/errors.ts';
import { html } from '../../../src/http/html.ts';
import { request } from '../../support/http.ts';
import { REPOSITORY } from '../../support/process.ts';
import { PUBLIC_URL, startTestService } from '../../support/service.ts';

const operations = OPERATIONS.map((operation) => ({ ...operation, name: anchorOf(operation.method) }));

const service = await startTestService();
const page = (await request(service.url, { path: '/docs' })).body;
afterAll(() => service.close());

test('describes every operation and every error, and each of its links leads somewhere', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(operations.map(({ name }) => name)));
  expect(ids).toEqual(expect.arrayContaining(Object.keys(ERRORS).map((reason) => `error-${reason}`)));
  const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, id = '']) => id);
  expect(links.filter((id) => !ids.includes(id))).toEqual([]);
});

test('is a page that browsers may keep and need not fetch again, with a script of its own only', async () => {
  const { status, headers } = await request(service.url, { path: '/docs' });
  expect({ status, headers }).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'public, max-age=300' },
  });
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; img-src data:;/);
  const [, script = ''] = /<script type="module">([\s\S]*?)<\/script>/.exec(page) ?? [];
  expect(policy).toContain(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  expect(page.split('<script').length).toBe(2);
  expect(page).not.toMatch(/\son\w+=|\sstyle=/);

  const head = await request(service.url, { method: 'HEAD', path: '/docs' });
  expect(head).toMatchObject({ status: 200, body: '', headers: { etag: headers.etag, vary: 'accept-encoding' } });
  const known = await request(service.url, { path: '/docs', headers: { 'if-none-match': `"other", ${headers.etag}` } });
  expect(known).toMatchObject({ status: 304, body: '' });
});

test('shows the URL of Usher, and the API of operators apart from that of applications', () => {
  expect(page).toContain(`export USHER_URL=&#39;${PUBLIC_URL}&#39;`);
  const [forApplications = '', forOperators = ''] = page.split('id="operators"');
  expect(forApplications).not.toContain('id="AdminService.');
  expect(forOperators).not.toMatch(/id="(Auth|Session|User|Webhook|Event)Service\./);
});

test.each([
  ['Express', 'express/app.ts'],
  ['Hono', 'hono/app.ts'],
  ['Next.js', 'next/sessions.ts'],
  ['Python over gRPC', 'python/sign_in.py'],
  ['a single-page app', 'single-page/index.html'],
  ['a login page', 'login-page/app.ts'],
])('shows for %s the application that a test runs, to the letter', async (_, path) => {
  const text = await readFile(join(REPOSITORY, 'test/examples', path), 'utf8');
  expect(page).toContain(`<code>${html`${text}`.text}</code>`);
});

test('names known sections where it knows what people search', () => {
  const sections = [...page.matchAll(/ id="([^"]+)" data-words="([^"]+)"/g)].map(([, id]) => id);
  expect(sections.sort()).toEqual(Object.keys(SEARCH_WORDS).sort());
});

test.each(quickStarts)('tells how to install what the quick start for $title needs', ({ title, text }) => {
  const packages = [...text.matchAll(/^import .* from '((?:@[^/']+\/)?[^/'.]+)/gm)].map(([, name = '']) => name);
  const foreign = packages.filter((name) => !name.startsWith('node:'));
  for (const name of foreign) expect(SETUPS[title]).toMatch(new RegExp(`npm install .*${name}\\b`));
  expect(SETUPS[title]).toContain(foreign.length > 0 ? 'npx' : 'pip install grpcio-tools');
});

test.each(['/docs', '/openapi.json', '/connect.json'])('%s is compressed for whoever takes that', async (path) => {
  const get = (coding: string) => request(service.url, { path, headers: { 'accept-encoding': coding } });
  const { bytes } = await get('identity');
  const [br, gzip, refused] = await Promise.all(['gzip, deflate, br', 'gzip;q=0.5', 'br;q=0, gzip;q=0.0'].map(get));
  expect(br?.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(br?.bytes ?? '').equals(bytes)).toBe(true);
  expect(br?.bytes.length).toBeLessThan(bytes.length / 5);
  expect(gunzipSync(gzip?.bytes ?? '').equals(bytes)).toBe(true);
  expect(refused?.headers).not.toHaveProperty('content-encoding');
});
