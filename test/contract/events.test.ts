/** The RPCs of the EventService beside DeleteEvent: creating events and checking in to them. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success, validationFailed, without } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
import {
  clientsOf,
  createTenant,
  createTestEvent,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import { CONNECT_JSON_WIRES, failureOf, RPC_WIRES, sendOver, withInvalidUtf8 } from '../support/wire.ts';

const { createEvent, checkIn } = EventService.method;
const RPC_CALLERS = CALLERS.filter(({ isRest }) => !isRest);
const NOT_FOUND = refusal('not_found', 'Event not found');
const ALREADY_EXISTS = refusal('already_exists', 'Event already exists');

const BAD_LINES = [
  ['is empty', ''],
  ['has 256 characters', 'a'.repeat(256)],
  ['has 256 astral characters', '\u{1F6AA}'.repeat(256)],
  ['has a NUL', 'a\0b'],
  ['has a line break', 'a\nb'],
  ['has a control character beyond ASCII', 'a\u0085b'],
] as const;

const now = new Date('2026-03-01T12:00:00.120Z');
let service: TestService;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  service = await startTestService({ clock: () => new Date(now) });
  tenant = await createTenant(service);
  other = await createTenant(service, { name: 'Other' });
});

afterAll(() => service.close());

const credentials = () => ({ 'x-api-key': tenant.apiKey });

async function createDeletedEvent(): Promise<string> {
  const eventId = await createTestEvent(service, tenant);
  await clientsOf(service, tenant).events.deleteEvent({ eventId });
  return eventId;
}

describe.each(RPC_CALLERS)('CreateEvent, $name', (caller) => {
  const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
    caller.call(service.url, createEvent, fields, headers);

  it('returns the event', async () => {
    const fields = { eventId: randomUUID(), name: 'Sommerfest – Zürich' };
    expect(await callWith(fields)).toEqual(success({ event: { ...fields, createdAt: now.toISOString() } }));
  });

  it('returns no name for an event without one', async () => {
    const eventId = randomUUID();
    const answer = await callWith({ eventId });
    expect(answer).toEqual(success({ event: { eventId, createdAt: now.toISOString() } }));
  });

  it('takes 255 characters, each counted once, for ID and name', async () => {
    const eventId = randomUUID() + '\u{1F6AA}'.repeat(255 - 36);
    const name = '\u{1F6AA}'.repeat(255);
    expect(await callWith({ eventId, name })).toMatchObject({ code: 'ok', data: { event: { eventId, name } } });
  });

  it('AlreadyExists when the application has an event of that ID', async () => {
    const eventId = await createTestEvent(service, tenant);
    expect(await callWith({ eventId })).toEqual(ALREADY_EXISTS);
  });

  it('AlreadyExists when the event of that ID has been deleted', async () => {
    const eventId = await createDeletedEvent();
    expect(await callWith({ eventId })).toEqual(ALREADY_EXISTS);
    const attempt = await caller.call(service.url, checkIn, { eventId, attendeeId: 'ada' }, credentials());
    expect(attempt).toEqual(NOT_FOUND);
  });

  it('leaves an event of that ID as it is', async () => {
    const eventId = randomUUID();
    await callWith({ eventId, name: 'First' });
    await callWith({ eventId, name: 'Second' });
    expect(await service.database.sql`select name from events where id = ${eventId}`).toEqual([{ name: 'First' }]);
  });

  it('takes the ID of an event of another application', async () => {
    const eventId = await createTestEvent(service, other);
    expect(await callWith({ eventId })).toMatchObject({ code: 'ok' });
  });

  it.each(
    ['eventId', 'name'].flatMap((field) => BAD_LINES.map(([problem, value]) => [field, problem, value] as const)),
  )('Validation failed when %s %s', async (field, _, value) => {
    expect(await callWith({ eventId: randomUUID(), [field]: value })).toEqual(validationFailed(field));
  });

  it('Validation failed when the ID is missing', async () => {
    expect(await callWith({ name: 'Event' })).toEqual(validationFailed('eventId'));
  });

  it('Validation failed names every field that is wrong', async () => {
    expect(await callWith({ eventId: '', name: '' })).toEqual(validationFailed('eventId', 'name'));
  });

  it('tells that the API key is wrong before the fields', async () => {
    expect(await callWith({ eventId: '' }, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
  });
});

describe.each(RPC_CALLERS)('CheckIn, $name', (caller) => {
  const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
    caller.call(service.url, checkIn, fields, headers);

  it('admits an attendee, and the second time returns the first', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
    const first = { attendeeId: 'ada', checkedInAt: now.toISOString() };
    expect(await callWith(fields)).toEqual(success({ checkIn: first, alreadyCheckedIn: false }));
    now.setTime(now.getTime() + 90_000);
    expect(await callWith(fields)).toEqual(success({ checkIn: first, alreadyCheckedIn: true }));
    expect(await callWith(fields)).toEqual(success({ checkIn: first, alreadyCheckedIn: true }));
  });

  it('admits each attendee of an event, and an attendee to each event', async () => {
    const [eventId, otherEventId] = [await createTestEvent(service, tenant), await createTestEvent(service, tenant)];
    await callWith({ eventId, attendeeId: 'ada' });
    expect(await callWith({ eventId, attendeeId: 'Ada' })).toMatchObject({ data: { alreadyCheckedIn: false } });
    const elsewhere = await callWith({ eventId: otherEventId, attendeeId: 'ada' });
    expect(elsewhere).toMatchObject({ data: { alreadyCheckedIn: false } });
  });

  it('takes 255 characters, each counted once, for the attendee', async () => {
    const attendeeId = '\u{1F6AA}'.repeat(255);
    const answer = await callWith({ eventId: await createTestEvent(service, tenant), attendeeId });
    expect(answer).toMatchObject({ code: 'ok', data: { checkIn: { attendeeId } } });
  });

  it.each<[string, () => Promise<string>]>([
    ['does not exist', async () => randomUUID()],
    ['belongs to another application', () => createTestEvent(service, other)],
    ['has been deleted', createDeletedEvent],
  ])('NotFound when the event %s', async (_, eventIdOf) => {
    const eventId = await eventIdOf();
    expect(await callWith({ eventId, attendeeId: 'ada' })).toEqual(NOT_FOUND);
    expect(await service.database.sql`select attendee_id from check_ins where event_id = ${eventId}`).toEqual([]);
  });

  it('NotFound for an attendee who was in before the event was deleted', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
    await callWith(fields);
    await clientsOf(service, tenant).events.deleteEvent({ eventId: fields.eventId });
    expect(await callWith(fields)).toEqual(NOT_FOUND);
  });

  it.each(
    ['eventId', 'attendeeId'].flatMap((field) => BAD_LINES.map(([problem, value]) => [field, problem, value] as const)),
  )('Validation failed when %s %s', async (field, _, value) => {
    const fields = { eventId: 'event', attendeeId: 'ada', [field]: value };
    expect(await callWith(fields)).toEqual(validationFailed(field));
  });

  it.each(['eventId', 'attendeeId'])('Validation failed when %s is missing', async (field) => {
    expect(await callWith(without({ eventId: 'event', attendeeId: 'ada' }, field))).toEqual(validationFailed(field));
  });

  it('tells that the API key is wrong before the fields', async () => {
    expect(await callWith({}, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
  });
});

describe.each(CONNECT_JSON_WIRES)('Events, $name', (wire) => {
  it.each(
    [1, true, ['text'], { text: 'text' }, 'a\ud800b'].flatMap((value) => [
      [createEvent.name, 'eventId', value, createEvent] as const,
      [createEvent.name, 'name', value, createEvent] as const,
      [checkIn.name, 'eventId', value, checkIn] as const,
      [checkIn.name, 'attendeeId', value, checkIn] as const,
    ]),
  )('Validation failed for %s when %s is %j', async (_, field, value, method) => {
    const valid: JsonObject = method === checkIn ? { eventId: 'event', attendeeId: 'ada' } : { eventId: randomUUID() };
    const call = { method, fields: { ...valid, [field]: value }, headers: credentials() };
    expect(failureOf(wire, await sendOver(wire, service.url, call))).toEqual({
      status: 400,
      code: 'InvalidArgument',
      message: 'Validation failed',
      fields: [field],
    });
  });

  it('takes null for a name that is not there', async () => {
    const eventId = randomUUID();
    const call = { method: createEvent, fields: { eventId, name: null }, headers: credentials() };
    const reply = await sendOver(wire, service.url, call);
    expect(JSON.parse(reply.body.toString())).toEqual({ event: { eventId, createdAt: now.toISOString() } });
  });
});

describe.each(RPC_WIRES)('Events, $name', (wire) => {
  it.each([
    { name: createEvent.name, method: createEvent, field: 'eventId' },
    { name: checkIn.name, method: checkIn, field: 'attendeeId' },
  ])('Validation failed for $name when $field is not UTF-8', async ({ method, field }) => {
    const body = withInvalidUtf8(wire, method, { eventId: await createTestEvent(service, tenant) }, field);
    const reply = await sendOver(wire, service.url, { method, body, headers: credentials() });
    expect(failureOf(wire, reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
  });
});
