/** The home page. */
import { afterAll, describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { request } from '../support/http.ts';
import { PUBLIC_URL, startTestService } from '../support/service.ts';
import { testReads } from '../support/test-reads.ts';

const service = await startTestService();
afterAll(() => service.close());

describe.each(['/', '/docs', '/openapi.json'])('%s', (path) => testReads(service, path));

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
