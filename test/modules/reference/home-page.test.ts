/** The home page. */
import { afterAll, describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { request } from '../../support/http.ts';
import { PUBLIC_URL, startTestService } from '../../support/service.ts';

const service = await startTestService();
afterAll(() => service.close());

describe.each(['/', '/docs', '/openapi.json'])('%s', (path) => {
  test('returns 405 with Allow for POST', async () => {
    const reply = await request(service.url, { method: 'POST', path });
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toBe('GET, HEAD');
  });

  test('returns the same headers for HEAD as for GET, without a body', async () => {
    const [head, get] = await Promise.all(['HEAD', 'GET'].map((method) => request(service.url, { method, path })));
    expect({ status: head?.status, body: head?.body }).toEqual({ status: 200, body: '' });
    expect(head?.headers['content-length']).toBe(get?.headers['content-length']);
    expect(Number(get?.headers['content-length'])).toBe(Buffer.byteLength(get?.body ?? ''));
  });
});

test('/ is a page that links to endpoints which answer, without script', async () => {
  const { headers, body } = await request(service.url, { path: '/' });
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'sha256-[^;]*; img-src data:;/),
  });
  expect(body).toContain(`<title>Usher ${packageJson.version}</title>`);
  expect(body).not.toContain('<script');
  const links = new Set([...body.matchAll(/<a href="([^"#]+)/g)].map(([, path]) => `/${path}`));
  expect([...links]).toEqual(expect.arrayContaining(['/docs', '/healthz', '/readyz', '/.well-known/jwks.json']));
  for (const path of links) expect(await request(service.url, { path })).toMatchObject({ status: 200 });
});

test.each([
  ['https://usher.test.example/', false],
  [`${PUBLIC_URL}/own/login`, false],
  [undefined, true],
])('/ links to the account page unless AUTH_PAGE_URL is set: %s', async (authPageUrl, hasAccount) => {
  const { database, config: like } = service;
  await using other = await startTestService({ database, like, config: { authPageUrl } });
  const { body } = await request(other.url, { path: '/' });
  expect(body.includes('href="account"')).toBe(hasAccount);
  expect(body.includes('a code by e-mail')).toBe(hasAccount);
  expect((await request(other.url, { path: '/account' })).status === 404).toBe(!hasAccount);
});
