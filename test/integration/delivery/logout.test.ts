/** Back-channel logout: applications that a user has signed in to learn that the user has been signed out. */
import { randomUUID } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { LAYOUT } from '../../support/database.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { LogoutReceiver } from '../../support/openid/logout-receiver.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  createTestWebhook,
  PUBLIC_URL,
  startTestService,
  type Tenant,
  type TestService,
} from '../../support/service.ts';

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

const service = await startTestService({
  oidcSigningKeys: [createRsaJwk('signs')],
  config: {
    webhookDelivery: true,
    webhookAllowedNetworks: ['127.0.0.0/8'],
    webhookRetrySchedule: [0, 0, 0],
  },
});
const receiver = await LogoutReceiver.start();
const admin = adminClient(service);

beforeEach(() => {
  receiver.requests.length = 0;
  receiver.status = 200;
});

afterAll(async () => {
  await service.close();
  await receiver[Symbol.asyncDispose]();
});

describe('the endpoint of an application gets a logout token of the user', () => {
  type End = (tenant: Tenant, user: { id: string }) => Promise<unknown>;
  const ENDS: Readonly<Record<string, End>> = {
    RevokeUserSessions: (tenant, { id }) => clientsOf(service, tenant).sessions.revokeUserSessions({ userId: id }),
    DeactivateUser: (_, { id }) => admin.deactivateUser({ userId: id }),
    DeleteUser: (_, { id }) => admin.deleteUser({ userId: id }),
    EraseUser: (_, { id }) => admin.eraseUser({ userId: id }),
    RemoveApplicationUser: ({ id: applicationId }, { id }) =>
      admin.removeApplicationUser({ applicationId, userId: id }),
  };

  test.each(Object.entries(ENDS))('%s, also when no session is live', async (_, end) => {
    const { tenant, user } = await signIn();
    await service.database.sql`delete from sessions where user_id = ${user.id}`;
    await end(tenant, user);
    await expectToken(tenant, user);
  });

  test('RevokeSession', async () => {
    const { tenant, user, sessionId } = await signIn();
    await clientsOf(service, tenant).sessions.revokeSession({ sessionId });
    await expectToken(tenant, user);
  });
});

test('a token names each browser that still had a grant, and another one none', async () => {
  const { tenant, user } = await signIn();
  const [sid, endedSid] = [randomUUID(), randomUUID()];
  await insertGrant(tenant, user, sid, '1 hour');
  await insertGrant(tenant, user, sid, '1 hour');
  await insertGrant(tenant, user, endedSid, '-1 hour');
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  await expectToken(tenant, user, sid);
  await expectToken(tenant, user);
  expect(receiver.requests).toHaveLength(2);
});

test.each<[string, (tenant: Tenant, userId: string, grantId: string) => Promise<unknown>]>([
  ['EndGrant', (tenant, _, grantId) => clientsOf(service, tenant).sessions.endGrant({ grantId })],
  ['EndUserGrant', (tenant, userId, grantId) => admin.endUserGrant({ applicationId: tenant.id, userId, grantId })],
])('%s sends a token that names the browser of the grant, and no other', async (_, end) => {
  const { tenant, user } = await signIn();
  const [sid, other] = [randomUUID(), randomUUID()];
  const grantId = await insertGrant(tenant, user, sid, '1 hour');
  await insertGrant(tenant, user, other, '1 hour');
  await end(tenant, user.id, grantId);
  await expectToken(tenant, user, sid);
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  await expectToken(tenant, user, other);
  await expectToken(tenant, user);
  expect(receiver.requests).toHaveLength(3);
});

/** On Citus they reach no webhook of another application. */
const STAYS_ON_ITS_SERVER = new Set(['RevokeUserSessions', 'RevokeSession', 'RemoveApplicationUser']);

test.for<[string, (resource: Tenant, userId: string, grantId: string, sessionId: string) => Promise<unknown>]>([
  ['EndGrant', (resource, _, grantId) => clientsOf(service, resource).sessions.endGrant({ grantId })],
  ['EndUserGrant', (resource, userId, grantId) => admin.endUserGrant({ applicationId: resource.id, userId, grantId })],
  ['RevokeUserSessions', (resource, userId) => clientsOf(service, resource).sessions.revokeUserSessions({ userId })],
  [
    'RevokeSession',
    (resource, _user, _grant, sessionId) => clientsOf(service, resource).sessions.revokeSession({ sessionId }),
  ],
  ['RemoveApplicationUser', ({ id }, userId) => admin.removeApplicationUser({ applicationId: id, userId })],
  ['EndUserSessions', (_, userId) => admin.endUserSessions({ userId })],
  ['DeactivateUser', (_, userId) => admin.deactivateUser({ userId })],
  ['DeleteUser', (_, userId) => admin.deleteUser({ userId })],
  ['EraseUser', (_, userId) => admin.eraseUser({ userId })],
])(
  '%s at a resource sends a token to the client whose grant it was, and to no other',
  async ([call, end], { skip }) => {
    skip(LAYOUT === 'distributed' && STAYS_ON_ITS_SERVER.has(call));
    const [{ tenant: resource, user, sessionId }, { tenant: client }] = [await signIn(), await signIn()];
    const sid = randomUUID();
    const grantId = await insertGrant(resource, user, sid, '1 hour', client);
    await insertGrant(resource, user, randomUUID(), '-1 hour', client);
    await end(resource, user.id, grantId, sessionId);
    await expectToken(client, user, sid);
    const toClient = await service.database.sql`
    select count(*)::integer from webhook_messages where application_id = ${client.id}`;
    expect(toClient).toEqual([{ count: 1 }]);
  },
);

test('the request is a form with the token alone, and no answer of it is read as a webhook', async () => {
  const { tenant, user } = await signIn();
  await admin.deactivateUser({ userId: user.id });
  const { method, headers, form } = await receiver.find({ sub: user.id });
  expect({ method, type: headers['content-type'], fields: [...form.keys()] }).toEqual({
    method: 'POST',
    type: 'application/x-www-form-urlencoded',
    fields: ['logout_token'],
  });
  expect(Object.keys(headers).filter((name) => name.startsWith('webhook'))).toEqual([]);
  expect(tenant.clientId).toBeTruthy();
});

test('each attempt has another token, until the endpoint takes it', async () => {
  const { tenant, user } = await signIn();
  receiver.status = 503;
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  await expect.poll(() => receiver.requests.length).toBe(3);
  const ids = await Promise.all(receiver.requests.map(async ({ form }) => (await verify(form, tenant)).jti));
  expect(new Set(ids).size).toBe(3);
});

test('is late, and not lost, if another process has claimed its queue and has ended', async () => {
  const { tenant, user } = await signIn();
  const { sql } = service.database;
  await sql`
    insert into webhook_queues (application_id, webhook_id, next_at, lease)
    select application_id, id, now() + interval '1 second', ${randomUUID()} from webhooks where application_id = ${tenant.id}
    on conflict (application_id, webhook_id) do update set next_at = excluded.next_at, lease = excluded.lease`;
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  await expectToken(tenant, user);
});

test('an endpoint in a network that the operator does not allow is not asked', async () => {
  const config = { webhookDelivery: true, webhookAllowedNetworks: [], webhookRetrySchedule: [0] };
  await using strict = await startTestService({ oidcSigningKeys: [createRsaJwk()], config });
  const tenant = await createTenant(strict);
  const backchannelLogoutUri = receiver.url;
  await adminClient(strict).updateApplication({ applicationId: tenant.id, openIdConnect: true, backchannelLogoutUri });
  const user = await createTestUser(strict);
  await beginSession(strict, tenant, user);
  await clientsOf(strict, tenant).sessions.revokeUserSessions({ userId: user.id });
  const attempts = () => strict.database.sql`select error, response_body from webhook_attempts`;
  await expect.poll(attempts).toEqual([{ error: expect.stringMatching(/not allowed|network/i), response_body: null }]);
  expect(receiver.requests).toEqual([]);
});

test('nobody else is told: no other application, user or webhook', async () => {
  const { tenant, user } = await signIn();
  const other = await signIn();
  const without = await createTenant(service);
  await beginSession(service, without, user);
  const { webhookId } = await createTestWebhook(service, tenant);
  await clientsOf(service, tenant).webhooks.updateWebhook({ webhookId, eventTypes: ['*'], url: receiver.url });
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  await expectToken(tenant, user);
  // What comes after it shows that there was nothing else.
  await clientsOf(service, other.tenant).sessions.revokeUserSessions({ userId: other.user.id });
  await expectToken(other.tenant, other.user);
  const logouts = receiver.requests.filter(({ form }) => form.has('logout_token'));
  expect(logouts).toHaveLength(2);
  const { deliveries } = await clientsOf(service, tenant).webhooks.listDeliveries({ webhookId });
  expect(deliveries.map(({ type }) => type)).not.toContain('logout');
});

test('a user who has never signed in to the application is not announced to it', async () => {
  const { tenant, user } = await signIn();
  const stranger = await createTestUser(service);
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: stranger.id });
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  await expectToken(tenant, user);
  expect(receiver.requests).toHaveLength(1);
});

test('the endpoint is none of the webhooks that the application sees', async () => {
  const { tenant } = await signIn();
  const { webhooks } = clientsOf(service, tenant);
  expect((await webhooks.listWebhooks({})).webhooks).toEqual([]);
  const [row] = await service.database.sql`select id from webhooks where application_id = ${tenant.id}`;
  await expect(webhooks.getWebhook({ webhookId: row?.id })).rejects.toThrow('Invalid webhook ID format');
  await expect(webhooks.deleteWebhook({ webhookId: row?.id })).rejects.toThrow('Invalid webhook ID format');
});

test('an update moves the endpoint, starts one that was given up again, and removes it', async () => {
  const { tenant, user } = await signIn('http://127.0.0.1:1/nobody-listens');
  await service.database.sql`
    update webhooks set is_active = false, disabled_reason = 'it failed' where application_id = ${tenant.id}`;
  await admin.updateApplication({ applicationId: tenant.id, backchannelLogoutUri: receiver.url });
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  await expectToken(tenant, user);
  await admin.updateApplication({
    applicationId: tenant.id,
    updateMask: { paths: ['backchannel_logout_uri'] },
  });
  expect(await service.database.sql`select from webhooks where application_id = ${tenant.id}`).toHaveLength(0);
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  expect(
    await service.database.sql`
    select from webhook_messages where application_id = ${tenant.id} and fanned_out_to is not null`,
  ).toHaveLength(0);
});

test('an application that stops to use OpenID Connect is told of nothing', async () => {
  const { tenant, user } = await signIn();
  await admin.updateApplication({ applicationId: tenant.id, openIdConnect: false });
  await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
  expect(await service.database.sql`select from webhook_messages where application_id = ${tenant.id}`).toHaveLength(0);
});

/** Returns an application with an endpoint, and a user who has signed in to it. */
async function signIn(backchannelLogoutUri = receiver.url) {
  const tenant = await createTenant(service);
  await admin.updateApplication({ applicationId: tenant.id, openIdConnect: true, backchannelLogoutUri });
  const user = await createTestUser(service);
  return { tenant, user, sessionId: await beginSession(service, tenant, user) };
}

async function expectToken(tenant: Tenant, user: { id: string }, sid?: string): Promise<void> {
  const { form } = await receiver.find({ sub: user.id, aud: tenant.clientId, sid });
  const payload = await verify(form, tenant);
  expect(payload).toEqual({
    iss: PUBLIC_URL,
    sub: user.id,
    aud: tenant.clientId,
    ...(sid && { sid }),
    iat: expect.any(Number),
    exp: (payload.iat ?? 0) + 120,
    jti: expect.stringMatching(/./),
    events: { [LOGOUT_EVENT]: {} },
  });
}

async function verify(form: URLSearchParams, { clientId }: Tenant) {
  const keys = (await (await fetch(`${service.url}/oidc/jwks`)).json()) as JSONWebKeySet;
  const { payload } = await jwtVerify(form.get('logout_token') ?? '', createLocalJWKSet(keys), {
    algorithms: ['RS256'],
    typ: 'logout+jwt',
    issuer: PUBLIC_URL,
    audience: clientId,
  });
  return payload;
}

async function insertGrant(
  tenant: Tenant,
  user: { id: string },
  sid: string,
  lifetime: string,
  client?: Tenant,
): Promise<string> {
  const { sql }: TestService['database'] = service.database;
  const id = randomUUID();
  await sql`
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent,
      authenticated_at, rotation, created_at, expires_at, client_id)
    values (${tenant.id}, ${id}, ${user.id}, ${sid}, 1, 'email', '', '', now(), 0, now(), now() + ${lifetime}::interval,
      ${client?.clientId ?? null})`;
  return id;
}
