/** Interface, "2. Exchange Token". */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { generateKeyPair, importJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal, success, validationFailed, without } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
import { request } from '../support/http.ts';
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
import { CONNECT_JSON_WIRES, failureOf, RPC_WIRES, sendOver, withInvalidUtf8 } from '../support/wire.ts';

const { exchangeToken } = AuthService.method;
/** A whole second, so that the fraction is all zeros. */
const NOW = '2026-03-01T12:00:00.000Z';
const NOW_SECONDS = Date.parse(NOW) / 1000;
const JSON_TYPES = [1, true, ['text'], { text: 'text' }, null];
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

describe.each(CALLERS)('ExchangeToken, $name', (caller) => {
  const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
    caller.call(service.url, exchangeToken, fields, headers);
  // Protobuf's JSON leaves out a fraction of zeros and what is not set; the documented JSON has both.
  const createdAt = caller.isRest ? NOW : '2026-03-01T12:00:00Z';
  const withoutImage = caller.isRest ? { profileImage: null } : {};
  const message = caller.isRest ? 'Token exchanged successfully' : undefined;

  it('returns the profile and a session', async () => {
    const profile = { name: 'Ada Lovelace', profileImage: 'https://img.test/ada.png' };
    const ada = await createTestUser(service, profile);
    const answer = await callWith({ authToken: await logIn(service, tenant, ada) });
    expect(answer).toEqual(
      success(
        {
          user: { email: ada.email, ...profile, walletAddress: ada.walletAddress },
          session: { id: expect.stringMatching(/^\S+$/), createdAt },
        },
        message,
      ),
    );
  });

  it('returns no name for a user without one, and null in REST for no profile image', async () => {
    const nameless = await createTestUser(service);
    const answer = await callWith({ authToken: await logIn(service, tenant, nameless) });
    expect(answer).toEqual(
      success(
        {
          user: { email: nameless.email, walletAddress: nameless.walletAddress, ...withoutImage },
          session: { id: expect.stringMatching(/^\S+$/), createdAt },
        },
        message,
      ),
    );
    expect(answer.data).not.toHaveProperty('user.name');
  });

  it('returns the same session as over any other protocol', async () => {
    const answer = await callWith({ authToken });
    const [rest] = CALLERS;
    const first = await rest?.call(service.url, exchangeToken, { authToken }, credentials());
    expect(answer.data).toMatchObject({ user: { email: user.email } });
    expect(answer.data).toHaveProperty('session.id', sessionIdOf(first?.data));
  });

  it('400 Validation failed when the token is missing', async () => {
    expect(await callWith({})).toEqual(validationFailed('authToken'));
  });

  it.each([
    ['is empty', ''],
    ['has 8193 bytes', 'a'.repeat(8193)],
    ['has 8193 bytes in 4097 characters', `${'é'.repeat(4096)}a`],
    ['has 8193 bytes in 2049 characters', `${'\u{1F6AA}'.repeat(2048)}a`],
    ['has a NUL', 'to\0ken'],
  ])('400 Validation failed when the token %s', async (_, token) => {
    expect(await callWith({ authToken: token })).toEqual(validationFailed('authToken'));
  });

  it.each<[string, () => string | Promise<string>]>([
    ['has 8192 bytes and is no JWT', () => 'a'.repeat(8192)],
    ['has 8192 bytes in 4096 characters and is no JWT', () => 'é'.repeat(4096)],
    ['has 8192 bytes in 2048 characters and is no JWT', () => '\u{1F6AA}'.repeat(2048)],
    ['is blank', () => ' '],
    ['has empty parts', () => '..'],
    ['has a part too few', () => authToken.split('.', 2).join('.')],
    ['has a part too many', () => `${authToken}.e30`],
    ['has a space after it', () => `${authToken} `],
    ['has padding', () => `${authToken}=`],
    ['has a scheme before it', () => `Bearer ${authToken}`],
    ['was minted for another application', () => logIn(service, other, user)],
    ['was tampered with', () => tamperWith(authToken)],
    ['is not signed', forgeUnsigned],
    ['is signed by a foreign key under our key ID', forgeWithForeignKey],
    ['names an unknown key', () => forge(claims(), { ...HEADER, kid: 'unknown' })],
    ['names no key', () => forge(claims(), without(HEADER, 'kid'))],
    ['has the type of any JWT', () => forge(claims(), { ...HEADER, typ: 'JWT' })],
    ['has no type', () => forge(claims(), without(HEADER, 'typ'))],
    ['brings its own key set', () => forge(claims(), { ...HEADER, jku: 'https://evil.test/jwks.json' })],
    ['brings a certificate', () => forge(claims(), { ...HEADER, x5u: 'https://evil.test/certificate' })],
    ['has a header nobody knows', () => forge(claims(), { ...HEADER, unknown: true })],
    ['has expired', () => forgeWith({ iat: NOW_SECONDS - 900, exp: NOW_SECONDS })],
    ['lives longer than 15 minutes', () => forgeWith({ exp: NOW_SECONDS + 901 })],
    ['is older than 15 minutes but lives on', () => forgeWith({ iat: NOW_SECONDS - 901, exp: NOW_SECONDS + 60 })],
    ['is of the future', () => forgeWith({ iat: NOW_SECONDS + 1, exp: NOW_SECONDS + 901 })],
    ['is of another issuer', () => forgeWith({ iss: 'https://evil.test' })],
    ['has another audience', () => forgeWith({ aud: other.clientId })],
    ['has several audiences', () => forgeWith({ aud: [tenant.clientId, other.clientId] })],
    ['has its audience in a list', () => forgeWith({ aud: [tenant.clientId] })],
    ['has a subject that is no user ID', () => forgeWith({ sub: 'user' })],
    ['has a subject of another type', () => forgeWith({ sub: 1 })],
    ['has a token ID of another type', () => forgeWith({ jti: 1 })],
    ['has its times as strings', () => forgeWith({ iat: String(NOW_SECONDS), exp: String(NOW_SECONDS + 900) })],
    ['has no issuer', () => forgeWithout('iss')],
    ['has no audience', () => forgeWithout('aud')],
    ['has no subject', () => forgeWithout('sub')],
    ['has no token ID', () => forgeWithout('jti')],
    ['has no time of issue', () => forgeWithout('iat')],
    ['has no expiry', () => forgeWithout('exp')],
  ])('401 Invalid or expired token when the token %s', async (_, tokenOf) => {
    expect(await callWith({ authToken: await tokenOf() })).toEqual(INVALID_TOKEN);
  });

  it('accepts what the cases above are variations of', async () => {
    expect(await callWith({ authToken: await forge(claims()) })).toMatchObject({ code: 'ok' });
  });

  it.each<[string, () => Promise<string>]>([
    ['is unknown', () => forgeWith({ sub: randomUUID() })],
    ['has been deleted', () => logInDeletedUser(service, tenant)],
  ])('404 User not found when the user %s', async (_, tokenOf) => {
    expect(await callWith({ authToken: await tokenOf() })).toEqual(refusal('not_found', 'User not found'));
  });

  describe('with several things wrong, tells', () => {
    it('the API key first', async () => {
      expect(await callWith({ authToken: '' }, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    });

    it('the length of the token before what is in it', async () => {
      expect(await callWith({ authToken: `${authToken}${'.'.repeat(8193)}` })).toEqual(validationFailed('authToken'));
    });

    it('the token before the user', async () => {
      const token = await forgeWith({ sub: randomUUID(), iat: NOW_SECONDS - 900, exp: NOW_SECONDS });
      expect(await callWith({ authToken: token })).toEqual(INVALID_TOKEN);
    });
  });
});

describe.each(['1.1', '2'] as const)('ExchangeToken, JSON over REST and HTTP/%s', (httpVersion) => {
  const post = (body: string | Uint8Array) =>
    request(service.url, {
      httpVersion,
      method: 'POST',
      path: '/api/oauth/exchange',
      headers: { 'content-type': 'application/json', ...credentials() },
      body,
    });

  it('answers in the envelope, which nobody may store', async () => {
    const reply = await post(JSON.stringify({ authToken }));
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
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
    expect(reply).toMatchObject({
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each<[string, string, string | Uint8Array]>([
    ...JSON_TYPES.map((value): [string, string, string] => [
      'authToken',
      `is ${JSON.stringify(value)}`,
      JSON.stringify({ authToken: value }),
    ]),
    ['authToken', 'has a lone surrogate', JSON.stringify({ authToken: 'to\ud800ken' })],
    ['body', 'is malformed', '{"authToken":'],
    ['body', 'is an array', '[]'],
    ['body', 'is not UTF-8', Buffer.from([...Buffer.from('{"authToken":"'), 0xff, ...Buffer.from('"}')])],
  ])('400 Validation failed when %s %s', async (field, _, body) => {
    const reply = await post(body);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field, message: expect.stringMatching(/./) }],
    });
  });
});

describe.each(CONNECT_JSON_WIRES)('ExchangeToken, $name', (wire) => {
  it.each([...JSON_TYPES, 'to\ud800ken'].map((value) => [value]))(
    'Validation failed when the token is %j',
    async (value) => {
      const fields = { authToken: value };
      const reply = await sendOver(wire, service.url, { method: exchangeToken, fields, headers: credentials() });
      expect(failureOf(wire, reply)).toEqual({
        status: 400,
        code: 'InvalidArgument',
        message: 'Validation failed',
        fields: ['authToken'],
      });
    },
  );
});

describe.each(RPC_WIRES)('ExchangeToken, $name', (wire) => {
  it('Validation failed when the token is not UTF-8', async () => {
    const body = withInvalidUtf8(wire, exchangeToken, {}, 'authToken');
    const reply = await sendOver(wire, service.url, { method: exchangeToken, body, headers: credentials() });
    expect(failureOf(wire, reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
  });

  it('may not be stored', async () => {
    const reply = await sendOver(wire, service.url, {
      method: exchangeToken,
      fields: { authToken },
      headers: credentials(),
    });
    expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
  });
});

function sessionIdOf(data: unknown): string {
  return (data as { session: { id: string } }).session.id;
}
