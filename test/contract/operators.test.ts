/** What operators see and do of a user in all applications. Pages: lists.test.ts. What is refused: operations.test.ts. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser, logIn } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const { listUsers, listUserSessions, endUserSessions, listUserApplications } = AdminService.method;
const NOW = '2026-03-01T12:00:00Z';
const DAY = 24 * 60 * MINUTE;
const NOT_FOUND = refusal('not_found', 'User not found');

const clock = new TestClock(new Date(NOW));
const { service, tenant, other, callWith } = await openContractFixture({ clock: clock.read });
const admin = adminClient(service);
const { sql } = service.database;

describe('ListUsers with email_prefix', () => {
  const emailsOf = async (emailPrefix: string, more = {}) => {
    const { data } = await callWith(listUsers, { emailPrefix, ...more });
    return (data as { users: { email: string }[] }).users.map(({ email }) => email);
  };

  it('returns the users whose address begins so, in upper or lower case, by address', async () => {
    const mark = randomUUID();
    const emails = ['Zoë', 'ada', 'ADAM', 'adb', 'a_a', 'a%a', 'a\u{10FFFF}a'].map((name) => `${mark}${name}@x.test`);
    for (const email of emails) await createTestUser(service, { email });
    const named = (...names: string[]) => names.map((name) => `${mark}${name}@x.test`);
    expect(await emailsOf(`${mark}AD`)).toEqual(named('ada', 'ADAM', 'adb'));
    expect(await emailsOf(`${mark}ada`)).toEqual(named('ada', 'ADAM'));
    expect(await emailsOf(`${mark}ada@x.test`)).toEqual(named('ada'));
    // Neither is a wildcard.
    for (const name of ['a_', 'a%', 'a\u{10FFFF}', 'zoë']) expect(await emailsOf(mark + name)).toHaveLength(1);
    expect(await emailsOf(mark)).toHaveLength(7);
    expect(await emailsOf(`${mark}x`)).toEqual([]);
    for (const hostile of ['%', '_', "'", '\\', '\u{10FFFF}'.repeat(254)]) expect(await emailsOf(hostile)).toEqual([]);
  });

  it('returns every user once, whoever signs up between the pages, and no deleted user', async () => {
    const mark = randomUUID();
    const create = (name: string) => createTestUser(service, { email: `${mark}${name}@x.test` });
    for (const name of ['a', 'b', 'c', 'd']) await create(name);
    const { id } = await create('aa');
    await admin.deleteUser({ userId: id });
    const first = await admin.listUsers({ emailPrefix: mark, pageSize: 2 });
    await create('0');
    const second = await admin.listUsers({ emailPrefix: mark, pageSize: 2, pageToken: first.nextPageToken });
    const names = [...first.users, ...second.users].map(({ email }) => email.slice(mark.length, -'@x.test'.length));
    expect(names).toEqual(['a', 'b', 'c', 'd']);
    expect(second.nextPageToken).toBe('');
  });

  it('combines with the other filters, and has 1 to 254 characters', async () => {
    const { email, walletAddress } = await createTestUser(service);
    for (const more of [{ email }, { walletAddress }, { email, walletAddress }]) {
      expect(await emailsOf(email.slice(0, 3), more)).toEqual([email]);
      expect(await emailsOf(`x${email}`, more)).toEqual([]);
    }
    for (const emailPrefix of ['', 'a'.repeat(255)]) {
      expect(await callWith(listUsers, { emailPrefix })).toEqual(validationFailed('emailPrefix'));
    }
  });
});

describe('ListUserSessions', () => {
  it('returns the live sessions of a user in every application, and tells no session ID', async () => {
    const user = await createTestUser(service);
    const ids = [await beginSession(service, tenant, user)];
    clock.advance(MINUTE);
    ids.push(await beginSession(service, other, user));
    await beginSession(service, tenant, await createTestUser(service));
    const { data } = await callWith(listUserSessions, { userId: user.id });
    const at = (minutes: number) =>
      new Date(new Date(NOW).getTime() + minutes * MINUTE).toISOString().replace('.000', '');
    const session = {
      method: 'page',
      ipAddress: '127.0.0.1',
      userAgent: expect.any(String),
      authTime: expect.any(String),
      assurance: 1,
    };
    expect(data).toEqual({
      sessions: [
        { ...session, applicationId: other.id, applicationName: 'Other', beganAt: at(1), expiresAt: at(16) },
        { ...session, applicationId: tenant.id, applicationName: tenant.name, beganAt: at(0), expiresAt: at(15) },
      ],
      nextPageToken: '',
    });
    for (const id of ids) expect(JSON.stringify(data)).not.toContain(id);
    clock.advance(14 * MINUTE);
    expect((await admin.listUserSessions({ userId: user.id })).sessions.map((each) => each.applicationId)).toEqual([
      other.id,
    ]);
  });

  it('returns a session that has expired while it can be renewed', async () => {
    const application = await createTenant(service);
    await admin.updateApplication({ applicationId: application.id, sessionIdleSeconds: 3_600 });
    const user = await createTestUser(service);
    await beginSession(service, application, user);
    clock.advance(30 * MINUTE);
    expect((await admin.listUserSessions({ userId: user.id })).sessions).toHaveLength(1);
    clock.advance(60 * MINUTE);
    expect((await admin.listUserSessions({ userId: user.id })).sessions).toEqual([]);
  });
});

it('EndUserSessions ends the sessions and auth tokens of a user everywhere, and the user may sign in again', async () => {
  const user = await createTestUser(service);
  const neighbor = await createTestUser(service);
  const isActive = async (sessionId: string, as = tenant) =>
    (await clientsOf(service, as).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;
  const [here, there] = [await beginSession(service, tenant, user), await beginSession(service, other, user)];
  const kept = await beginSession(service, tenant, neighbor);
  const authToken = await logIn(service, tenant, user);
  for (let time = 0; time < 2; time++)
    expect(await callWith(endUserSessions, { userId: user.id })).toEqual(success({}));
  expect([await isActive(here), await isActive(there, other), await isActive(kept)]).toEqual([false, false, true]);
  const exchange = await callWith(AuthService.method.exchangeToken, { authToken });
  expect(exchange).toEqual(refusal('unauthenticated', 'Invalid or expired token'));
  expect((await admin.listUserSessions({ userId: user.id })).sessions).toEqual([]);
  clock.advance(1);
  expect(await isActive(await beginSession(service, tenant, user))).toBe(true);
});

describe('ListUserApplications', () => {
  it('returns where a user has signed in, and to the day when last', async () => {
    const user = await createTestUser(service);
    const start = clock.read();
    const lastAt = async () => (await admin.listUserApplications({ userId: user.id })).applications[0]?.lastSignedInAt;
    await beginSession(service, tenant, user);
    const instant = start.toISOString().replace('.000', '');
    const application = { applicationId: tenant.id, applicationName: tenant.name };
    expect(await callWith(listUserApplications, { userId: user.id })).toEqual(
      success({
        applications: [{ ...application, firstSignedInAt: instant, lastSignedInAt: instant }],
        nextPageToken: '',
      }),
    );
    const first = await lastAt();
    clock.advance(DAY - MINUTE);
    await beginSession(service, tenant, user);
    expect(await lastAt()).toEqual(first);
    clock.advance(MINUTE + 15 * MINUTE);
    await beginSession(service, tenant, user);
    const { applications } = await admin.listUserApplications({ userId: user.id });
    expect(Number(applications[0]?.lastSignedInAt?.seconds)).toBe(Math.floor(clock.read().getTime() / 1_000));
    expect(applications[0]?.firstSignedInAt).toEqual(first);
  });

  it('writes one row of the user a day, which no sign-in before has recorded either', async () => {
    const user = await createTestUser(service);
    await beginSession(service, tenant, user);
    await sql`update application_users set last_signed_in_at = null where user_id = ${user.id}`;
    const versionOf = async () => {
      const [row] =
        await sql`select ctid::text || xmin || xmax as version from application_users where user_id = ${user.id}`;
      return row?.version;
    };
    const versions = new Set<string>();
    for (let hours = 0; hours < 24; hours += 6) {
      clock.advance(6 * 60 * MINUTE);
      await beginSession(service, tenant, user);
      versions.add(await versionOf());
    }
    expect(versions.size).toBe(1);
  });
});

it.each([listUserSessions, endUserSessions, listUserApplications])('$name knows no other user', async (method) => {
  const { id } = await createTestUser(service);
  await admin.deleteUser({ userId: id });
  for (const userId of [UNKNOWN_ID, id]) expect(await callWith(method, { userId })).toEqual(NOT_FOUND);
  for (const userId of ['', 'ada']) expect(await callWith(method, { userId })).toEqual(validationFailed('userId'));
});
