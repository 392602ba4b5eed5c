/** Serves a page that scans at the doors of one event, and passes its calls on to Usher. Only this server has the API key. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

const { USHER_URL = 'http://localhost:8080', API_KEY = '', EVENT_ID = '', PORT = '3000' } = process.env;
/** Where browsers find this server. They open cameras, and keep pages, only of https and of their own machine. */
const { PUBLIC_URL = `http://127.0.0.1:${PORT}` } = process.env;
/** Whoever knows it may scan, and sees the names on the list. With another one, every device has to sign in again. */
const { SCANNER_CODE = randomBytes(16).toString('base64url') } = process.env;
if (SCANNER_CODE.length < 16) throw new Error('SCANNER_CODE must have 16 characters or more: nothing limits guesses');

const COOKIE_SECONDS = 14 * 24 * 60 * 60;
const TIMEOUT_MS = 10_000;
const FILES = [
  ...['index.html', 'style.css', 'page.js', 'texts.js', 'scanner.js', 'calls.js'],
  ...['decide.js', 'store.js', 'camera.js', 'worker.js'],
];
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', css: 'text/css', js: 'text/javascript' };
const HEADERS = {
  'Content-Security-Policy': "default-src 'self'; img-src data:; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

const app = new Hono();

for (const name of FILES) {
  const path = name === 'index.html' ? '/' : `/${name}`;
  const type = `${TYPES[name.split('.').at(-1) ?? '']}; charset=utf-8`;
  app.get(path, async (c) =>
    c.body(await readFile(`${import.meta.dirname}/${name}`, 'utf8'), 200, { ...HEADERS, 'Content-Type': type }),
  );
}

app.post('/sign-in', async (c) => {
  const { code } = await c.req.json();
  if (!isCode(code)) return c.json({ message: 'Wrong code' }, 403);
  setCookie(c, 'scanner', code, {
    path: '/',
    httpOnly: true,
    // No form of another site sends it.
    sameSite: 'Strict',
    secure: PUBLIC_URL.startsWith('https:'),
    maxAge: COOKIE_SECONDS,
  });
  return c.body(null, 204);
});

const api = new Hono();
api.use(async (c, next) => {
  if (!isCode(getCookie(c, 'scanner'))) return c.json({ message: 'Sign in' }, 401);
  // A device has scans of the event that it was opened for: they must not reach another one.
  if (c.req.param('eventId') !== EVENT_ID) return c.json({ message: 'This server is for another event' }, 403);
  return next();
});
api.get('/', () => callUsher(''));
api.get('/counts', () => callUsher('/counts'));
api.get('/attendees', (c) => {
  const { pageToken = '', cursor = '' } = c.req.query();
  return callUsher(`/attendees?${new URLSearchParams({ pageSize: '100', pageToken, cursor })}`);
});
api.post('/scans', async (c) => callUsher('/check-ins/batch', await c.req.text()));
app.route('/api/events/:eventId', api);

/** Passes a call on, and its answer back: the page tells a final refusal from one that it repeats. */
async function callUsher(path: string, body?: string): Promise<Response> {
  const headers = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const url = `${USHER_URL}/api/events/${encodeURIComponent(EVENT_ID)}${path}`;
  const call = body === undefined ? { headers, signal } : { method: 'POST', headers, body, signal };
  const reply = await fetch(url, call).catch(() =>
    Response.json({ message: 'Usher is not reachable' }, { status: 502 }),
  );
  // The key of this server is none of the page's business: signing in again would not help.
  const status = reply.status === 401 ? 502 : reply.status;
  const retryAfter = reply.headers.get('retry-after');
  return new Response(await reply.text(), {
    status,
    headers: { ...HEADERS, 'Content-Type': 'application/json', ...(retryAfter && { 'Retry-After': retryAfter }) },
  });
}

function isCode(given: unknown): given is string {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(SCANNER_CODE));
}

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, () => {
  // The code is in the fragment, which browsers keep to themselves: no log of a proxy has it.
  console.log(`${PUBLIC_URL}/?${new URLSearchParams({ event: EVENT_ID })}#${SCANNER_CODE}`);
});
