/** Logs users in with Usher. */
import { randomUUID } from 'node:crypto';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { getCookie, getSignedCookie, setCookie, setSignedCookie } from 'hono/cookie';

const { USHER_URL = 'http://localhost:8080', CLIENT_ID = '', API_KEY = '', PORT = '3000' } = process.env;
const COOKIE = { path: '/', httpOnly: true, sameSite: 'Lax', maxAge: 15 * 60 } as const;
const cookieSecret = randomUUID();
const app = new Hono();

app.get('/', async (c) => {
  const email = await getSignedCookie(c, cookieSecret, 'user');
  return c.html(email ? `Signed in as ${email}` : '<a href="/login">Sign in</a>');
});

app.get('/login', async (c) => {
  const state = randomUUID();
  setCookie(c, 'state', state, COOKIE);
  const redirectUri = new URL('/callback', c.req.url).href;
  const { authUrl } = await callUsher(`generate-auth-url?clientId=${CLIENT_ID}`, { redirectUri, state });
  return c.redirect(authUrl);
});

app.get('/callback', async (c) => {
  const { state, iss, authToken } = c.req.query();
  if (!state || state !== getCookie(c, 'state') || iss !== USHER_URL) return c.text('Another login', 400);
  if (!authToken) return c.redirect('/');
  const { user } = await callUsher('exchange', { authToken });
  await setSignedCookie(c, 'user', user.email, cookieSecret, COOKIE);
  return c.redirect('/');
});

async function callUsher(path: string, body: Record<string, string>) {
  const headers = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
  const reply = await fetch(`${USHER_URL}/api/oauth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const { status, message, data } = JSON.parse(await reply.text());
  if (!status) throw new Error(message);
  return data;
}

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});
