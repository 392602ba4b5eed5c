/** Interface, "4. Delete Event". */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
import { request } from '../support/http.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestEvent,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import {
  CONNECT_JSON_WIRES,
  comparable,
  failureOf,
  RPC_WIRES,
  sendOver,
  WIRES,
  withInvalidUtf8,
} from '../support/wire.ts';

const { checkIn, createEvent, deleteEvent } = EventService.method;
const NOT_FOUND = refusal('not_found', 'Event not found');

let service: TestService;
let tenant: Tenant;
let other: Tenant;
let deletedTenant: Tenant;

beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service);
  other = await createTenant(service, { name: 'Other' });
  deletedTenant = await createTenant(service, { name: 'Deleted' });
  await adminClient(service).deleteApplication({ applicationId: deletedTenant.id });
});

afterAll(() => service.close());

const credentials = () => ({ 'x-api-key': tenant.apiKey });

describe.each(CALLERS)('DeleteEvent, $name', (caller) => {
  const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
    caller.call(service.url, deleteEvent, fields, headers);
  const deleted = caller.isRest ? success(undefined, 'Event deleted successfully') : success({});
  // Check-ins are an RPC only.
  const checkInCaller = caller.isRest ? CALLERS.find(({ isRest }) => !isRest) : caller;
  const checkInTo = (eventId: string) =>
    checkInCaller?.call(service.url, checkIn, { eventId, attendeeId: 'ada' }, credentials());

  it('deletes an event', async () => {
    expect(await callWith({ eventId: await createTestEvent(service, tenant) })).toEqual(deleted);
  });

  it('lets nobody in to a deleted event', async () => {
    const eventId = await createTestEvent(service, tenant);
    expect(await checkInTo(eventId)).toMatchObject({ code: 'ok' });
    await callWith({ eventId });
    expect(await checkInTo(eventId)).toEqual(NOT_FOUND);
  });

  it('marks the event as deleted and keeps it', async () => {
    const eventId = await createTestEvent(service, tenant);
    await callWith({ eventId });
    const rows = await service.database.sql`select deleted_at from events where id = ${eventId}`;
    expect(rows).toEqual([{ deleted_at: expect.any(Date) }]);
  });

  it('404 when the event has been deleted before', async () => {
    const eventId = await createTestEvent(service, tenant);
    await callWith({ eventId });
    expect(await callWith({ eventId })).toEqual(NOT_FOUND);
  });

  it('404 when there is no such event', async () => {
    expect(await callWith({ eventId: 'no-such-event' })).toEqual(NOT_FOUND);
  });

  it('404 when the event belongs to another application, which keeps it', async () => {
    const eventId = await createTestEvent(service, other);
    expect(await callWith({ eventId })).toEqual(NOT_FOUND);
    const { alreadyCheckedIn } = await clientsOf(service, other).events.checkIn({ eventId, attendeeId: 'ada' });
    expect(alreadyCheckedIn).toBe(false);
  });

  it('deletes one of two events that share their ID, the one of the caller', async () => {
    const eventId = await createTestEvent(service, tenant);
    await createTestEvent(service, other, eventId);
    expect(await callWith({ eventId })).toEqual(deleted);
    const { alreadyCheckedIn } = await clientsOf(service, other).events.checkIn({ eventId, attendeeId: 'ada' });
    expect(alreadyCheckedIn).toBe(false);
  });

  it.each([
    ['has 255 characters', 'a'.repeat(255)],
    ['has 255 astral characters, each counted once', '\u{1F6AA}'.repeat(255)],
    ['has 1 character', 'a'],
    ['has reserved characters', 'a/b?c#d%2F&e=f+g;h:i@j\\k"l'],
    ['is a dot', '.'],
    ['is two dots', '..'],
    ['is a space', ' '],
    ['is the name of a property of every object', '__proto__'],
    ['is beyond ASCII', 'Sommerfest – Zürich 夏'],
  ])('deletes an event whose ID %s', async (_, eventId) => {
    await service.database.sql`delete from events where id = ${eventId}`;
    await createTestEvent(service, tenant, eventId);
    expect(await callWith({ eventId })).toEqual(deleted);
  });

  it('tells IDs apart by case and by normalization', async () => {
    const suffix = randomUUID();
    await createTestEvent(service, tenant, `\u00e9-${suffix}`);
    expect(await callWith({ eventId: `e\u0301-${suffix}` })).toEqual(NOT_FOUND);
    expect(await callWith({ eventId: `\u00c9-${suffix}` })).toEqual(NOT_FOUND);
    expect(await callWith({ eventId: `\u00e9-${suffix}` })).toEqual(deleted);
  });

  it.each([
    ['is empty', ''],
    ['has 256 characters', 'a'.repeat(256)],
    ['has 256 astral characters', '\u{1F6AA}'.repeat(256)],
    ['has 256 characters, of which one is astral', `${'a'.repeat(255)}\u{1F6AA}`],
    ['has a NUL', 'eve\0nt'],
    ['has a tab', 'eve\tnt'],
    ['has a line break', 'event\n'],
    ['has the last control character of ASCII', 'event\u007f'],
    ['has a control character beyond ASCII', 'event\u0085'],
  ])('400 Validation failed when the ID %s', async (_, eventId) => {
    expect(await callWith({ eventId })).toEqual(validationFailed('eventId'));
  });

  it('401 Application not found when the application has been deleted', async () => {
    const answer = await callWith({ eventId: 'event' }, { 'x-api-key': deletedTenant.apiKey });
    expect(answer).toEqual(refusal('unauthenticated', 'Application not found'));
  });

  describe('with several things wrong, tells', () => {
    it('the API key first', async () => {
      expect(await callWith({ eventId: '' }, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    });

    it('the application before the ID', async () => {
      const answer = await callWith({ eventId: '' }, { 'x-api-key': deletedTenant.apiKey });
      expect(answer).toEqual(refusal('unauthenticated', 'Application not found'));
    });
  });
});

describe.each(WIRES)('DeleteEvent, $name', (wire) => {
  const send = (eventId: string, { apiKey } = tenant) =>
    sendOver(wire, service.url, { method: deleteEvent, fields: { eventId }, headers: { 'x-api-key': apiKey } });

  it('answers for a foreign event byte for byte as for an unknown one', async () => {
    const [foreign, unknown] = await Promise.all([send(await createTestEvent(service, other)), send(randomUUID())]);
    expect(failureOf(wire, foreign)).toMatchObject({ code: 'NotFound', message: 'Event not found' });
    expect(comparable(foreign)).toStrictEqual(comparable(unknown));
  });

  it('answers for a deleted event byte for byte as for an unknown one', async () => {
    const eventId = await createTestEvent(service, tenant);
    expect(await send(eventId)).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    const [gone, unknown] = await Promise.all([send(eventId), send(randomUUID())]);
    expect(failureOf(wire, gone)).toMatchObject({ code: 'NotFound', message: 'Event not found' });
    expect(comparable(gone)).toStrictEqual(comparable(unknown));
  });
});

describe.each(['1.1', '2'] as const)('DeleteEvent, JSON over REST and HTTP/%s', (httpVersion) => {
  const remove = (segment: string, { apiKey } = tenant) =>
    request(service.url, {
      httpVersion,
      method: 'DELETE',
      path: `/api/events/${segment}`,
      headers: { 'x-api-key': apiKey },
    });

  it('answers with status and message only', async () => {
    const reply = await remove(await createTestEvent(service, tenant));
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: true, message: 'Event deleted successfully' });
  });

  it.each<[number, string, () => Tenant]>([
    [404, 'Event not found', () => tenant],
    [401, 'Application not found', () => deletedTenant],
  ])('answers %i %s with nothing but the message', async (status, message, tenantOf) => {
    const reply = await remove('event', tenantOf());
    expect(reply).toMatchObject({
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each([
    ['is empty', ''],
    ['is not UTF-8', '%FF'],
    ['has a broken percent-encoding', '%2'],
    ['has an encoded surrogate', '%ED%A0%80'],
    ['has a NUL', '%00'],
    ['has a control character', '%C2%85'],
  ])('400 Validation failed when the ID %s', async (_, segment) => {
    const reply = await remove(segment);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field: 'eventId', message: expect.stringMatching(/./) }],
    });
  });

  it('takes a plus sign in the path for a plus sign', async () => {
    const eventId = await createTestEvent(service, tenant, `a+b-${randomUUID()}`);
    expect(await remove(eventId)).toMatchObject({ status: 200 });
  });
});

describe.each(CONNECT_JSON_WIRES)('DeleteEvent, $name', (wire) => {
  it.each([[1], [true], [['text']], [{ text: 'text' }], [null], ['event\ud800']])(
    'Validation failed when the ID is %j',
    async (eventId) => {
      const call = { method: deleteEvent, fields: { eventId }, headers: credentials() };
      expect(failureOf(wire, await sendOver(wire, service.url, call))).toEqual({
        status: 400,
        code: 'InvalidArgument',
        message: 'Validation failed',
        fields: ['eventId'],
      });
    },
  );
});

describe.each(RPC_WIRES)('DeleteEvent, $name', (wire) => {
  it('Validation failed when the ID is not UTF-8', async () => {
    const body = withInvalidUtf8(wire, deleteEvent, {}, 'eventId');
    const reply = await sendOver(wire, service.url, { method: deleteEvent, body, headers: credentials() });
    expect(failureOf(wire, reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
  });

  it('leaves the ID of a deleted event taken', async () => {
    const eventId = await createTestEvent(service, tenant);
    const fields = { eventId };
    await sendOver(wire, service.url, { method: deleteEvent, fields, headers: credentials() });
    const reply = await sendOver(wire, service.url, { method: createEvent, fields, headers: credentials() });
    expect(failureOf(wire, reply)).toMatchObject({ code: 'AlreadyExists', message: 'Event already exists' });
  });
});
