/** AdminService: applications, their API keys, and users. See complete-login.test.ts for the rest of it. */
import { hash, randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { fieldOf, refusal, success, validationFailed } from '../support/answers.ts';
import { CONNECT, call, mainProtocolOf } from '../support/protocols.ts';
import {
  ADMIN_KEY,
  adminClient,
  createDeletedUser,
  createTenant,
  createTestUser,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';

const admin = AdminService.method;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const API_KEY = /^usk_[0-9A-Za-z]{49}$/;
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';
const APPLICATION = { name: 'Test & <application>', redirectUris: [REDIRECT_URI] };

const BAD_IDENTIFIERS = [
  ['is empty', ''],
  ['has 256 astral characters', '\u{1F6AA}'.repeat(256)],
  ['has a NUL', 'a\0b'],
  ['has a line break', 'a\nb'],
] as const;

let service: TestService;
let tenant: Tenant;
let user: TestUser;

beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service);
  user = await createTestUser(service);
});

afterAll(() => service.close());

const callWith = (method: DescMethodUnary, fields: JsonObject) =>
  call(mainProtocolOf(method), service.url, method, fields, { 'x-admin-key': ADMIN_KEY });

const newUser = () => ({
  email: `${randomUUID()}@example.com`,
  walletAddress: '0x00000000000000000000000000000000000ADA00',
});

/** Returns `ok`, or the message of the error that the key gets. */
async function tryKey(apiKey: string): Promise<string> {
  const { createEvent } = EventService.method;
  const answer = await call(CONNECT, service.url, createEvent, { eventId: randomUUID() }, { 'x-api-key': apiKey });
  return answer.code === 'ok' ? 'ok' : answer.message;
}

async function createDeletedApplication(): Promise<string> {
  const { id } = await createTenant(service);
  await adminClient(service).deleteApplication({ applicationId: id });
  return id;
}

async function createRevokedKey(): Promise<string> {
  const { apiKeyId } = await adminClient(service).createApiKey({ applicationId: tenant.id });
  await adminClient(service).revokeApiKey({ apiKeyId });
  return apiKeyId;
}

describe('CreateApplication', () => {
  it('returns the application and an API key that works', async () => {
    const answer = await callWith(admin.createApplication, APPLICATION);
    expect(answer).toEqual(
      success({
        application: { id: expect.stringMatching(UUID), clientId: expect.stringMatching(/^\S+$/), ...APPLICATION },
        apiKeyId: expect.stringMatching(UUID),
        apiKey: expect.stringMatching(API_KEY),
      }),
    );
    expect(await tryKey(fieldOf(answer.data, 'apiKey'))).toBe('ok');
  });

  it('gives every application its own IDs and key', async () => {
    const [first, second] = [await createTenant(service), await createTenant(service)];
    for (const name of ['id', 'clientId', 'apiKeyId', 'apiKey'] as const) expect(first[name]).not.toBe(second[name]);
  });

  it('stores no more of the API key than its SHA-256', async () => {
    const { apiKeyId, apiKey } = await createTenant(service);
    const rows = await service.database.sql`
      select digest, api_keys::text as text from api_keys where id = ${apiKeyId}`;
    expect(rows).toEqual([{ digest: hash('sha256', apiKey, 'buffer'), text: expect.not.stringContaining(apiKey) }]);
  });

  // Which URIs may be registered: test/domain/applications/redirect-uri.test.ts.
  it('registers redirect URIs as they were written', async () => {
    const redirectUris = ['https://app.test:8443/a/b?c=d&e', 'http://[::1]:3000/callback', 'com.example.app:/callback'];
    const answer = await callWith(admin.createApplication, { ...APPLICATION, redirectUris });
    expect(answer).toMatchObject({ code: 'ok', data: { application: { redirectUris } } });
  });

  it.each(['', '/callback', 'http://app.test/callback', 'https://app.test/*', `https://app.test/${'a'.repeat(2032)}`])(
    'returns Validation failed when a redirect URI is %j',
    async (redirectUri) => {
      const redirectUris = [REDIRECT_URI, redirectUri];
      const answer = await callWith(admin.createApplication, { ...APPLICATION, redirectUris });
      expect(answer).toEqual(validationFailed('redirectUris'));
    },
  );

  it('takes 1 to 50 redirect URIs', async () => {
    const redirectUris = Array.from({ length: 51 }, (_, index) => `https://app.test/${index}`);
    const create = (uris: string[]) => callWith(admin.createApplication, { ...APPLICATION, redirectUris: uris });
    expect(await create(redirectUris.slice(1))).toMatchObject({ code: 'ok' });
    expect(await create(redirectUris)).toEqual(validationFailed('redirectUris'));
    expect(await create([])).toEqual(validationFailed('redirectUris'));
  });

  it('takes a name of 255 characters', async () => {
    const name = '\u{1F6AA}'.repeat(255);
    const answer = await callWith(admin.createApplication, { ...APPLICATION, name });
    expect(answer).toMatchObject({ code: 'ok', data: { application: { name } } });
  });

  it.each(BAD_IDENTIFIERS)('returns Validation failed when the name %s', async (_, name) => {
    expect(await callWith(admin.createApplication, { ...APPLICATION, name })).toEqual(validationFailed('name'));
  });
});

describe('DeleteApplication', () => {
  it('ends all of its API keys and no others', async () => {
    const { id, apiKey } = await createTenant(service);
    const second = await adminClient(service).createApiKey({ applicationId: id });
    expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['ok', 'ok']);
    expect(await callWith(admin.deleteApplication, { applicationId: id })).toEqual(success({}));
    const refused = 'Invalid API key';
    expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual([refused, refused]);
    expect(await tryKey(tenant.apiKey)).toBe('ok');
  });
});

describe('CreateApiKey', () => {
  it('returns one more key, beside which the first goes on working', async () => {
    const { id, apiKey, apiKeyId } = await createTenant(service);
    const answer = await callWith(admin.createApiKey, { applicationId: id });
    expect(answer).toEqual(success({ apiKeyId: expect.stringMatching(UUID), apiKey: expect.stringMatching(API_KEY) }));
    expect(fieldOf(answer.data, 'apiKeyId')).not.toBe(apiKeyId);
    expect([await tryKey(fieldOf(answer.data, 'apiKey')), await tryKey(apiKey)]).toEqual(['ok', 'ok']);
  });
});

describe('RevokeApiKey', () => {
  it('ends one key and leaves the others of the application', async () => {
    const { id, apiKey, apiKeyId } = await createTenant(service);
    const second = await adminClient(service).createApiKey({ applicationId: id });
    expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['ok', 'ok']);
    expect(await callWith(admin.revokeApiKey, { apiKeyId })).toEqual(success({}));
    expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['Invalid API key', 'ok']);
  });
});

describe('CreateUser', () => {
  it.each([{ name: 'Ada – Lovelace', profileImage: 'https://img.test/ada.png?size=1' }, {}])(
    'returns the user: %j',
    async (optional) => {
      const fields = { ...newUser(), ...optional };
      const answer = await callWith(admin.createUser, fields);
      expect(answer).toEqual(success({ user: { id: expect.stringMatching(UUID), ...fields } }));
    },
  );

  it.each<[string, (email: string) => string]>([
    ['address', (email) => email],
    ['address in another case', (email) => email.toUpperCase()],
  ])('returns AlreadyExists when a user has the same %s', async (_, spell) => {
    const answer = await callWith(admin.createUser, { ...newUser(), email: spell(user.email) });
    expect(answer).toEqual(refusal('already_exists', 'User already exists'));
  });

  it('gives the address of a deleted user to another', async () => {
    const deleted = await createTestUser(service);
    await adminClient(service).deleteUser({ userId: deleted.id });
    const answer = await callWith(admin.createUser, { ...newUser(), email: deleted.email });
    expect(answer).toMatchObject({ code: 'ok', data: { user: { email: deleted.email } } });
    expect(answer.data).not.toHaveProperty('user.id', deleted.id);
  });

  it('takes 255 characters for name and wallet address, 254 for the e-mail address, 2,048 for the image', async () => {
    const domain = `@${randomUUID()}.example.com`;
    const fields = {
      email: 'a'.repeat(254 - domain.length) + domain,
      name: '\u{1F6AA}'.repeat(255),
      profileImage: 'https://img.test/'.padEnd(2_048, 'a'),
      walletAddress: 'a'.repeat(255),
    };
    expect(await callWith(admin.createUser, fields)).toMatchObject({ code: 'ok', data: { user: fields } });
  });

  it.each<readonly [string, string, string]>([
    ...['name', 'walletAddress'].flatMap((field) => BAD_IDENTIFIERS.map((bad) => [field, ...bad] as const)),
    ['email', 'has no at sign', 'ada.example.com'],
    ['email', 'has a line break', 'ada@example.com\n'],
    ['email', 'has 255 characters', `${'a'.repeat(255 - '@example.com'.length)}@example.com`],
    ['profileImage', 'is empty', ''],
    ['profileImage', 'is a script', 'javascript:alert(1)'],
    ['profileImage', 'is data', 'data:image/png;base64,AAAA'],
    ['profileImage', 'has 2049 characters', 'https://img.test/'.padEnd(2_049, 'a')],
  ])('returns Validation failed when %s %s', async (field, _, value) => {
    expect(await callWith(admin.createUser, { ...newUser(), [field]: value })).toEqual(validationFailed(field));
  });
});

describe('DeleteUser', () => {
  it('deletes the user and leaves the others', async () => {
    const { id } = await createTestUser(service);
    expect(await callWith(admin.deleteUser, { userId: id })).toEqual(success({}));
    const left = await service.database.sql`
      select id from users where id in (${id}, ${user.id}) and deleted_at is null`;
    expect(left).toEqual([{ id: user.id }]);
  });
});

describe.each([
  { method: admin.deleteApplication, field: 'applicationId', gone: createDeletedApplication, what: 'Application' },
  { method: admin.createApiKey, field: 'applicationId', gone: createDeletedApplication, what: 'Application' },
  { method: admin.revokeApiKey, field: 'apiKeyId', gone: createRevokedKey, what: 'API key' },
  { method: admin.deleteUser, field: 'userId', gone: () => createDeletedUser(service), what: 'User' },
])('$method.name', ({ method, field, gone, what }) => {
  it(`returns NotFound for an unknown and for a deleted ${what}`, async () => {
    for (const id of [UNKNOWN_ID, await gone()]) {
      expect(await callWith(method, { [field]: id })).toEqual(refusal('not_found', `${what} not found`));
    }
  });

  it.each(['', 'id', `${UNKNOWN_ID}0`, `${UNKNOWN_ID.slice(1)}\0`])(
    'returns Validation failed when the ID is %j',
    async (id) => {
      expect(await callWith(method, { [field]: id })).toEqual(validationFailed(field));
    },
  );
});
