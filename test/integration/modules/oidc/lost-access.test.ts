/** What ends when a user may no longer enter a restricted application, on two replicas. Who enters: test/integration/login-page/restricted-access.test.ts. */
import type { ConnectError } from '@connectrpc/connect';
import { afterAll, describe, expect, it } from 'vitest';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, getUserinfo, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import { restrict, type Standing } from '../../../support/restricted-access.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTestGroup,
  createTestUser,
  logIn,
  startTestService,
} from '../../../support/service.ts';

const service = await startTestService({ oidcSigningKeys: [createRsaJwk()], config: { webhookDelivery: false } });
const replica = await startTestService({ database: service.database, like: service.config });
const { sql } = service.database;
const admin = adminClient(service);
afterAll(async () => {
  await replica.close();
  await service.close();
});

type Restricted = Awaited<ReturnType<typeof open>>;

async function open() {
  const tenant = await createOidcTenant(service);
  await admin.updateApplication({ applicationId: tenant.id, backchannelLogoutUri: 'https://app.test/logout' });
  return { tenant, access: await restrict(service, tenant.id) };
}

/** Each takes the access of a user who has it by the standing. */
const WAYS: Readonly<Record<string, [Standing, (restricted: Restricted, userId: string) => Promise<unknown>]>> = {
  RemoveGroupMember: ['in a group', ({ access: { groupId } }, userId) => admin.removeGroupMember({ groupId, userId })],
  DeleteGroup: ['in a group', ({ access: { groupId } }) => admin.deleteGroup({ groupId })],
  SetGroupAccess: [
    'in a group',
    ({ tenant, access: { groupId } }) => admin.setGroupAccess({ groupId, applicationId: tenant.id, inClaim: true }),
  ],
  RemoveApplicationUser: [
    'added',
    ({ tenant }, userId) => admin.removeApplicationUser({ applicationId: tenant.id, userId }),
  ],
  restrict_access: [
    'neither',
    ({ tenant }) => admin.updateApplication({ applicationId: tenant.id, restrictAccess: true }),
  ],
};

const messageOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    ({ rawMessage }: ConnectError) => rawMessage,
  );

describe.each(Object.entries(WAYS))('%s', (name, [standing, take]) => {
  it('ends sessions, tokens and codes of who has no other access, and tells the application', async () => {
    const restricted = await open();
    const { tenant, access } = restricted;
    // It becomes restricted later.
    if (name === 'restrict_access') await admin.updateApplication({ applicationId: tenant.id, restrictAccess: false });
    const user = await access.createUser(standing);
    const stays = await access.createUser('added');
    const groups = await createTestGroup(service, { userIds: [stays.id] });
    await admin.setGroupAccess({ groupId: groups.groupId, applicationId: tenant.id, allowsAccess: true });
    const [session, kept] = [await beginSession(service, tenant, user), await beginSession(service, tenant, stays)];
    const first = await redeem(service, tenant, await signInForCode(service, tenant, user));
    expect(first.status).toBe(200);
    const code = await signInForCode(service, tenant, user);
    const authToken = await logIn(service, tenant, user);

    await take(restricted, user.id);

    for (const at of [service, replica]) {
      const { sessions, auth } = clientsOf(at, tenant);
      await expect
        .poll(() => sessions.checkSession({ sessionId: session, maxStalenessMs: 0 }))
        .toMatchObject({ active: false });
      expect(await sessions.checkSession({ sessionId: kept, maxStalenessMs: 0 })).toMatchObject({ active: true });
      expect(await messageOf(sessions.renewSession({ sessionId: session }))).toBe('Session expired');
      expect(await messageOf(auth.exchangeToken({ authToken }))).toBe('Invalid or expired token');
      expect(await refresh(at, tenant, first.body.refresh_token ?? '')).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      });
      expect(await redeem(at, tenant, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      // The answer about a token may be 5 seconds old.
      const accessToken = first.body.access_token;
      await expect
        .poll(() => getUserinfo(at, accessToken), { timeout: 60_000, interval: 250 })
        .toMatchObject({ status: 401 });
    }
    const logouts = await sql`
      select payload::json -> 'data' ->> 'sub' as sub from webhook_messages
      where application_id = ${tenant.id} and type = 'logout' and payload::json -> 'data' -> 'sid' is null`;
    expect(new Set(logouts.map(({ sub }) => sub))).toEqual(new Set([user.id]));
    expect(await messageOf(logIn(service, tenant, user))).toBe('Access not allowed');
    expect(await messageOf(logIn(service, tenant, stays))).toBe('ok');
    // Who is let in again signs in anew.
    await admin.addApplicationUser({ applicationId: tenant.id, userId: user.id });
    expect(await messageOf(clientsOf(service, tenant).sessions.renewSession({ sessionId: session }))).toBe(
      'Session expired',
    );
    expect(await messageOf(beginSession(service, tenant, user))).toBe('ok');
  });
});

describe('a user with other access', () => {
  it.each(['RemoveGroupMember', 'DeleteGroup', 'SetGroupAccess'])('stays signed in after %s', async (name) => {
    const restricted = await open();
    const { tenant, access } = restricted;
    const user = await createTestUser(service);
    await access.give(user.id, 'in a group');
    const { groupId } = await createTestGroup(service, { userIds: [user.id] });
    await admin.setGroupAccess({ groupId, applicationId: tenant.id, allowsAccess: true });
    const sessionId = await beginSession(service, tenant, user);
    await WAYS[name]?.[1](restricted, user.id);
    expect(await clientsOf(replica, tenant).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).toMatchObject({
      active: true,
    });
  });
});

it('what a replica of an older version lets in, which does not know the switch, ends at its next step here', async () => {
  const { tenant } = await open();
  const user = await createTestUser(service);
  const setSwitch = (isOn: boolean) => sql`update applications set restrict_access = ${isOn} where id = ${tenant.id}`;
  await setSwitch(false);
  const sessionId = await beginSession(service, tenant, user);
  const authToken = await logIn(service, tenant, user);
  const code = await signInForCode(service, tenant, user);
  const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user));
  await setSwitch(true);
  // The replica has not used the key of the application before, so it has not read the switch.
  const { auth, sessions } = clientsOf(replica, tenant);
  expect(await messageOf(sessions.renewSession({ sessionId }))).toBe('Session expired');
  expect(await messageOf(auth.exchangeToken({ authToken }))).toBe('Invalid or expired token');
  expect(await redeem(replica, tenant, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect(await refresh(replica, tenant, body.refresh_token)).toMatchObject({ body: { error: 'invalid_grant' } });
  expect(await messageOf(logIn(replica, tenant, user))).toBe('Access not allowed');
});

it('two removals at the same time end what each of them alone would have left', async () => {
  for (let round = 0; round < 20; round++) {
    const { tenant, access } = await open();
    const user = await access.createUser('in a group');
    const { groupId } = await createTestGroup(service, { userIds: [user.id] });
    await admin.setGroupAccess({ groupId, applicationId: tenant.id, allowsAccess: true });
    const sessionId = await beginSession(service, tenant, user);
    await Promise.all([
      admin.removeGroupMember({ groupId: access.groupId, userId: user.id }),
      adminClient(replica).removeGroupMember({ groupId, userId: user.id }),
    ]);
    // Who comes back signs in again.
    await admin.addGroupMember({ groupId, userId: user.id });
    const { sessions } = clientsOf(replica, tenant);
    expect(await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).toMatchObject({ active: false });
  }
});
