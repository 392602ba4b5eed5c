/** AdminService/CompleteLogin: how a login page finishes a login. See states.test.ts for when an intent expires. */
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { fieldOf, refusal, validationFailed } from '../support/answers.ts';
import { beginLogin, createDeletedUser, createTenant, createTestUser, PUBLIC_URL } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const { completeLogin } = AdminService.method;
const NOW = new Date('2026-03-01T12:00:00.250Z');
const NOW_SECONDS = Date.parse('2026-03-01T12:00:00Z') / 1000;

const { service, tenant, callWith } = await openContractFixture({ clock: () => new Date(NOW) });
const user = await createTestUser(service);

const complete = (loginIntentId: string, userId = user.id) => callWith(completeLogin, { loginIntentId, userId });

it('returns a token for the user and the application, which the published keys verify', async () => {
  const loginIntentId = await beginLogin(service, tenant);
  const { data } = await complete(loginIntentId);
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
    auth_time: NOW.getTime(),
    amr: ['page'],
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
  const { data } = await complete(await beginLogin(service, application, { redirectUri }));
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
  const { data } = await complete(await beginLogin(service, tenant, { state }));
  expect(new URL(fieldOf(data, 'redirectUrl')).searchParams.getAll('state')).toEqual([state]);
});

it('returns FailedPrecondition when the intent has been completed before, for any user', async () => {
  const loginIntentId = await beginLogin(service, tenant);
  await complete(loginIntentId);
  const refused = refusal('failed_precondition', 'Login intent already completed');
  expect(await complete(loginIntentId)).toEqual(refused);
  expect(await complete(loginIntentId, (await createTestUser(service)).id)).toEqual(refused);
});

it('completes an intent once when many try at the same time', async () => {
  const loginIntentId = await beginLogin(service, tenant);
  const answers = await Promise.all(Array.from({ length: 8 }, () => complete(loginIntentId)));
  expect(answers.map(({ code }) => code).toSorted()).toEqual([...Array(7).fill('failed_precondition'), 'ok']);
});

it('returns NotFound when the intent is unknown', async () => {
  expect(await complete(UNKNOWN_ID)).toEqual(refusal('not_found', 'Login intent not found'));
});

it.each([
  ['is unknown', UNKNOWN_ID],
  ['has been deleted', await createDeletedUser(service)],
])('returns NotFound when the user %s, and the intent can still be completed', async (_, userId) => {
  const loginIntentId = await beginLogin(service, tenant);
  expect(await complete(loginIntentId, userId)).toEqual(refusal('not_found', 'User not found'));
  expect(await complete(loginIntentId)).toMatchObject({ code: 'ok' });
});

it.each(['', 'id', `${UNKNOWN_ID.slice(1)}\0`])('returns Validation failed when an ID is %j', async (id) => {
  expect(await complete(id, UNKNOWN_ID)).toEqual(validationFailed('loginIntentId'));
  expect(await complete(UNKNOWN_ID, id)).toEqual(validationFailed('userId'));
});
