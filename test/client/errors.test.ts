import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { createUsherAdminClient } from '../../src/client/admin-client.ts';
import {
  createUsherClient,
  fieldsOf,
  finishLogin,
  reasonOf,
  startLogin,
  type WebhookData,
  type WebhookMessage,
} from '../../src/client/usher-client.ts';
import { WEBHOOK_DATA } from '../../src/reference/docs/webhook-guide.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import {
  ADMIN_KEY,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
} from '../support/service.ts';

const clock = new TestClock();
const service = await startTestService({ clock: clock.read });
afterAll(() => service.close());
const tenant = await createTenant(service);
const client = createUsherClient({ baseUrl: service.url, apiKey: tenant.apiKey });
const admin = createUsherAdminClient({ baseUrl: service.url, adminKey: ADMIN_KEY });

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

test('an error tells its reason, and the fields that are wrong', async () => {
  const unknown = await failureOf(client.users.getUser({ userId: crypto.randomUUID() }));
  expect([reasonOf(unknown), fieldsOf(unknown)]).toEqual(['USER_NOT_FOUND', []]);
  const invalid = await failureOf(admin.createApplication({ name: '', redirectUris: ['http://app.test'] }));
  expect(reasonOf(invalid)).toBe('VALIDATION_FAILED');
  expect(fieldsOf(invalid)).toEqual([
    { field: 'name', message: 'is required' },
    { field: 'redirectUris', message: expect.stringContaining('must be absolute https') },
  ]);
});

test('an error says what to do', async () => {
  const [redirectUri, clientId, state] = ['http://localhost:3000/callback', tenant.clientId, 'any'];
  const login = (values: object, apiKey = tenant.apiKey) =>
    failureOf(
      createUsherClient({ baseUrl: service.url, apiKey }).auth.generateAuthUrl({
        clientId,
        redirectUri,
        state,
        ...values,
      }),
    );
  const other = await createTenant(service);
  expect(String(await login({}))).toContain('Invalid redirect URI: redirectUri must be one of the application');
  expect(String(await login({ clientId: other.clientId }))).toContain('belongs to another application');
  expect(String(await login({ clientId: '' }))).toContain('Validation failed: clientId is required');
  expect(String(await login({}, ADMIN_KEY))).toContain('API keys begin with usk_');
  const overTls = createUsherClient({ baseUrl: service.url.replace('http:', 'https:'), apiKey: tenant.apiKey });
  expect(String(await failureOf(overTls.users.listUsers({})))).toMatch(/Usher cannot be reached at https:.*: .*SSL/);
});

test('a wrong key says which key is wrong, and what the right one looks like', async () => {
  const wrong = createUsherAdminClient({ baseUrl: service.url, adminKey: tenant.apiKey });
  const refused = await failureOf(wrong.listApplications({}));
  expect(reasonOf(refused)).toBe('INVALID_ADMIN_KEY');
  expect(String(refused)).toContain('Invalid admin key: adminKey is not an admin key of this Usher; an API key is not');
  const createWith = (apiKey: string, adminKey: string) => [
    () => createUsherClient({ baseUrl: service.url, apiKey }),
    () => createUsherAdminClient({ baseUrl: service.url, adminKey }),
  ];
  for (const create of createWith('', '')) expect(create).toThrow(/^(apiKey|adminKey) is empty$/);
  for (const create of createWith('usk_…', '…'.repeat(32))) expect(create).toThrow(/^(apiKey|adminKey) has characters/);
  // A file with a key ends with a line feed, which `fetch` leaves out.
  const fromFile = createUsherClient({ baseUrl: service.url, apiKey: `${tenant.apiKey}\n` });
  await expect(fromFile.users.listUsers({})).resolves.toBeDefined();
});

test('a token and a session that have ended say so', async () => {
  const user = await createTestUser(service);
  const { authUrl, state } = await startLogin(client, { clientId: tenant.clientId, redirectUri: REDIRECT_URI });
  const loginIntentId = new URL(authUrl).searchParams.get('intent') ?? '';
  const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId: user.id });
  const finish = () => finishLogin(client, { callback: redirectUrl, state, issuer: PUBLIC_URL });
  const { session } = await finish();
  clock.advance(16 * MINUTE);
  const late = await failureOf(finish());
  expect(reasonOf(late)).toBe('INVALID_TOKEN');
  expect(String(late)).toContain('Invalid or expired token: authToken is older than 15 minutes');
  const ended = await failureOf(client.sessions.renewSession({ sessionId: session?.id ?? '' }));
  expect(reasonOf(ended)).toBe('SESSION_EXPIRED');
  expect(String(ended)).toContain('Session expired: sessionId belongs to a session that has ended');
});

test('a URL that is not that of Usher is named', async () => {
  const failureAt = (baseUrl: string) =>
    failureOf(createUsherClient({ baseUrl, apiKey: tenant.apiKey }).users.listUsers({}));
  const unknown = await failureAt('http://usher.invalid');
  expect(unknown).toMatchObject({ status: 503 });
  expect(String(unknown)).toMatch(
    /Usher cannot be reached at http:\/\/usher\.invalid: getaddrinfo E\w+ usher\.invalid$/,
  );
  expect(String(await failureAt('http://127.0.0.1:1'))).toMatch(/cannot be reached at http:\/\/127\.0\.0\.1:1: ./);
  const other = createServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
  await once(other, 'listening');
  for (const baseUrl of [`${service.url}/api`, `http://127.0.0.1:${(other.address() as AddressInfo).port}`])
    expect(String(await failureAt(baseUrl))).toContain('baseUrl leads to another server than Usher');
  other.close();
  // A reason says more than a guess about the URL.
  expect(String(await failureOf(client.events.deleteEvent({ eventId: 'none' })))).not.toContain('baseUrl');
  expect(() => createUsherClient({ baseUrl: 'localhost:8080', apiKey: tenant.apiKey })).toThrow(
    'baseUrl does not begin with https:// or http://: localhost:8080',
  );
});

test('an error of something else has no reason', async () => {
  const offline = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
  const away = await failureOf(offline.users.listUsers({}));
  expect(away).toMatchObject({ status: 503 });
  for (const error of [away, new Error('any'), undefined])
    expect([reasonOf(error), fieldsOf(error)]).toEqual([undefined, []]);
});

test('the type of a message tells the type of its data', () => {
  // Compiles only while each type of message is declared.
  const data: { readonly [Type in keyof typeof WEBHOOK_DATA]: WebhookData[Type] } = WEBHOOK_DATA;
  const read = (message: WebhookMessage) => (message.type === 'user.created' ? message.data.email : '');
  expect(read({ id: 'msg_1', type: 'user.created', timestamp: '', data: data['user.created'] })).toBe(
    'ada@example.com',
  );
});
