/** Messages about users and sessions: to which applications, when, and with what. */
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { WebhookReceiver } from '../../../../src/testing/webhook-receiver.ts';
import { MINUTE } from '../../../support/clock.ts';
import { request } from '../../../support/http.ts';
import { holdLock, waitForLockWaiters } from '../../../support/lock.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
} from '../../../support/service.ts';

const service = await startTestService({
  config: { webhookDelivery: true, webhookAllowedNetworks: ['127.0.0.0/8'], requestTimeoutMs: 60_000 },
});
const receiver = await WebhookReceiver.open();
afterAll(async () => {
  await service.close();
  await receiver[Symbol.asyncDispose]();
});
const admin = adminClient(service);
const { sql } = service.database;
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** Creates an application with a webhook. Messages come to the path in the order in which they happened. */
async function subscribe(path: string, eventTypes: string[]) {
  const tenant = await createTenant(service);
  const owner = await createTestUser(service, { applicationIds: [tenant.id] });
  await clientsOf(service, tenant).webhooks.createWebhook({
    url: `${receiver.url}${path}`,
    ownerId: owner.id,
    eventTypes,
    ordered: true,
  });
  return { tenant, ...clientsOf(service, tenant) };
}

const receivedAt = (path: string): Record<string, unknown>[] =>
  receiver.at(path).map(({ json: { type, data } }) => ({ type, ...data }));

test('tells of sessions that begin and of live ones that are revoked, and of no other', async () => {
  const { tenant, auth, sessions } = await subscribe('/sessions', ['session.created', 'session.revoked']);
  const ada = await createTestUser(service, { name: 'Ada "ü"' });
  const authToken = await logIn(service, tenant, ada);
  const begun = await auth.exchangeToken({ authToken });
  const sessionId = begun.session?.id ?? '';
  await auth.exchangeToken({ authToken });
  const createdAt = new Date(Date.now() - 10 * MINUTE);
  const expiresAt = new Date(Date.now() + 5 * MINUTE);
  await sql`update sessions set created_at = ${createdAt}, expires_at = ${expiresAt} where id = ${sessionId}`;
  const renewed = await sessions.renewSession({ sessionId });
  expect(renewed.session?.id).not.toBe(sessionId);
  await sessions.revokeSession({ sessionId });
  await sessions.revokeSession({ sessionId });
  await sessions.revokeUserSessions({ userId: ada.id });
  await beginSession(service, tenant, ada);
  await sessions.revokeUserSessions({ userId: ada.id });

  const { id: userId, ...profile } = ada;
  const user = Object.fromEntries(Object.entries(profile).filter(([, value]) => value !== undefined));
  const more = { createdAt: INSTANT, expiresAt: INSTANT, ipAddress: '127.0.0.1', userAgent: expect.any(String) };
  const created = { type: 'session.created', userId, user, ...more, method: 'page' };
  const revoked = { type: 'session.revoked', userId };
  await expect.poll(() => receivedAt('/sessions').length).toBe(4);
  expect(receivedAt('/sessions')).toEqual([created, revoked, created, revoked]);
  const bodies = receiver.at('/sessions').map(({ body }) => body);
  for (const secret of [sessionId, renewed.session?.id ?? '', authToken]) expect(bodies.join()).not.toContain(secret);
});

test('tells every application that the user has signed in to of changes of the user, and no other', async () => {
  const one = await subscribe('/one', [
    'session.created',
    'session.revoked',
    'user.updated',
    'user.deactivated',
    'user.deleted',
  ]);
  const two = await subscribe('/two', ['user.deactivated', 'user.deleted']);
  const never = await subscribe('/never', ['event.created', 'user.updated', 'user.deactivated', 'user.deleted']);
  const deleted = await subscribe('/deleted', ['user.updated', 'user.deleted']);
  const ada = await createTestUser(service, { name: 'Ada' });
  for (const { tenant } of [one, two, deleted]) await beginSession(service, tenant, ada);
  await beginSession(service, never.tenant, await createTestUser(service));
  await admin.deleteApplication({ applicationId: deleted.tenant.id });

  await admin.updateUser({ userId: ada.id, name: 'Ada Lovelace' });
  await admin.deactivateUser({ userId: ada.id });
  await admin.deactivateUser({ userId: ada.id });
  await admin.reactivateUser({ userId: ada.id });
  await admin.deleteUser({ userId: ada.id });

  const { id, email, walletAddress } = ada;
  const user = { id, email, name: 'Ada Lovelace', walletAddress, firstSignedInAt: INSTANT };
  await expect.poll(() => receivedAt('/one').length).toBe(6);
  const told = receivedAt('/one');
  expect([
    told[0]?.type,
    told
      .slice(2, 4)
      .map(({ type }) => type)
      .sort(),
  ]).toEqual(['session.created', ['session.revoked', 'user.deactivated']]);
  expect(told.slice(1)).toEqual(
    expect.arrayContaining([
      { type: 'user.updated', ...user, isActive: true },
      { type: 'session.revoked', userId: id },
      { type: 'user.deactivated', ...user, isActive: false },
      { type: 'user.updated', ...user, isActive: true },
      { type: 'user.deleted', id },
    ]),
  );
  await admin.eraseUser({ userId: ada.id });
  await expect.poll(() => receivedAt('/two').length).toBe(2);
  expect(receivedAt('/two')).toEqual([
    { type: 'user.deactivated', ...user, isActive: false },
    { type: 'user.deleted', id },
  ]);
  await never.events.createEvent({ eventId: 'last' });
  await expect.poll(() => receivedAt('/never')).toEqual([expect.objectContaining({ type: 'event.created' })]);
  expect(receivedAt('/deleted')).toEqual([]);
});

test('tells an application once of each user who is new to it, at the first sign-in or when an operator adds the user', async () => {
  const one = await subscribe('/new', ['user.created', 'session.created']);
  const other = await subscribe('/new-elsewhere', ['*']);
  const ada = await createTestUser(service, { name: 'Ada' });
  await beginSession(service, one.tenant, ada);
  await one.sessions.revokeUserSessions({ userId: ada.id });
  await beginSession(service, one.tenant, ada);
  await admin.addApplicationUser({ applicationId: one.tenant.id, userId: ada.id });
  const bob = await createTestUser(service, { applicationIds: [one.tenant.id, other.tenant.id] });
  await beginSession(service, one.tenant, bob);
  const eve = await createTestUser(service);
  for (let count = 0; count < 2; count++)
    await admin.addApplicationUser({ applicationId: one.tenant.id, userId: eve.id });
  await beginSession(service, one.tenant, eve);

  const { id, email, name, walletAddress } = ada;
  await expect.poll(() => receivedAt('/new').length).toBe(7);
  const told = receivedAt('/new');
  expect(
    told.map(({ type, userId, id }) => [type, [ada, bob, eve].findIndex((user) => user.id === (userId ?? id))]),
  ).toEqual([
    ['user.created', 0],
    ['session.created', 0],
    ['session.created', 0],
    ['user.created', 1],
    ['session.created', 1],
    ['user.created', 2],
    ['session.created', 2],
  ]);
  expect(told[0]).toEqual({
    type: 'user.created',
    id,
    email,
    name,
    walletAddress,
    isActive: true,
    firstSignedInAt: INSTANT,
  });
  const added = {
    type: 'user.created',
    id: bob.id,
    email: bob.email,
    walletAddress: bob.walletAddress,
    isActive: true,
  };
  expect(told[3]).toEqual(added);
  await expect.poll(() => receivedAt('/new-elsewhere')).toEqual([added]);
});

test('tells of a new user also an application that asks for nothing else', async () => {
  const { tenant } = await subscribe('/only-new', ['user.created']);
  const users = [await createTestUser(service), await createTestUser(service)];
  for (const user of users) await beginSession(service, tenant, user);
  await expect.poll(() => receivedAt('/only-new').map(({ id }) => id)).toEqual(users.map(({ id }) => id));
});

test('an erasure deletes the user, and removes the messages that tell of the person', async () => {
  const { tenant } = await subscribe('/erased', ['*']);
  const ada = await createTestUser(service, { name: 'Ada' });
  receiver.answer(500);
  await beginSession(service, tenant, ada);
  await admin.updateUser({ userId: ada.id, name: 'Ada Lovelace' });
  await expect.poll(() => receivedAt('/erased').length).toBe(1);
  receiver.answer(204);
  await admin.eraseUser({ userId: ada.id });
  const messages = await sql`select type, payload from webhook_messages where application_id = ${tenant.id}`;
  expect(messages.map(({ type }) => type).sort()).toEqual(['session.revoked', 'user.deleted']);
  for (const { payload } of messages) expect(payload).not.toContain(ada.email);
});

test('what an endpoint answers to messages about a person goes with the person, also from an attempt in flight', async () => {
  const { tenant, events } = await subscribe('/echo', [
    'session.created',
    'session.revoked',
    'event.created',
    'user.updated',
    'user.deleted',
  ]);
  const ada = await createTestUser(service, { name: 'Ada' });
  const inFlight = Promise.withResolvers<void>();
  onTestFinished(() => receiver.answer(204));
  receiver.respond = async ({ path, body }, response) => {
    const { type } = JSON.parse(body);
    if (path === '/echo' && type === 'user.updated') await inFlight.promise;
    response.end(type.startsWith('event') ? 'ok' : `${type} ${ada.email}`);
  };
  const bodies = async () => {
    const rows =
      await sql`select response_body as body from webhook_attempts where application_id = ${tenant.id} order by id`;
    return rows.map(({ body }) => body);
  };
  await beginSession(service, tenant, ada);
  await expect.poll(bodies).toEqual([expect.stringContaining(ada.email)]);
  await events.createEvent({ eventId: 'e' });
  await expect.poll(bodies).toHaveLength(2);
  await admin.updateUser({ userId: ada.id, name: 'Ada Lovelace' });
  await expect.poll(() => receivedAt('/echo').length).toBe(3);
  await admin.eraseUser({ userId: ada.id });
  expect(await bodies()).toEqual([null, 'ok']);
  inFlight.resolve();
  // Of user.updated, session.revoked and user.deleted.
  await expect.poll(bodies).toEqual([null, 'ok', null, null, null]);
});

test('an application without a webhook that subscribes has no messages', async () => {
  const { tenant, sessions } = await subscribe('/others', ['event.created', 'check_in.created']);
  const ada = await createTestUser(service);
  await beginSession(service, tenant, ada);
  await admin.updateUser({ userId: ada.id, name: 'Ada' });
  await sessions.revokeUserSessions({ userId: ada.id });
  await admin.deleteUser({ userId: ada.id });
  expect(await sql`select from webhook_messages where application_id = ${tenant.id}`).toEqual([]);
});

test('the longest message is far below 256 KiB', async () => {
  const { tenant, events } = await subscribe('/long', ['*']);
  const long = '\\"'.repeat(127);
  const ada = await createTestUser(service, {
    email: `${'a'.repeat(64)}@${`${'b'.repeat(60)}.`.repeat(3)}com`,
    name: long,
    profileImage: `https://img.test/${'"'.repeat(2_000)}`,
    walletAddress: long,
  });
  const headers = { 'x-api-key': tenant.apiKey, 'content-type': 'application/json', 'user-agent': '\\"'.repeat(7_000) };
  const body = JSON.stringify({ authToken: await logIn(service, tenant, ada) });
  expect(await request(service.url, { method: 'POST', path: '/api/oauth/exchange', headers, body })).toMatchObject({
    status: 200,
  });
  await admin.updateUser({ userId: ada.id, name: '"\\'.repeat(127) });
  await events.createEvent({ eventId: 'e', name: long });
  await events.checkIn({ eventId: 'e', attendeeId: long });
  await expect.poll(() => receivedAt('/long').length).toBe(5);
  for (const { body } of receiver.at('/long')) expect(Buffer.byteLength(body)).toBeLessThan(64 * 1024);
});

test('a change of a user that is erased meanwhile is not kept, and one that commits later is not sent either', async () => {
  const { tenant, events } = await subscribe('/overtaken', ['*']);
  const { id } = await createTestUser(service);
  const messageOf = (type: string) => `
    insert into webhook_messages (application_id, type, payload, created_at, user_id)
    values ('${tenant.id}', '${type}', '{"type":"${type}","data":{"name":"Ada"}}', now(), '${id}')`;
  const update = await holdLock(
    service.database,
    `update users set name = 'Ada' where id = '${id}'; ${messageOf('user.updated')}`,
  );
  const erased = admin.eraseUser({ userId: id });
  await waitForLockWaiters(service.database);
  await update.release();
  await erased;
  expect(await sql`select from webhook_messages where user_id = ${id}`).toEqual([]);
  // A sign-in that began before the erasure.
  await sql.unsafe(messageOf('session.created'));
  await expect.poll(() => sql`select from webhook_messages where user_id = ${id}`).toHaveLength(0);
  await events.createEvent({ eventId: 'e' });
  await expect.poll(() => receivedAt('/overtaken').map(({ type }) => type)).toContain('event.created');
  // The change may have been sent before the erasure was complete.
  expect(receivedAt('/overtaken').map(({ type }) => type)).not.toContain('session.created');
});
