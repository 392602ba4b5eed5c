/** AdminService: applications, their API keys, and users. See complete-login.test.ts for the rest of it. */
import { hash, randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { fieldOf, refusal, success, validationFailed, without } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
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
import { CONNECT_JSON_WIRES, failureOf, RPC_WIRES, sendOver } from '../support/wire.ts';

const admin = AdminService.method;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const API_KEY = /^usk_[0-9A-Za-z]{49}$/;
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

const BAD_LINES = [
  ['is empty', ''],
  ['has 256 characters', 'a'.repeat(256)],
  ['has 256 astral characters', '\u{1F6AA}'.repeat(256)],
  ['has a NUL', 'a\0b'],
  ['has a line break', 'a\nb'],
] as const;
const BAD_IDS = [
  ['is empty', ''],
  ['is no UUID', 'id'],
  ['has a digit too many', `${UNKNOWN_ID}0`],
  ['has a NUL', `${UNKNOWN_ID.slice(1)}\0`],
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

const newEmail = () => `${randomUUID()}@example.com`;

/** The code and message a key gets that asks to create an event. */
async function tryKey(apiKey: string) {
  const [, , caller] = CALLERS;
  const fields = { eventId: randomUUID() };
  const answer = await caller?.call(service.url, EventService.method.createEvent, fields, { 'x-api-key': apiKey });
  return answer?.code === 'ok' ? 'ok' : answer?.message;
}

describe.each(CALLERS.filter(({ isRest }) => !isRest))('AdminService, $name', (caller) => {
  const call = (method: DescMethodUnary, fields: JsonObject) =>
    caller.call(service.url, method, fields, { 'x-admin-key': ADMIN_KEY });

  describe('CreateApplication', () => {
    const valid = { name: 'Test & <application>', redirectUris: [REDIRECT_URI] };

    it('returns the application and an API key that works', async () => {
      const answer = await call(admin.createApplication, valid);
      expect(answer).toEqual(
        success({
          application: { id: expect.stringMatching(UUID), clientId: expect.stringMatching(/^\S+$/), ...valid },
          apiKeyId: expect.stringMatching(UUID),
          apiKey: expect.stringMatching(API_KEY),
        }),
      );
      expect(await tryKey(fieldOf(answer.data, 'apiKey'))).toBe('ok');
    });

    it('gives every application its own IDs and key', async () => {
      const answers = [await call(admin.createApplication, valid), await call(admin.createApplication, valid)];
      const [first, second] = answers.map(
        ({ data }) => data as { application: { id: string; clientId: string }; apiKeyId: string; apiKey: string },
      );
      expect(first?.application.id).not.toBe(second?.application.id);
      expect(first?.application.clientId).not.toBe(second?.application.clientId);
      expect(first?.apiKeyId).not.toBe(second?.apiKeyId);
      expect(first?.apiKey).not.toBe(second?.apiKey);
    });

    it('stores no more of the API key than its SHA-256', async () => {
      const { data } = await call(admin.createApplication, valid);
      const id = fieldOf(data, 'apiKeyId');
      const rows = await service.database.sql`select digest, api_keys::text as text from api_keys where id = ${id}`;
      expect(rows).toHaveLength(1);
      const apiKey = fieldOf(data, 'apiKey');
      expect(rows[0]?.digest).toEqual(hash('sha256', apiKey, 'buffer'));
      expect(rows[0]?.text).not.toContain(apiKey);
    });

    it.each([
      ['https', 'https://app.test'],
      ['https with port, path and query', 'https://app.test:8443/a/b?c=d&e'],
      ['http on localhost', 'http://localhost:3000/callback'],
      ['http on 127.0.0.1', 'http://127.0.0.1/callback'],
      ['http on [::1]', 'http://[::1]:3000/callback'],
      ['a private scheme', 'com.example.app:/callback'],
      ['a private scheme with an authority', 'com.example.app://callback'],
      ['2048 characters', `https://app.test/${'a'.repeat(2048 - 'https://app.test/'.length)}`],
    ])('registers a redirect URI of %s as it was written', async (_, redirectUri) => {
      const answer = await call(admin.createApplication, { ...valid, redirectUris: [REDIRECT_URI, redirectUri] });
      expect(answer).toMatchObject({
        code: 'ok',
        data: { application: { redirectUris: [REDIRECT_URI, redirectUri] } },
      });
    });

    it.each([
      ['is empty', ''],
      ['is relative', '/callback'],
      ['has no host', 'https://'],
      ['is http on another host', 'http://app.test/callback'],
      ['is http on a host that begins with localhost', 'http://localhost.app.test/callback'],
      ['has a private scheme without a dot', 'app:/callback'],
      ['is a script', 'javascript:alert(1)'],
      ['has a fragment', 'https://app.test/callback#fragment'],
      ['has an empty fragment', 'https://app.test/callback#'],
      ['has user information', 'https://user@app.test/callback'],
      ['has user information on a loopback host', 'http://localhost@evil.test/callback'],
      ['has a wildcard host', 'https://*.app.test/callback'],
      ['has a wildcard path', 'https://app.test/*'],
      ['has a space', 'https://app.test/call back'],
      ['has a NUL', 'https://app.test/\0'],
      ['has 2049 characters', `https://app.test/${'a'.repeat(2049 - 'https://app.test/'.length)}`],
    ])('Validation failed when a redirect URI %s', async (_, redirectUri) => {
      const answer = await call(admin.createApplication, { ...valid, redirectUris: [REDIRECT_URI, redirectUri] });
      expect(answer).toEqual(validationFailed('redirectUris'));
    });

    it('Validation failed when there is no redirect URI', async () => {
      const answer = await call(admin.createApplication, { ...valid, redirectUris: [] });
      expect(answer).toEqual(validationFailed('redirectUris'));
    });

    it('takes 50 redirect URIs and no more', async () => {
      const redirectUris = Array.from({ length: 51 }, (_, index) => `https://app.test/${index}`);
      const accepted = await call(admin.createApplication, { ...valid, redirectUris: redirectUris.slice(1) });
      expect(accepted).toMatchObject({ code: 'ok' });
      const refused = await call(admin.createApplication, { ...valid, redirectUris });
      expect(refused).toEqual(validationFailed('redirectUris'));
    });

    it('takes a name of 255 characters', async () => {
      const name = '\u{1F6AA}'.repeat(255);
      const answer = await call(admin.createApplication, { ...valid, name });
      expect(answer).toMatchObject({ code: 'ok', data: { application: { name } } });
    });

    it.each(BAD_LINES)('Validation failed when the name %s', async (_, name) => {
      expect(await call(admin.createApplication, { ...valid, name })).toEqual(validationFailed('name'));
    });

    it('Validation failed names every field that is wrong', async () => {
      expect(await call(admin.createApplication, {})).toEqual(validationFailed('name', 'redirectUris'));
    });
  });

  describe('DeleteApplication', () => {
    it('ends all of its API keys', async () => {
      const { id, apiKey } = await createTenant(service);
      const second = await adminClient(service).createApiKey({ applicationId: id });
      expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['ok', 'ok']);
      expect(await call(admin.deleteApplication, { applicationId: id })).toEqual(success({}));
      const refused = 'Invalid API key';
      expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual([refused, refused]);
      expect(await tryKey(tenant.apiKey)).toBe('ok');
    });

    it.each<[string, () => Promise<string>]>([
      ['is unknown', async () => UNKNOWN_ID],
      ['has been deleted before', createDeletedApplication],
    ])('NotFound when the application %s', async (_, idOf) => {
      const answer = await call(admin.deleteApplication, { applicationId: await idOf() });
      expect(answer).toEqual(refusal('not_found', 'Application not found'));
    });
  });

  describe('CreateApiKey', () => {
    it('returns one more key, beside which the first goes on working', async () => {
      const { id, apiKey, apiKeyId } = await createTenant(service);
      const answer = await call(admin.createApiKey, { applicationId: id });
      expect(answer).toEqual(
        success({ apiKeyId: expect.stringMatching(UUID), apiKey: expect.stringMatching(API_KEY) }),
      );
      expect(fieldOf(answer.data, 'apiKeyId')).not.toBe(apiKeyId);
      expect(await tryKey(fieldOf(answer.data, 'apiKey'))).toBe('ok');
      expect(await tryKey(apiKey)).toBe('ok');
    });

    it.each<[string, () => Promise<string>]>([
      ['is unknown', async () => UNKNOWN_ID],
      ['has been deleted', createDeletedApplication],
    ])('NotFound when the application %s', async (_, idOf) => {
      const answer = await call(admin.createApiKey, { applicationId: await idOf() });
      expect(answer).toEqual(refusal('not_found', 'Application not found'));
    });
  });

  describe('RevokeApiKey', () => {
    it('ends one key and leaves the others of the application', async () => {
      const { id, apiKey, apiKeyId } = await createTenant(service);
      const second = await adminClient(service).createApiKey({ applicationId: id });
      expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['ok', 'ok']);
      expect(await call(admin.revokeApiKey, { apiKeyId })).toEqual(success({}));
      expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['Invalid API key', 'ok']);
    });

    it.each<[string, () => Promise<string>]>([
      ['is unknown', async () => UNKNOWN_ID],
      ['has been revoked before', createRevokedKey],
    ])('NotFound when the key %s', async (_, idOf) => {
      const answer = await call(admin.revokeApiKey, { apiKeyId: await idOf() });
      expect(answer).toEqual(refusal('not_found', 'API key not found'));
    });
  });

  describe('CreateUser', () => {
    const valid = () => ({ email: newEmail(), walletAddress: '0x00000000000000000000000000000000000ADA00' });

    it('returns the user', async () => {
      const fields = { ...valid(), name: 'Ada – Lovelace', profileImage: 'https://img.test/ada.png?size=1' };
      const answer = await call(admin.createUser, fields);
      expect(answer).toEqual(success({ user: { id: expect.stringMatching(UUID), ...fields } }));
    });

    it('returns neither name nor profile image for a user without them', async () => {
      const fields = valid();
      const answer = await call(admin.createUser, fields);
      expect(answer).toEqual(success({ user: { id: expect.stringMatching(UUID), ...fields } }));
    });

    it.each<[string, (email: string) => string]>([
      ['address', (email) => email],
      ['address in another case', (email) => email.toUpperCase()],
    ])('AlreadyExists when a user has the same %s', async (_, spell) => {
      const answer = await call(admin.createUser, { ...valid(), email: spell(user.email) });
      expect(answer).toEqual(refusal('already_exists', 'User already exists'));
    });

    it('gives the address of a deleted user to another', async () => {
      const deleted = await createTestUser(service);
      await adminClient(service).deleteUser({ userId: deleted.id });
      const answer = await call(admin.createUser, { ...valid(), email: deleted.email });
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
      expect(await call(admin.createUser, fields)).toMatchObject({ code: 'ok', data: { user: fields } });
    });

    it.each<readonly [string, string, string]>([
      ...BAD_LINES.map(([problem, value]) => ['name', problem, value] as const),
      ...BAD_LINES.map(([problem, value]) => ['walletAddress', problem, value] as const),
      ['email', 'is empty', ''],
      ['email', 'has no at sign', 'ada.example.com'],
      ['email', 'has nothing before the at sign', '@example.com'],
      ['email', 'has nothing after the at sign', 'ada@'],
      ['email', 'has two at signs', 'ada@lovelace@example.com'],
      ['email', 'has a space', 'ada lovelace@example.com'],
      ['email', 'has a line break', 'ada@example.com\n'],
      ['email', 'has a NUL', 'ada\0@example.com'],
      ['email', 'has 255 characters', `${'a'.repeat(255 - '@example.com'.length)}@example.com`],
      ['profileImage', 'is empty', ''],
      ['profileImage', 'is relative', '/ada.png'],
      ['profileImage', 'is a script', 'javascript:alert(1)'],
      ['profileImage', 'is data', 'data:image/png;base64,AAAA'],
      ['profileImage', 'has a NUL', 'https://img.test/\0'],
      ['profileImage', 'has 2049 characters', `https://img.test/${'a'.repeat(2049 - 'https://img.test/'.length)}`],
    ])('Validation failed when %s %s', async (field, _, value) => {
      expect(await call(admin.createUser, { ...valid(), [field]: value })).toEqual(validationFailed(field));
    });

    it.each(['email', 'walletAddress'])('Validation failed when %s is missing', async (field) => {
      expect(await call(admin.createUser, without(valid(), field))).toEqual(validationFailed(field));
    });
  });

  describe('DeleteUser', () => {
    it('deletes the user and leaves the others', async () => {
      const { id } = await createTestUser(service);
      expect(await call(admin.deleteUser, { userId: id })).toEqual(success({}));
      const left = await service.database.sql`
        select id from users where id in (${id}, ${user.id}) and deleted_at is null`;
      expect(left).toEqual([{ id: user.id }]);
    });

    it.each<[string, () => Promise<string>]>([
      ['is unknown', async () => UNKNOWN_ID],
      ['has been deleted before', () => createDeletedUser(service)],
    ])('NotFound when the user %s', async (_, idOf) => {
      const answer = await call(admin.deleteUser, { userId: await idOf() });
      expect(answer).toEqual(refusal('not_found', 'User not found'));
    });
  });

  it.each(
    [
      [admin.deleteApplication, 'applicationId'] as const,
      [admin.createApiKey, 'applicationId'] as const,
      [admin.revokeApiKey, 'apiKeyId'] as const,
      [admin.deleteUser, 'userId'] as const,
    ].flatMap(([method, field]) =>
      BAD_IDS.map(([problem, value]) => [method.name, field, problem, method, { [field]: value }] as const),
    ),
  )('%s: Validation failed when %s %s', async (_, field, __, method, fields) => {
    expect(await call(method, fields)).toEqual(validationFailed(field));
  });
});

describe.each(RPC_WIRES)('AdminService, $name', (wire) => {
  it.each<[string, DescMethodUnary, () => JsonObject]>([
    ['CreateApplication', admin.createApplication, () => ({ name: 'Application', redirectUris: [REDIRECT_URI] })],
    ['CreateApiKey', admin.createApiKey, () => ({ applicationId: tenant.id })],
  ])('%s answers with a secret that may not be stored', async (_, method, fieldsOf) => {
    const call = { method, fields: fieldsOf(), headers: { 'x-admin-key': ADMIN_KEY } };
    const reply = await sendOver(wire, service.url, call);
    expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(reply.body.toString('latin1')).toContain('usk_');
  });
});

describe.each(CONNECT_JSON_WIRES)('AdminService, $name', (wire) => {
  const valid: readonly [DescMethodUnary, JsonObject][] = [
    [admin.createApplication, { name: 'Application', redirectUris: [REDIRECT_URI] }],
    [admin.deleteApplication, { applicationId: UNKNOWN_ID }],
    [admin.createApiKey, { applicationId: UNKNOWN_ID }],
    [admin.revokeApiKey, { apiKeyId: UNKNOWN_ID }],
    [
      admin.createUser,
      { email: 'a@example.com', name: 'Ada', profileImage: 'https://img.test/', walletAddress: '0x1' },
    ],
    [admin.deleteUser, { userId: UNKNOWN_ID }],
  ];
  const wrong: readonly JsonValue[] = [1, true, [1], { text: 'text' }, 'a\ud800b'];

  it.each(
    valid.flatMap(([method, fields]) =>
      Object.keys(fields).flatMap((field) =>
        wrong.map((value) => [method.name, field, value, method, fields] as const),
      ),
    ),
  )('%s: Validation failed when %s is %j', async (_, field, value, method, fields) => {
    const call = { method, fields: { ...fields, [field]: value }, headers: { 'x-admin-key': ADMIN_KEY } };
    expect(failureOf(wire, await sendOver(wire, service.url, call))).toEqual({
      status: 400,
      code: 'InvalidArgument',
      message: 'Validation failed',
      fields: [field],
    });
  });
});

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
