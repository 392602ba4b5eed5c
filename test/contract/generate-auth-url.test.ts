/** Interface, "1. Generate Auth URL". */
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { CONNECT, call, REST } from '../support/protocols.ts';
import {
  createTenant,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const { generateAuthUrl } = AuthService.method;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const LONGEST_URI = `${REDIRECT_URI}?${'a'.repeat(2048 - REDIRECT_URI.length - 1)}`;
const LOOPBACK_URI = 'http://127.0.0.1/callback?from=app';
const PRIVATE_URI = 'com.example.app:/callback';
const VALIDATION_FAILED = (field: string) => ({
  status: false,
  message: 'Validation failed',
  errors: [{ field, message: expect.stringMatching(/./) }],
});

let service: TestService;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service, { redirectUris: [REDIRECT_URI, LONGEST_URI, LOOPBACK_URI, PRIVATE_URI] });
  other = await createTenant(service, { name: 'Other', redirectUris: ['https://other.test/callback'] });
});

afterAll(() => service.close());

const credentials = () => ({ 'x-api-key': tenant.apiKey });
const validFields = (): JsonObject => ({ clientId: tenant.clientId, redirectUri: REDIRECT_URI, state: 'state' });
const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
  call(REST, service.url, generateAuthUrl, fields, headers);

describe('GenerateAuthUrl', () => {
  it.each([
    [REST, 'Auth URL generated successfully'],
    [CONNECT, ''],
  ])('returns an authUrl with the loginIntentId as its intent: $name', async (protocol, message) => {
    const answer = await call(protocol, service.url, generateAuthUrl, validFields(), credentials());
    expect(answer).toEqual(
      success({ authUrl: expect.any(String), loginIntentId: expect.stringMatching(UUID) }, message),
    );
    const { authUrl, loginIntentId } = answer.data as { authUrl: string; loginIntentId: string };
    expect(authUrl).toBe(`${PUBLIC_URL}/login?intent=${loginIntentId}`);
  });

  it('starts another login with every call', async () => {
    const answers = await Promise.all([callWith(validFields()), callWith(validFields())]);
    const [first, second] = answers.map(({ data }) => data as { loginIntentId: string });
    expect(first?.loginIntentId).not.toBe(second?.loginIntentId);
  });

  it.each<[string, JsonObject]>([
    ['a state of 1 character', { state: 'a' }],
    ['a state of 500 astral characters, each counted once', { state: '\u{1F6AA}'.repeat(500) }],
    ['a state with spaces, line breaks and reserved characters', { state: ' \t\r\n&=?#%+/"\\\u007f' }],
    ['a redirect URI of 2048 characters', { redirectUri: LONGEST_URI }],
    ['http on a loopback address as registered', { redirectUri: LOOPBACK_URI }],
    ['http on a loopback address with any port', { redirectUri: 'http://127.0.0.1:51004/callback?from=app' }],
    ['a private scheme', { redirectUri: PRIVATE_URI }],
  ])('accepts %s', async (_, changes) => {
    expect(await callWith({ ...validFields(), ...changes })).toMatchObject({ code: 'ok' });
  });

  it.each([
    ['clientId', 'is empty', ''],
    ['clientId', 'has a NUL', 'client\0id'],
    ['redirectUri', 'is empty', ''],
    ['redirectUri', 'has 2049 characters', `${LONGEST_URI}a`],
    ['redirectUri', 'has a NUL', `${REDIRECT_URI}\0`],
    ['state', 'is empty', ''],
    ['state', 'has 501 characters', 'a'.repeat(501)],
    ['state', 'has 501 characters, of which one is astral', `${'a'.repeat(500)}\u{1F6AA}`],
    ['state', 'has a NUL', 'sta\0te'],
  ])('returns 400 Validation failed when %s %s', async (field, _, value) => {
    expect(await callWith({ ...validFields(), [field]: value })).toEqual(validationFailed(field));
  });

  it('names every field that is wrong', async () => {
    const answer = await callWith({ clientId: '', redirectUri: '', state: 'a'.repeat(501) });
    expect(answer).toEqual(validationFailed('clientId', 'redirectUri', 'state'));
  });

  it.each<[string, () => string]>([
    ['belongs to another application', () => other.clientId],
    ['is unknown', () => `client_${'0'.repeat(32)}`],
    ['differs in case', () => tenant.clientId.toUpperCase()],
    ['has a space before it', () => ` ${tenant.clientId}`],
  ])('returns 400 Client ID mismatch when the client ID %s', async (_, clientIdOf) => {
    const answer = await callWith({ ...validFields(), clientId: clientIdOf() });
    expect(answer).toEqual(refusal('invalid_argument', 'Client ID mismatch'));
  });

  // Near misses: test/robustness/redirect-uris.test.ts.
  it.each([
    ['is not registered', 'https://app.test/elsewhere'],
    ['is registered for another application', 'https://other.test/callback'],
    ['has a trailing slash too many', `${REDIRECT_URI}/`],
    ['has a fragment', `${REDIRECT_URI}#fragment`],
    ['differs in case', 'https://APP.test/callback'],
    ['is no URI', 'callback'],
    ['has 2048 astral characters', '\u{1F6AA}'.repeat(2048)],
    ['is a loopback address with another path', 'http://127.0.0.1:51004/elsewhere'],
    ['is a loopback address with an impossible port', 'http://127.0.0.1:65536/callback?from=app'],
  ])('returns 400 Invalid redirect URI when the redirect URI %s', async (_, redirectUri) => {
    const answer = await callWith({ ...validFields(), redirectUri });
    expect(answer).toEqual(refusal('invalid_argument', 'Invalid redirect URI'));
  });

  it('checks the API key first, then the fields, then the client ID, then the redirect URI', async () => {
    const invalid = { clientId: 'client', redirectUri: 'https://app.test/elsewhere', state: '' };
    expect(await callWith(invalid, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    expect(await callWith(invalid)).toEqual(validationFailed('state'));
    const mismatch = refusal('invalid_argument', 'Client ID mismatch');
    expect(await callWith({ ...invalid, state: 'state' })).toEqual(mismatch);
  });
});

describe('POST /api/oauth/generate-auth-url', () => {
  const post = (body: string | Uint8Array, query = `clientId=${tenant.clientId}`, headers = {}) =>
    request(service.url, {
      method: 'POST',
      path: `/api/oauth/generate-auth-url?${query}`,
      headers: { 'content-type': 'application/json', ...credentials(), ...headers },
      body,
    });
  const body = { redirectUri: REDIRECT_URI, state: 'state' };

  it('answers in the envelope', async () => {
    const reply = await post(JSON.stringify(body));
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: true,
      message: 'Auth URL generated successfully',
      data: { authUrl: expect.any(String), loginIntentId: expect.stringMatching(UUID) },
    });
  });

  it.each<[string, () => string, string]>([
    ['Client ID mismatch', () => other.clientId, REDIRECT_URI],
    ['Invalid redirect URI', () => tenant.clientId, 'https://app.test/elsewhere'],
  ])('answers 400 %s with nothing but the message', async (message, clientIdOf, redirectUri) => {
    const reply = await post(JSON.stringify({ ...body, redirectUri }), `clientId=${clientIdOf()}`);
    expect(reply).toMatchObject({ status: 400, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each([
    ['clientId', 'is there twice', 'clientId=a&clientId=a', JSON.stringify(body)],
    ['clientId', 'is in the body only', '', JSON.stringify({ ...body, clientId: 'client' })],
    ['clientId', 'is not UTF-8', 'clientId=%FF', JSON.stringify(body)],
    ['redirectUri', 'is null', undefined, JSON.stringify({ ...body, redirectUri: null })],
    ['state', 'has a lone low surrogate', undefined, JSON.stringify({ ...body, state: '\udeaa' })],
    ['state', 'is in the query only', `state=state&clientId=client`, JSON.stringify({ redirectUri: REDIRECT_URI })],
    ['body', 'is empty JSON text', undefined, ' '],
    ['body', 'is malformed', undefined, '{"state":'],
    ['body', 'is an array', undefined, '[]'],
    ['body', 'is a string', undefined, '"state"'],
    ['body', 'is null', undefined, 'null'],
    ['body', 'is not UTF-8', undefined, Buffer.from([...Buffer.from('{"state":"'), 0xff, ...Buffer.from('"}')])],
  ])('answers 400 and what is wrong when %s %s', async (field, _, query, content) => {
    const reply = await post(content, query);
    expect(reply).toMatchObject({ status: 400, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual(VALIDATION_FAILED(field));
  });

  it('takes an empty body for one without fields', async () => {
    const reply = await post('');
    const { errors } = JSON.parse(reply.body);
    expect(errors.map(({ field }: { field: string }) => field)).toEqual(['redirectUri', 'state']);
  });

  it('puts nothing of the request headers into the authUrl', async () => {
    const reply = await post(JSON.stringify(body), undefined, {
      host: 'evil.test',
      origin: 'https://evil.test',
      'x-forwarded-host': 'evil.test',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.test',
    });
    const { authUrl, loginIntentId } = JSON.parse(reply.body).data;
    expect(authUrl).toBe(`${PUBLIC_URL}/login?intent=${loginIntentId}`);
  });

  it('keeps the query of AUTH_PAGE_URL but for an intent of its own', async () => {
    await using elsewhere = await startTestService({
      config: { authPageUrl: 'https://login.test/page?intent=1&theme=dark&intent=2' },
    });
    const { clientId, apiKey } = await createTenant(elsewhere);
    const fields = { clientId, redirectUri: REDIRECT_URI, state: 'state' };
    const { data } = await call(REST, elsewhere.url, generateAuthUrl, fields, { 'x-api-key': apiKey });
    const { authUrl, loginIntentId } = data as { authUrl: string; loginIntentId: string };
    const { origin, pathname, searchParams } = new URL(authUrl);
    expect(origin + pathname).toBe('https://login.test/page');
    expect([...searchParams].toSorted()).toEqual([
      ['intent', loginIntentId],
      ['theme', 'dark'],
    ]);
  });
});
