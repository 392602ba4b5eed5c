/** AdminService: the life of an API key, from its creation with a name and an expiry to its rotation. */
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { fieldOf, refusal, success, validationFailed } from '../support/answers.ts';
import { MINUTE, SECOND, TestClock } from '../support/clock.ts';
import { adminClient, createTenant, startTestService } from '../support/service.ts';
import { API_KEY, INVALID_API_KEY, openContractFixture, UUID } from './contract-fixture.ts';

const { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } = AdminService.method;
const ALREADY_REPLACED = refusal('failed_precondition', 'API key already replaced');
const HOUR_SECONDS = 3_600;

const clock = new TestClock(new Date('2026-03-01T12:00:00.120Z'));
const { service, callWith, tryKey } = await openContractFixture({ clock: clock.read });
const admin = adminClient(service);

const later = (seconds: number) => new Date(clock.read().getTime() + seconds * SECOND).toISOString();

/** Creates an application with one more key, which it returns. */
async function createKey(fields: JsonObject = {}) {
  const { id: applicationId } = await createTenant(service);
  const { code, data } = await callWith(createApiKey, { applicationId, ...fields });
  expect(code).toBe('ok');
  return { applicationId, apiKeyId: fieldOf(data, 'apiKeyId'), apiKey: fieldOf(data, 'apiKey') };
}

async function listedKey(applicationId: string, apiKeyId: string): Promise<JsonObject> {
  const { data } = await callWith(listApiKeys, { applicationId });
  const { apiKeys } = data as { apiKeys: JsonObject[] };
  return apiKeys.find((each) => each.apiKeyId === apiKeyId) ?? {};
}

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

describe('An API key with a name and an expiry', () => {
  it('is listed without its secret, and works until then and no longer', async () => {
    const expiresAt = later(60);
    const { applicationId, apiKeyId, apiKey } = await createKey({ name: 'Kasse – "2"', expiresAt });
    const createdAt = clock.read().toISOString();
    expect(await listedKey(applicationId, apiKeyId)).toEqual({
      apiKeyId,
      name: 'Kasse – "2"',
      createdAt,
      expiresAt,
      use: 'API',
      managedByFile: false,
    });
    clock.advance(60 * SECOND - 1);
    expect(await tryKey(apiKey)).toBe('ok');
    clock.advance(1);
    expect(await tryKey(apiKey)).toBe(INVALID_API_KEY);
  });

  it.each<[JsonObject, string]>([
    [{ expiresAt: later(0) }, 'expiresAt'],
    [{ expiresAt: '1969-12-31T23:59:59Z' }, 'expiresAt'],
    [{ use: 'ADMIN' }, 'use'],
  ])('is refused with %j', async (wrong, field) => {
    const { id: applicationId } = await createTenant(service);
    expect(await callWith(createApiKey, { applicationId, ...wrong })).toEqual(validationFailed(field));
  });
});

describe('A client secret', () => {
  it('opens no call over any protocol, and stays one when it is rotated', async () => {
    const { applicationId, apiKeyId, apiKey } = await createKey({ use: 'CLIENT_SECRET' });
    expect(await listedKey(applicationId, apiKeyId)).toMatchObject({ use: 'CLIENT_SECRET' });
    expect(await tryKey(apiKey)).toBe(INVALID_API_KEY);
    const { data } = await callWith(rotateApiKey, { apiKeyId });
    expect(await listedKey(applicationId, fieldOf(data, 'apiKeyId'))).toMatchObject({ use: 'CLIENT_SECRET' });
    expect(await tryKey(fieldOf(data, 'apiKey'))).toBe(INVALID_API_KEY);
  });

  it('does not learn that its application is deleted', async () => {
    const { applicationId, apiKey } = await createKey({ use: 'CLIENT_SECRET' });
    await admin.deleteApplication({ applicationId });
    expect(await tryKey(apiKey)).toBe(INVALID_API_KEY);
  });
});

describe('RotateApiKey', () => {
  it('returns a new key with the same name; the old one works until the overlap is over', async () => {
    const old = await createKey({ name: 'Shop' });
    const answer = await callWith(rotateApiKey, { apiKeyId: old.apiKeyId, overlapSeconds: 60 });
    const created = { apiKeyId: expect.stringMatching(UUID), apiKey: expect.stringMatching(API_KEY) };
    expect(answer).toEqual(success(created));
    const [apiKeyId, apiKey] = [fieldOf(answer.data, 'apiKeyId'), fieldOf(answer.data, 'apiKey')];
    const replaced = { replacedBy: apiKeyId, expiresAt: later(60) };
    expect(await listedKey(old.applicationId, old.apiKeyId)).toMatchObject(replaced);
    const { name, expiresAt } = await listedKey(old.applicationId, apiKeyId);
    expect({ name, expiresAt }).toEqual({ name: 'Shop', expiresAt: undefined });
    clock.advance(60 * SECOND - 1);
    expect([await tryKey(old.apiKey), await tryKey(apiKey)]).toEqual(['ok', 'ok']);
    clock.advance(1);
    expect([await tryKey(old.apiKey), await tryKey(apiKey)]).toEqual([INVALID_API_KEY, 'ok']);
  });

  // unkeyed/unkey#5892: a rotation made trial keys permanent.
  it.each([
    ['the overlap', 10 * HOUR_SECONDS, HOUR_SECONDS, HOUR_SECONDS],
    ['its own expiry', HOUR_SECONDS, 10 * HOUR_SECONDS, HOUR_SECONDS],
    ['now', HOUR_SECONDS, 0, 0],
    ['a day, by default', 2 * 24 * HOUR_SECONDS, undefined, 24 * HOUR_SECONDS],
  ])('ends the old key at %s, and hands its expiry to the new one', async (_, expiresIn, overlapSeconds, endsIn) => {
    const expiresAt = later(expiresIn);
    const old = await createKey({ expiresAt });
    const overlap = overlapSeconds === undefined ? {} : { overlapSeconds };
    const { data } = await callWith(rotateApiKey, { apiKeyId: old.apiKeyId, ...overlap });
    expect(await listedKey(old.applicationId, old.apiKeyId)).toMatchObject({ expiresAt: later(endsIn) });
    expect(await listedKey(old.applicationId, fieldOf(data, 'apiKeyId'))).toMatchObject({ expiresAt });
    if (endsIn === 0) expect(await tryKey(old.apiKey)).toBe(INVALID_API_KEY);
    clock.advance(expiresIn * SECOND);
    expect(await tryKey(fieldOf(data, 'apiKey'))).toBe(INVALID_API_KEY);
  });

  it('works once per key, also for rotations that race', async () => {
    const { apiKeyId, applicationId } = await createKey();
    const rotations = await Promise.all(Array.from({ length: 16 }, () => callWith(rotateApiKey, { apiKeyId })));
    const refused = rotations.filter(({ code }) => code !== 'ok');
    expect(refused).toEqual(Array(15).fill(ALREADY_REPLACED));
    const { apiKeys } = await admin.listApiKeys({ applicationId });
    expect(apiKeys).toHaveLength(3);
  });

  it('returns NotFound for a key that has expired', async () => {
    const { apiKeyId } = await createKey({ expiresAt: later(1) });
    clock.advance(SECOND);
    expect(await callWith(rotateApiKey, { apiKeyId })).toEqual(refusal('not_found', 'API key not found'));
  });
});

describe('ListApiKeys', () => {
  // Its pages: lists.test.ts.
  it('shows when a key was revoked', async () => {
    const { applicationId, apiKeyId } = await createKey();
    clock.advance(SECOND);
    await admin.revokeApiKey({ apiKeyId });
    expect(await listedKey(applicationId, apiKeyId)).toMatchObject({ revokedAt: clock.read().toISOString() });
  });

  it('shows the minute of the last use, which no call of the key has written', async () => {
    await using closing = await startTestService({
      database: service.database,
      like: service.config,
      clock: clock.read,
    });
    const { applicationId, apiKeyId, apiKey } = await createKey();
    expect(await listedKey(applicationId, apiKeyId)).not.toHaveProperty('lastUsedAt');
    const headers = { 'x-api-key': apiKey };
    for (let use = 0; use < 3; use++) {
      clock.advance(20 * SECOND);
      await fetch(`${closing.url}/api/events`, { headers });
    }
    expect(await listedKey(applicationId, apiKeyId)).not.toHaveProperty('lastUsedAt');
    const lastUsedAt = `${clock.read().toISOString().slice(0, 16)}:00Z`;
    await closing.close();
    expect(await listedKey(applicationId, apiKeyId)).toMatchObject({ lastUsedAt });
  });

  it('shows the latest use, also if a process stores an earlier one after it', async () => {
    const { applicationId, apiKeyId, apiKey } = await createKey();
    const lastUsedAt = `${clock.read().toISOString().slice(0, 16)}:00Z`;
    for (const minutesBefore of [0, 5]) {
      const usedAt = new Date(clock.read().getTime() - minutesBefore * MINUTE);
      const { database, config: like } = service;
      await using replica = await startTestService({ database, like, clock: () => usedAt });
      await fetch(`${replica.url}/api/events`, { headers: { 'x-api-key': apiKey } });
    }
    expect(await listedKey(applicationId, apiKeyId)).toMatchObject({ lastUsedAt });
  });
});
