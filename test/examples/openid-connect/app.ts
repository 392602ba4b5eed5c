/** Logs users in with Usher over OpenID Connect. */
import { serve } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import * as client from 'openid-client';

const { USHER_URL = 'http://localhost:8080', CLIENT_ID = '', API_KEY = '', PORT = '3000' } = process.env;
const isPlain = USHER_URL.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {};
const usher = await client.discovery(new URL(USHER_URL), CLIENT_ID, API_KEY, undefined, isPlain);
const cookieSecret = client.randomState();
const setCookie = (c: Context, name: string, value: string) =>
  setSignedCookie(c, name, value, cookieSecret, { path: '/', httpOnly: true, sameSite: 'Lax', maxAge: 15 * 60 });
const app = new Hono();

app.get('/', async (c) => {
  const email = await getSignedCookie(c, cookieSecret, 'user');
  return c.html(email ? `Signed in as ${email}` : '<a href="/login">Sign in</a>');
});

app.get('/login', async (c) => {
  const verifier = client.randomPKCECodeVerifier();
  await setCookie(c, 'verifier', verifier);
  const challenge = await client.calculatePKCECodeChallenge(verifier);
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  const redirectUri = new URL('/callback', c.req.url).href;
  const asked = { redirect_uri: redirectUri, scope: 'openid email', ...pkce };
  return c.redirect(client.buildAuthorizationUrl(usher, asked).href);
});

app.get('/callback', async (c) => {
  const pkceCodeVerifier = await getSignedCookie(c, cookieSecret, 'verifier');
  if (!pkceCodeVerifier) return c.text('Another login', 400);
  deleteCookie(c, 'verifier');
  const tokens = await client.authorizationCodeGrant(usher, new URL(c.req.url), { pkceCodeVerifier });
  await setCookie(c, 'user', String(tokens.claims()?.email));
  return c.redirect('/');
});

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});
