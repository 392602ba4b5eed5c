import { afterAll, expect, test } from 'vitest';
import { WEBHOOK_DATA } from '../../src/api/docs/webhook-guide.ts';
import { createUsherAdminClient } from '../../src/client/admin-client.ts';
import {
  createUsherClient,
  fieldsOf,
  reasonOf,
  type WebhookData,
  type WebhookMessage,
} from '../../src/client/usher-client.ts';
import { ADMIN_KEY, createTenant, startTestService } from '../support/service.ts';

const service = await startTestService();
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
  expect(String(await login({ clientId: other.clientId }))).toContain('of another application');
  expect(String(await login({ clientId: '' }))).toContain('Validation failed: clientId is required');
  expect(String(await login({}, ADMIN_KEY))).toContain('API keys begin with usk_');
  const overTls = createUsherClient({ baseUrl: service.url.replace('http:', 'https:'), apiKey: tenant.apiKey });
  expect(String(await failureOf(overTls.users.listUsers({})))).toMatch(/Usher cannot be reached at https:.*: .*SSL/);
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
