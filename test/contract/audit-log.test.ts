/** The audit log: every change has one event, written with it; reads and refused calls have none. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { success } from '../support/answers.ts';
import { TestClock } from '../support/clock.ts';
import { OPERATIONS } from '../support/operations.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { ADMIN_KEY, createTenant, createTestEvent, createTestUser, logIn, REDIRECT_URI } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID, UUID } from './contract-fixture.ts';

const NOW = '2026-03-01T12:00:00.120Z';
const SECOND_KEY = 'another-admin-key-for-tests-of-sufficient-length';

const fixture = await openContractFixture({
  clock: new TestClock(new Date(NOW)).read,
  config: { adminKeys: [{ name: 'deploy', key: SECOND_KEY }] },
});
const { service, tenant, other, callWith } = fixture;
const { sql } = service.database;

/** Read. GenerateAuthUrl stores a request that expires; who signs in by it is recorded. CancelLogin changes nothing. */
const READS = /^((Batch)?Get|List|Check(?!In)|Introspect|Search)|^(GenerateAuthUrl|CancelLogin)$/;
/**
 * RenewSession changes nothing before half of a session's life is over. The others succeed for what is not there, as
 * their examples are. Their events: test/contract/renew-session.test.ts, test/integration/modules/oidc/public-clients.test.ts and
 * test/integration/modules/providers/account-providers.test.ts.
 */
const CONDITIONAL = new Set(['RenewSession', 'EndGrant', 'EndUserGrant', 'DeleteUserIdentity']);

const countEvents = async () => (await sql`select from audit_events`).length;

describe.each(OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name })))('$name', (operation) => {
  const { method } = operation;
  const isChange = !READS.test(method.name) && !CONDITIONAL.has(method.name);
  const action = `${method.parent.name}/${method.name}`;

  it(isChange ? 'has an event that says who did what, when and from where' : 'has no event', async () => {
    const fields = await sampleFields(method, fixture);
    if (method.name === 'ReactivateUser') await callWith(AdminService.method.deactivateUser, fields);
    const before = await countEvents();
    const callAs = (headers: Record<string, string>, given = fields) =>
      call(mainProtocolOf(method), service.url, method, given, headers);
    await callAs({});
    await callAs({ 'x-api-key': 'usk_', 'x-admin-key': 'wrong' });
    await callAs(credentialFor(operation, tenant), {});
    expect(await countEvents(), 'refused calls').toBe(before);

    const answer = await callAs({ ...credentialFor(operation, tenant), 'x-request-id': 'the-request' });
    expect(answer).toMatchObject({ code: 'ok' });
    expect(await countEvents()).toBe(isChange ? before + 1 : before);
    const isAdmin = operation.credential === 'adminKey';
    const event = {
      actor_type: isAdmin ? 'admin_key' : 'api_key',
      actor: isAdmin ? 'admin' : tenant.apiKeyId,
      occurred_at: new Date(NOW),
      ip_address: '127.0.0.1',
      resource: expect.stringMatching(/\S/),
      ...(!isAdmin && { application_id: tenant.id }),
    };
    const events = await sql`select * from audit_events where action = ${action} and request_id = 'the-request'`;
    expect(events).toMatchObject(isChange ? [event] : []);
  });
});

it('A call that changes nothing has no event', async () => {
  const { createEvent, deleteEvent, checkIn } = EventService.method;
  const { exchangeToken } = AuthService.method;
  const eventId = await createTestEvent(service, tenant);
  await callWith(checkIn, { eventId, attendeeId: 'ada' });
  const { id, email, walletAddress } = await createTestUser(service);
  const authToken = await logIn(service, tenant, { id });
  await callWith(exchangeToken, { authToken });
  const calls: [DescMethodUnary, Record<string, string>][] = [
    [createEvent, { eventId }],
    [deleteEvent, { eventId: UNKNOWN_ID }],
    [checkIn, { eventId, attendeeId: 'ada' }],
    [AdminService.method.revokeApiKey, { apiKeyId: UNKNOWN_ID }],
    [AdminService.method.createUser, { email, walletAddress }],
    [AdminService.method.reactivateUser, { userId: id }],
    [exchangeToken, { authToken }],
  ];
  const before = await countEvents();
  for (const [method, fields] of calls) {
    await callWith(method, fields);
    expect(await countEvents(), method.name).toBe(before);
  }
});

describe('ListAuditEvents', () => {
  const { listAuditEvents, createApplication } = AdminService.method;

  it('returns the events of one application, with the name of the admin key', async () => {
    const request = { name: 'Audited', redirectUris: [REDIRECT_URI] };
    const { data } = await callWith(createApplication, request, { 'x-admin-key': SECOND_KEY, 'x-request-id': 'id-1' });
    const { application, apiKey, apiKeyId } = data as { application: { id: string }; apiKey: string; apiKeyId: string };
    const { id: applicationId } = application;
    await callWith(EventService.method.createEvent, { eventId: 'e' }, { 'x-api-key': apiKey, 'x-request-id': 'id-2' });
    const event = { auditEventId: expect.stringMatching(UUID), occurredAt: NOW, applicationId, ipAddress: '127.0.0.1' };
    const created = { actorType: 'admin_key', actor: 'deploy', action: 'AdminService/CreateApplication' };
    const added = { actorType: 'api_key', actor: apiKeyId, action: 'EventService/CreateEvent' };
    const auditEvents = [
      { ...event, ...created, resource: applicationId, requestId: 'id-1' },
      { ...event, ...added, resource: 'e', requestId: 'id-2' },
    ];
    const answer = await callWith(listAuditEvents, { applicationId });
    expect(answer).toEqual(success({ auditEvents: expect.arrayContaining(auditEvents), nextPageToken: '' }));
    expect(answer).toHaveProperty('data.auditEvents.length', auditEvents.length);
  });

  it('returns the events of all applications, and of none', async () => {
    await createTenant(service);
    await createTestUser(service);
    await createTestEvent(service, other);
    const { data } = await callWith(listAuditEvents, { pageSize: 100 });
    const { auditEvents } = data as { auditEvents: { applicationId?: string }[] };
    expect(new Set(auditEvents.map(({ applicationId }) => applicationId)).size).toBeGreaterThan(1);
  });
});

it('Each admin key works, and no other', async () => {
  const method = AdminService.method.listApplications;
  for (const [key, code] of [
    [ADMIN_KEY, 'ok'],
    [SECOND_KEY, 'ok'],
    ['deploy', 'unauthenticated'],
    [`deploy:${SECOND_KEY}`, 'unauthenticated'],
  ] as const) {
    expect((await callWith(method, {}, { 'x-admin-key': key })).code, key).toBe(code);
  }
});
