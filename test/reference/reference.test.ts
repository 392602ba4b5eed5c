/** The API reference below /docs: that it is whole, and how it is served. Its examples: test/robustness/reference.test.ts. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import quickStarts from '../../gen/quick-starts.json' with { type: 'json' };
import { anchorOf, SERVICES } from '../../src/api/catalogue.ts';
import { ERRORS } from '../../src/domain/core/errors.ts';
import { html } from '../../src/http/html.ts';
import type { SearchEntry } from '../../src/reference/docs/page.ts';
import { SEARCH_WORDS } from '../../src/reference/docs/search-words.ts';
import { request } from '../support/http.ts';
import { OPERATIONS } from '../support/operations.ts';
import { REPOSITORY } from '../support/process.ts';
import { PUBLIC_URL, startTestService } from '../support/service.ts';

/** What each page has. */
const FRAME = ['applications', 'content', 'guides', 'operators'];

const OLD_GUIDES = [
  ...['start', 'quick-starts', 'concepts', 'login', 'errors', 'troubleshooting', 'lists', 'updates'],
  ...['openid-connect', 'webhooks', 'limits'],
];

const operations = OPERATIONS.map((operation) => ({ ...operation, name: anchorOf(operation.method) }));

const service = await startTestService();
const index: readonly SearchEntry[] = JSON.parse((await request(service.url, { path: '/docs/search.json' })).body);
const pages = await readPages();
const page = pages.get('/docs') ?? '';
afterAll(() => service.close());

/** Returns the pages that links lead to, from the first one on, by path. */
async function readPages(): Promise<ReadonlyMap<string, string>> {
  const read = new Map<string, string>();
  for (const next = ['/docs']; next.length > 0; ) {
    const path = next.pop() ?? '';
    if (read.has(path)) continue;
    const { body, status } = await request(service.url, { path });
    expect(status, path).toBe(200);
    read.set(path, body);
    next.push(...linksOf(path, body).flatMap(([to]) => (/^\/docs\b/.test(to) ? [to] : [])));
  }
  return read;
}

/** Returns the path and the fragment of each link to Usher itself. */
function linksOf(path: string, body: string): [path: string, id: string][] {
  const urls = [...body.matchAll(/ href="([^"]+)"/g)].map(([, href = '']) => new URL(href, `http://usher.test${path}`));
  return urls.filter(({ host }) => host === 'usher.test').map(({ hash, pathname }) => [pathname, hash.slice(1)]);
}

const isService = ({ id }: SearchEntry) => SERVICES.some(({ service: { name } }) => name === id);

const idsOf = (body = '') => [...body.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);

test('describes every operation and every error once, and each of its links leads somewhere', () => {
  const ids = [...pages.values()].flatMap(idsOf).filter((id) => !FRAME.includes(id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(operations.map(({ name }) => name)));
  expect(ids).toEqual(expect.arrayContaining(Object.keys(ERRORS).map((reason) => `error-${reason}`)));
  const dead = [...pages].flatMap(([path, body]) =>
    linksOf(path, body).filter(([to, id]) => id !== '' && !idsOf(pages.get(to)).includes(id)),
  );
  expect(dead).toEqual([]);
});

test('has a page for each service or part of one, and none is longer than a phone loads at once', () => {
  const paths = [...pages.keys()].map((path) => path.replace(/-[A-Z]\w+$/, ''));
  expect(paths).toEqual(expect.arrayContaining(SERVICES.map((each) => `/docs/${each.service.name}`)));
  for (const [path, body] of pages) expect(Buffer.byteLength(body), path).toBeLessThan(60_000);
});

test('lists all pages beside each, with the sections of the open one', () => {
  for (const [path, body] of pages) {
    const [, contents = ''] = /<nav class="toc"([\s\S]*?)<\/nav>/.exec(body) ?? [];
    const links = linksOf(path, contents);
    expect(new Set(links.map(([to]) => to))).toEqual(new Set([...pages.keys(), '/openapi.json', '/connect.json']));
    const sections = index.filter((entry) => `/${entry.page}` === path && !isService(entry)).map(({ id }) => id);
    expect(links.flatMap(([, id]) => (id && id !== 'content' ? [id] : []))).toEqual(sections);
  }
});

test('shows the login as a picture and the quick starts before all else', () => {
  const places = ['<figure>', 'id="quick-starts"', 'id="start"'].map((part) => page.indexOf(part));
  expect(places).toEqual([...places].sort((one, other) => one - other));
  expect(places[0]).toBeGreaterThan(0);
});

test('finds in its index the section of every address that the page of 1.0.0 had', () => {
  const known = index.map(({ id }) => id);
  expect(known).toEqual(
    expect.arrayContaining([
      ...OLD_GUIDES,
      ...SERVICES.map(({ service: { name } }) => name),
      ...operations.map(({ name }) => name),
    ]),
  );
  // The contents of each page have the audiences, and `errors` has each reason.
  expect(idsOf(page)).toEqual(expect.arrayContaining(['applications', 'operators']));
  for (const { page: path, id } of index) expect(idsOf(pages.get(`/${path}`)), id).toContain(id);
});

test('leads whoever has the address of a page that is no more to the first one', async () => {
  const { headers, status } = await request(service.url, { path: '/docs/AdminService-Gone' });
  expect({ status, location: headers.location }).toEqual({ status: 302, location: '../docs' });
  expect((await request(service.url, { path: '/docs/Admin/Service' })).status).toBe(404);
});

test('is a page that browsers may keep and need not fetch again, with a script of its own only', async () => {
  const { status, headers } = await request(service.url, { path: '/docs' });
  expect({ status, headers }).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'public, max-age=300' },
  });
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; img-src data:;/,
  );
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
  for (const [path, body] of pages) {
    const services = new Set(idsOf(body).flatMap((id) => /^(\w+Service)\./.exec(id)?.[1] ?? []));
    expect(services.size, path).toBeLessThan(2);
    if (services.size > 0) expect(body).toContain(services.has('AdminService') ? 'X-Admin-Key' : 'X-API-Key');
  }
});

test.each([
  ['Express', 'express/app.ts'],
  ['Hono', 'hono/app.ts'],
  ['Next.js', 'next/sessions.ts'],
  ['Python over gRPC', 'python/sign_in.py'],
  ['Go', 'go-grpc/main.go'],
  ['Go with OpenID Connect', 'go-oidc/main.go'],
  ['a single-page app', 'single-page/index.html'],
  ['a login page', 'login-page/app.ts'],
])('shows for %s the application that a test runs, to the letter', async (_, path) => {
  const text = await readFile(join(REPOSITORY, 'test/examples', path), 'utf8');
  expect(page).toContain(`<code>${html`${text}`.text}</code>`);
});

test.each([
  ['TypeScript', 'read-messages.ts'],
  ['Python', 'read_messages.py'],
  ['Go', 'main.go'],
])('shows in %s the reader of messages that a test runs, to the letter', async (_, path) => {
  const text = await readFile(join(REPOSITORY, 'test/examples/messages', path), 'utf8');
  expect(pages.get('/docs/messages')).toContain(`<code>${html`${text}`.text}</code>`);
});

test.each([
  ['Python', 'check_sessions.py'],
  ['Go', 'main.go'],
])('shows in %s the check of sessions that a test runs, to the letter', async (_, path) => {
  const text = await readFile(join(REPOSITORY, 'test/examples/sessions', path), 'utf8');
  expect(pages.get('/docs/session-checks')).toContain(`<code>${html`${text}`.text}</code>`);
});

test('shows the MCP server that a test runs, to the letter', async () => {
  const text = await readFile(join(REPOSITORY, 'test/examples/mcp/server.ts'), 'utf8');
  expect(pages.get('/docs/mcp')).toContain(`<code>${html`${text}`.text}</code>`);
});

test('names known sections where it knows what people search', () => {
  expect(index.map(({ id }) => id)).toEqual(expect.arrayContaining(Object.keys(SEARCH_WORDS)));
  const { words = '' } = index.find(({ id }) => id === 'SessionService.RevokeSession') ?? {};
  expect(words.split(' ')).toEqual(expect.arrayContaining(['logout', 'revokesession', 'sessionid']));
});

test.each(quickStarts)('tells how to install what the quick start for $title needs', ({ setup, text }) => {
  const packages = [...text.matchAll(/^import .* from '((?:@[^/']+\/)?[^/'.]+)/gm)].map(([, name = '']) => name);
  const foreign = packages.filter((name) => !name.startsWith('node:'));
  for (const name of foreign) expect(setup).toMatch(new RegExp(`npm install .*${name}\\b`));
  expect(setup).toMatch(foreign.length > 0 ? /npx/ : /pip install grpcio-tools|go mod tidy/);
});

test.each(['/docs', '/docs/search.json', '/openapi.json', '/connect.json'])(
  '%s is compressed for whoever takes that',
  async (path) => {
    const get = (coding: string) => request(service.url, { path, headers: { 'accept-encoding': coding } });
    const { bytes } = await get('identity');
    const [br, gzip, refused] = await Promise.all(['gzip, deflate, br', 'gzip;q=0.5', 'br;q=0, gzip;q=0.0'].map(get));
    expect(br?.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br?.bytes ?? '').equals(bytes)).toBe(true);
    expect(br?.bytes.length).toBeLessThan(bytes.length / 3);
    expect(gunzipSync(gzip?.bytes ?? '').equals(bytes)).toBe(true);
    expect(refused?.headers).not.toHaveProperty('content-encoding');
  },
);
