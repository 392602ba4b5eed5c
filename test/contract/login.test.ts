/** How a login begins and ends, also at a login page of the operator's own. */
import type { JsonObject } from '@bufbuild/protobuf';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { fieldOf, refusal, success, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { request } from '../support/http.ts';
import { answerOf, REST } from '../support/protocols.ts';
import {
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
} from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID, UUID } from './contract-fixture.ts';

const { generateAuthUrl } = AuthService.method;
const { getLoginIntent, cancelLogin, completeLogin } = AdminService.method;
const LONGEST_URI = `${REDIRECT_URI}?`.padEnd(2048, 'a');
const LOOPBACK_URI = 'http://127.0.0.1/callback?from=app';
const PRIVATE_URI = 'com.example.app:/callback';
const MISMATCH = refusal('invalid_argument', 'Client ID mismatch');
const ALREADY_COMPLETED = refusal('failed_precondition', 'Login intent already completed');

const clock = new TestClock(new Date('2026-03-01T12:00:00.250Z'));
const { service, tenant, other, credentials, callWith } = await openContractFixture({
  clock: clock.read,
  redirectUris: [REDIRECT_URI, LONGEST_URI, LOOPBACK_URI, 'http://localhost:3000/callback', PRIVATE_URI],
});
const user = await createTestUser(service);

const complete = (loginIntentId: string, userId = user.id) => callWith(completeLogin, { loginIntentId, userId });

describe('GenerateAuthUrl', () => {
  const { clientId } = tenant;
  const body = { redirectUri: REDIRECT_URI, state: 'state' };

  const generate = (changes: JsonObject) => callWith(generateAuthUrl, { clientId, ...body, ...changes });

  async function post(content: string, query = `clientId=${clientId}`) {
    const path = `/api/oauth/generate-auth-url?${query}`;
    return answerOf(REST, generateAuthUrl, await request(service.url, { path, headers: credentials, body: content }));
  }

  // Over every protocol, byte for byte: documented-calls.test.ts.
  it('returns an authUrl with the loginIntentId as its intent, and with the client ID', async () => {
    const { data } = await generate({});
    const loginIntentId = fieldOf(data, 'loginIntentId');
    expect(loginIntentId).toMatch(UUID);
    expect(fieldOf(data, 'authUrl')).toBe(`${PUBLIC_URL}/login?intent=${loginIntentId}&client_id=${clientId}`);
    expect(await createLoginIntent(service, tenant)).not.toBe(loginIntentId);
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

  it.each<JsonObject>([
    { redirectUri: `${LONGEST_URI}a` },
    { state: `${'a'.repeat(500)}\u{1F6AA}` },
    { clientId: '', redirectUri: '', state: '' },
  ])('returns 400 Validation failed for %j', async (wrong) => {
    expect(await generate(wrong)).toEqual(validationFailed(...Object.keys(wrong)));
  });

  it('keeps the languages that the application wants, and accepts none', async () => {
    for (const locale of ['pt-PT en', 'not a tag', 'x'.repeat(200)]) {
      const { data } = await generate({ locale });
      const loginIntentId = fieldOf(data, 'loginIntentId');
      const intent = expect.objectContaining({ locale });
      expect(await callWith(getLoginIntent, { loginIntentId })).toEqual(success({ loginIntent: intent }));
    }
    expect(await generate({ locale: '' })).toMatchObject({ code: 'ok' });
    expect(await generate({ locale: 'x'.repeat(201) })).toEqual(validationFailed('locale'));
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
    ['has a query too many', `${REDIRECT_URI}?a=1`],
    ['differs in case', REDIRECT_URI.replace('callback', 'Callback')],
    ['is localhost with another port', 'http://localhost:51004/callback'],
    ['is no URI', 'callback'],
    ['has 2048 astral characters', '\u{1F6AA}'.repeat(2048)],
    ['is a loopback address with another path', 'http://127.0.0.1:51004/elsewhere'],
    ['is a loopback address with an impossible port', 'http://127.0.0.1:65536/callback?from=app'],
  ])('returns 400 Invalid redirect URI when the redirect URI %s', async (_, redirectUri) => {
    expect(await generate({ redirectUri })).toEqual(refusal('invalid_argument', 'Invalid redirect URI'));
  });

  it('keeps the query of AUTH_PAGE_URL but for an intent and a client ID of its own', async () => {
    const { database, config: like } = service;
    const config = { authPageUrl: 'https://login.test/page?client_id=1&intent=1&theme=dark&intent=2' };
    await using elsewhere = await startTestService({ database, like, config });
    const { authUrl, loginIntentId } = await clientsOf(elsewhere, tenant).auth.generateAuthUrl({ clientId, ...body });
    const { origin, pathname, searchParams } = new URL(authUrl);
    expect(origin + pathname).toBe('https://login.test/page');
    expect([...searchParams].toSorted()).toEqual([
      ['client_id', clientId],
      ['intent', loginIntentId],
      ['theme', 'dark'],
    ]);
  });
});

describe('CompleteLogin', () => {
  it('returns a token for the user and the application, which the published keys verify', async () => {
    const loginIntentId = await createLoginIntent(service, tenant);
    const { data } = await complete(loginIntentId);
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.url));
    const { protectedHeader, payload } = await jwtVerify(fieldOf(data, 'authToken'), keys, {
      currentDate: clock.read(),
    });
    const seconds = Math.floor(clock.read().getTime() / 1000);
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'login+jwt', kid: 'test-key' });
    expect(payload).toEqual({
      iss: PUBLIC_URL,
      aud: tenant.clientId,
      sub: user.id,
      jti: loginIntentId,
      iat: seconds,
      exp: seconds + 900,
      auth_time: clock.read().getTime(),
      amr: ['page'],
      acr: '1',
    });
  });

  // More redirect URIs: test/domain/applications/redirect-uri.test.ts.
  it.each([
    ['without a query', 'https://app.test/callback', '?'],
    ['with a query', 'https://app.test/callback?a=1&b=%20x+y&c', '&'],
    ['on a loopback address', 'http://127.0.0.1:51004/callback?a=1', '&'],
    ['of a private scheme', 'com.example.app:/callback', '?'],
  ])('adds authToken, state and iss to a redirect URI %s', async (_, redirectUri, separator) => {
    const application = await createTenant(service, { redirectUris: [redirectUri] });
    const { data } = await complete(await createLoginIntent(service, application, { redirectUri }));
    const [authToken, redirectUrl] = [fieldOf(data, 'authToken'), fieldOf(data, 'redirectUrl')];
    expect(redirectUrl.startsWith(redirectUri + separator)).toBe(true);
    const added = redirectUrl.slice(redirectUri.length + separator.length);
    expect(Object.fromEntries(new URLSearchParams(added))).toEqual({ authToken, state: 'state', iss: PUBLIC_URL });
  });

  it.each([
    ['reserved characters', '&state=x#fragment?=%26+ /\\"\'<>'],
    ['spaces and line breaks', ' a\r\nb\tc '],
    ['500 characters beyond ASCII', `Zürich 夏 e\u0301${'\u{1F6AA}'.repeat(489)}`],
  ])('returns a state with %s exactly', async (_, state) => {
    const { data } = await complete(await createLoginIntent(service, tenant, { state }));
    expect(new URL(fieldOf(data, 'redirectUrl')).searchParams.getAll('state')).toEqual([state]);
  });

  it('returns FailedPrecondition when the intent has been completed before, for any user', async () => {
    const loginIntentId = await createLoginIntent(service, tenant);
    await complete(loginIntentId);
    expect(await complete(loginIntentId)).toEqual(ALREADY_COMPLETED);
    expect(await complete(loginIntentId, (await createTestUser(service)).id)).toEqual(ALREADY_COMPLETED);
  });

  it('completes an intent once when many try at the same time', async () => {
    const loginIntentId = await createLoginIntent(service, tenant);
    const answers = await Promise.all(Array.from({ length: 8 }, () => complete(loginIntentId)));
    expect(answers.map(({ code }) => code).toSorted()).toEqual([...Array(7).fill('failed_precondition'), 'ok']);
  });

  it('completes an intent until 30 minutes have passed, and then returns FailedPrecondition', async () => {
    const [last, late] = [await createLoginIntent(service, tenant), await createLoginIntent(service, tenant)];
    clock.advance(30 * MINUTE - 1);
    expect(await complete(last)).toMatchObject({ code: 'ok' });
    clock.advance(1);
    expect(await complete(late)).toEqual(refusal('failed_precondition', 'Login intent expired'));
  });

  it('leaves the intent open when the user does not exist', async () => {
    const loginIntentId = await createLoginIntent(service, tenant);
    expect(await complete(loginIntentId, UNKNOWN_ID)).toEqual(refusal('not_found', 'User not found'));
    expect(await complete(loginIntentId)).toMatchObject({ code: 'ok' });
  });
});

it('GetLoginIntent returns the name of the application, the expiry, and the state as it changes', async () => {
  const [completed, expired] = [await createLoginIntent(service, tenant), await createLoginIntent(service, tenant)];
  const expiresAt = new Date(clock.read().getTime() + 30 * MINUTE).toISOString();
  const shown = (loginIntentId: string, state: string) =>
    success({
      loginIntent: {
        loginIntentId,
        applicationId: tenant.id,
        applicationName: tenant.name,
        state,
        expiresAt,
        allowSignUp: false,
        signUpEmailDomains: [],
        loginMethods: [],
        prompt: '',
        requiredAssurance: 'ANY',
      },
    });
  for (const id of [completed, expired]) {
    expect(await callWith(getLoginIntent, { loginIntentId: id })).toEqual(shown(id, 'open'));
  }
  await complete(completed);
  clock.advance(30 * MINUTE);
  expect(await callWith(getLoginIntent, { loginIntentId: completed })).toEqual(shown(completed, 'completed'));
  expect(await callWith(getLoginIntent, { loginIntentId: expired })).toEqual(shown(expired, 'expired'));
});

describe('a login that demands more than one factor', () => {
  const NOT_MET = refusal('failed_precondition', 'Assurance not met');
  const begin = (requiredAssurance: string) => createLoginIntent(service, tenant, { requiredAssurance });

  it.each([
    ['TWO_FACTORS', 1, false],
    ['TWO_FACTORS', 2, true],
    ['PHISHING_RESISTANT', 2, false],
    ['PHISHING_RESISTANT', 3, true],
  ])('and is %s is completed by a sign-in of level %d: %s', async (requiredAssurance, assurance, suffices) => {
    const loginIntentId = await begin(requiredAssurance);
    const shown = await callWith(getLoginIntent, { loginIntentId });
    expect(shown).toMatchObject({ data: { loginIntent: { requiredAssurance } } });
    const answer = await callWith(completeLogin, { loginIntentId, userId: user.id, assurance });
    expect(answer).toEqual(suffices ? expect.objectContaining({ code: 'ok' }) : NOT_MET);
    if (!suffices)
      expect(await callWith(completeLogin, { loginIntentId, userId: user.id, assurance: 3 })).toMatchObject({
        code: 'ok',
      });
  });

  it('leads back with the error of RFC 9470', async () => {
    const { data } = await callWith(cancelLogin, { loginIntentId: await begin('TWO_FACTORS') });
    expect(new URL(fieldOf(data, 'redirectUrl')).searchParams.get('error')).toBe('unmet_authentication_requirements');
  });

  it('takes no other level, and no level for granted on behalf of a user', async () => {
    const loginIntentId = await begin('TWO_FACTORS');
    for (const assurance of [0, 4])
      expect(await callWith(completeLogin, { loginIntentId, userId: user.id, assurance })).toEqual(
        validationFailed('assurance'),
      );
    const onBehalf = { loginIntentId, userId: user.id, assurance: 3, onBehalfBy: 'Support' };
    expect(await callWith(completeLogin, onBehalf)).toEqual(NOT_MET);
  });
});

describe('CancelLogin', () => {
  it('returns the redirect with access_denied, and the user may come back and sign in', async () => {
    const loginIntentId = await createLoginIntent(service, tenant, { redirectUri: LOOPBACK_URI, state: 'a&b' });
    const query = new URLSearchParams({ error: 'access_denied', state: 'a&b', iss: PUBLIC_URL });
    const redirectUrl = `${LOOPBACK_URI}&${query}`;
    for (let time = 0; time < 2; time++) {
      expect(await callWith(cancelLogin, { loginIntentId })).toEqual(success({ redirectUrl }));
    }
    expect(await complete(loginIntentId)).toMatchObject({ code: 'ok' });
  });

  it('returns FailedPrecondition for an intent that is completed or expired', async () => {
    const [completed, expired] = [await createLoginIntent(service, tenant), await createLoginIntent(service, tenant)];
    await complete(completed);
    expect(await callWith(cancelLogin, { loginIntentId: completed })).toEqual(ALREADY_COMPLETED);
    clock.advance(30 * MINUTE);
    const refused = refusal('failed_precondition', 'Login intent expired');
    expect(await callWith(cancelLogin, { loginIntentId: expired })).toEqual(refused);
  });
});
