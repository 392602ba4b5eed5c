/** The applications of the demo, with an Usher that answers what a test wants. */
import { createHmac } from 'node:crypto';
import { createServer, request } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { Demo, DemoParts } from '../../../../src/modules/demo/demo.ts';
import { createDemoApplication, createState } from '../../../../src/modules/demo/site.ts';
import { textOf } from '../../../support/login-browser.ts';
import { serveListener } from '../../http/serve-listener.ts';

const KEY = Buffer.alloc(24, 7);
const WEBHOOK = { data: { signingKey: `whsec_${KEY.toString('base64')}` } };
const SESSION = {
  ...{ userId: 'a-user', user: { email: 'ada@example.com' }, method: 'email' },
  ...{ createdAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-01T00:15:00Z' },
};

/** What Usher answers, by path. */
const answers = new Map<string, unknown>();
/** What it was asked, and by which key. */
const asked: { path: string; key: unknown; body: unknown }[] = [];
const usher = createServer(async (request, response) => {
  const body = await text(request);
  const [path = ''] = (request.url ?? '').split('?');
  asked.push({ path, key: request.headers['x-api-key'], body: body && JSON.parse(body) });
  const answer = answers.get(path) ?? { message: 'Not found' };
  response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => usher.once('listening', resolve));
const usherUrl = `http://127.0.0.1:${(usher.address() as AddressInfo).port}`;

const demo = {
  ...{ apiKey: 'usk_demo', clientId: 'client_demo', redirectUri: 'https://demo.test/demo/callback' },
  ...{ webhookId: 'a-webhook', email: 'ada@example.com', canSignIn: true, methods: ['email'] },
  ...{ homeUrl: 'http://127.0.0.1:8080/demo', accountUrl: undefined },
  cafe: { apiKey: 'usk_cafe', clientId: 'client_cafe', redirectUri: 'https://demo.test/demo/cafe/callback' },
} as unknown as Demo;

const printed: string[] = [];
const serve = (changes: Partial<Demo> = {}, url = usherUrl) => {
  const parts = { clock: () => new Date('2026-01-01T00:00:01Z'), url } as DemoParts;
  const handle = createDemoApplication({ ...demo, ...changes }, parts, (line) => void printed.push(line));
  return serveListener(async (context) => {
    if (await handle(context)) return;
    context.response.statusCode = 404;
    context.response.end();
  });
};
const site = await serve();
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  usher.closeAllConnections();
  usher.close();
});
beforeEach(() => {
  answers.clear();
  asked.length = 0;
  printed.length = 0;
});

async function open(path: string, { at = site, ...options }: RequestInit & { at?: { url: string } } = {}) {
  const response = await fetch(at.url + path, { redirect: 'manual', ...options });
  const body = await response.text();
  const { status, headers } = response;
  return { status, body, text: textOf(body), location: headers.get('location'), cookies: headers.getSetCookie() };
}

const cookieOf = (id: string, name = 'demo') => ({ headers: { cookie: `usher-${name}-session=${id}` } });

test('other paths and methods are not of the demo', async () => {
  for (const [path, method] of [
    ['/', 'GET'],
    ['/demo/', 'GET'],
    ['/demo', 'POST'],
    ['/demo/renew', 'GET'],
  ] as const)
    expect((await open(path, { method })).status).toBe(404);
});

test('whoever has no session sees the home page, and each application asks with a key of its own', async () => {
  expect((await open('/demo')).text).toContain('An application that has no passwords');
  expect((await open('/demo/cafe')).text).toContain('Another application with the same people');
  expect(asked.map(({ path, key, body }) => [path, key, body])).toEqual(
    ['usk_demo', 'usk_cafe'].flatMap((key) =>
      ['check', 'renew'].map((call) => [`/api/sessions/${call}`, key, { sessionId: 'none' }]),
    ),
  );
});

test.each([
  [true, true],
  [false, false],
])('where people can sign in: %s, the home page says as whom', async (canSignIn, isSaid) => {
  await using other = await serve({ canSignIn });
  expect((await open('/demo', { at: other })).text.includes('as ada@example.com')).toBe(isSaid);
});

test('a session is shown, and one that has expired is renewed', async () => {
  answers.set('/api/sessions/check', { data: { session: SESSION } });
  const shown = await open('/demo', cookieOf('a-session'));
  expect(shown.text).toContain('Hello, ada@example.com');
  expect(shown.cookies).toEqual([]);
  expect(asked.map(({ path, body }) => [path, body])).toEqual([['/api/sessions/check', { sessionId: 'a-session' }]]);
  answers.clear();
  answers.set('/api/sessions/renew', { data: { id: 'the-next' } });
  const renewed = await open('/demo', cookieOf('a-session'));
  expect(renewed.cookies[0]).toMatch(/^usher-demo-session=the-next; Max-Age=604800; Path=\/demo; HttpOnly/);
  expect(asked.at(-1)).toMatchObject({ path: '/api/sessions/check', body: { sessionId: 'the-next' } });
});

test('a login leads to Usher, or says why it does not begin', async () => {
  answers.set('/api/oauth/generate-auth-url', { message: 'Invalid redirect URI' });
  const refused = await open('/demo/login');
  expect(refused.text).toContain('The login did not begin');
  expect(refused.text).toContain('Invalid redirect URI');
  answers.set('/api/oauth/generate-auth-url', { data: { authUrl: 'https://usher.test/login?intent=1' } });
  expect(await open('/demo/login')).toMatchObject({ status: 303, location: 'https://usher.test/login?intent=1' });
  expect(asked.at(-1)?.body).toMatchObject({ redirectUri: demo.redirectUri, state: expect.any(String) });
});

test.each(['', 'x.y', `a.${'x'.repeat(22)}`, 'usk_cafe'])('a callback with the state %j is not ours', async (given) => {
  const state = given === 'usk_cafe' ? createState('usk_cafe') : given;
  const page = await open(`/demo/callback?${new URLSearchParams({ state, authToken: 'x' })}`);
  expect(page.text).toContain('This login is not ours');
  expect(asked).toEqual([]);
});

test('a callback exchanges its token, or says why not', async () => {
  const state = createState('usk_demo');
  const callback = (query: Record<string, string>) => `/demo/callback?${new URLSearchParams({ state, ...query })}`;
  expect((await open(callback({ error: 'access_denied' }))).text).toContain('You cancelled');
  expect(asked).toEqual([]);
  answers.set('/api/oauth/exchange', { message: 'Invalid or expired token' });
  expect((await open(callback({ authToken: 'x' }))).text).toContain('Invalid or expired token');
  answers.set('/api/oauth/exchange', { data: { session: { id: 'a-session' } } });
  const done = await open(callback({ authToken: 'a-token' }));
  expect(done).toMatchObject({ status: 303, location: '/demo' });
  expect(done.cookies[0]).toContain('usher-demo-session=a-session;');
  expect(asked.at(-1)?.body).toEqual({ authToken: 'a-token' });
});

test('a renewal and a sign-out are asked of Usher, and lead back', async () => {
  answers.set('/api/sessions/renew', { data: { id: 'the-next' } });
  const renewed = await open('/demo/renew', { method: 'POST', ...cookieOf('a-session') });
  expect(renewed).toMatchObject({ status: 303, location: '/demo' });
  expect(renewed.cookies[0]).toContain('usher-demo-session=the-next;');
  asked.length = 0;
  const left = await open('/demo/sign-out', { method: 'POST', ...cookieOf('a-session') });
  expect(left).toMatchObject({ status: 303, location: '/demo' });
  expect(left.cookies[0]).toMatch(/^usher-demo-session=; Max-Age=0;/);
  expect(asked).toMatchObject([{ path: '/api/sessions/revoke', body: { sessionId: 'a-session' } }]);
});

test('an Usher that cannot be reached, or answers otherwise, is named with the cause', async () => {
  await using lonely = await serve({}, 'http://127.0.0.1:1');
  const unreachable = await open('/demo', { at: lonely });
  expect(unreachable.status).toBe(502);
  expect(unreachable.text).toContain('http://127.0.0.1:1: ');
  expect(unreachable.text).not.toContain('fetch failed');
  answers.set('/api/sessions/check', '<html>');
  const strange = await open('/demo');
  expect(strange.status).toBe(502);
  expect(strange.text).toContain('SyntaxError');
});

/** Opens a page by another name of this machine. */
async function locate(path: string, host: string, { at = site, method = 'GET' } = {}) {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  request(at.url + path, { method, headers: { host } }, (response) => {
    response.resume();
    resolve(response.headers.location);
  }).end();
  return promise;
}

test('a page at localhost is the one at 127.0.0.1, at the port that the browser has', async () => {
  const state = createState('usk_demo');
  expect(await locate('/demo', 'localhost:9000')).toBe('http://127.0.0.1:9000/demo');
  expect(await locate('/demo/cafe', 'LocalHost')).toBe('http://127.0.0.1/demo/cafe');
  expect(await locate('/demo', '127.0.0.1:9000')).toBeUndefined();
  expect(await locate('/demo', 'localhost.evil.test')).toBeUndefined();
  expect(await locate(`/demo/callback?error=x&state=${state}`, 'localhost:9000')).toBeUndefined();
  expect(await locate('/demo/renew', 'localhost:9000', { method: 'POST' })).toBe('/demo');
  await using elsewhere = await serve({ homeUrl: 'https://usher.test/demo' });
  expect(await locate('/demo', 'localhost:9000', { at: elsewhere })).toBeUndefined();
});

test('a page at localhost by HTTP/2 is so, too', async () => {
  const session = connect(site.url);
  const stream = session.request({ ':path': '/demo', ':authority': 'localhost:9000' });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  stream.on('response', (headers) => resolve(headers.location)).on('error', reject);
  stream.end();
  expect(await promise).toBe('http://127.0.0.1:9000/demo');
  session.close();
});

function send(body: string, key = KEY) {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64');
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  return open('/demo/hooks', { method: 'POST', body, headers });
}

test('a message that Usher has signed is printed, and no other', async () => {
  answers.set('/api/webhooks/a-webhook', WEBHOOK);
  expect(await send('{"type":"user.created","data":{"id":1}}')).toMatchObject({ status: 200, body: '{}' });
  expect(printed).toEqual(['  WEBHOOK user.created {"id":1}\n']);
  const forged = await send('{"type":"user.created","data":{}}', Buffer.alloc(24, 8));
  expect(forged.status).toBe(401);
  expect(JSON.parse(forged.body).error).toContain('No signature matches');
  expect(printed).toHaveLength(1);
});

test('a message that cannot be read is no forgery, nor is one of a webhook that is gone', async () => {
  answers.set('/api/webhooks/a-webhook', WEBHOOK);
  expect((await send('{')).status).toBe(502);
  answers.set('/api/webhooks/a-webhook', { message: 'Webhook not found' });
  const gone = await send('{}');
  expect(gone.status).toBe(502);
  expect(gone.text).toContain('Webhook not found');
});
