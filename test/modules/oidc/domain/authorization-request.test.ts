/** Each check of a request to the authorization endpoint, and how a login is answered. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  awaitsConsent,
  createAuthorizationAnswers,
  isCodeLive,
} from '../../../../src/modules/oidc/domain/authorization/authorization-answer.ts';
import {
  readAnswerTarget,
  readAuthorizationRequest,
} from '../../../../src/modules/oidc/domain/authorization/authorization-request.ts';
import { readIdTokenHint } from '../../../../src/modules/oidc/domain/authorization/id-token-hint.ts';
import { OidcError } from '../../../../src/modules/oidc/domain/oidc-error.ts';
import { Parameters } from '../../../../src/modules/oidc/domain/parameters.ts';
import type { OidcSigningKeys } from '../../../../src/modules/oidc/domain/tokens/signing-keys.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/tokens/token-keys.ts';

const CHALLENGE = hash('sha256', 'v'.repeat(43), 'base64url');
const withChallenge = `&code_challenge=${CHALLENGE}&code_challenge_method=S256`;
/** In bytes, two a character. */
const umlauts = (bytes: number) => '%C3%BC'.repeat(bytes / 2);

function read(text: string, requirePkce = false): Record<string, unknown> | string {
  try {
    return { ...readAuthorizationRequest(new Parameters(`response_type=code${text}`), { requirePkce }) };
  } catch (error) {
    if (error instanceof OidcError) return `${error.reason}: ${error.message}`;
    throw error;
  }
}

test.each<[string, unknown, requirePkce?: boolean]>([
  ['', { nonce: null, codeChallenge: null, prompt: '', isSilent: false, maxAgeSeconds: null, requiredAssurance: 1 }],
  ['&response_type=code', 'invalid_request: A parameter is repeated'],
  ['&id_token_hint=a&id_token_hint=b', 'invalid_request: A parameter is repeated'],
  ['&resource=a&resource=b', { nonce: null }],
  [`&state=${umlauts(4_096)}`, { nonce: null }],
  [`&state=${umlauts(4_096)}a`, 'invalid_request: state is longer than 4096 bytes, or contains NUL'],
  [`&nonce=${umlauts(1_024)}`, { nonce: 'ü'.repeat(512) }],
  [`&nonce=${umlauts(1_024)}a`, 'invalid_request: nonce is longer than 1024 bytes, or contains NUL'],
  ['&nonce=%00', 'invalid_request: nonce is longer than 1024 bytes, or contains NUL'],
  [`&scope=${umlauts(1_000)}a`, 'invalid_request: scope is longer than 1000 bytes, or contains NUL'],
  ['&response_mode=query', { nonce: null }],
  ['&response_mode=form_post', { nonce: null }],
  ['&response_mode=fragment', 'invalid_request: response_mode is neither query nor form_post'],
  ['&request=a', 'request_not_supported: Request objects are not supported'],
  ['&request_uri=a', 'request_uri_not_supported: Request objects are not supported'],
  ['&registration=a', 'registration_not_supported: Registration is not supported'],
  [withChallenge, { codeChallenge: Buffer.from(CHALLENGE, 'base64url') }],
  [withChallenge, { codeChallenge: Buffer.from(CHALLENGE, 'base64url') }, true],
  ['', 'invalid_request: code_challenge is missing', true],
  ['&code_challenge_method=S256', 'invalid_request: code_challenge is missing'],
  [`&code_challenge=${CHALLENGE}`, 'invalid_request: code_challenge_method is not S256'],
  [`&code_challenge=${CHALLENGE}&code_challenge_method=plain`, 'invalid_request: code_challenge_method is not S256'],
  ['&code_challenge=short&code_challenge_method=S256', 'invalid_request: code_challenge is not a SHA-256 in base64url'],
  ['&prompt=login', { prompt: 'LOGIN', asksConsent: false, isSilent: false }],
  ['&prompt=login+consent', { prompt: 'LOGIN', asksConsent: true, isSilent: false }],
  ['&prompt=+none', { prompt: '', asksConsent: false, isSilent: true }],
  ['&prompt=none+login', 'invalid_request: prompt has other values beside none'],
  ['&max_age=0', { maxAgeSeconds: 0 }],
  ['&max_age=31536000', { maxAgeSeconds: 31_536_000 }],
  ['&max_age=31536001', { maxAgeSeconds: 31_536_000 }],
  ['&max_age=-1', 'invalid_request: max_age is not a whole number'],
  ['&acr_values=phr+2', { requiredAssurance: 3 }],
  ['&ui_locales=de', { locale: 'de' }],
  ['&ui_locales=%00', { locale: null }],
  [`&ui_locales=${'a'.repeat(200)}`, { locale: 'a'.repeat(200) }],
  [`&ui_locales=${'a'.repeat(201)}`, { locale: '' }],
  [`&ui_locales=de+${'a'.repeat(196)}+fr`, { locale: `de ${'a'.repeat(196)}` }],
  [`&ui_locales=${'a'.repeat(200)}+de`, { locale: 'a'.repeat(200) }],
  ['&login_hint=ada&id_token_hint=t', { loginHint: 'ada', idTokenHint: 't' }],
])('the request %s', (text, expected, requirePkce) => {
  const found = read(text, requirePkce);
  if (typeof expected === 'string') expect(found).toBe(expected);
  else expect(found).toMatchObject(expected as object);
});

test.each([
  ['', 'invalid_request: response_type is missing'],
  ['response_type=token', 'unsupported_response_type: The only response type is code'],
])('the request %s', (text, expected) => {
  expect(() => readAuthorizationRequest(new Parameters(text), { requirePkce: false })).toThrow(expected.split(': ')[1]);
});

test.each([
  ['', 'query', ''],
  ['state=a&response_mode=query', 'query', 'a'],
  ['state=a&response_mode=form_post', 'form_post', 'a'],
  ['state=a&state=a&response_mode=form_post', 'form_post', ''],
  ['state=a&response_mode=form_post&response_mode=form_post', 'query', 'a'],
  [`state=${umlauts(4_096)}a`, 'query', ''],
  ['state=a%00', 'query', ''],
])('the answer to %s goes by %s', (text, responseMode, state) => {
  expect(readAnswerTarget(new Parameters(text))).toEqual({ responseMode, state });
});

const NOW = new Date();
const at = (ms: number) => new Date(NOW.getTime() + ms);
const completed = {
  ...{ completedAt: at(-1), clientName: null as string | null, consentedAt: null as Date | null },
  ...{ redeemedAt: null as Date | null, expiresAt: at(1) },
};
const ofDocument = { ...completed, clientName: 'Assistant' };

test.each([
  ['of a login', completed, true, false],
  ['of a login that was completed nearly a minute ago', { ...completed, completedAt: at(1 - 60_000) }, true, false],
  ['of a login that was completed a minute ago', { ...completed, completedAt: at(-60_000) }, false, false],
  ['that was redeemed', { ...completed, redeemedAt: NOW }, false, false],
  ['that awaits a consent', ofDocument, false, true],
  ['that awaits a consent until now', { ...ofDocument, expiresAt: NOW }, false, false],
  ['that was consented to', { ...ofDocument, consentedAt: at(1 - 60_000), completedAt: at(-60_000) }, true, false],
  ['that was consented to a minute ago', { ...ofDocument, consentedAt: at(-60_000) }, false, false],
  ['that was denied', { ...ofDocument, redeemedAt: NOW }, false, false],
])('a code %s', (_, login, isLive, awaits) => {
  expect([isCodeLive(login, NOW), awaitsConsent(login, NOW)]).toEqual([isLive, awaits]);
});

describe('the answer', () => {
  const keys = deriveTokenKeys([randomBytes(32)]);
  const answers = createAuthorizationAnswers('https://usher.test/base/', keys);
  const login = {
    ...{
      id: randomUUID(),
      loginIntentId: randomUUID(),
      applicationId: randomUUID(),
      redirectUri: 'https://app.test/?a=b',
    },
    ...{ state: 's', responseMode: 'query', forClient: null },
    ...completed,
  };

  test.each([
    ['in the query', {}, /^https:\/\/app\.test\/\?a=b&code=[\w-]{64}&state=s&iss=https%3A%2F%2Fusher\.test%2Fbase%2F$/],
    ['without a state', { state: '' }, /^https:\/\/app\.test\/\?a=b&code=[\w-]{64}&iss=/],
    ['by a form', { responseMode: 'form_post' }, /^https:\/\/usher\.test\/base\/oidc\/return\?code=[\w-]{64}$/],
    ['by the page about a device', { responseMode: 'device' }, /^https:\/\/usher\.test\/base\/device\/approve\?code=/],
    ['after the consent', { clientName: 'Assistant' }, /^https:\/\/usher\.test\/base\/oidc\/consent\?login=[\w-]{64}$/],
    ['with the resource', { forClient: 'client_1' }, /^https:\/\/app\.test\/\?a=b&code=[\w-]{86}&/],
  ])('comes %s', (_, changes, url) => {
    expect(answers.toCompletedUrl({ ...login, ...changes } as never)).toMatch(url);
  });

  test.each([
    ['in the query', {}, /^https:\/\/app\.test\/\?a=b&error=access_denied&state=s&iss=/],
    [
      'by a form',
      { responseMode: 'form_post' },
      /^https:\/\/usher\.test\/base\/oidc\/return\?intent=[\w-]{36}&error=access_denied$/,
    ],
    [
      'by the page about a device',
      { responseMode: 'device' },
      /^https:\/\/usher\.test\/base\/device\/request\?request=/,
    ],
  ])('to a login that fails comes %s', (_, changes, url) => {
    expect(answers.toErrorUrl({ ...login, ...changes } as never, 'access_denied')).toMatch(url);
  });

  test.each([
    ['of a code', {}, true],
    ['of a code that is too old', { completedAt: at(-60_000) }, false],
    ['that awaits a consent', { clientName: 'Assistant', completedAt: at(-60_000) }, true],
    ['of a device, long after the sign-in', { responseMode: 'device', completedAt: at(-60_000) }, true],
    ['of a device whose code has expired', { responseMode: 'device', expiresAt: NOW }, false],
    ['of a device that has its tokens', { responseMode: 'device', redeemedAt: NOW }, false],
  ])('%s is live: %s', (_, changes, isLive) => {
    expect(answers.isLive({ ...login, ...changes } as never, NOW)).toBe(isLive);
  });
});

test.each<[string, object, boolean]>([
  ['as Usher has signed it', {}, true],
  ['of another issuer', { iss: 'https://other.test' }, false],
  ['for several clients', { aud: ['client_1'] }, false],
  ['without its time', { iat: undefined }, false],
  ['of no user', { sub: 'client_1' }, false],
  ['of a user by number', { sub: 1 }, false],
])('an ID token %s is a hint: %s', (_, changes, isHint) => {
  const userId = randomUUID();
  const claims = { iss: 'https://usher.test', aud: 'client_1', sub: userId, iat: 5, sid: userId, ...changes };
  const keys = { verify: (_token, isExpected) => (isExpected(claims) ? claims : undefined) } as OidcSigningKeys;
  const hint = { userId, clientId: 'client_1', sid: userId, issuedAt: new Date(5_000) };
  expect(readIdTokenHint(keys, 'https://usher.test', 't')).toEqual(isHint ? hint : undefined);
});

test.each([undefined, 5, 'a browser'])('an ID token with the sid %s names no browser', (sid) => {
  const claims = { iss: 'https://usher.test', aud: 'client_1', sub: randomUUID(), iat: 5, sid };
  const keys = { verify: () => claims } as unknown as OidcSigningKeys;
  expect(readIdTokenHint(keys, 'https://usher.test', 't')).toMatchObject({ sid: undefined });
});
