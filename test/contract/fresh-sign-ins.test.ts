/** When and how users have signed in, and logins that demand a fresh sign-in. */
import type { JsonObject } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { success, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { CONNECT, call } from '../support/protocols.ts';
import { clientsOf, createTestUser, logIn, REDIRECT_URI, type TestUser } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const NOW = new Date('2026-03-01T12:00:00.250Z');
const clock = new TestClock(NOW);
const { service, tenant, credentials, callWith } = await openContractFixture({ clock: clock.read });
const { auth, sessions } = clientsOf(service, tenant);
const { generateAuthUrl } = AuthService.method;

async function exchange(user: TestUser) {
  const { session } = await auth.exchangeToken({ authToken: await logIn(service, tenant, user) });
  if (!session?.authTime) throw new Error('The session has no sign-in');
  return { id: session.id, method: session.method, authTime: timestampDate(session.authTime) };
}

describe('over RPC', () => {
  it('ExchangeToken, CheckSession and ListSessions tell of the last sign-in, which renewals keep', async () => {
    const user = await createTestUser(service);
    const signedInAt = clock.read();
    const authToken = await logIn(service, tenant, user);
    clock.advance(10 * MINUTE);
    const { session } = await auth.exchangeToken({ authToken });
    clock.advance(10 * MINUTE);
    const renewed = await sessions.renewSession({ sessionId: session?.id ?? '' });
    const checked = await sessions.checkSession({ sessionId: renewed.session?.id ?? '' });
    const listed = await sessions.listSessions({ userId: user.id });
    for (const each of [session, checked.session, listed.sessions[0]]) {
      expect(each?.method).toBe('page');
      expect(each?.authTime && timestampDate(each.authTime)).toEqual(signedInAt);
    }
    expect(renewed.session?.id).not.toBe(session?.id);
  });

  it('a later sign-in of the same session is its last one', async () => {
    const user = await createTestUser(service);
    const first = await exchange(user);
    clock.advance(MINUTE);
    expect(await exchange(user)).toEqual({ ...first, authTime: clock.read() });
    const { session } = await sessions.checkSession({ sessionId: first.id, maxStalenessMs: 0 });
    expect(session?.authTime && timestampDate(session.authTime)).toEqual(clock.read());
  });
});

it('REST answers as it did before RPCs told of sign-ins', async () => {
  const user = await createTestUser(service);
  const authToken = await logIn(service, tenant, user);
  const exchanged = await callWith(AuthService.method.exchangeToken, { authToken });
  const { session } = exchanged.data as { session: { id: string } };
  expect(Object.keys(session)).toEqual(['id', 'createdAt']);
  const names = ['userId', 'user', 'createdAt', 'expiresAt', 'ipAddress', 'userAgent', 'method', 'groups', 'assurance'];
  const checked = await callWith(SessionService.method.checkSession, { sessionId: session.id });
  expect(Object.keys((checked.data as { session: object }).session)).toEqual(names);
  const listed = await callWith(SessionService.method.listSessions, {});
  expect(Object.keys((listed.data as { sessions: object[] }).sessions[0] ?? {})).toEqual(names);
});

describe('GenerateAuthUrl', () => {
  const request = { clientId: tenant.clientId, redirectUri: REDIRECT_URI, state: 'state' };

  it.each<[JsonObject, string, number | null]>([
    [{}, '', null],
    [{ prompt: '' }, '', null],
    [{ prompt: 'LOGIN', maxAgeSeconds: 0 }, 'LOGIN', 0],
    [{ prompt: 'PASSKEYS', maxAgeSeconds: 31_536_000 }, 'PASSKEYS', 31_536_000],
  ])('takes %j', async (fields, prompt, maxAgeSeconds) => {
    const answer = await call(CONNECT, service.url, generateAuthUrl, { ...request, ...fields }, credentials);
    const { loginIntentId } = answer.data as { loginIntentId: string };
    const rows = await service.database.sql`
      select prompt, max_age_seconds from login_intents where id = ${loginIntentId}`;
    expect(rows).toEqual([{ prompt, max_age_seconds: maxAgeSeconds }]);
    expect(answer).toEqual(success({ authUrl: expect.stringContaining(loginIntentId), loginIntentId }));
  });

  it.each<[JsonObject, string]>([
    [{ prompt: 'login' }, 'prompt'],
    [{ prompt: 'CONSENT' }, 'prompt'],
    [{ maxAgeSeconds: -1 }, 'maxAgeSeconds'],
    [{ maxAgeSeconds: 31_536_001 }, 'maxAgeSeconds'],
  ])('returns Validation failed for %j', async (wrong, field) => {
    const answer = await call(CONNECT, service.url, generateAuthUrl, { ...request, ...wrong }, credentials);
    expect(answer).toEqual(validationFailed(field));
  });
});
