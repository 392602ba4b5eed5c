/** Interface, "1. Generate Auth URL". */
import type { JsonObject } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { fieldOf, refusal, success, validationFailed } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { answerOf, CONNECT, call, REST } from '../support/protocols.ts';
import { beginLogin, clientsOf, createTenant, PUBLIC_URL, REDIRECT_URI, startTestService } from '../support/service.ts';
import { openContractFixture, UUID } from './contract-fixture.ts';

const { generateAuthUrl } = AuthService.method;
const LONGEST_URI = `${REDIRECT_URI}?`.padEnd(2048, 'a');
const LOOPBACK_URI = 'http://127.0.0.1/callback?from=app';
const PRIVATE_URI = 'com.example.app:/callback';
const MISMATCH = refusal('invalid_argument', 'Client ID mismatch');

const { service, tenant, other, credentials, callWith } = await openContractFixture({
  redirectUris: [REDIRECT_URI, LONGEST_URI, LOOPBACK_URI, PRIVATE_URI],
});
const { clientId } = tenant;
const body = { redirectUri: REDIRECT_URI, state: 'state' };

const generate = (changes: JsonObject) => callWith(generateAuthUrl, { clientId, ...body, ...changes });

async function post(content: string, query = `clientId=${clientId}`) {
  const path = `/api/oauth/generate-auth-url?${query}`;
  return answerOf(REST, generateAuthUrl, await request(service.url, { path, headers: credentials, body: content }));
}

it.each([
  [REST, 'Auth URL generated successfully'],
  [CONNECT, ''],
])('returns an authUrl with the loginIntentId as its intent: $name', async (protocol, message) => {
  const answer = await call(protocol, service.url, generateAuthUrl, { clientId, ...body }, credentials);
  const data = { authUrl: expect.any(String), loginIntentId: expect.stringMatching(UUID) };
  expect(answer).toStrictEqual(success(data, message));
  const loginIntentId = fieldOf(answer.data, 'loginIntentId');
  expect(fieldOf(answer.data, 'authUrl')).toBe(`${PUBLIC_URL}/login?intent=${loginIntentId}`);
  expect(await beginLogin(service, tenant)).not.toBe(loginIntentId);
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
  expect(await generate(changes)).toMatchObject({ code: 'ok' });
});

it.each([
  ...['', 'client\0id'].map((id) => ({ clientId: id })),
  ...['', `${LONGEST_URI}a`, `${REDIRECT_URI}\0`].map((redirectUri) => ({ redirectUri })),
  ...['', 'a'.repeat(501), `${'a'.repeat(500)}\u{1F6AA}`, 'sta\0te'].map((state) => ({ state })),
  { clientId: '', redirectUri: '', state: 'a'.repeat(501) },
])('returns 400 Validation failed for %j', async (wrong: JsonObject) => {
  expect(await generate(wrong)).toEqual(validationFailed(...Object.keys(wrong)));
});

it('checks the fields before the client ID and the redirect URI', async () => {
  const wrong = { clientId: other.clientId, redirectUri: 'https://app.test/elsewhere', state: '' };
  expect(await generate(wrong)).toEqual(validationFailed('state'));
});

it.each([
  // Malformed values and bodies: test/robustness/rest-malformed.test.ts.
  ['clientId', 'is in the body only', '', JSON.stringify({ ...body, clientId })],
  ['redirectUri', 'is null', `clientId=${clientId}`, JSON.stringify({ ...body, redirectUri: null })],
  ['state', 'is in the query only', `state=state&clientId=client`, JSON.stringify({ redirectUri: REDIRECT_URI })],
])('returns 400 Validation failed when %s %s', async (field, _, query, content) => {
  expect(await post(content, query)).toEqual(validationFailed(field));
});

it('takes an empty body for one without fields', async () => {
  expect(await post('')).toEqual(validationFailed('redirectUri', 'state'));
});

it.each([
  ['belongs to another application', other.clientId],
  ['is unknown', `client_${'0'.repeat(32)}`],
  ['differs in case', clientId.toUpperCase()],
  ['has a space before it', ` ${clientId}`],
])('returns 400 Client ID mismatch when the client ID %s, whatever the redirect URI', async (_, id) => {
  expect(await generate({ clientId: id })).toEqual(MISMATCH);
  expect(await generate({ clientId: id, redirectUri: 'https://app.test/elsewhere' })).toEqual(MISMATCH);
});

// Near misses, and what could get into authUrl: test/robustness/redirect-uris.test.ts.
it.each([
  ['is not registered', 'https://app.test/elsewhere'],
  ['is registered for another application', 'https://other.test/callback'],
  ['has a trailing slash too many', `${REDIRECT_URI}/`],
  ['is no URI', 'callback'],
  ['has 2048 astral characters', '\u{1F6AA}'.repeat(2048)],
  ['is a loopback address with another path', 'http://127.0.0.1:51004/elsewhere'],
  ['is a loopback address with an impossible port', 'http://127.0.0.1:65536/callback?from=app'],
])('returns 400 Invalid redirect URI when the redirect URI %s', async (_, redirectUri) => {
  expect(await generate({ redirectUri })).toEqual(refusal('invalid_argument', 'Invalid redirect URI'));
});

it('keeps the query of AUTH_PAGE_URL but for an intent of its own', async () => {
  await using elsewhere = await startTestService({
    config: { authPageUrl: 'https://login.test/page?intent=1&theme=dark&intent=2' },
  });
  const application = await createTenant(elsewhere);
  const fields = { clientId: application.clientId, ...body };
  const { authUrl, loginIntentId } = await clientsOf(elsewhere, application).auth.generateAuthUrl(fields);
  const { origin, pathname, searchParams } = new URL(authUrl);
  expect(origin + pathname).toBe('https://login.test/page');
  expect([...searchParams].toSorted()).toEqual([
    ['intent', loginIntentId],
    ['theme', 'dark'],
  ]);
});
