/** Interface, "2. Exchange Token". When tokens and sessions end: states.test.ts. */
import { expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { CONNECT, call, PROTOCOLS, REST } from '../support/protocols.ts';
import { createTestUser, logIn, logInDeletedUser } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { exchangeToken } = AuthService.method;
/** A whole second, so that the fraction is all zeros. */
const NOW = '2026-03-01T12:00:00.000Z';
const INVALID_TOKEN = refusal('unauthenticated', 'Invalid or expired token');

const clock = new TestClock(new Date(NOW));
const { service, tenant, other, credentials, callWith } = await openContractFixture({ clock: clock.read });
const user = await createTestUser(service);
const authToken = await logIn(service, tenant, user);
const foreignToken = await logIn(service, other, user);

const exchange = (token: string) => callWith(exchangeToken, { authToken: token });

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
  const answer = await call(protocol, service.url, exchangeToken, fields, credentials);
  const shownUser = { email: ada.email, ...shown, walletAddress: ada.walletAddress };
  const session = { id: expect.stringMatching(/^\S+$/), createdAt };
  expect(answer).toStrictEqual(success({ user: shownUser, session }, message));
});

it('returns the same session over every protocol', async () => {
  const answers = PROTOCOLS.map((protocol) => call(protocol, service.url, exchangeToken, { authToken }, credentials));
  const ids = (await Promise.all(answers)).map(({ data }) => (data as { session: { id: string } }).session.id);
  expect(new Set(ids).size).toBe(1);
});

it.each([
  ['is empty', ''],
  ['has 8193 bytes', 'a'.repeat(8193)],
  ['has 8193 bytes in 4097 characters', `${'é'.repeat(4096)}a`],
  ['is valid but for its length', `${authToken}${'.'.repeat(8193)}`],
  ['has a NUL', 'to\0ken'],
])('returns 400 Validation failed when the token %s', async (_, token) => {
  expect(await exchange(token)).toEqual(validationFailed('authToken'));
});

// Every other way to be wrong: test/robustness/tokens.test.ts.
it.each([
  ['has 8192 bytes and is no JWT', 'a'.repeat(8192)],
  ['has a part too few', authToken.split('.', 2).join('.')],
  ['has the signature of another', [...authToken.split('.', 2), foreignToken.split('.')[2]].join('.')],
  ['was minted for another application', foreignToken],
])('returns 401 Invalid or expired token when the token %s', async (_, token) => {
  expect(await exchange(token)).toEqual(INVALID_TOKEN);
});

it('returns 404 User not found for a deleted user while the token is valid, and then 401', async () => {
  const token = await logInDeletedUser(service, tenant);
  expect(await exchange(token)).toEqual(refusal('not_found', 'User not found'));
  clock.advance(15 * MINUTE);
  expect(await exchange(token)).toEqual(INVALID_TOKEN);
});
