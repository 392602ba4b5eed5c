/**
 * A login page of your own, for `AUTH_PAGE_URL`. It checks passwords; yours should limit attempts, too. Its admin key needs
 * the right `login-page` alone: `login:<key>:login-page` in ADMIN_KEYS_FILE.
 */
import { scryptSync, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { csrf } from 'hono/csrf';
import { html } from 'hono/html';
import { secureHeaders } from 'hono/secure-headers';

const { USHER_URL = 'http://localhost:8080', ADMIN_KEY = '', PASSWORDS_FILE = '', PORT = '4000' } = process.env;
/** By e-mail address: `<salt>:<scrypt hash of 32 bytes in hexadecimal>`. */
const passwords = new Map<string, string>(Object.entries(JSON.parse(readFileSync(PASSWORDS_FILE, 'utf8'))));
/** Takes as long to check as the password of a user. */
const NO_PASSWORD = `:${'0'.repeat(64)}`;

const app = new Hono().use(csrf(), secureHeaders());

app.get('/', async (c) => showForm(c.req.query('intent') ?? '').then((page) => c.html(page)));

app.post('/', async (c) => {
  const { intent, action, email = '', password = '' } = (await c.req.parseBody()) as Record<string, string>;
  const loginIntentId = intent ?? '';
  if (action === 'cancel') return c.redirect((await callUsher('CancelLogin', { loginIntentId })).redirectUrl, 303);
  const address = email.trim();
  const user = await findUser(address);
  const userId = isPassword(password, passwords.get(address)) && user?.id;
  if (!userId) return c.html(await showForm(loginIntentId, 'Wrong e-mail address or password'), 401);
  return c.redirect((await callUsher('CompleteLogin', { loginIntentId, userId })).redirectUrl, 303);
});

app.onError((error, c) => c.text(error.message, 400));

async function showForm(loginIntentId: string, alert = '') {
  const { applicationName, state } = (await callUsher('GetLoginIntent', { loginIntentId })).loginIntent;
  if (state !== 'open') throw new Error(`This login is ${state}. Go back to ${applicationName} and sign in again.`);
  return html`<!doctype html><title>Sign in</title><h1>Sign in to ${applicationName}</h1><p role="alert">${alert}</p>
    <form method="post"><input type="hidden" name="intent" value="${loginIntentId}">
      <label>E-mail address <input name="email" inputmode="email" autocapitalize="none" autocomplete="username"></label>
      <label>Password <input name="password" type="password" autocomplete="current-password"></label>
      <button>Sign in</button> <button name="action" value="cancel">Cancel</button>
    </form>`;
}

/** Returns undefined if Usher does not know the user. */
async function findUser(email: string): Promise<{ id: string } | undefined> {
  return callUsher('GetUser', { email }).then(
    ({ user }) => user,
    (error) => {
      if (error.message !== 'User not found') throw error;
      return undefined;
    },
  );
}

function isPassword(password: string, stored = NO_PASSWORD): boolean {
  const [salt = '', hash = ''] = stored.split(':');
  return timingSafeEqual(scryptSync(password, salt, 32), Buffer.from(hash, 'hex'));
}

async function callUsher(rpc: string, body: Record<string, string>) {
  const headers = { 'X-Admin-Key': ADMIN_KEY, 'Content-Type': 'application/json' };
  const url = `${USHER_URL}/usher.v1.AdminService/${rpc}`;
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const result = JSON.parse(await reply.text());
  if (!reply.ok) throw new Error(result.message);
  return result;
}

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});
