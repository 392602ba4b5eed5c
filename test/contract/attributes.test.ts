/** External IDs and attributes of users: who writes them, who sees them, and when they go. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { refusal, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { dumpTables } from '../support/dump.ts';
import { adminClient, beginSession, createTestUser, createTestWebhook, logIn } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const clock = new TestClock(new Date());
const { service, tenant, other, callWith } = await openContractFixture({ clock: clock.read });
const admin = adminClient(service);
const { createUser, getUser, updateUser, createApplication, updateApplication } = AdminService.method;
const TAKEN = refusal('already_exists', 'External ID already exists');

const create = (fields: JsonObject) => callWith(createUser, { email: `${randomUUID()}@example.com`, ...fields });
const userOf = ({ data }: { data: unknown }) => (data as { user: JsonObject & { id: string } }).user;
const usersOf = ({ data }: { data: unknown }) => (data as { users: JsonObject[] }).users;
const read = async (userId: string) => userOf(await callWith(getUser, { userId }));

it('are what an operator has stored, until the operator replaces or clears them', async () => {
  const attributes = { plan: 'pro', seats: 5.5, beta: true, teams: ['a', 'ü "'], none: [], text: '' };
  const { id: userId } = userOf(await create({ externalId: 'auth0|ü', attributes }));
  expect(await read(userId)).toMatchObject({ externalId: 'auth0|ü', attributes });
  await callWith(updateUser, { userId, name: 'Ada' });
  expect(await read(userId)).toMatchObject({ externalId: 'auth0|ü', attributes, name: 'Ada' });
  await callWith(updateUser, { userId, attributes: { plan: 'free' }, externalId: 'crm-1' });
  expect(await read(userId)).toMatchObject({ externalId: 'crm-1', attributes: { plan: 'free' } });
  await callWith(updateUser, { userId, attributes: {} });
  expect(await read(userId)).not.toHaveProperty('attributes');
  await callWith(updateUser, { userId, attributes });
  await callWith(updateUser, { userId, updateMask: 'externalId,attributes' });
  const cleared = await read(userId);
  for (const name of ['externalId', 'attributes']) expect(cleared).not.toHaveProperty(name);
});

it('an external ID belongs to one live user, and is free again once the user is deleted', async () => {
  const [first, second] = [userOf(await create({ externalId: 'one' })), userOf(await create({}))];
  expect(await create({ externalId: 'one' })).toEqual(TAKEN);
  expect(await callWith(updateUser, { userId: second.id, externalId: 'one' })).toEqual(TAKEN);
  expect(await callWith(updateUser, { userId: first.id, externalId: 'one' })).toMatchObject({ code: 'ok' });
  expect(await create({ externalId: 'One' })).toMatchObject({ code: 'ok' });
  const racing = await Promise.all(Array.from({ length: 8 }, () => create({ externalId: 'race' })));
  expect(racing.map(({ code }) => code).sort()).toEqual([...Array(7).fill('already_exists'), 'ok']);
  await admin.deleteUser({ userId: first.id });
  expect(await create({ externalId: 'one' })).toMatchObject({ code: 'ok' });
});

it.each<[string, JsonObject]>([
  ['externalId', { externalId: '' }],
  ['externalId', { externalId: 'x'.repeat(256) }],
  ['attributes', { attributes: { Plan: 'pro' } }],
  ['attributes', { attributes: { '': 'pro' } }],
  ['attributes', { attributes: { ['x'.repeat(65)]: 'pro' } }],
  ['attributes', { attributes: { sub: 'somebody else' } }],
  ['attributes', { attributes: { email_verified: true } }],
  ['attributes', { attributes: { groups: ['admins'] } }],
  ['attributes', { attributes: { plan: null } }],
  ['attributes', { attributes: { plan: { deep: 1 } } }],
  ['attributes', { attributes: { plan: ['a', 1] } }],
  ['attributes', { attributes: { plan: 'nul \0' } }],
  ['attributes', { attributes: { plan: 'x'.repeat(4_096) } }],
  ['attributes', { attributes: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`a${at}`, at])) }],
])('are refused: %s of %j', async (field, fields) => {
  expect(await create(fields)).toEqual(validationFailed(field));
  const { id: userId } = await createTestUser(service);
  expect(await callWith(updateUser, { userId, ...fields })).toEqual(validationFailed(field));
});

it.each([[['sub']], [['Plan']], [Array.from({ length: 11 }, (_, at) => `a${at}`)]])(
  'an application cannot list %j',
  async (attributeClaims) => {
    const refused = validationFailed('attributeClaims');
    const application = { name: 'Shop', redirectUris: ['https://app.test/callback'] };
    expect(await callWith(createApplication, { ...application, attributeClaims })).toEqual(refused);
    expect(await callWith(updateApplication, { applicationId: tenant.id, attributeClaims })).toEqual(refused);
  },
);

it('an application sees those that it lists, and another application none', async () => {
  await admin.updateApplication({ applicationId: tenant.id, attributeClaims: ['plan', 'seats', 'missing', 'plan'] });
  const listed = await admin.getApplication({ applicationId: tenant.id });
  expect(listed.application?.attributeClaims).toEqual(['plan', 'seats', 'missing']);
  const attributes = { plan: 'pro', seats: 5, secret: 'churn risk' };
  const user = userOf(await create({ attributes }));
  const { id: userId } = user;
  const seen = { attributes: { plan: 'pro', seats: 5 } };
  const authToken = await logIn(service, tenant, user);
  const { data } = await callWith(AuthService.method.exchangeToken, { authToken });
  const { session } = data as { session: { id: string } };
  expect(data).toMatchObject({ user: seen });
  const checkSession = async () => {
    const checked = await callWith(SessionService.method.checkSession, { sessionId: session.id, maxStalenessMs: 0 });
    return (checked.data as { session: JsonObject }).session;
  };
  const { getUser: getOwn, batchGetUsers, listUsers } = UserService.method;
  const shown = [
    (await callWith(getOwn, { userId })).data,
    ...usersOf(await callWith(batchGetUsers, { userIds: [userId] })),
    ...usersOf(await callWith(listUsers, { pageSize: 1 })),
    ...usersOf(await callWith(listUsers, { email: String(user.email) })),
  ];
  expect(shown).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ id: userId, ...seen })));
  expect((await checkSession()).user).toMatchObject(seen);

  // As of the last renewal.
  await admin.updateUser({ userId, attributes: { plan: 'free' } });
  expect((await checkSession()).user).toMatchObject(seen);
  clock.advance(10 * MINUTE);
  const renewed = await callWith(SessionService.method.renewSession, { sessionId: session.id });
  session.id = (renewed.data as { id: string }).id;
  expect((await checkSession()).user).toMatchObject({ attributes: { plan: 'free' } });

  await beginSession(service, other, user);
  const headers = { 'x-api-key': other.apiKey };
  const elsewhere = await callWith(UserService.method.getUser, { userId }, headers);
  expect(elsewhere).toMatchObject({ code: 'ok' });
  expect(elsewhere.data).not.toHaveProperty('attributes');
});

it('are left nowhere after an erasure', async () => {
  const mark = `mark_${Date.now()}`;
  await admin.updateApplication({ applicationId: tenant.id, attributeClaims: ['plan'] });
  const { webhookId } = await createTestWebhook(service, tenant);
  await service.database.sql`update webhooks set event_types = '{*}' where id = ${webhookId}`;
  const user = userOf(await create({ externalId: mark, attributes: { plan: mark, secret: mark } }));
  await beginSession(service, tenant, user);
  await admin.updateUser({ userId: user.id, attributes: { plan: mark, other: mark } });
  const tablesWith = async () => {
    const tables = Object.entries(await dumpTables(service.database));
    return tables.filter(([, rows]) => JSON.stringify(rows).includes(mark)).map(([name]) => name);
  };
  expect(await tablesWith()).toEqual(['sessions', 'users']);
  await service.database.sql`analyze`;
  await admin.eraseUser({ userId: user.id });
  expect(await tablesWith()).toEqual([]);
  const statistics = await service.database.sql`
    select tablename from pg_stats where (most_common_vals::text || histogram_bounds::text) like ${`%${mark}%`}`;
  expect(statistics).toEqual([]);
});
