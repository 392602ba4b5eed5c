import { afterAll, expect, test } from 'vitest';
import { createUsherClient, finishLogin, startLogin } from '../../src/client/usher-client.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
} from '../support/service.ts';

const service = await startTestService();
const tenant = await createTenant(service);
const user = await createTestUser(service);
const client = createUsherClient({ baseUrl: service.url, apiKey: tenant.apiKey });

afterAll(() => service.close());

test('a login ends with the user and a session', async () => {
  const { callback, state } = await logIn();
  const expected = { user: { email: user.email }, session: { id: expect.any(String) } };
  expect(await finishLogin(client, { callback, state, issuer: PUBLIC_URL })).toMatchObject(expected);
  const { searchParams } = callback;
  expect(await finishLogin(client, { callback: searchParams, state, issuer: `${PUBLIC_URL}/` })).toMatchObject(
    expected,
  );
});

test('the application chooses the language of the login page', async () => {
  const { authUrl } = await startLogin(client, { clientId: tenant.clientId, redirectUri: REDIRECT_URI, locale: 'de' });
  const { pathname, search } = new URL(authUrl);
  expect((await fetch(service.url + pathname + search)).headers.get('content-language')).toBe('de');
});

test('the application asks for a new sign-in, or for the page of passkeys', async () => {
  for (const wishes of [
    { prompt: 'LOGIN', maxAgeSeconds: 300 },
    { prompt: 'PASSKEYS', maxAgeSeconds: 0 },
  ] as const) {
    const { authUrl } = await startLogin(client, { clientId: tenant.clientId, redirectUri: REDIRECT_URI, ...wishes });
    const rows = await service.database.sql`
      select prompt, max_age_seconds as "maxAgeSeconds" from login_intents
      where id = ${new URL(authUrl).searchParams.get('intent')}`;
    expect(rows).toEqual([wishes]);
  }
});

test('each login has a state of its own', async () => {
  const states = await Promise.all([logIn(), logIn()]);
  expect(new Set(states.map(({ state }) => state)).size).toBe(2);
  for (const { state } of states) expect(state).toMatch(/^[\w-]{43}$/);
});

test.each([
  ['the state of another login', 'state_mismatch', { state: 'of another login' }],
  ['no state', 'state_mismatch', { state: undefined }],
  ['an empty state', 'state_mismatch', { state: '' }],
  ['another issuer', 'issuer_mismatch', { issuer: 'https://attacker.test' }],
  ['an issuer that is not given', 'issuer_mismatch', { issuer: undefined }],
])(
  'refuses a redirect with %s',
  async (_, reason, given: { state?: string | undefined; issuer?: string | undefined }) => {
    const { callback, state } = await logIn();
    if (given.state === '') callback.searchParams.set('state', '');
    const finished = finishLogin(client, { callback: callback.href, state, issuer: PUBLIC_URL, ...given });
    await expect(finished).rejects.toMatchObject({ name: 'LoginError', reason });
  },
);

test.each([
  ['of another issuer', 'https://attacker.test'],
  ['without an issuer', undefined],
  ['with an empty issuer', ''],
])('refuses a redirect %s, whatever it says of the login', async (_, iss) => {
  const { callback, state } = await logIn();
  for (const query of [callback.searchParams, new URLSearchParams({ state, error: 'access_denied' })]) {
    query.delete('iss');
    if (iss !== undefined) query.set('iss', iss);
    const finished = finishLogin(client, { callback: query, state, issuer: PUBLIC_URL });
    await expect(finished).rejects.toMatchObject({ reason: 'issuer_mismatch' });
  }
});

test('an empty issuer is not the default, and is refused', async () => {
  const callback = new URLSearchParams({ state: 'mine', iss: service.url, error: 'access_denied' });
  const finished = finishLogin(client, { callback, state: 'mine', issuer: '' });
  await expect(finished).rejects.toMatchObject({ reason: 'issuer_mismatch' });
});

test.each([
  ['canceled', { error: 'access_denied' }],
  ['canceled', { error: 'unmet_authentication_requirements' }],
  ['no_token', { error: 'server_error' }],
  ['no_token', { authToken: '' }],
  ['no_token', {}],
])('tells a login without a token: %s', async (reason, query) => {
  const callback = new URLSearchParams({ state: 'mine', iss: PUBLIC_URL, ...query });
  const finished = finishLogin(client, { callback, state: 'mine', issuer: PUBLIC_URL });
  await expect(finished).rejects.toMatchObject({ name: 'LoginError', reason });
});

test('rejects with the error of Usher', async () => {
  const callback = new URLSearchParams({ state: 'mine', iss: PUBLIC_URL, authToken: 'forged' });
  const finished = finishLogin(client, { callback, state: 'mine', issuer: PUBLIC_URL });
  await expect(finished).rejects.toMatchObject({ name: 'ConnectError', rawMessage: 'Invalid or expired token' });
  await expect(client.events.deleteEvent({ eventId: 'unknown' })).rejects.toThrow('Event not found');
});

test('refuses options that cannot work', () => {
  expect(() => createUsherClient({ baseUrl: service.url, apiKey: '' })).toThrow('apiKey is empty');
  expect(() => createUsherClient({ baseUrl: 'localhost', apiKey: tenant.apiKey })).toThrow('baseUrl is not a URL');
});

test('gives up after the timeout', async () => {
  const slow = createUsherClient({
    baseUrl: service.url,
    apiKey: tenant.apiKey,
    timeoutMs: 10,
    fetch: (_, init) => new Promise((_, reject) => init?.signal?.addEventListener('abort', reject)),
  });
  await expect(slow.events.deleteEvent({ eventId: 'any' })).rejects.toThrow('deadline_exceeded');
});

/** Returns the URL that the user comes back to. */
async function logIn(): Promise<{ callback: URL; state: string }> {
  const { authUrl, state } = await startLogin(client, { clientId: tenant.clientId, redirectUri: REDIRECT_URI });
  const loginIntentId = new URL(authUrl).searchParams.get('intent') ?? '';
  const { redirectUrl } = await adminClient(service).completeLogin({ loginIntentId, userId: user.id });
  return { callback: new URL(redirectUrl), state };
}
