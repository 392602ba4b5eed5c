/** AdminService: applications, their API keys, and users. See complete-login.test.ts for the rest of it. */
import { hash, randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { fieldOf, refusal, success, validationFailed } from '../support/answers.ts';
import { TestClock } from '../support/clock.ts';
import {
  adminClient,
  clientsOf,
  createDeletedUser,
  createTenant,
  createTestUser,
  REDIRECT_URI,
} from '../support/service.ts';
import { INVALID_API_KEY, openContractFixture, UNKNOWN_ID, UUID } from './contract-fixture.ts';

const {
  createApplication,
  getApplication,
  updateApplication,
  deleteApplication,
  createApiKey,
  revokeApiKey,
  createUser,
  deleteUser,
} = AdminService.method;
const API_KEY = /^usk_[0-9A-Za-z]{49}$/;
const APPLICATION = { name: 'Test & <application>', redirectUris: [REDIRECT_URI] };
const ASTRAL_255 = '\u{1F6AA}'.repeat(255);
const BAD_IDENTIFIERS = ['', `${ASTRAL_255}a`, 'a\0b', 'a\nb'];

const NOW = '2026-03-01T12:00:00.120Z';
const clock = new TestClock(new Date(NOW));
const { service, tenant, callWith } = await openContractFixture({ clock: clock.read });
const admin = adminClient(service);
const user = await createTestUser(service);

const newUser = () => ({
  email: `${randomUUID()}@example.com`,
  walletAddress: `0x${randomUUID()}`,
});

/** Returns `ok`, or the message of the error that the key gets. */
async function tryKey(apiKey: string): Promise<string> {
  const answer = await callWith(EventService.method.createEvent, { eventId: randomUUID() }, { 'x-api-key': apiKey });
  return answer.code === 'ok' ? answer.code : answer.message;
}

async function createDeletedApplication(): Promise<string> {
  const { id } = await createTenant(service);
  await admin.deleteApplication({ applicationId: id });
  return id;
}

async function createRevokedKey(): Promise<string> {
  const { apiKeyId } = await admin.createApiKey({ applicationId: tenant.id });
  await admin.revokeApiKey({ apiKeyId });
  return apiKeyId;
}

describe('CreateApplication', () => {
  it('returns the application and an API key that works', async () => {
    const answer = await callWith(createApplication, APPLICATION);
    expect(answer).toEqual(
      success({
        application: {
          id: expect.stringMatching(UUID),
          clientId: expect.stringMatching(/^\S+$/),
          createdAt: NOW,
          allowSignUp: false,
          askName: false,
          ...APPLICATION,
        },
        apiKeyId: expect.stringMatching(UUID),
        apiKey: expect.stringMatching(API_KEY),
      }),
    );
    expect(await tryKey(fieldOf(answer.data, 'apiKey'))).toBe('ok');
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
    const answer = await callWith(createApplication, { name: ASTRAL_255, redirectUris });
    expect(answer).toMatchObject({ code: 'ok', data: { application: { name: ASTRAL_255, redirectUris } } });
  });

  it('takes 1 to 50 redirect URIs', async () => {
    const redirectUris = Array.from({ length: 51 }, (_, index) => `https://app.test/${index}`);
    const create = (uris: string[]) => callWith(createApplication, { ...APPLICATION, redirectUris: uris });
    expect(await create(redirectUris.slice(1))).toMatchObject({ code: 'ok' });
    expect(await create(redirectUris)).toEqual(validationFailed('redirectUris'));
    expect(await create([])).toEqual(validationFailed('redirectUris'));
  });

  it.each([
    ...['', '/callback', 'http://app.test/callback', `https://app.test/${'a'.repeat(2032)}`].map((uri) => ({
      redirectUris: [REDIRECT_URI, uri],
    })),
    ...BAD_IDENTIFIERS.map((name) => ({ name })),
  ])('returns Validation failed for %j', async (wrong) => {
    expect(await callWith(createApplication, { ...APPLICATION, ...wrong })).toEqual(
      validationFailed(...Object.keys(wrong)),
    );
  });
});

describe('UpdateApplication', () => {
  const REDIRECT_URIS = ['https://app.test/new', 'com.example.app:/callback'];

  it.each<[string, JsonObject, JsonObject]>([
    ['nothing', {}, {}],
    ['the name', { name: 'New' }, { name: 'New' }],
    ['the redirect URIs', { redirectUris: REDIRECT_URIS }, { redirectUris: REDIRECT_URIS }],
    ['the login page', { allowSignUp: true, askName: true }, { allowSignUp: true, askName: true }],
    ['how long sessions can be renewed', { sessionMaxAgeSeconds: 900 }, { sessionMaxAgeSeconds: 900 }],
    ['nothing by a mask that clears what is not set', { updateMask: 'sessionMaxAgeSeconds' }, {}],
    ['what the mask names', { name: 'New', askName: true, updateMask: 'name' }, { name: 'New' }],
    ['all that is there, for an empty mask', { name: 'New', updateMask: '' }, { name: 'New' }],
  ])('changes %s and leaves the rest', async (_, fields, changed) => {
    const { id: applicationId } = await createTenant(service, APPLICATION);
    const before = (await callWith(getApplication, { applicationId })).data as { application: JsonObject };
    const expected = success({ application: { ...before.application, ...changed } });
    expect(await callWith(updateApplication, { applicationId, ...fields })).toEqual(expected);
    expect(await callWith(getApplication, { applicationId })).toEqual(expected);
  });

  it('changes a flag back, and takes effect for logins at once', async () => {
    const { id: applicationId, clientId, apiKey } = await createTenant(service);
    for (const askName of [true, false]) {
      const answer = await callWith(updateApplication, { applicationId, askName });
      expect(answer).toMatchObject({ data: { application: { askName } } });
    }
    const [redirectUri = ''] = REDIRECT_URIS;
    const { auth } = clientsOf(service, { apiKey });
    await expect(auth.generateAuthUrl({ clientId, redirectUri, state: 's' })).rejects.toThrow('Invalid redirect URI');
    await admin.updateApplication({ applicationId, redirectUris: [redirectUri] });
    await auth.generateAuthUrl({ clientId, redirectUri, state: 's' });
  });

  it.each<[JsonObject, string]>([
    [{ updateMask: 'name' }, 'name'],
    [{ updateMask: 'redirectUris' }, 'redirectUris'],
    [{ updateMask: 'askName' }, 'askName'],
    [{ updateMask: 'id', name: 'New' }, 'updateMask'],
    [{ updateMask: 'createdAt' }, 'updateMask'],
    [{ name: '' }, 'name'],
    [{ redirectUris: ['http://app.test/'] }, 'redirectUris'],
    [{ allowSignUp: 'yes' }, 'allowSignUp'],
    [{ sessionMaxAgeSeconds: 899 }, 'sessionMaxAgeSeconds'],
    [{ sessionMaxAgeSeconds: 31_536_001 }, 'sessionMaxAgeSeconds'],
  ])('returns Validation failed for %j', async (wrong, field) => {
    expect(await callWith(updateApplication, { applicationId: tenant.id, ...wrong })).toEqual(validationFailed(field));
  });
});

// Its pages: lists.test.ts.
it('ListApplications leaves out what is deleted', async () => {
  const kept = await createTenant(service);
  const deleted = await createDeletedApplication();
  const { applications } = await admin.listApplications({ pageSize: 100 });
  const ids = applications.map(({ id }) => id);
  expect(ids).toContain(kept.id);
  expect(ids).not.toContain(deleted);
});

it('DeleteApplication ends all of its API keys and no others', async () => {
  const { id, apiKey } = await createTenant(service);
  const second = await admin.createApiKey({ applicationId: id });
  expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['ok', 'ok']);
  expect(await callWith(deleteApplication, { applicationId: id })).toEqual(success({}));
  expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual([INVALID_API_KEY, INVALID_API_KEY]);
  expect(await tryKey(tenant.apiKey)).toBe('ok');
});

it('CreateApiKey returns one more key, and RevokeApiKey ends one of them', async () => {
  const { id, apiKey, apiKeyId } = await createTenant(service);
  const { data, ...answer } = await callWith(createApiKey, { applicationId: id });
  const created = { apiKeyId: expect.stringMatching(UUID), apiKey: expect.stringMatching(API_KEY) };
  expect({ ...answer, data }).toEqual(success(created));
  const second = fieldOf(data, 'apiKey');
  expect([await tryKey(apiKey), await tryKey(second)]).toEqual(['ok', 'ok']);
  expect(await callWith(revokeApiKey, { apiKeyId })).toEqual(success({}));
  expect([await tryKey(apiKey), await tryKey(second)]).toEqual([INVALID_API_KEY, 'ok']);
});

describe('CreateUser', () => {
  it.each([{ name: 'Ada – Lovelace', profileImage: 'https://img.test/ada.png?size=1' }, {}])(
    'returns the user: %j',
    async (optional) => {
      const fields = { ...newUser(), ...optional };
      const answer = await callWith(createUser, fields);
      expect(answer).toEqual(
        success({ user: { id: expect.stringMatching(UUID), createdAt: expect.any(String), ...fields } }),
      );
    },
  );

  it.each([user.email, user.email.toUpperCase()])('returns AlreadyExists for the address %s', async (email) => {
    const answer = await callWith(createUser, { ...newUser(), email });
    expect(answer).toEqual(refusal('already_exists', 'User already exists'));
  });

  it.each([user.walletAddress, user.walletAddress.toUpperCase()])(
    'returns AlreadyExists for the wallet %s',
    async (walletAddress) => {
      const answer = await callWith(createUser, { ...newUser(), walletAddress });
      expect(answer).toEqual(refusal('already_exists', 'User already exists'));
    },
  );

  it('creates users without a wallet', async () => {
    for (const wallet of [{ walletAddress: '' }, {}]) {
      const { walletAddress: _, ...fields } = newUser();
      const answer = await callWith(createUser, { ...fields, ...wallet });
      expect(answer).toEqual(
        success({
          user: { id: expect.stringMatching(UUID), createdAt: expect.any(String), ...fields, walletAddress: '' },
        }),
      );
    }
  });

  it('gives the addresses of a deleted user to another', async () => {
    const deleted = await createTestUser(service);
    await admin.deleteUser({ userId: deleted.id });
    const { email, walletAddress } = deleted;
    const answer = await callWith(createUser, { email, walletAddress });
    expect(answer).toMatchObject({ code: 'ok', data: { user: { email, walletAddress } } });
    expect(answer.data).not.toHaveProperty('user.id', deleted.id);
  });

  it('takes 255 characters for name and wallet address, 254 for the e-mail address, 2,048 for the image', async () => {
    const domain = `@${randomUUID()}.example.com`;
    const fields = {
      email: 'a'.repeat(254 - domain.length) + domain,
      name: ASTRAL_255,
      profileImage: 'https://img.test/'.padEnd(2_048, 'a'),
      walletAddress: randomUUID().padEnd(255, 'a'),
    };
    expect(await callWith(createUser, fields)).toMatchObject({ code: 'ok', data: { user: fields } });
  });

  it.each([
    ...BAD_IDENTIFIERS.flatMap((text) => [{ name: text }, ...(text === '' ? [] : [{ walletAddress: text }])]),
    ...['ada.example.com', 'ada@example.com\n', '@example.com'.padStart(255, 'a')].map((email) => ({ email })),
    ...['', 'javascript:alert(1)', 'data:image/png;base64,AAAA', 'https://img.test/'.padEnd(2_049, 'a')].map((url) => ({
      profileImage: url,
    })),
  ])('returns Validation failed for %j', async (wrong) => {
    expect(await callWith(createUser, { ...newUser(), ...wrong })).toEqual(validationFailed(...Object.keys(wrong)));
  });
});

it('DeleteUser deletes the user and leaves the others', async () => {
  const { id } = await createTestUser(service);
  expect(await callWith(deleteUser, { userId: id })).toEqual(success({}));
  const left = await service.database.sql`
    select id from users where id in (${id}, ${user.id}) and deleted_at is null`;
  expect(left).toEqual([{ id: user.id }]);
});

describe.each([
  ...[getApplication, updateApplication, deleteApplication, createApiKey].map((method) => {
    return { method, field: 'applicationId', gone: createDeletedApplication, what: 'Application' };
  }),
  { method: revokeApiKey, field: 'apiKeyId', gone: createRevokedKey, what: 'API key' },
  { method: deleteUser, field: 'userId', gone: () => createDeletedUser(service), what: 'User' },
])('$method.name', ({ method, field, gone, what }) => {
  it(`returns NotFound for an unknown and for a deleted ${what}`, async () => {
    for (const id of [UNKNOWN_ID, await gone()]) {
      expect(await callWith(method, { [field]: id })).toEqual(refusal('not_found', `${what} not found`));
    }
  });

  it.each(['', 'id', `${UNKNOWN_ID.slice(1)}\0`])('returns Validation failed when the ID is %j', async (id) => {
    expect(await callWith(method, { [field]: id })).toEqual(validationFailed(field));
  });
});
