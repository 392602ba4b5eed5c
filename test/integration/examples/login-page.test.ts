import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { startExample } from '../../support/example-application.ts';
import { findFreePort } from '../../support/free-port.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { quickStartOf } from '../../support/quick-starts.ts';
import { clientsOf, createTenant, createTestUser, REDIRECT_URI, startTestService } from '../../support/service.ts';

const ADA = 'ada@example.com';

const PORT = String(await findFreePort());
const ADMIN_KEY = 'a-key-of-the-login-page-of-sufficient-length';
const service = await startTestService({
  config: {
    adminKeys: [{ name: 'login', key: ADMIN_KEY, rights: ['login-page'] }],
    authPageUrl: `http://127.0.0.1:${PORT}/`,
  },
});
const tenant = await createTenant(service, { name: 'A <shop>' });
await createTestUser(service, { email: ADA });
const directory = await createDirectory();
const PASSWORDS_FILE = join(directory, 'passwords.json');
// As the quick start of /docs says. Eve is nobody at Usher.
const [command = ''] = /node -p .*/.exec(quickStartOf('Login page of your own').setup) ?? [];
await runShell(`cd '${directory}' && ${command}`);
const passwords = JSON.parse(await readFile(PASSWORDS_FILE, 'utf8'));
await writeFile(PASSWORDS_FILE, JSON.stringify({ ...passwords, 'eve@example.com': passwords[ADA] }));
const path = join(REPOSITORY, 'test/examples/login-page/app.ts');
const page = await startExample(path, { PORT, PASSWORDS_FILE, USHER_URL: service.url, ADMIN_KEY });

afterAll(async () => {
  page.close();
  await service.close();
});

test('a user signs in with a password, once', async () => {
  const authUrl = await beginLogin();
  expect(await (await fetch(authUrl)).text()).toContain('Sign in to A &lt;shop&gt;');

  const reply = await submit(authUrl, { email: ADA, password: 'correct horse' });
  expect(reply.status).toBe(303);
  const { origin, pathname, searchParams } = new URL(reply.headers.get('location') ?? '');
  expect(origin + pathname).toBe(REDIRECT_URI);
  expect(searchParams.get('state')).toBe('the state');
  const authToken = searchParams.get('authToken') ?? '';
  expect((await clientsOf(service, tenant).auth.exchangeToken({ authToken })).user?.email).toBe(ADA);

  const again = await fetch(authUrl);
  expect(again.status).toBe(400);
  expect(await again.text()).toBe('This login is completed. Go back to A <shop> and sign in again.');
});

test.each([
  ['a wrong password', { email: ADA, password: 'wrong' }],
  ['a password that is nobody\u2019s', { email: 'nobody@example.com', password: '' }],
  ['a user whom Usher does not know', { email: 'eve@example.com', password: 'correct horse' }],
])('%s is refused, and the user may try again', async (_, fields) => {
  const authUrl = await beginLogin();
  const refused = await submit(authUrl, fields);
  expect(refused.status).toBe(401);
  expect(await refused.text()).toContain('Wrong e-mail address or password');
  expect((await submit(authUrl, { email: ADA, password: 'correct horse' })).status).toBe(303);
});

test('a user who cancels comes back to the application', async () => {
  const reply = await submit(await beginLogin(), { action: 'cancel' });
  expect(reply.headers.get('location')).toMatch(`${REDIRECT_URI}?error=access_denied&state=the+state`);
});

test('a form of another site and an unknown login are refused', async () => {
  const authUrl = await beginLogin();
  const fields = { email: ADA, password: 'correct horse' };
  expect((await submit(authUrl, fields, 'https://evil.test')).status).not.toBe(303);
  expect(await (await fetch(page.url)).text()).toBe('Validation failed');
});

async function beginLogin(): Promise<string> {
  const request = { clientId: tenant.clientId, redirectUri: REDIRECT_URI, state: 'the state' };
  return (await clientsOf(service, tenant).auth.generateAuthUrl(request)).authUrl;
}

/** Submits the form of the page as a browser does. */
async function submit(authUrl: string, fields: Record<string, string>, origin = page.url): Promise<Response> {
  const intent = new URL(authUrl).searchParams.get('intent') ?? '';
  const body = new URLSearchParams({ intent, ...fields });
  return fetch(authUrl, { method: 'POST', headers: { origin }, body, redirect: 'manual' });
}
