/** Interface, "2. Exchange Token". */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { generateKeyPair, importJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal, success, validationFailed, without } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { CONNECT, call, PROTOCOLS, REST } from '../support/protocols.ts';
import {
  createTenant,
  createTestUser,
  logIn,
  logInDeletedUser,
  PUBLIC_URL,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';

const { exchangeToken } = AuthService.method;
/** A whole second, so that the fraction is all zeros. */
const NOW = '2026-03-01T12:00:00.000Z';
const NOW_SECONDS = Date.parse(NOW) / 1000;
const INVALID_TOKEN = refusal('unauthenticated', 'Invalid or expired token');

let service: TestService;
let tenant: Tenant;
let other: Tenant;
let user: TestUser;
let authToken: string;

beforeAll(async () => {
  service = await startTestService({ clock: () => new Date(NOW) });
  tenant = await createTenant(service);
  other = await createTenant(service, { name: 'Other' });
  user = await createTestUser(service);
  authToken = await logIn(service, tenant, user);
});

afterAll(() => service.close());

const credentials = () => ({ 'x-api-key': tenant.apiKey });

/** What Usher itself puts into a token. */
const claims = (): JsonObject => ({
  iss: PUBLIC_URL,
  aud: tenant.clientId,
  sub: user.id,
  jti: randomUUID(),
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 900,
});

const HEADER = { typ: 'login+jwt', kid: 'test-key' };

/** Signed with Usher's own key, whatever it says. */
async function forge(payload: JsonObject, header: JsonObject = HEADER): Promise<string> {
  const [jwk] = service.config.secrets.authSigningKeys ?? [];
  if (!jwk) throw new Error('No signing key');
  return new SignJWT(payload).setProtectedHeader({ alg: 'EdDSA', ...header }).sign(await importJWK(jwk, 'EdDSA'));
}

const forgeWith = (changes: JsonObject) => forge({ ...claims(), ...changes });
const forgeWithout = (claim: string) => forge(without(claims(), claim));

async function forgeWithForeignKey(): Promise<string> {
  const { privateKey } = await generateKeyPair('EdDSA');
  return new SignJWT(claims()).setProtectedHeader({ alg: 'EdDSA', typ: 'login+jwt', kid: 'test-key' }).sign(privateKey);
}

function forgeUnsigned(): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode({ alg: 'none', ...HEADER })}.${encode(claims())}.`;
}

/** The token with its claims exchanged for those of another user. */
async function tamperWith(token: string): Promise<string> {
  const [header, , signature] = token.split('.');
  const [, payload] = (await forgeWith({ sub: randomUUID() })).split('.');
  return [header, payload, signature].join('.');
}

const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
  call(REST, service.url, exchangeToken, fields, headers);

describe('ExchangeToken', () => {
  const profile = { name: 'Ada Lovelace', profileImage: 'https://img.test/ada.png' };
  // Protobuf's JSON leaves out a fraction of zeros and what is not set; the documented JSON has both.
  it.each([
    ['REST', REST, profile, profile, NOW, 'Token exchanged successfully'],
    ['REST', REST, {}, { profileImage: null }, NOW, 'Token exchanged successfully'],
    ['Connect', CONNECT, profile, profile, '2026-03-01T12:00:00Z', ''],
    ['Connect', CONNECT, {}, {}, '2026-03-01T12:00:00Z', ''],
  ])('returns the profile and a session over %s', async (_, protocol, given, shown, createdAt, message) => {
    const ada = await createTestUser(service, given);
    const fields = { authToken: await logIn(service, tenant, ada) };
    const answer = await call(protocol, service.url, exchangeToken, fields, credentials());
    const shownUser = { email: ada.email, ...shown, walletAddress: ada.walletAddress };
    const session = { id: expect.stringMatching(/^\S+$/), createdAt };
    expect(answer).toStrictEqual(success({ user: shownUser, session }, message));
  });

  it('returns the same session over every protocol', async () => {
    const answers = PROTOCOLS.map((protocol) =>
      call(protocol, service.url, exchangeToken, { authToken }, credentials()),
    );
    expect(new Set((await Promise.all(answers)).map(({ data }) => sessionIdOf(data))).size).toBe(1);
  });

  it.each([
    ['is empty', ''],
    ['has 8193 bytes', 'a'.repeat(8193)],
    ['has 8193 bytes in 4097 characters', `${'é'.repeat(4096)}a`],
    ['has a NUL', 'to\0ken'],
  ])('returns 400 Validation failed when the token %s', async (_, token) => {
    expect(await callWith({ authToken: token })).toEqual(validationFailed('authToken'));
  });

  // Every other way to be wrong: test/robustness/tokens.test.ts.
  it.each<[string, () => string | Promise<string>]>([
    ['has 8192 bytes and is no JWT', () => 'a'.repeat(8192)],
    ['has a part too few', () => authToken.split('.', 2).join('.')],
    ['was minted for another application', () => logIn(service, other, user)],
    ['was tampered with', () => tamperWith(authToken)],
    ['is not signed', forgeUnsigned],
    ['is signed by a foreign key under our key ID', forgeWithForeignKey],
    ['names an unknown key', () => forge(claims(), { ...HEADER, kid: 'unknown' })],
    ['brings its own key set', () => forge(claims(), { ...HEADER, jku: 'https://evil.test/jwks.json' })],
    ['has expired', () => forgeWith({ iat: NOW_SECONDS - 900, exp: NOW_SECONDS })],
    ['lives longer than 15 minutes', () => forgeWith({ exp: NOW_SECONDS + 901 })],
    ['is of the future', () => forgeWith({ iat: NOW_SECONDS + 1, exp: NOW_SECONDS + 901 })],
    ['is of another issuer', () => forgeWith({ iss: 'https://evil.test' })],
    ['has another audience', () => forgeWith({ aud: other.clientId })],
    ['has a subject that is no user ID', () => forgeWith({ sub: 'user' })],
    ['has no expiry', () => forgeWithout('exp')],
  ])('returns 401 Invalid or expired token when the token %s', async (_, tokenOf) => {
    expect(await callWith({ authToken: await tokenOf() })).toEqual(INVALID_TOKEN);
  });

  it('accepts what the cases above are variations of', async () => {
    expect(await callWith({ authToken: await forge(claims()) })).toMatchObject({ code: 'ok' });
  });

  it.each<[string, () => Promise<string>]>([
    ['is unknown', () => forgeWith({ sub: randomUUID() })],
    ['has been deleted', () => logInDeletedUser(service, tenant)],
  ])('returns 404 User not found when the user %s', async (_, tokenOf) => {
    expect(await callWith({ authToken: await tokenOf() })).toEqual(refusal('not_found', 'User not found'));
  });

  it('checks the API key first, then the length of the token, then what is in it, then the user', async () => {
    expect(await callWith({ authToken: '' }, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    expect(await callWith({ authToken: `${authToken}${'.'.repeat(8193)}` })).toEqual(validationFailed('authToken'));
    const expired = await forgeWith({ sub: randomUUID(), iat: NOW_SECONDS - 900, exp: NOW_SECONDS });
    expect(await callWith({ authToken: expired })).toEqual(INVALID_TOKEN);
  });
});

describe('POST /api/oauth/exchange', () => {
  const post = (body: string | Uint8Array) =>
    request(service.url, {
      method: 'POST',
      path: '/api/oauth/exchange',
      headers: { 'content-type': 'application/json', ...credentials() },
      body,
    });

  it('answers in the envelope', async () => {
    const reply = await post(JSON.stringify({ authToken }));
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: true,
      message: 'Token exchanged successfully',
      data: {
        user: { email: user.email, profileImage: null, walletAddress: user.walletAddress },
        session: { id: expect.stringMatching(/^\S+$/), createdAt: NOW },
      },
    });
  });

  it.each<[number, string, () => Promise<string>]>([
    [401, 'Invalid or expired token', () => logIn(service, other, user)],
    [404, 'User not found', () => logInDeletedUser(service, tenant)],
  ])('answers %i %s with nothing but the message', async (status, message, tokenOf) => {
    const reply = await post(JSON.stringify({ authToken: await tokenOf() }));
    expect(reply).toMatchObject({ status, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each<[string, string, string | Uint8Array]>([
    ['authToken', 'is null', '{"authToken":null}'],
    ['body', 'is malformed', '{"authToken":'],
    ['body', 'is not UTF-8', Buffer.from([...Buffer.from('{"authToken":"'), 0xff, ...Buffer.from('"}')])],
  ])('answers 400 and what is wrong when %s %s', async (field, _, body) => {
    const reply = await post(body);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field, message: expect.stringMatching(/./) }],
    });
  });
});

function sessionIdOf(data: unknown): string {
  return (data as { session: { id: string } }).session.id;
}
