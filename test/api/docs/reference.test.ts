/** The API reference at /docs: that it is whole, and how it is served. Its examples: test/robustness/reference.test.ts. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { anchorOf, OPERATIONS } from '../../../src/api/catalogue.ts';
import { ERRORS } from '../../../src/domain/errors.ts';
import { request } from '../../support/http.ts';
import { startTestService } from '../../support/service.ts';

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
