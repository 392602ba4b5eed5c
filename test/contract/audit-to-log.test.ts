/** AUDIT_LOG=log: every change has one line in the log with all fields, and nothing in the audit log of Postgres. */
import { afterAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { adminClient, startTestService } from '../support/service.ts';
import { openContractFixture, UUID } from './contract-fixture.ts';

const log = new RecordedLog('error');
const fixture = await openContractFixture({ logger: log.logger, config: { auditLog: 'log' } });
const { service, tenant, callWith } = fixture;
const { sql } = service.database;

const READS = /^(Get|List|Check(?!In)|Search)|^(GenerateAuthUrl|CancelLogin)$/;
/** They succeed for what is not there, and have no event then. */
const CONDITIONAL = new Set(['RenewSession', 'EndGrant', 'EndUserGrant', 'DeleteUserIdentity']);

const eventsOf = (requestId: string) => log.parsed.filter((line) => line.requestId === requestId);
const countOutbox = async () => (await sql`select from audit_outbox`).length;

const changes = OPERATIONS.filter(({ method }) => !READS.test(method.name) && !CONDITIONAL.has(method.name));

it('Every change has one line that says who did what, when and from where', async () => {
  for (const operation of changes) {
    const { method } = operation;
    const fields = await sampleFields(method, fixture);
    if (method.name === 'ReactivateUser') await callWith(AdminService.method.deactivateUser, fields);
    const headers = { ...credentialFor(operation, tenant), 'x-request-id': method.name };
    expect(await call(mainProtocolOf(method), service.url, method, fields, headers)).toMatchObject({ code: 'ok' });
  }
  await expect.poll(countOutbox, { timeout: 60_000 }).toBe(0);
  for (const { method, credential } of changes) {
    const isAdmin = credential === 'adminKey';
    expect(eventsOf(method.name), method.name).toMatchObject([
      {
        level: 30,
        msg: 'audit event',
        auditEventId: expect.stringMatching(UUID),
        occurredAt: expect.stringMatching(/^\d{4}-.*Z$/),
        actorType: isAdmin ? 'admin_key' : 'api_key',
        actor: isAdmin ? 'admin' : tenant.apiKeyId,
        action: `${method.parent.name}/${method.name}`,
        resource: expect.stringMatching(/\S/),
        ipAddress: '127.0.0.1',
        ...(!isAdmin && { applicationId: tenant.id }),
      },
    ]);
  }
});

it('Nothing stays in Postgres', async () => {
  expect(await sql`select from audit_events`).toHaveLength(0);
});

it('Refused calls have no line', async () => {
  const before = log.lines.length;
  await callWith(AdminService.method.deleteUser, { userId: 'x' });
  await callWith(AdminService.method.deactivateUser, { userId: '00000000-0000-4000-8000-000000000000' });
  await adminClient(service).createUser({ email: 'a@log.test', walletAddress: '' });
  await expect.poll(() => log.lines.length, { timeout: 60_000 }).toBe(before + 1);
});

describe('Events that another process has left', () => {
  const second = new RecordedLog('error');
  let other: Awaited<ReturnType<typeof startTestService>> | undefined;
  afterAll(() => other?.close());

  it('are logged once, when they are old enough not to be on their way', async () => {
    const insert = (age: string, resource: string) => sql`
      insert into audit_outbox values (${tenant.id}, now() - ${age}::interval, gen_random_uuid(), 'admin_key', 'admin',
        'AdminService/UpdateUser', ${resource}, '::1', 'left')`;
    await insert('2 minutes', 'late');
    await insert('1 second', 'on its way');
    const { database, config } = service;
    other = await startTestService({ database, config, logger: second.logger });
    await expect.poll(() => second.parsed.map(({ resource }) => resource), { timeout: 60_000 }).toEqual(['late']);
    await expect.poll(countOutbox, { timeout: 60_000 }).toBe(1);
    expect(eventsOf('left')).toEqual([]);
  });
});
