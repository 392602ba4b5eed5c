/** What ListAuditEvents finds by resource, actor, action and time. Pages: lists.test.ts. */
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import {
  ADMIN_KEY,
  adminClient,
  beginSession,
  clientsOf,
  createTestEvent,
  createTestUser,
  createTestWebhook,
} from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { createUser, listAuditEvents } = AdminService.method;
const START = new Date('2026-03-01T12:00:00Z');
const SECOND_KEY = 'another-admin-key-for-tests-of-sufficient-length';

const clock = new TestClock(START);
const { service, tenant, other, callWith } = await openContractFixture({
  clock: clock.read,
  config: { adminKeys: [{ name: 'deploy', key: SECOND_KEY }] },
});
const admin = adminClient(service);

const user = await createTestUser(service);
const eventId = await createTestEvent(service, tenant, 'the-event');
const { webhookId } = await createTestWebhook(service, tenant);
clock.advance(MINUTE);
await admin.updateUser({ userId: user.id, name: 'Ada' });
await beginSession(service, tenant, user);
await clientsOf(service, tenant).events.checkIn({ eventId, attendeeId: 'ada' });
await clientsOf(service, tenant).webhooks.updateWebhook({ webhookId, description: 'New' });
clock.advance(MINUTE);
await clientsOf(service, tenant).events.deleteEvent({ eventId });
await createTestEvent(service, other, 'the-event');
await callWith(createUser, { email: 'ci@example.com' }, { 'x-admin-key': SECOND_KEY });

async function find(filter: JsonObject): Promise<readonly string[]> {
  const { code, data } = await callWith(listAuditEvents, { pageSize: 100, ...filter });
  expect(code).toBe('ok');
  return (data as { auditEvents: { action: string }[] }).auditEvents.map(({ action }) => action.replace(/.*\//, ''));
}

const at = (minutes: number) => new Date(START.getTime() + minutes * MINUTE).toISOString();

describe('ListAuditEvents', () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ['what happened to a user', { resource: user.id, until: at(1) }, ['CreateUser']],
    [
      'also how the user signed in',
      { resource: user.id, since: at(1) },
      ['UpdateUser', 'CompleteLogin', 'ExchangeToken'],
    ],
    ['who signed in', { action: 'AuthService/ExchangeToken' }, ['ExchangeToken']],
    ['who signed in where', { action: 'AuthService/ExchangeToken', applicationId: tenant.id }, ['ExchangeToken']],
    ['who signed in elsewhere', { action: 'AuthService/ExchangeToken', applicationId: other.id }, []],
    ['what a key did so', { action: 'EventService/CheckIn', actor: tenant.apiKeyId }, ['CheckIn']],
    ['how the user signed in', { resource: user.id, action: 'AuthService/ExchangeToken' }, ['ExchangeToken']],
    ['what happened to a webhook', { resource: webhookId }, ['UpdateWebhook', 'CreateWebhook']],
    ['what happened to events of an ID', { resource: eventId }, ['CreateEvent', 'DeleteEvent', 'CreateEvent']],
    [
      'what happened to an event of an application',
      { resource: eventId, applicationId: tenant.id },
      ['DeleteEvent', 'CreateEvent'],
    ],
    ['what an admin key did', { actor: 'deploy' }, ['CreateUser']],
    ['what an API key did', { actor: other.apiKeyId }, ['CreateEvent']],
    ['what an API key did elsewhere', { actor: other.apiKeyId, applicationId: tenant.id }, []],
    ['who deleted events', { action: 'EventService/DeleteEvent' }, ['DeleteEvent']],
    ['who deleted events of another application', { action: 'EventService/DeleteEvent', applicationId: other.id }, []],
    ['all filters at once', { resource: user.id, actor: 'admin', action: 'AdminService/UpdateUser' }, ['UpdateUser']],
    ['filters that contradict each other', { resource: user.id, actor: 'deploy' }, []],
    ['what nobody did', { resource: "' or true --" }, []],
  ])('tells %s', async (_, filter, actions) => {
    const found = await find(filter);
    expect([...found].sort()).toEqual([...actions].sort());
    // Of one instant, the order is that of the IDs, which are random.
    if (new Set(actions).size === actions.length && !('actor' in filter || 'since' in filter))
      expect(found).toEqual(actions);
  });

  it('tells what happened from an instant on, and before another', async () => {
    const all = await find({ applicationId: tenant.id });
    expect(all).toEqual(expect.arrayContaining(['ExchangeToken', 'CompleteLogin', 'CheckIn', 'CreateWebhook']));
    const later = await find({ applicationId: tenant.id, since: at(2) });
    expect(later).toEqual(['DeleteEvent']);
    const middle = await find({ applicationId: tenant.id, since: at(1), until: at(2) });
    expect([...middle].sort()).toEqual(['CheckIn', 'CompleteLogin', 'ExchangeToken', 'UpdateWebhook']);
    expect(await find({ resource: user.id, until: at(1) })).toEqual(['CreateUser']);
    expect(await find({ since: at(2), until: at(2) })).toEqual([]);
    // In another time zone.
    expect(await find({ resource: user.id, since: '2026-03-01T14:01:00+02:00' })).toContain('UpdateUser');
  });

  it('refuses instants without a time zone, and what no event can have', async () => {
    for (const since of ['2026-03-01', '2026-03-01T12:00:00', 'yesterday', '']) {
      expect(await callWith(listAuditEvents, { since }), since).toEqual(validationFailed('since'));
    }
    for (const resource of ['', 'a'.repeat(256), 'a\0']) {
      expect(await callWith(listAuditEvents, { resource })).toEqual(validationFailed('resource'));
    }
    expect((await callWith(listAuditEvents, {}, { 'x-admin-key': `${ADMIN_KEY}x` })).code).toBe('unauthenticated');
  });
});
