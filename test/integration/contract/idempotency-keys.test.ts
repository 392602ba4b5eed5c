/** Calls that are repeated with an `Idempotency-Key`. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { Database } from '../../../src/database/pool/database.ts';
import { removeExpired } from '../../../src/jobs/expiry.ts';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { HOUR, TestClock } from '../../support/clock.ts';
import { LAYOUT } from '../../support/database.ts';
import { dumpTables } from '../../support/dump.ts';
import { request } from '../../support/http.ts';
import { holdLock, waitForLockWaiters } from '../../support/lock.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { CONNECT, call, mainProtocolOf, PROTOCOLS, supports } from '../../support/protocols.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';
import { adminClient, clientsOf, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const clock = new TestClock();
const namedAdminKey = 'k'.repeat(32);
const config = { adminKeys: [{ name: 'ada', key: namedAdminKey }] };
const { service, tenant, other } = await openContractFixture({ clock: clock.read, config });
const { database } = service;
const replica = await startTestService({ clock: clock.read, database, like: service.config });
afterAll(replica.close);
const { createWebhook } = WebhookService.method;

const CREATING: readonly DescMethodUnary[] = [
  AuthService.method.generateAuthUrl,
  createWebhook,
  WebhookService.method.rotateSigningKey,
  WebhookService.method.sendTestMessage,
  WebhookService.method.redeliver,
  WebhookService.method.redeliverFailed,
  EventService.method.createEvent,
  EventService.method.checkIn,
  AdminService.method.createApplication,
  AdminService.method.createApiKey,
  AdminService.method.rotateApiKey,
  AdminService.method.createUser,
  AdminService.method.createGroup,
];

const newKey = () => ({ 'idempotency-key': randomUUID() as string });
const withKey = (key = newKey(), { apiKey } = tenant) => ({ 'x-api-key': apiKey, ...key });

async function webhookFields(description = 'A webhook'): Promise<JsonObject> {
  const { id } = await createTestUser(service, { applicationIds: [tenant.id] });
  return { url: 'https://hooks.test/', ownerId: id, eventTypes: ['webhook.test'], description };
}

async function countWebhooks(): Promise<number> {
  return (await database.sql`select from webhooks`).count;
}

function create(fields: JsonObject, headers: Record<string, string>, at = service) {
  return call(mainProtocolOf(createWebhook), at.url, createWebhook, fields, headers);
}

describe.each(OPERATIONS.filter(({ method }) => CREATING.includes(method)))('$method.name', (operation) => {
  const { method } = operation;

  it('changes something once, and answers the same on another replica over every protocol', async () => {
    const fields = await sampleFields(method, { service, tenant });
    const headers = { ...credentialFor(operation, tenant), ...newKey() };
    const main = mainProtocolOf(method);
    const first = await call(main, service.url, method, fields, headers);
    expect(first.code).toBe('ok');
    const before = await dumpTables(database);
    for (const at of [service, replica]) expect(await call(main, at.url, method, fields, headers)).toEqual(first);
    for (const protocol of PROTOCOLS.filter((each) => supports(each, method))) {
      const { code, data } = await call(protocol, replica.url, method, fields, headers);
      expect([protocol.name, code]).toEqual([protocol.name, 'ok']);
      if (protocol.kind === main.kind) expect(data).toEqual(first.data);
    }
    expect(await dumpTables(database)).toEqual(before);
  });
});

it('every other call has the same effect with a key as without, malformed or not', async () => {
  const headers = { 'x-api-key': tenant.apiKey, 'idempotency-key': 'a key' };
  const { listWebhooks } = WebhookService.method;
  expect((await call(CONNECT, service.url, listWebhooks, {}, headers)).code).toBe('ok');
});

describe('a key', () => {
  it('may be quoted as the draft says, or plain', async () => {
    const fields = await webhookFields();
    const plain = randomUUID();
    const first = await create(fields, withKey({ 'idempotency-key': plain }));
    expect(await create(fields, withKey({ 'idempotency-key': `"${plain}"` }))).toEqual(first);
    const escaped = { 'idempotency-key': '"a \\"key\\" \\\\ of words"' };
    expect(await create(fields, withKey(escaped))).toEqual(await create(fields, withKey(escaped)));
  });

  it.each([
    '',
    ' ',
    '""',
    '"a',
    'a b',
    'a"',
    '"a"b"',
    'ä',
    'a,b',
    '"a";x=1',
    '"\\a"',
    'a'.repeat(256),
    `"${'a'.repeat(256)}"`,
  ])('%j is refused', async (key) => {
    const before = await countWebhooks();
    const reply = await request(service.url, {
      path: '/api/webhooks',
      headers: { ...withKey({ 'idempotency-key': key }), 'content-type': 'application/json' },
      body: JSON.stringify(await webhookFields()),
    });
    const { status, body } = reply;
    expect([status, JSON.parse(body)]).toEqual([
      400,
      { status: false, message: 'Invalid idempotency key', reason: 'INVALID_IDEMPOTENCY_KEY' },
    ]);
    expect(await countWebhooks()).toBe(before);
  });

  it('belongs to one application, one admin key and one call', async () => {
    const key = newKey();
    const fields = { eventId: randomUUID() };
    const { createEvent, checkIn } = EventService.method;
    const made = (headers: Record<string, string>, method: DescMethodUnary = createEvent, more: JsonObject = {}) =>
      call(mainProtocolOf(method), service.url, method, { ...fields, ...more }, headers);
    expect((await made(withKey(key))).code).toBe('ok');
    expect((await made(withKey(key, other))).code).toBe('ok');
    expect((await made(withKey(key), checkIn, { attendeeId: 'a' })).code).toBe('ok');
    const users = ['x-admin-key', 'x-admin-key'].map(async (name, index) => {
      const admin = index === 0 ? service.config.secrets.adminKey : namedAdminKey;
      const fields = { email: `${randomUUID()}@example.com`, walletAddress: randomUUID() };
      return call(CONNECT, service.url, AdminService.method.createUser, fields, { [name]: `${admin}`, ...key });
    });
    expect((await Promise.all(users)).map(({ code }) => code)).toEqual(['ok', 'ok']);
  });

  it('is refused with another request', async () => {
    const key = newKey();
    const fields = await webhookFields();
    await create(fields, withKey(key));
    const before = await dumpTables(database);
    const reply = await request(replica.url, {
      path: '/api/webhooks',
      headers: { ...withKey(key), 'content-type': 'application/json' },
      body: JSON.stringify({ ...fields, description: 'another' }),
    });
    const refusal = {
      status: false,
      message: 'Idempotency key used for another request',
      reason: 'IDEMPOTENCY_KEY_REUSED',
    };
    expect([reply.status, JSON.parse(reply.body)]).toEqual([422, refusal]);
    const rpc = await call(CONNECT, replica.url, createWebhook, { ...fields, isActive: false }, withKey(key));
    expect([rpc.code, rpc.message]).toEqual(['failed_precondition', 'Idempotency key used for another request']);
    expect(await dumpTables(database)).toEqual(before);
  });

  it('is refused while its first call is running, and then has the same answer', async () => {
    const key = newKey();
    const fields = await webhookFields();
    const before = await countWebhooks();
    const lock = await holdLock(database, 'lock table webhooks in access exclusive mode');
    const first = create(fields, withKey(key));
    await waitForLockWaiters(database);
    const reply = await request(replica.url, {
      path: '/api/webhooks',
      headers: { ...withKey(key), 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    const refusal = {
      status: false,
      message: 'Call with this idempotency key is running',
      reason: 'IDEMPOTENCY_KEY_IN_USE',
    };
    expect([reply.status, JSON.parse(reply.body)]).toEqual([409, refusal]);
    expect(await call(CONNECT, replica.url, createWebhook, fields, withKey(key))).toMatchObject({ code: 'aborted' });
    await lock.release();
    const answer = await first;
    expect(answer.code).toBe('ok');
    expect(await create(fields, withKey(key), replica)).toEqual(answer);
    expect(await countWebhooks()).toBe(before + 1);
  });

  it('makes one change of twenty calls at the same time', async () => {
    const key = newKey();
    const fields = await webhookFields();
    const before = await countWebhooks();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create(fields, withKey(key), index % 2 ? service : replica)),
    );
    const made = answers.filter(({ code }) => code === 'ok');
    expect(answers.filter(({ code, message }) => code !== 'ok' && !message.endsWith('is running'))).toEqual([]);
    expect(new Set(made.map(({ data }) => JSON.stringify(data))).size).toBe(1);
    expect(await countWebhooks()).toBe(before + 1);
  });

  it('is free again after an error, which has changed nothing', async () => {
    const key = newKey();
    const fields = await webhookFields();
    const unknown = { ...fields, ownerId: randomUUID() };
    expect((await create(unknown, withKey(key))).code).toBe('not_found');
    expect((await create(fields, withKey(key))).code).toBe('ok');
  });

  it('lasts for 24 hours', async () => {
    const key = newKey();
    const fields = await webhookFields();
    const first = await create(fields, withKey(key));
    clock.advance(24 * HOUR - 1);
    expect(await create(fields, withKey(key))).toEqual(first);
    clock.advance(1);
    const second = await create(fields, withKey(key));
    expect(second.code).toBe('ok');
    expect(second.data).not.toEqual(first.data);
    expect(await create(fields, withKey(key))).toEqual(second);
    clock.advance(24 * HOUR + 1);
    const own = new Database(database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
    await removeExpired(own, { now: clock.read(), webhookLogDays: 14 });
    await own.close();
    expect((await database.sql`select from idempotency_keys`).count).toBe(0);
  });
});

it('after a crash, a repeated call makes the change that was lost, once', async () => {
  const key = newKey();
  const fields = await webhookFields();
  const before = await countWebhooks();
  const lock = await holdLock(database, 'lock table webhooks in access exclusive mode');
  const first = create(fields, withKey(key));
  await waitForLockWaiters(database);
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'usher transactions' and wait_event_type = 'Lock'`;
  expect(await first).toMatchObject({ code: 'unavailable' });
  await lock.release();
  expect(await countWebhooks()).toBe(before);
  const second = await create(fields, withKey(key), replica);
  expect(second.code).toBe('ok');
  expect(await create(fields, withKey(key))).toEqual(second);
  expect(await countWebhooks()).toBe(before + 1);
});

it('a lost answer comes again after the change was made', async () => {
  const key = newKey();
  const { id: applicationId } = await createTenant(service);
  const create = () => adminClient(replica).createApiKey({ applicationId, name: 'once' }, { headers: key });
  const lost = await create();
  expect(await create()).toEqual(lost);
  await expect(clientsOf(service, { apiKey: lost.apiKey }).events.listEvents({})).resolves.toBeDefined();
  expect((await adminClient(service).listApiKeys({ applicationId })).apiKeys).toHaveLength(2);
});

it('a call that has timed out takes no effect later, and can be repeated', async () => {
  await using hasty = await startTestService({
    clock: clock.read,
    database,
    like: service.config,
    config: { requestTimeoutMs: 500 },
  });
  const key = newKey();
  const fields = await webhookFields();
  const before = await countWebhooks();
  const lock = await holdLock(database, 'lock table webhooks in access exclusive mode');
  expect(await create(fields, withKey(key), hasty)).toMatchObject({ code: 'unavailable' });
  const countRunning = async () => {
    const rows = await database.sql`
      select from pg_stat_activity
      where datname = current_database() and application_name = 'usher transactions' and state <> 'idle'`;
    return rows.count;
  };
  await expect.poll(countRunning).toBe(0);
  await lock.release();
  const again = await create(fields, withKey(key));
  expect(again.code).toBe('ok');
  expect(await create(fields, withKey(key), replica)).toEqual(again);
  expect(await countWebhooks()).toBe(before + 1);
});

it('a key makes one change behind a pooler, also beside many calls', async () => {
  const config = { databaseUrl: `${database.url}?pgbouncer=true`, requestTimeoutMs: 60_000 };
  await using special = await startTestService({ clock: clock.read, database, like: service.config, config });
  const fields = await webhookFields();
  const before = await countWebhooks();
  const keys = Array.from({ length: 12 }, newKey);
  const first = await Promise.all(keys.map((key) => create(fields, withKey(key), special)));
  expect(first.map(({ code }) => code)).toEqual(keys.map(() => 'ok'));
  expect(await Promise.all(keys.map((key) => create(fields, withKey(key), special)))).toEqual(first);
  expect(await countWebhooks()).toBe(before + keys.length);
});

it('kept answers are encrypted, and no secret or address is readable in them', async () => {
  const key = newKey();
  const fields = await webhookFields('a description that is secret');
  const { data } = await create(fields, withKey(key));
  const { signingKey } = data as { signingKey: string };
  const rows = await database.sql`select encode(answer, 'escape') as text, answer from idempotency_keys`;
  expect(rows.length).toBeGreaterThan(0);
  for (const { text, answer } of rows) {
    for (const secret of [signingKey, 'whsec_', 'usk_', 'secret', key['idempotency-key']])
      expect(text + answer.toString('base64') + answer.toString('latin1')).not.toContain(secret);
  }
  const plain = Buffer.from(signingKey).toString('base64').slice(0, 20);
  expect(JSON.stringify(await dumpTables(database, plain))).toBe('{}');
});

it('kept answers are re-encrypted when the key changes', async () => {
  const key = newKey();
  const fields = await webhookFields();
  const first = await create(fields, withKey(key));
  const { secrets } = service.config;
  const encryptionKeys = [randomBytes(32), ...(secrets.encryptionKeys ?? [])];
  const rotated = { ...service.config, secrets: { ...secrets, encryptionKeys } };
  const keyIds = async () =>
    (await database.sql`select distinct encode(substr(answer, 1, 4), 'hex') as id from idempotency_keys`).map(
      ({ id }) => id,
    );
  const before = await keyIds();
  await using next = await startTestService({ clock: clock.read, database, like: rotated });
  await expect.poll(keyIds).not.toEqual(before);
  expect(await create(fields, withKey(key), next)).toEqual(first);
});
