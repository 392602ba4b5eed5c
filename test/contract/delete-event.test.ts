/** Interface, "4. Delete Event". */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { answerOf, CONNECT, call, comparable, PROTOCOLS, REST, send } from '../support/protocols.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestEvent,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const { checkIn, deleteEvent } = EventService.method;
const NOT_FOUND = refusal('not_found', 'Event not found');
const DELETED = success(undefined, 'Event deleted successfully');

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
const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
  call(REST, service.url, deleteEvent, fields, headers);
const checkInTo = (eventId: string) =>
  call(CONNECT, service.url, checkIn, { eventId, attendeeId: 'ada' }, credentials());

describe('DeleteEvent', () => {
  it('deletes an event and keeps its row', async () => {
    const eventId = await createTestEvent(service, tenant);
    expect(await callWith({ eventId })).toEqual(DELETED);
    const rows = await service.database.sql`select deleted_at from events where id = ${eventId}`;
    expect(rows).toEqual([{ deleted_at: expect.any(Date) }]);
  });

  it('lets nobody check in to a deleted event', async () => {
    const eventId = await createTestEvent(service, tenant);
    expect(await checkInTo(eventId)).toMatchObject({ code: 'ok' });
    await callWith({ eventId });
    expect(await checkInTo(eventId)).toEqual(NOT_FOUND);
  });

  it('returns 404 when the event does not exist or has been deleted before', async () => {
    expect(await callWith({ eventId: 'no-such-event' })).toEqual(NOT_FOUND);
    const eventId = await createTestEvent(service, tenant);
    await callWith({ eventId });
    expect(await callWith({ eventId })).toEqual(NOT_FOUND);
  });

  it('returns 404 when the event belongs to another application, which keeps it', async () => {
    const eventId = await createTestEvent(service, other);
    expect(await callWith({ eventId })).toEqual(NOT_FOUND);
    const { alreadyCheckedIn } = await clientsOf(service, other).events.checkIn({ eventId, attendeeId: 'ada' });
    expect(alreadyCheckedIn).toBe(false);
  });

  it("deletes the caller's of two events that share their ID", async () => {
    const eventId = await createTestEvent(service, tenant);
    await createTestEvent(service, other, eventId);
    expect(await callWith({ eventId })).toEqual(DELETED);
    const { alreadyCheckedIn } = await clientsOf(service, other).events.checkIn({ eventId, attendeeId: 'ada' });
    expect(alreadyCheckedIn).toBe(false);
  });

  it.each([
    ['has 255 astral characters, each counted once', '\u{1F6AA}'.repeat(255)],
    ['has 1 character', 'a'],
    ['has reserved characters', 'a/b?c#d%2F&e=f+g;h:i@j\\k"l'],
    ['is a dot', '.'],
    ['is two dots', '..'],
    ['is a space', ' '],
    ['is the name of a property of every object', '__proto__'],
    ['is beyond ASCII', 'Sommerfest – Zürich 夏'],
  ])('deletes an event whose ID %s', async (_, eventId) => {
    await createTestEvent(service, tenant, eventId);
    expect(await callWith({ eventId })).toEqual(DELETED);
  });

  it('tells IDs apart by case and by normalization', async () => {
    await createTestEvent(service, tenant, '\u00e9-event');
    expect(await callWith({ eventId: 'e\u0301-event' })).toEqual(NOT_FOUND);
    expect(await callWith({ eventId: '\u00c9-event' })).toEqual(NOT_FOUND);
    expect(await callWith({ eventId: '\u00e9-event' })).toEqual(DELETED);
  });

  it.each([
    ['is empty', ''],
    ['has 256 characters', 'a'.repeat(256)],
    ['has 256 characters, of which one is astral', `${'a'.repeat(255)}\u{1F6AA}`],
    ['has a NUL', 'eve\0nt'],
    ['has a line break', 'event\n'],
    ['has a control character beyond ASCII', 'event\u0085'],
  ])('returns 400 Validation failed when the ID %s', async (_, eventId) => {
    expect(await callWith({ eventId })).toEqual(validationFailed('eventId'));
  });

  it('checks the API key first, then the application, then the ID', async () => {
    expect(await callWith({ eventId: '' }, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    const notFound = refusal('unauthenticated', 'Application not found');
    for (const eventId of ['', 'event']) {
      expect(await callWith({ eventId }, { 'x-api-key': deletedTenant.apiKey })).toEqual(notFound);
    }
  });

  it.each(PROTOCOLS)('answers for a foreign or deleted event as for an unknown one: $name', async (protocol) => {
    const deleted = await createTestEvent(service, tenant);
    await callWith({ eventId: deleted });
    const foreign = await createTestEvent(service, other);
    const [unknown, ...others] = await Promise.all(
      [randomUUID(), foreign, deleted].map((eventId) =>
        send(protocol, service.url, { method: deleteEvent, fields: { eventId }, headers: credentials() }),
      ),
    );
    if (!unknown) throw new Error('No reply');
    expect(answerOf(protocol, deleteEvent, unknown)).toEqual(NOT_FOUND);
    for (const reply of others) expect(comparable(reply)).toStrictEqual(comparable(unknown));
  });
});

describe('DELETE /api/events/:eventId', () => {
  const remove = (segment: string, { apiKey } = tenant) =>
    request(service.url, { method: 'DELETE', path: `/api/events/${segment}`, headers: { 'x-api-key': apiKey } });

  it('answers with status and message only', async () => {
    const reply = await remove(await createTestEvent(service, tenant));
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: true, message: 'Event deleted successfully' });
  });

  it.each<[number, string, () => Tenant]>([
    [404, 'Event not found', () => tenant],
    [401, 'Application not found', () => deletedTenant],
  ])('answers %i %s with nothing but the message', async (status, message, tenantOf) => {
    const reply = await remove('event', tenantOf());
    expect(reply).toMatchObject({ status, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each([
    ['is empty', ''],
    ['is not UTF-8', '%FF'],
    ['has a broken percent-encoding', '%2'],
    ['has an encoded surrogate', '%ED%A0%80'],
    ['has a control character', '%C2%85'],
  ])('answers 400 Validation failed when the ID %s', async (_, segment) => {
    const reply = await remove(segment);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field: 'eventId', message: expect.stringMatching(/./) }],
    });
  });

  it('takes a plus sign in the path for a plus sign', async () => {
    expect(await remove(await createTestEvent(service, tenant, 'a+b'))).toMatchObject({ status: 200 });
  });
});
