/** Logs users in with Usher. */
import { randomUUID } from 'node:crypto';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { getCookie, getSignedCookie, setCookie, setSignedCookie } from 'hono/cookie';

const { USHER_URL = 'http://localhost:8080', CLIENT_ID = '', API_KEY = '', PORT = '3000' } = process.env;
const COOKIE = { path: '/', httpOnly: true, sameSite: 'Lax', maxAge: 15 * 60 } as const;
const cookieSecret = randomUUID();
/** By ID: e-mail addresses change. */
const users = new Map<string, { email: string }>();
const app = new Hono();

app.get('/', async (c) => {
  const user = users.get((await getSignedCookie(c, cookieSecret, 'user')) || '');
  return c.html(user ? `Signed in as ${user.email}` : '<a href="/login">Sign in</a>');
});

app.get('/login', async (c) => {
  const state = randomUUID();
  setCookie(c, 'state', state, COOKIE);
  const redirectUri = new URL('/callback', c.req.url).href;
  const { authUrl } = await callUsher('GenerateAuthUrl', { clientId: CLIENT_ID, redirectUri, state });
  return c.redirect(authUrl);
});

app.get('/callback', async (c) => {
  const { state, iss, authToken } = c.req.query();
  if (!state || state !== getCookie(c, 'state') || iss !== USHER_URL) return c.text('Another login', 400);
  if (!authToken) return c.redirect('/');
  const { user } = await callUsher('ExchangeToken', { authToken });
  users.set(user.id, user);
  await setSignedCookie(c, 'user', user.id, cookieSecret, COOKIE);
  return c.redirect('/');
});

async function callUsher(method: string, body: Record<string, string>) {
  const headers = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
  const url = `${USHER_URL}/usher.v1.AuthService/${method}`;
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const data = JSON.parse(await reply.text());
  if (!reply.ok) throw new Error(data.message);
  return data;
}

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});
