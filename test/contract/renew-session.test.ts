/** Renewing sessions. Races: test/domain/sessions/. */
import { timestampDate, timestampMs, timestampNow } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { refusal } from '../support/answers.ts';
import { HOUR, MINUTE, TestClock } from '../support/clock.ts';
import { CONNECT, call, REST } from '../support/protocols.ts';
import { beginSession, clientsOf, createTenant, createTestUser, logIn, startTestService } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID, UUID } from './contract-fixture.ts';

const { renewSession } = SessionService.method;
const HALF = 7.5 * MINUTE;
const EXPIRED = { code: Code.Unauthenticated, rawMessage: 'Session expired' };

const clock = new TestClock(new Date('2026-03-01T12:00:00.000Z'));
const { service, tenant, other, credentials, callWith } = await openContractFixture({ clock: clock.read });
const { sessions, auth } = clientsOf(service, tenant);

async function begin() {
  const user = await createTestUser(service);
  return { user, sessionId: await beginSession(service, tenant, user) };
}

async function renew(sessionId: string) {
  const { session } = await sessions.renewSession({ sessionId });
  if (!session?.createdAt || !session.expiresAt) throw new Error('No session');
  return { id: session.id, createdAt: timestampDate(session.createdAt), expiresAt: timestampDate(session.expiresAt) };
}

const isActive = async (sessionId: string) => (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;

/** Renews every five minutes until the session has expired. Returns how long the chain has lived. */
async function renewUntilExpired(sessionId: string, client = sessions): Promise<number> {
  const beganAt = clock.read().getTime();
  let id: string | undefined = sessionId;
  while (id) {
    clock.advance(5 * MINUTE);
    id = await client.renewSession({ sessionId: id }).then(
      ({ session }) => session?.id,
      (error) => void expect(error).toMatchObject(EXPIRED),
    );
  }
  return clock.read().getTime() - beganAt;
}

it.each([
  ['REST', REST, 'T12:00:00.000Z', 'T12:15:00.000Z', 'Session renewed successfully'],
  ['Connect', CONNECT, 'T12:00:00Z', 'T12:15:00Z', ''],
])(
  'a session with more than half of its life left is returned unchanged over %s',
  async (_, protocol, from, to, message) => {
    const { sessionId } = await begin();
    const session = { id: sessionId, createdAt: `2026-03-01${from}`, expiresAt: `2026-03-01${to}` };
    const answer = await call(protocol, service.url, renewSession, { sessionId }, credentials);
    const data = protocol === REST ? session : { session };
    expect(answer).toStrictEqual({ code: 'ok', message, fields: [], data });
  },
);

describe('a session with half of its life left or less', () => {
  it('has one audit event, when its successor begins', async () => {
    const { user, sessionId } = await begin();
    await renew(sessionId);
    clock.advance(HALF);
    for (let time = 0; time < 2; time++) await renew(sessionId);
    const { sql } = service.database;
    expect(
      await sql`
        select application_id, actor, occurred_at from audit_events
        where action = 'SessionService/RenewSession' and resource = ${user.id}`,
    ).toMatchObject([{ application_id: tenant.id, actor: tenant.apiKeyId, occurred_at: clock.read() }]);
  });

  it('gets a successor of 15 minutes, and lives until it expires', async () => {
    const { sessionId } = await begin();
    clock.advance(HALF - 1);
    expect((await renew(sessionId)).id).toBe(sessionId);
    clock.advance(1);
    const successor = await renew(sessionId);
    expect(successor.id).toMatch(UUID);
    expect(successor.id).not.toBe(sessionId);
    expect(successor.createdAt).toEqual(clock.read());
    expect(successor.expiresAt.getTime() - successor.createdAt.getTime()).toBe(15 * MINUTE);
    expect([await isActive(sessionId), await isActive(successor.id)]).toEqual([true, true]);
    clock.advance(HALF);
    expect([await isActive(sessionId), await isActive(successor.id)]).toEqual([false, true]);
    await expect(renew(sessionId)).rejects.toMatchObject(EXPIRED);
  });

  it('returns the same successor when it is renewed again, and the successor itself', async () => {
    const { sessionId } = await begin();
    clock.advance(HALF);
    const successor = await renew(sessionId);
    clock.advance(HALF - 1);
    expect(await renew(sessionId)).toEqual(successor);
    expect(await renew(successor.id)).toEqual(successor);
    expect(await renew(sessionId.toUpperCase())).toEqual(successor);
  });

  it('gets a successor with the present profile, and an exchange returns the successor', async () => {
    const { user, sessionId } = await begin();
    await service.database.sql`update users set name = 'Ada Lovelace' where id = ${user.id}`;
    clock.advance(HALF);
    const successor = await renew(sessionId);
    const { session } = await sessions.checkSession({ sessionId: successor.id });
    expect(session).toMatchObject({ userId: user.id, user: { name: 'Ada Lovelace' }, method: 'page' });
    const exchanged = await auth.exchangeToken({ authToken: await logIn(service, tenant, user) });
    expect(exchanged).toMatchObject({ session: { id: successor.id }, user: { name: 'Ada Lovelace' } });
  });

  it.each([
    ['the predecessor', (first: string) => first],
    ['the successor', (_: string, second: string) => second],
  ])('ends with its whole chain when %s is revoked', async (_, choose) => {
    const { sessionId } = await begin();
    clock.advance(HALF);
    const successor = await renew(sessionId);
    await sessions.revokeSession({ sessionId: choose(sessionId, successor.id) });
    expect([await isActive(sessionId), await isActive(successor.id)]).toEqual([false, false]);
    for (const id of [sessionId, successor.id]) await expect(renew(id)).rejects.toMatchObject(EXPIRED);
  });
});

describe('a chain of renewals', () => {
  it('ends 12 hours after the sign-in', async () => {
    const user = await createTestUser(service);
    const authToken = await logIn(service, tenant, user);
    clock.advance(10 * MINUTE);
    const { session } = await auth.exchangeToken({ authToken });
    expect(await renewUntilExpired(session?.id ?? '')).toBe(12 * HOUR - 10 * MINUTE);
    const next = await beginSession(service, tenant, user);
    expect(await isActive(next)).toBe(true);
  });

  it('ends 12 hours after the last sign-in, also of a session that has begun before', async () => {
    const user = await createTestUser(service);
    const sessionId = await beginSession(service, tenant, user);
    clock.advance(14 * MINUTE);
    const { id } = await renew(sessionId);
    clock.advance(MINUTE);
    const { session } = await auth.exchangeToken({ authToken: await logIn(service, tenant, user) });
    expect(session?.id).toBe(id);
    expect(await renewUntilExpired(id)).toBe(12 * HOUR);
  });

  it('goes on after a sign-in in its last minutes', async () => {
    const strict = await createTenant(service);
    await service.database.sql`update applications set session_max_age_seconds = 900 where id = ${strict.id}`;
    const { auth, sessions } = clientsOf(service, strict);
    const user = await createTestUser(service);
    const sessionId = await beginSession(service, strict, user);
    clock.advance(14 * MINUTE);
    const unchanged = await sessions.renewSession({ sessionId });
    expect(unchanged.session?.id).toBe(sessionId);
    await auth.exchangeToken({ authToken: await logIn(service, strict, user) });
    const { session } = await sessions.renewSession({ sessionId });
    expect(session?.id).not.toBe(sessionId);
    expect(timestampMs(session?.expiresAt ?? timestampNow()) - clock.read().getTime()).toBe(15 * MINUTE);
  });

  it('ends at the limit of the application', async () => {
    const strict = await createTenant(service);
    await service.database.sql`update applications set session_max_age_seconds = 3600 where id = ${strict.id}`;
    const sessionId = await beginSession(service, strict, await createTestUser(service));
    expect(await renewUntilExpired(sessionId, clientsOf(service, strict).sessions)).toBe(HOUR);
  });

  it('ends at SESSION_MAX_AGE, also when that is less than the first session would last', async () => {
    await using replica = await startTestService({
      database: service.database,
      like: service.config,
      clock: clock.read,
      config: { sessionMaxAgeSeconds: 900 },
    });
    const authToken = await logIn(service, tenant, await createTestUser(service));
    clock.advance(10 * MINUTE);
    const { session } = await clientsOf(replica, tenant).auth.exchangeToken({ authToken });
    clock.advance(5 * MINUTE - 1);
    expect(await isActive(session?.id ?? '')).toBe(true);
    clock.advance(1);
    expect(await isActive(session?.id ?? '')).toBe(false);
  });
});

it.each([
  ['is unknown', () => UNKNOWN_ID],
  ['is malformed', () => 'no-session'],
  ['is of another application', () => createTestUser(service).then((user) => beginSession(service, other, user))],
])('returns 401 Session expired when the session %s', async (_, makeId) => {
  const expired = refusal('unauthenticated', 'Session expired');
  expect(await callWith(renewSession, { sessionId: await makeId() })).toEqual(expired);
});
