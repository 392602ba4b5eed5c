/** Interface, "1. Generate Auth URL". */
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal, validationFailed, without } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
import { request } from '../support/http.ts';
import {
  createTenant,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import { CONNECT_JSON_WIRES, failureOf, RPC_WIRES, sendOver, withInvalidUtf8 } from '../support/wire.ts';

const { generateAuthUrl } = AuthService.method;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const LONGEST_URI = `${REDIRECT_URI}?${'a'.repeat(2048 - REDIRECT_URI.length - 1)}`;
const LOOPBACK_URI = 'http://127.0.0.1/callback?from=app';
const PRIVATE_URI = 'com.example.app:/callback';
const JSON_TYPES = [1, true, ['text'], { text: 'text' }, null];

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

describe.each(CALLERS)('GenerateAuthUrl, $name', (caller) => {
  const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
    caller.call(service.url, generateAuthUrl, fields, headers);

  it('returns an authUrl with exactly one intent, the loginIntentId, which is a UUID', async () => {
    const answer = await callWith(validFields());
    expect(answer).toEqual({
      code: 'ok',
      message: caller.isRest ? 'Auth URL generated successfully' : undefined,
      fields: [],
      data: { authUrl: expect.any(String), loginIntentId: expect.stringMatching(UUID) },
    });
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
    ['a state of 500 characters', { state: 'a'.repeat(500) }],
    ['a state of 500 astral characters, each counted once', { state: '\u{1F6AA}'.repeat(500) }],
    ['a state with spaces, line breaks and reserved characters', { state: ' \t\r\n&=?#%+/"\\\u007f' }],
    ['a redirect URI of 2048 characters', { redirectUri: LONGEST_URI }],
    ['http on a loopback address as registered', { redirectUri: LOOPBACK_URI }],
    ['http on a loopback address with any port', { redirectUri: 'http://127.0.0.1:51004/callback?from=app' }],
    ['a private scheme', { redirectUri: PRIVATE_URI }],
  ])('accepts %s', async (_, changes) => {
    expect(await callWith({ ...validFields(), ...changes })).toMatchObject({ code: 'ok', fields: [] });
  });

  it.each(['clientId', 'redirectUri', 'state'])('400 Validation failed when %s is missing', async (field) => {
    expect(await callWith(without(validFields(), field))).toEqual(validationFailed(field));
  });

  it.each<[string, string, string]>([
    ['clientId', 'is empty', ''],
    ['clientId', 'has a NUL', 'client\0id'],
    ['redirectUri', 'is empty', ''],
    ['redirectUri', 'has 2049 characters', `${LONGEST_URI}a`],
    ['redirectUri', 'has 2049 astral characters', '\u{1F6AA}'.repeat(2049)],
    ['redirectUri', 'has a NUL', `${REDIRECT_URI}\0`],
    ['state', 'is empty', ''],
    ['state', 'has 501 characters', 'a'.repeat(501)],
    ['state', 'has 501 astral characters', '\u{1F6AA}'.repeat(501)],
    ['state', 'has 501 characters, of which one is astral', `${'a'.repeat(500)}\u{1F6AA}`],
    ['state', 'has a NUL', 'sta\0te'],
  ])('400 Validation failed when %s %s', async (field, _, value) => {
    expect(await callWith({ ...validFields(), [field]: value })).toEqual(validationFailed(field));
  });

  it('400 Validation failed names every field that is wrong', async () => {
    const answer = await callWith({ clientId: '', redirectUri: '', state: 'a'.repeat(501) });
    expect(answer).toEqual(validationFailed('clientId', 'redirectUri', 'state'));
  });

  it.each<[string, () => string]>([
    ['belongs to another application', () => other.clientId],
    ['is unknown', () => `client_${'0'.repeat(32)}`],
    ['differs in case', () => tenant.clientId.toUpperCase()],
    ['has a space before it', () => ` ${tenant.clientId}`],
  ])('400 Client ID mismatch when the client ID %s', async (_, clientIdOf) => {
    const answer = await callWith({ ...validFields(), clientId: clientIdOf() });
    expect(answer).toEqual(refusal('invalid_argument', 'Client ID mismatch'));
  });

  it.each<[string, string]>([
    ['is not registered', 'https://app.test/elsewhere'],
    ['is registered for another application', 'https://other.test/callback'],
    ['has a path below the registered one', `${REDIRECT_URI}/more`],
    ['has a trailing slash too many', `${REDIRECT_URI}/`],
    ['has a query that is not registered', `${REDIRECT_URI}?a=b`],
    ['has a fragment', `${REDIRECT_URI}#fragment`],
    ['differs in case', 'https://APP.test/callback'],
    ['names the default port', 'https://app.test:443/callback'],
    ['has another scheme', 'http://app.test/callback'],
    ['has user information', 'https://user@app.test/callback'],
    ['is percent-encoded otherwise', 'https://app.test/%63allback'],
    ['is no URI', 'callback'],
    ['has 2048 astral characters', '\u{1F6AA}'.repeat(2048)],
    ['is a loopback address with another path', 'http://127.0.0.1:51004/elsewhere'],
    ['is a loopback address over https', 'https://127.0.0.1:51004/callback?from=app'],
    ['is another loopback address', 'http://127.0.0.2/callback?from=app'],
    ['is a loopback address with an impossible port', 'http://127.0.0.1:65536/callback?from=app'],
    ['is a host that begins with a loopback address', 'http://127.0.0.1.evil.test/callback?from=app'],
  ])('400 Invalid redirect URI when the redirect URI %s', async (_, redirectUri) => {
    const answer = await callWith({ ...validFields(), redirectUri });
    expect(answer).toEqual(refusal('invalid_argument', 'Invalid redirect URI'));
  });

  describe('with several things wrong, tells', () => {
    const invalid = { clientId: 'client', redirectUri: 'https://app.test/elsewhere', state: '' };

    it('the API key first', async () => {
      expect(await callWith(invalid, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    });

    it('the fields next', async () => {
      expect(await callWith(invalid)).toEqual(validationFailed('state'));
    });

    it('the client ID before the redirect URI', async () => {
      const answer = await callWith({ ...invalid, state: 'state' });
      expect(answer).toEqual(refusal('invalid_argument', 'Client ID mismatch'));
    });
  });
});

describe.each(['1.1', '2'] as const)('GenerateAuthUrl, JSON over REST and HTTP/%s', (httpVersion) => {
  const post = (body: string | Uint8Array, query = `clientId=${tenant.clientId}`) =>
    request(service.url, {
      httpVersion,
      method: 'POST',
      path: `/api/oauth/generate-auth-url?${query}`,
      headers: { 'content-type': 'application/json', ...credentials() },
      body,
    });
  const body = { redirectUri: REDIRECT_URI, state: 'state' };

  it('answers in the envelope, which nobody may store', async () => {
    const reply = await post(JSON.stringify(body));
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: true,
      message: 'Auth URL generated successfully',
      data: { authUrl: expect.any(String), loginIntentId: expect.stringMatching(UUID) },
    });
  });

  it('answers an error in the envelope, with what is wrong with each field', async () => {
    const reply = await post(JSON.stringify({ redirectUri: REDIRECT_URI }));
    expect(reply).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field: 'state', message: expect.stringMatching(/./) }],
    });
  });

  it.each<[string, () => string, string]>([
    ['Client ID mismatch', () => other.clientId, REDIRECT_URI],
    ['Invalid redirect URI', () => tenant.clientId, 'https://app.test/elsewhere'],
  ])('answers 400 %s with nothing but the message', async (message, clientIdOf, redirectUri) => {
    const reply = await post(JSON.stringify({ ...body, redirectUri }), `clientId=${clientIdOf()}`);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each(['redirectUri', 'state'].flatMap((field) => JSON_TYPES.map((value) => [field, value] as const)))(
    '400 Validation failed when %s is %j',
    async (field, value) => {
      const reply = await post(JSON.stringify({ ...body, [field]: value }));
      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.body)).toStrictEqual({
        status: false,
        message: 'Validation failed',
        errors: [{ field, message: expect.stringMatching(/./) }],
      });
    },
  );

  it.each([
    ['clientId', 'is there twice', 'clientId=a&clientId=a', JSON.stringify(body)],
    ['clientId', 'is in the body only', '', JSON.stringify({ ...body, clientId: 'client' })],
    ['clientId', 'is not UTF-8', 'clientId=%FF', JSON.stringify(body)],
    ['redirectUri', 'has a lone surrogate', undefined, JSON.stringify({ ...body, redirectUri: '\ud800' })],
    ['state', 'has a lone high surrogate', undefined, JSON.stringify({ ...body, state: 'a\ud83dz' })],
    ['state', 'has a lone low surrogate', undefined, JSON.stringify({ ...body, state: '\udeaa' })],
    ['state', 'is in the query only', `state=state&clientId=client`, JSON.stringify({ redirectUri: REDIRECT_URI })],
    ['body', 'is empty JSON text', undefined, ' '],
    ['body', 'is malformed', undefined, '{"state":'],
    ['body', 'is an array', undefined, '[]'],
    ['body', 'is a string', undefined, '"state"'],
    ['body', 'is null', undefined, 'null'],
    ['body', 'is not UTF-8', undefined, Buffer.from([...Buffer.from('{"state":"'), 0xff, ...Buffer.from('"}')])],
  ])('400 Validation failed when %s %s', async (field, _, query, content) => {
    const reply = await post(content, query);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field, message: expect.stringMatching(/./) }],
    });
  });

  it('takes an empty body for one without fields', async () => {
    const reply = await post('');
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body).errors.map(({ field }: { field: string }) => field)).toEqual([
      'redirectUri',
      'state',
    ]);
  });
});

describe.each(CONNECT_JSON_WIRES)('GenerateAuthUrl, $name', (wire) => {
  it.each(
    ['clientId', 'redirectUri', 'state'].flatMap((field) => [
      ...JSON_TYPES.map((value) => [field, value] as const),
      [field, 'a\ud800z'] as const,
    ]),
  )('Validation failed when %s is %j', async (field, value) => {
    const fields = { ...validFields(), [field]: value };
    const reply = await sendOver(wire, service.url, { method: generateAuthUrl, fields, headers: credentials() });
    expect(failureOf(wire, reply)).toEqual({
      status: 400,
      code: 'InvalidArgument',
      message: 'Validation failed',
      fields: [field],
    });
  });
});

describe.each(RPC_WIRES)('GenerateAuthUrl, $name', (wire) => {
  it('Validation failed when the state is not UTF-8', async () => {
    const body = withInvalidUtf8(wire, generateAuthUrl, validFields(), 'state');
    const reply = await sendOver(wire, service.url, { method: generateAuthUrl, body, headers: credentials() });
    expect(failureOf(wire, reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
  });
});

describe('The authUrl', () => {
  it('has nothing of the request headers in it', async () => {
    const reply = await request(service.url, {
      method: 'POST',
      path: `/api/oauth/generate-auth-url?clientId=${tenant.clientId}`,
      headers: {
        ...credentials(),
        host: 'evil.test',
        origin: 'https://evil.test',
        'x-forwarded-host': 'evil.test',
        'x-forwarded-proto': 'http',
        forwarded: 'host=evil.test',
      },
      body: JSON.stringify({ redirectUri: REDIRECT_URI, state: 'state' }),
    });
    const { authUrl, loginIntentId } = JSON.parse(reply.body).data;
    expect(authUrl).toBe(`${PUBLIC_URL}/login?intent=${loginIntentId}`);
  });

  it('keeps the query of AUTH_PAGE_URL but for an intent of its own', async () => {
    await using elsewhere = await startTestService({
      config: { authPageUrl: 'https://login.test/page?intent=1&theme=dark&intent=2' },
    });
    const { clientId, apiKey } = await createTenant(elsewhere);
    const reply = await request(elsewhere.url, {
      method: 'POST',
      path: `/api/oauth/generate-auth-url?clientId=${clientId}`,
      headers: { 'x-api-key': apiKey },
      body: JSON.stringify({ redirectUri: REDIRECT_URI, state: 'state' }),
    });
    const { authUrl, loginIntentId } = JSON.parse(reply.body).data;
    const { origin, pathname, searchParams } = new URL(authUrl);
    expect(origin + pathname).toBe('https://login.test/page');
    expect([...searchParams].toSorted()).toEqual([
      ['intent', loginIntentId],
      ['theme', 'dark'],
    ]);
  });
});
