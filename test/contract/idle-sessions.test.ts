/** Sessions that can be renewed after their expiry. Races: test/robustness/races.test.ts. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { removeExpired } from '../../src/jobs/expiry.ts';
import { HOUR, MINUTE, TestClock } from '../support/clock.ts';
import { LAYOUT } from '../support/database.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  type Tenant,
  type TestUser,
} from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const DAY = 24 * HOUR;
const IDLE = 30 * DAY;
const MAX_AGE = 60 * DAY;
const LIFETIME = 15 * MINUTE;

const clock = new TestClock(new Date('2026-03-01T12:00:00.000Z'));
const { service, tenant: strict } = await openContractFixture({ clock: clock.read });
const admin = adminClient(service);
const tenant = await createTenant(service);
await allow(tenant);
const { auth, sessions } = clientsOf(service, tenant);

async function allow({ id: applicationId }: Tenant) {
  const [sessionIdleSeconds, sessionMaxAgeSeconds] = [IDLE / 1_000, MAX_AGE / 1_000];
  await admin.updateApplication({ applicationId, sessionIdleSeconds, sessionMaxAgeSeconds });
}

async function begin(user?: TestUser) {
  const owner = user ?? (await createTestUser(service));
  return { user: owner, sessionId: await beginSession(service, tenant, owner) };
}

/** Returns the ID of what the renewal answers, or the message of its refusal. */
const renew = (sessionId: string, client = sessions) =>
  client.renewSession({ sessionId }).then(
    ({ session }) => session?.id ?? '',
    (error) => error.rawMessage as string,
  );

async function removeExpiredNow(): Promise<void> {
  const database = new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
  await removeExpired(database, { now: clock.read(), webhookLogDays: 14 });
  await database.close();
}

const isActive = async (sessionId: string) => (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;

const EXPIRED = 'Session expired';

describe('a session that has expired', () => {
  it('gets a successor of 15 minutes with the present profile, while it is not active itself', async () => {
    const { user, sessionId } = await begin();
    await service.database.sql`update users set name = 'Ada Lovelace' where id = ${user.id}`;
    clock.advance(LIFETIME + DAY);
    expect(await isActive(sessionId)).toBe(false);
    const { session } = await sessions.renewSession({ sessionId });
    expect(session?.id).not.toBe(sessionId);
    expect(session?.createdAt && timestampDate(session.createdAt)).toEqual(clock.read());
    expect(session?.expiresAt && timestampDate(session.expiresAt).getTime()).toBe(clock.read().getTime() + LIFETIME);
    const found = await sessions.checkSession({ sessionId: session?.id ?? '' });
    expect(found.session).toMatchObject({ userId: user.id, user: { name: 'Ada Lovelace' }, method: 'page' });
    expect(await isActive(sessionId)).toBe(false);
    const events = await service.database.sql`
      select from audit_events where action = 'SessionService/RenewSession' and resource = ${user.id}`;
    expect(events).toHaveLength(1);
  });

  it('can be renewed for as long as the application says, and no longer', async () => {
    const { sessionId } = await begin();
    clock.advance(LIFETIME + IDLE - 1);
    const successor = await renew(sessionId);
    expect(await isActive(successor)).toBe(true);
    clock.advance(1);
    expect(await renew(sessionId)).toBe(EXPIRED);
    expect(await renew(successor)).toBe(successor);
  });

  it('is refused at once by an application that has the default', async () => {
    const user = await createTestUser(service);
    const sessionId = await beginSession(service, strict, user);
    clock.advance(LIFETIME);
    expect(await renew(sessionId, clientsOf(service, strict).sessions)).toBe(EXPIRED);
  });

  it('gets the newest live session of its user, which another device has', async () => {
    const { sessionId } = await begin();
    clock.advance(LIFETIME + HOUR);
    const other = await renew(sessionId);
    clock.advance(LIFETIME - 1);
    expect(await renew(sessionId)).toBe(other);
    clock.advance(1);
    const next = await renew(sessionId);
    expect([next === other, await isActive(next)]).toEqual([false, true]);
    expect(await renew(other)).toBe(next);
  });

  it('gets the session of a later sign-in', async () => {
    const { user, sessionId } = await begin();
    clock.advance(LIFETIME + DAY);
    const { sessionId: next } = await begin(user);
    expect(next).not.toBe(sessionId);
    expect(await renew(sessionId)).toBe(next);
  });

  it('is no session to an exchange, which begins another one', async () => {
    const { user, sessionId } = await begin();
    clock.advance(LIFETIME);
    const authToken = await logIn(service, tenant, user);
    const { session } = await auth.exchangeToken({ authToken });
    expect(session?.id).not.toBe(sessionId);
    expect(session?.createdAt && timestampDate(session.createdAt)).toEqual(clock.read());
  });
});

describe('SESSION_MAX_AGE', () => {
  it('ends what could be renewed otherwise', async () => {
    const { sessionId } = await begin();
    clock.advance(IDLE);
    const second = await renew(sessionId);
    clock.advance(IDLE - 1);
    const last = await sessions.renewSession({ sessionId: second });
    expect(last.session?.expiresAt && timestampDate(last.session.expiresAt).getTime()).toBe(clock.read().getTime() + 1);
    clock.advance(1);
    expect(await renew(second)).toBe(EXPIRED);
    expect(await renew(last.session?.id ?? '')).toBe(EXPIRED);
  });

  it('counts from the last sign-in of the session itself, not from that of another one', async () => {
    const { user, sessionId } = await begin();
    clock.advance(10 * MINUTE);
    // One more sign-in of the same session.
    expect((await begin(user)).sessionId).toBe(sessionId);
    clock.advance(IDLE - 10 * MINUTE);
    const second = await renew(sessionId);
    clock.advance(MAX_AGE - IDLE + 10 * MINUTE - 1);
    const last = await renew(second);
    expect(await isActive(last)).toBe(true);
    clock.advance(1);
    await begin(user);
    expect(await renew(last)).toBe(EXPIRED);
  });
});

/** What ends all that a user has in an application. */
const REVOCATIONS: Readonly<Record<string, (user: TestUser, sessionId: string) => Promise<unknown>>> = {
  RevokeSession: (_, sessionId) => sessions.revokeSession({ sessionId }),
  RevokeUserSessions: ({ id: userId }) => sessions.revokeUserSessions({ userId }),
  RemoveApplicationUser: ({ id: userId }) => admin.removeApplicationUser({ applicationId: tenant.id, userId }),
  'DeactivateUser, until ReactivateUser,': async ({ id: userId }) => {
    await admin.deactivateUser({ userId });
    await admin.reactivateUser({ userId });
  },
  DeleteUser: ({ id: userId }) => admin.deleteUser({ userId }),
  EraseUser: ({ id: userId }) => admin.eraseUser({ userId }),
};

describe.each(Object.entries(REVOCATIONS))('after %s', (name, revoke) => {
  it('neither an expired session nor its predecessor can be renewed, also when the expiry job has run', async () => {
    const { user, sessionId } = await begin();
    clock.advance(10 * MINUTE);
    const successor = await renew(sessionId);
    clock.advance(LIFETIME + HOUR);
    await revoke(user, sessionId);
    for (const id of [sessionId, successor]) expect(await renew(id)).toBe(EXPIRED);
    clock.advance(IDLE - 2 * HOUR);
    await removeExpiredNow();
    // A new sign-in must not bring them back.
    if (!/Delete|Erase/.test(name)) await begin(user);
    for (const id of [sessionId, successor]) expect(await renew(id)).toBe(EXPIRED);
  });
});

describe('RevokeSession', () => {
  it('signs a user out by a session that has expired, and tells a webhook', async () => {
    const { user, sessionId } = await begin();
    await clientsOf(service, tenant).webhooks.createWebhook({
      url: 'https://hooks.test',
      ownerId: user.id,
      eventTypes: ['session.revoked'],
    });
    clock.advance(LIFETIME + HOUR);
    await sessions.revokeSession({ sessionId });
    const told = await service.database.sql`select payload::json->'data' as data from webhook_messages`;
    expect(told).toEqual([{ data: { userId: user.id } }]);
  });

  it('leaves alone what a user has begun since a session could be renewed', async () => {
    const { user, sessionId } = await begin();
    clock.advance(LIFETIME + IDLE);
    const { sessionId: next } = await begin(user);
    await sessions.revokeSession({ sessionId });
    expect(await isActive(next)).toBe(true);
  });
});

it('a sign-out keeps its sessions ended after its cut-off was removed', async () => {
  const { user, sessionId } = await begin();
  clock.advance(LIFETIME);
  await sessions.revokeSession({ sessionId });
  clock.advance(1);
  const { sessionId: next } = await begin(user);
  await service.database.sql`delete from session_cutoffs`;
  clock.advance(LIFETIME);
  expect(await renew(sessionId)).toBe(EXPIRED);
  expect(await isActive(await renew(next))).toBe(true);
});
