/** The claim `groups`, and the same in the answers about users and sessions. */
import { decodeJwt } from 'jose';
import { afterAll, expect, it } from 'vitest';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, getUserinfo, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTestGroup,
  createTestUser,
  createTestWebhook,
  startTestService,
} from '../../../support/service.ts';

const service = await startTestService({ oidcSigningKeys: [createRsaJwk()], config: { webhookDelivery: false } });
const { sql } = service.database;
const admin = adminClient(service);
const tenant = await createOidcTenant(service);
const other = await createOidcTenant(service);
const applicationId = tenant.id;
const { users, sessions } = clientsOf(service, tenant);
afterAll(() => service.close());

const claimOf = ({ id_token = '' }: Readonly<Record<string, string>>) => decodeJwt(id_token).groups;

async function createMember() {
  const user = await createTestUser(service);
  const groups = await Promise.all([1, 2, 3].map(() => createTestGroup(service, { userIds: [user.id] })));
  const [seen, alsoSeen, hidden] = groups.map(({ groupId }) => groupId) as [string, string, string];
  for (const groupId of [seen, alsoSeen]) await admin.setGroupAccess({ groupId, applicationId, inClaim: true });
  await admin.setGroupAccess({ groupId: hidden, applicationId, allowsAccess: true });
  await admin.setGroupAccess({ groupId: hidden, applicationId: other.id, inClaim: true });
  return {
    user,
    seen,
    names: groups
      .slice(0, 2)
      .map(({ name }) => name)
      .sort(),
    lasting: groups[1]?.name,
  };
}

it('tokens, refreshed ones and userinfo have the groups that the application sees, as a list', async () => {
  const { user, seen, names, lasting } = await createMember();
  const scope = 'openid groups';
  const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user, { scope }));
  expect(claimOf(body)).toEqual(names);
  const info = async () => (await getUserinfo(service, body.access_token)).body.groups;
  expect(await info()).toEqual(names);
  await admin.removeGroupMember({ groupId: seen, userId: user.id });
  expect(claimOf((await refresh(service, tenant, body.refresh_token ?? '')).body)).toEqual([lasting]);
  await expect.poll(info, { timeout: 60_000, interval: 250 }).toEqual([lasting]);
});

it('who is in no group has an empty list, and without the scope there is no claim', async () => {
  const user = await createTestUser(service);
  const { body } = await redeem(
    service,
    tenant,
    await signInForCode(service, tenant, user, { scope: 'openid groups' }),
  );
  expect(claimOf(body)).toEqual([]);
  const { user: member } = await createMember();
  const { body: without } = await redeem(service, tenant, await signInForCode(service, tenant, member));
  expect(claimOf(without)).toBeUndefined();
  expect((await getUserinfo(service, without.access_token)).body).not.toHaveProperty('groups');
});

it('GetUser, ListUsers, CheckSession and ListSessions have them, for this application only', async () => {
  const { user, names } = await createMember();
  const sessionId = await beginSession(service, tenant, user);
  expect((await users.getUser({ userId: user.id })).user?.groups).toEqual(names);
  expect((await users.listUsers({ email: user.email })).users[0]?.groups).toEqual(names);
  expect((await sessions.checkSession({ sessionId })).session?.groups).toEqual(names);
  expect((await sessions.listSessions({ userId: user.id })).sessions[0]?.groups).toEqual(names);
});

it('applications that see a group learn of its changes', async () => {
  const { user, seen } = await createMember();
  await beginSession(service, tenant, user);
  await beginSession(service, other, user);
  for (const application of [tenant, other]) {
    const { webhookId } = await createTestWebhook(service, application);
    await clientsOf(service, application).webhooks.updateWebhook({ webhookId, eventTypes: ['user.updated'] });
  }
  const told = async () => {
    const rows = await sql`
      delete from webhook_messages where type = 'user.updated' and user_id = ${user.id} returning application_id`;
    return rows.map(({ application_id }) => application_id);
  };
  await told();
  const changes = [
    () => admin.removeGroupMember({ groupId: seen, userId: user.id }),
    () => admin.addGroupMember({ groupId: seen, userId: user.id }),
    () => admin.updateGroup({ groupId: seen, name: `renamed-${user.id}` }),
    () => admin.setGroupAccess({ groupId: seen, applicationId }),
  ];
  for (const change of changes) {
    await change();
    expect(await told()).toEqual([applicationId]);
    // What changes nothing tells nothing.
    if (change !== changes[2]) await change();
    expect(await told()).toEqual([]);
  }
  await admin.setGroupAccess({ groupId: seen, applicationId, inClaim: true });
  expect(await told()).toEqual([applicationId]);
  await admin.deleteGroup({ groupId: seen });
  expect(await told()).toEqual([applicationId]);
});
