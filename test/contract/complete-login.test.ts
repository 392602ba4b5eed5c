/** AdminService/CompleteLogin: how a login page finishes a login. See states.test.ts for when an intent expires. */
import type { JsonObject } from '@bufbuild/protobuf';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { fieldOf, refusal, validationFailed } from '../support/answers.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import {
  ADMIN_KEY,
  beginLogin,
  clientsOf,
  createDeletedUser,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';

const { completeLogin } = AdminService.method;
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';
const NOW = new Date('2026-03-01T12:00:00.250Z');
const NOW_SECONDS = Date.parse('2026-03-01T12:00:00Z') / 1000;

let service: TestService;
let tenant: Tenant;
let user: TestUser;

beforeAll(async () => {
  service = await startTestService({ clock: () => new Date(NOW) });
  tenant = await createTenant(service);
  user = await createTestUser(service);
});

afterAll(() => service.close());

const callWith = (fields: JsonObject) =>
  call(mainProtocolOf(completeLogin), service.url, completeLogin, fields, { 'x-admin-key': ADMIN_KEY });

describe('CompleteLogin', () => {
  it('returns a token for the user and the application, which the published keys verify', async () => {
    const loginIntentId = await beginLogin(service, tenant);
    const { data } = await callWith({ loginIntentId, userId: user.id });
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.url));
    const { protectedHeader, payload } = await jwtVerify(fieldOf(data, 'authToken'), keys, { currentDate: NOW });
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'login+jwt', kid: 'test-key' });
    expect(payload).toEqual({
      iss: PUBLIC_URL,
      aud: tenant.clientId,
      sub: user.id,
      jti: loginIntentId,
      iat: NOW_SECONDS,
      exp: NOW_SECONDS + 900,
    });
  });

  it('returns a token that the application can exchange', async () => {
    const { data } = await callWith({ loginIntentId: await beginLogin(service, tenant), userId: user.id });
    const exchanged = await clientsOf(service, tenant).auth.exchangeToken({ authToken: fieldOf(data, 'authToken') });
    expect(exchanged.user?.email).toBe(user.email);
  });

  it.each([
    ['without a query', 'https://app.test/callback', '?'],
    ['with a query', 'https://app.test/callback?a=1&b=%20x+y&c', '&'],
    ['with an empty query', 'https://app.test/callback?', ''],
    ['with neither path nor query', 'https://app.test', '?'],
    ['on a loopback address', 'http://127.0.0.1:51004/callback?a=1', '&'],
    ['of a private scheme', 'com.example.app:/callback', '?'],
  ])('adds authToken, state and iss to a redirect URI %s', async (_, redirectUri, separator) => {
    const application = await createTenant(service, { redirectUris: [redirectUri] });
    const loginIntentId = await beginLogin(service, application, { redirectUri });
    const { data } = await callWith({ loginIntentId, userId: user.id });
    const { authToken, redirectUrl } = data as { authToken: string; redirectUrl: string };
    expect(redirectUrl.startsWith(redirectUri + separator)).toBe(true);
    const added = redirectUrl.slice(redirectUri.length + separator.length);
    expect(Object.fromEntries(new URLSearchParams(added))).toEqual({ authToken, state: 'state', iss: PUBLIC_URL });
  });

  it.each([
    ['reserved characters', '&state=x#fragment?=%26+ /\\"\'<>'],
    ['spaces and line breaks', ' a\r\nb\tc '],
    ['characters beyond ASCII', 'Zürich 夏 \u{1F6AA} e\u0301'],
    ['500 astral characters', '\u{1F6AA}'.repeat(500)],
  ])('returns a state with %s exactly', async (_, state) => {
    const loginIntentId = await beginLogin(service, tenant, { state });
    const { data } = await callWith({ loginIntentId, userId: user.id });
    const { searchParams } = new URL(fieldOf(data, 'redirectUrl'));
    expect(searchParams.getAll('state')).toEqual([state]);
  });

  it('returns FailedPrecondition when the intent has been completed before, for any user', async () => {
    const loginIntentId = await beginLogin(service, tenant);
    await callWith({ loginIntentId, userId: user.id });
    const refused = refusal('failed_precondition', 'Login intent already completed');
    expect(await callWith({ loginIntentId, userId: user.id })).toEqual(refused);
    const { id } = await createTestUser(service);
    expect(await callWith({ loginIntentId, userId: id })).toEqual(refused);
  });

  it('completes an intent once when many try at the same time', async () => {
    const loginIntentId = await beginLogin(service, tenant);
    const answers = await Promise.all(Array.from({ length: 8 }, () => callWith({ loginIntentId, userId: user.id })));
    expect(answers.map(({ code }) => code).toSorted()).toEqual([...Array(7).fill('failed_precondition'), 'ok']);
  });

  it('returns NotFound when the intent is unknown', async () => {
    const answer = await callWith({ loginIntentId: UNKNOWN_ID, userId: user.id });
    expect(answer).toEqual(refusal('not_found', 'Login intent not found'));
  });

  it.each<[string, () => Promise<string>]>([
    ['is unknown', async () => UNKNOWN_ID],
    ['has been deleted', () => createDeletedUser(service)],
  ])('returns NotFound when the user %s, and the intent can still be completed', async (_, idOf) => {
    const loginIntentId = await beginLogin(service, tenant);
    const answer = await callWith({ loginIntentId, userId: await idOf() });
    expect(answer).toEqual(refusal('not_found', 'User not found'));
    expect(await callWith({ loginIntentId, userId: user.id })).toMatchObject({ code: 'ok' });
  });

  it.each(
    ['loginIntentId', 'userId'].flatMap((field) => [
      [field, 'is empty', ''] as const,
      [field, 'is no UUID', 'id'] as const,
      [field, 'has a NUL', `${UNKNOWN_ID.slice(1)}\0`] as const,
    ]),
  )('returns Validation failed when %s %s', async (field, _, value) => {
    const fields = { loginIntentId: UNKNOWN_ID, userId: UNKNOWN_ID, [field]: value };
    expect(await callWith(fields)).toEqual(validationFailed(field));
  });
});
