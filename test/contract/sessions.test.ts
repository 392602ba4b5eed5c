/** Checking and ending sessions. Renewal: renew-session.test.ts. Races: test/domain/sessions/. */
import { expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { refusal, success } from '../support/answers.ts';
import { MINUTE, SECOND, TestClock } from '../support/clock.ts';
import { CONNECT, call, REST } from '../support/protocols.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
} from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const { checkSession, listSessions, revokeSession, revokeUserSessions } = SessionService.method;
const INVALID_TOKEN = refusal('unauthenticated', 'Invalid or expired token');
const NOW = new Date('2026-03-01T12:00:00.000Z');

const clock = new TestClock(NOW);
const fixture = await openContractFixture({ clock: clock.read });
const { service, tenant, other, credentials, callWith } = fixture;
const admin = adminClient(service);
const { sessions, auth } = clientsOf(service, tenant);

const isActive = async (sessionId: string) => (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;

it.each([
  ['REST', REST, '2026-03-01T12:00:00.000Z', '2026-03-01T12:15:00.000Z', 'Session checked successfully'],
  ['Connect', CONNECT, '2026-03-01T12:00:00Z', '2026-03-01T12:15:00Z', ''],
])('a live session is shown without its ID over %s', async (_, protocol, createdAt, expiresAt, message) => {
  const ada = await createTestUser(service, { name: 'Ada', profileImage: 'https://img.test/ada.png' });
  const sessionId = await beginSession(service, tenant, ada);
  const { id: userId, ...user } = ada;
  const session = {
    userId,
    user,
    createdAt,
    expiresAt,
    groups: [],
    ipAddress: '127.0.0.1',
    userAgent: expect.any(String),
    method: 'page',
    assurance: 1,
    // Replies of REST stay as they were.
    ...(protocol === CONNECT && { authTime: createdAt, signedInAt: createdAt }),
  };
  const answer = await call(protocol, service.url, checkSession, { sessionId, maxStalenessMs: 0 }, credentials);
  expect(answer).toStrictEqual({ ...success(undefined, message), data: { active: true, session } });
});

it('every session that is not live gets the same answer, byte for byte', async () => {
  const live = () => createTestUser(service).then((user) => beginSession(service, tenant, user));
  const foreign = await beginSession(service, other, await createTestUser(service));
  const [expired, revoked, user] = [await live(), await live(), await createTestUser(service)];
  const deleted = await beginSession(service, tenant, user);
  clock.advance(15 * MINUTE);
  const renewed = await live();
  await sessions.revokeSession({ sessionId: revoked });
  await admin.deleteUser({ userId: user.id });
  for (const sessionId of [foreign, expired, revoked, deleted, UNKNOWN_ID, 'not-a-uuid', 'ü']) {
    const answer = await callWith(checkSession, { sessionId, maxStalenessMs: 0 });
    expect(answer, sessionId).toStrictEqual(success({ active: false }, 'Session checked successfully'));
  }
  expect(await isActive(renewed)).toBe(true);
});

it.each([
  ['a session', async (sessionId: string) => void (await sessions.revokeSession({ sessionId }))],
  ['the sessions of a user', async (_: string, userId: string) => void (await sessions.revokeUserSessions({ userId }))],
])(
  'revoking %s ends it and older auth tokens in this application, and the user can sign in at once',
  async (_, revoke) => {
    const user = await createTestUser(service);
    const sessionId = await beginSession(service, tenant, user);
    const elsewhere = await beginSession(service, other, user);
    const unused = await logIn(service, tenant, user);
    clock.advance(SECOND);
    const [oldToken, elsewhereToken] = [await logIn(service, tenant, user), await logIn(service, other, user)];
    await revoke(sessionId, user.id);
    expect(await isActive(sessionId)).toBe(false);
    for (const authToken of [unused, oldToken]) {
      expect(await callWith(AuthService.method.exchangeToken, { authToken })).toEqual(INVALID_TOKEN);
    }
    const { session } = await clientsOf(service, other).auth.exchangeToken({ authToken: elsewhereToken });
    expect(session?.id).toBe(elsewhere);

    clock.advance(1);
    const next = await beginSession(service, tenant, user);
    expect(next).not.toBe(sessionId);
    expect(await isActive(next)).toBe(true);
    // A repeated call, or a lost reply.
    await sessions.revokeSession({ sessionId });
    expect(await isActive(next)).toBe(true);
  },
);

// Its pages: lists.test.ts.
it('the list has the live sessions, the newest of each user, without their IDs', async () => {
  const lister = await createTenant(service);
  const as = { 'x-api-key': lister.apiKey };
  const at = clientsOf(service, lister);
  const [expired, revoked, deleted, renewed, live] = await Promise.all(
    Array.from({ length: 5 }, () => createTestUser(service)),
  );
  const begin = (user: typeof live) => beginSession(service, lister, user ?? { id: '' });
  await begin(expired);
  clock.advance(7 * MINUTE);
  const sessionId = await begin(renewed);
  clock.advance(8 * MINUTE);
  const ids = [
    await begin(revoked),
    await begin(deleted),
    (await at.sessions.renewSession({ sessionId })).session?.id,
    await begin(live),
  ];
  await at.sessions.revokeSession({ sessionId: ids[0] ?? '' });
  await admin.deleteUser({ userId: deleted?.id ?? '' });
  const answer = await callWith(listSessions, {}, as);
  const shown = { createdAt: clock.read().toISOString(), groups: [], ipAddress: '127.0.0.1', method: 'page' };
  expect(answer).toMatchObject({
    message: 'Sessions retrieved successfully',
    data: {
      sessions: [
        { userId: live?.id, ...shown },
        { userId: renewed?.id, ...shown },
      ],
      nextPageToken: '',
    },
  });
  for (const id of [sessionId, ...ids]) expect(JSON.stringify(answer)).not.toContain(id);
  expect(await callWith(listSessions, { userId: renewed?.id ?? '' }, as)).toMatchObject({
    data: { sessions: [{ userId: renewed?.id }] },
  });
  const foreign = await createTestUser(service);
  await beginSession(service, other, foreign);
  for (const userId of [revoked, deleted, expired, foreign].map((user) => user?.id ?? '')) {
    expect(await callWith(listSessions, { userId }, as)).toMatchObject({ data: { sessions: [] } });
  }
});

it.each([
  ['of another application', () => createTestUser(service).then((user) => beginSession(service, other, user))],
  ['that does not exist', () => UNKNOWN_ID],
  ['with a malformed ID', () => 'no-session'],
])('revoking a session %s succeeds and ends nothing', async (_, makeId) => {
  const sessionId = await makeId();
  expect(await callWith(revokeSession, { sessionId })).toEqual(success(undefined, 'Session revoked successfully'));
  const { active } = await clientsOf(service, other).sessions.checkSession({ sessionId, maxStalenessMs: 0 });
  expect(active).toBe(sessionId !== UNKNOWN_ID && sessionId !== 'no-session');
});

it('another replica sees a revocation at once where the caller accepts no staleness', async () => {
  await using replica = await startTestService({
    database: service.database,
    like: service.config,
    clock: clock.read,
  });
  const check = (fields: { sessionId: string; maxStalenessMs?: number }) =>
    clientsOf(replica, tenant).sessions.checkSession(fields);
  const revoked = await beginSession(service, tenant, await createTestUser(service));
  const live = await beginSession(service, tenant, await createTestUser(service));
  for (const sessionId of [revoked, live]) expect((await check({ sessionId })).active).toBe(true);
  await sessions.revokeSession({ sessionId: revoked });
  expect((await check({ sessionId: revoked, maxStalenessMs: 0 })).active).toBe(false);
  expect((await check({ sessionId: live, maxStalenessMs: 0 })).active).toBe(true);
});

it('revoking the sessions of a user who does not exist succeeds and stores nothing', async () => {
  const answer = await callWith(revokeUserSessions, { userId: UNKNOWN_ID });
  expect(answer).toEqual(success(undefined, 'Sessions revoked successfully'));
  expect(await service.database.sql`select from session_cutoffs where user_id = ${UNKNOWN_ID}`).toEqual([]);
});

it('a session and a token from a clock that is ahead are ended all the same', async () => {
  const user = await createTestUser(service);
  clock.advance(10 * SECOND);
  const authToken = await logIn(service, tenant, user);
  const { session } = await auth.exchangeToken({ authToken });
  clock.advance(-5 * SECOND);
  await sessions.revokeUserSessions({ userId: user.id });
  expect(await isActive(session?.id ?? '')).toBe(false);
  clock.advance(10 * SECOND);
  expect(await callWith(AuthService.method.exchangeToken, { authToken })).toEqual(INVALID_TOKEN);
});

it('a deleted user has no live session in any application', async () => {
  const user = await createTestUser(service);
  const here = await beginSession(service, tenant, user);
  const there = await beginSession(service, other, user);
  await admin.deleteUser({ userId: user.id });
  expect(await isActive(here)).toBe(false);
  expect((await clientsOf(service, other).sessions.checkSession({ sessionId: there })).active).toBe(false);
});

it('an older token stays refused as long as it lives, whatever the expiry job removes', async () => {
  const user = await createTestUser(service);
  const authToken = await logIn(service, tenant, user);
  const { session } = await auth.exchangeToken({ authToken });
  await sessions.revokeUserSessions({ userId: user.id });
  clock.advance(14 * MINUTE);
  const { sql } = service.database;
  await sql`delete from session_cutoffs where expires_at < ${clock.read()}`;
  expect(await callWith(AuthService.method.exchangeToken, { authToken })).toEqual(INVALID_TOKEN);
  expect(await isActive(session?.id ?? '')).toBe(false);
});
