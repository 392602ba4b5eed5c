/** AdminService/CompleteLogin: how the login page finishes a login. See states.test.ts for when an intent expires. */
import type { JsonObject } from '@bufbuild/protobuf';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { fieldOf, refusal, validationFailed, without } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
import {
  ADMIN_KEY,
  clientsOf,
  createDeletedUser,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { CONNECT_JSON_WIRES, failureOf, RPC_WIRES, sendOver } from '../support/wire.ts';

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

async function beginLogin({ clientId, apiKey } = tenant, { redirectUri = REDIRECT_URI, state = 'state' } = {}) {
  const { loginIntentId } = await clientsOf(service, { apiKey }).auth.generateAuthUrl({ clientId, redirectUri, state });
  return loginIntentId;
}

describe.each(CALLERS.filter(({ isRest }) => !isRest))('CompleteLogin, $name', (caller) => {
  const callWith = (fields: JsonObject) =>
    caller.call(service.url, completeLogin, fields, { 'x-admin-key': ADMIN_KEY });

  it('returns a token for the user and the application, which the published keys verify', async () => {
    const loginIntentId = await beginLogin();
    const { code, data } = await callWith({ loginIntentId, userId: user.id });
    expect(code).toBe('ok');
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
    const { data } = await callWith({ loginIntentId: await beginLogin(), userId: user.id });
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
  ])(
    'sends the browser to a redirect URI %s, with authToken, state and iss added',
    async (_, redirectUri, separator) => {
      const application = await createTenant(service, { redirectUris: [redirectUri] });
      const loginIntentId = await beginLogin(application, { redirectUri });
      const { data } = await callWith({ loginIntentId, userId: user.id });
      const { authToken, redirectUrl } = data as { authToken: string; redirectUrl: string };
      expect(redirectUrl.slice(0, redirectUri.length)).toBe(redirectUri);
      const added = redirectUrl.slice(redirectUri.length);
      expect(added.startsWith(separator)).toBe(true);
      expect(Object.fromEntries(new URLSearchParams(added.slice(separator.length)))).toEqual({
        authToken,
        state: 'state',
        iss: PUBLIC_URL,
      });
    },
  );

  it.each([
    ['reserved characters', '&state=x#fragment?=%26+ /\\"\'<>'],
    ['spaces and line breaks', ' a\r\nb\tc '],
    ['characters beyond ASCII', 'Zürich 夏 \u{1F6AA} e\u0301'],
    ['500 astral characters', '\u{1F6AA}'.repeat(500)],
  ])('gives a state with %s back exactly', async (_, state) => {
    const loginIntentId = await beginLogin(tenant, { state });
    const { data } = await callWith({ loginIntentId, userId: user.id });
    const { searchParams } = new URL(fieldOf(data, 'redirectUrl'));
    expect(searchParams.getAll('state')).toEqual([state]);
  });

  it('FailedPrecondition when the intent has been completed before, by whomever', async () => {
    const loginIntentId = await beginLogin();
    await callWith({ loginIntentId, userId: user.id });
    const refused = refusal('failed_precondition', 'Login intent already completed');
    expect(await callWith({ loginIntentId, userId: user.id })).toEqual(refused);
    const { id } = await createTestUser(service);
    expect(await callWith({ loginIntentId, userId: id })).toEqual(refused);
  });

  it('completes an intent once when many try at the same time', async () => {
    const loginIntentId = await beginLogin();
    const answers = await Promise.all(Array.from({ length: 8 }, () => callWith({ loginIntentId, userId: user.id })));
    expect(answers.map(({ code }) => code).toSorted()).toEqual([...Array(7).fill('failed_precondition'), 'ok']);
  });

  it('NotFound when the intent is unknown', async () => {
    const answer = await callWith({ loginIntentId: UNKNOWN_ID, userId: user.id });
    expect(answer).toEqual(refusal('not_found', 'Login intent not found'));
  });

  it.each<[string, () => Promise<string>]>([
    ['is unknown', async () => UNKNOWN_ID],
    ['has been deleted', () => createDeletedUser(service)],
  ])('NotFound when the user %s, and the intent can still be completed', async (_, idOf) => {
    const loginIntentId = await beginLogin();
    const answer = await callWith({ loginIntentId, userId: await idOf() });
    expect(answer).toEqual(refusal('not_found', 'User not found'));
    expect(await callWith({ loginIntentId, userId: user.id })).toMatchObject({ code: 'ok' });
  });

  it('Validation failed names every field that is wrong', async () => {
    expect(await callWith({})).toEqual(validationFailed('loginIntentId', 'userId'));
  });

  it.each(['loginIntentId', 'userId'])('Validation failed when %s is missing', async (field) => {
    const fields = without({ loginIntentId: UNKNOWN_ID, userId: UNKNOWN_ID }, field);
    expect(await callWith(fields)).toEqual(validationFailed(field));
  });

  it.each(
    ['loginIntentId', 'userId'].flatMap((field) => [
      [field, 'is empty', ''] as const,
      [field, 'is no UUID', 'id'] as const,
      [field, 'has a digit too many', `${UNKNOWN_ID}0`] as const,
      [field, 'has a NUL', `${UNKNOWN_ID.slice(1)}\0`] as const,
    ]),
  )('Validation failed when %s %s', async (field, _, value) => {
    const fields = { loginIntentId: UNKNOWN_ID, userId: UNKNOWN_ID, [field]: value };
    expect(await callWith(fields)).toEqual(validationFailed(field));
  });
});

describe.each(RPC_WIRES)('CompleteLogin, $name', (wire) => {
  it('answers with a token that may not be stored', async () => {
    const fields = { loginIntentId: await beginLogin(), userId: user.id };
    const call = { method: completeLogin, fields, headers: { 'x-admin-key': ADMIN_KEY } };
    const reply = await sendOver(wire, service.url, call);
    expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(reply.body.toString('latin1')).toContain('eyJ');
  });
});

describe.each(CONNECT_JSON_WIRES)('CompleteLogin, $name', (wire) => {
  it.each(
    ['loginIntentId', 'userId'].flatMap((field) =>
      [1, true, ['text'], { text: 'text' }, null, 'a\ud800b'].map((value) => [field, value] as const),
    ),
  )('Validation failed when %s is %j', async (field, value) => {
    const fields = { loginIntentId: UNKNOWN_ID, userId: UNKNOWN_ID, [field]: value };
    const call = { method: completeLogin, fields, headers: { 'x-admin-key': ADMIN_KEY } };
    expect(failureOf(wire, await sendOver(wire, service.url, call))).toEqual({
      status: 400,
      code: 'InvalidArgument',
      message: 'Validation failed',
      fields: [field],
    });
  });
});
