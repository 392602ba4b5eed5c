/** EventService/CreateEvent and CheckIn. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import {
  clientsOf,
  createTenant,
  createTestEvent,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const { createEvent, checkIn } = EventService.method;
const NOT_FOUND = refusal('not_found', 'Event not found');
const ALREADY_EXISTS = refusal('already_exists', 'Event already exists');

const BAD_IDENTIFIERS = [
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

const callWith = (
  method: typeof createEvent | typeof checkIn,
  fields: JsonObject,
  headers: Record<string, string> = { 'x-api-key': tenant.apiKey },
) => call(mainProtocolOf(method), service.url, method, fields, headers);

async function createDeletedEvent(): Promise<string> {
  const eventId = await createTestEvent(service, tenant);
  await clientsOf(service, tenant).events.deleteEvent({ eventId });
  return eventId;
}

describe('CreateEvent', () => {
  it.each([{ name: 'Sommerfest – Zürich' }, {}])('returns the event: %j', async (optional) => {
    const fields = { eventId: randomUUID(), ...optional };
    const answer = await callWith(createEvent, fields);
    expect(answer).toEqual(success({ event: { ...fields, createdAt: now.toISOString() } }));
  });

  it('takes null for a name that is not there', async () => {
    const eventId = randomUUID();
    const answer = await callWith(createEvent, { eventId, name: null });
    expect(answer).toEqual(success({ event: { eventId, createdAt: now.toISOString() } }));
  });

  it('takes 255 characters, each counted once, for ID and name', async () => {
    const fields = { eventId: randomUUID() + '\u{1F6AA}'.repeat(255 - 36), name: '\u{1F6AA}'.repeat(255) };
    expect(await callWith(createEvent, fields)).toMatchObject({ code: 'ok', data: { event: fields } });
  });

  it('returns AlreadyExists for an ID that the application has used, and leaves the event as it is', async () => {
    const eventId = randomUUID();
    await callWith(createEvent, { eventId, name: 'First' });
    expect(await callWith(createEvent, { eventId, name: 'Second' })).toEqual(ALREADY_EXISTS);
    expect(await service.database.sql`select name from events where id = ${eventId}`).toEqual([{ name: 'First' }]);
  });

  it('returns AlreadyExists for the ID of a deleted event, which stays deleted', async () => {
    const eventId = await createDeletedEvent();
    expect(await callWith(createEvent, { eventId })).toEqual(ALREADY_EXISTS);
    expect(await callWith(checkIn, { eventId, attendeeId: 'ada' })).toEqual(NOT_FOUND);
  });

  it('takes the ID of an event of another application', async () => {
    const eventId = await createTestEvent(service, other);
    expect(await callWith(createEvent, { eventId })).toMatchObject({ code: 'ok' });
  });

  it.each(['eventId', 'name'].flatMap((field) => BAD_IDENTIFIERS.map((bad) => [field, ...bad] as const)))(
    'returns Validation failed when %s %s',
    async (field, _, value) => {
      const answer = await callWith(createEvent, { eventId: randomUUID(), [field]: value });
      expect(answer).toEqual(validationFailed(field));
    },
  );

  it('names every field that is wrong, but the API key first', async () => {
    const wrong = { eventId: '', name: '' };
    expect(await callWith(createEvent, wrong)).toEqual(validationFailed('eventId', 'name'));
    expect(await callWith(createEvent, wrong, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
  });
});

describe('CheckIn', () => {
  it('admits an attendee, and the second time returns the first', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
    const first = { attendeeId: 'ada', checkedInAt: now.toISOString() };
    expect(await callWith(checkIn, fields)).toEqual(success({ checkIn: first, alreadyCheckedIn: false }));
    now.setTime(now.getTime() + 90_000);
    expect(await callWith(checkIn, fields)).toEqual(success({ checkIn: first, alreadyCheckedIn: true }));
    expect(await callWith(checkIn, fields)).toEqual(success({ checkIn: first, alreadyCheckedIn: true }));
  });

  it('admits each attendee of an event, and an attendee to each event', async () => {
    const [eventId, otherEventId] = [await createTestEvent(service, tenant), await createTestEvent(service, tenant)];
    for (const fields of [
      { eventId, attendeeId: 'ada' },
      { eventId, attendeeId: 'Ada' },
      { eventId: otherEventId, attendeeId: 'ada' },
    ]) {
      expect(await callWith(checkIn, fields)).toMatchObject({ data: { alreadyCheckedIn: false } });
    }
  });

  it('takes 255 characters, each counted once, for the attendee', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: '\u{1F6AA}'.repeat(255) };
    expect(await callWith(checkIn, fields)).toMatchObject({ code: 'ok' });
  });

  it.each<[string, () => Promise<string>]>([
    ['does not exist', async () => randomUUID()],
    ['belongs to another application', () => createTestEvent(service, other)],
    ['has been deleted', createDeletedEvent],
  ])('returns 404 when the event %s', async (_, eventIdOf) => {
    const eventId = await eventIdOf();
    expect(await callWith(checkIn, { eventId, attendeeId: 'ada' })).toEqual(NOT_FOUND);
    expect(await service.database.sql`select attendee_id from check_ins where event_id = ${eventId}`).toEqual([]);
  });

  it('returns 404 for an attendee who had checked in before the event was deleted', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
    await callWith(checkIn, fields);
    await clientsOf(service, tenant).events.deleteEvent({ eventId: fields.eventId });
    expect(await callWith(checkIn, fields)).toEqual(NOT_FOUND);
  });

  it.each(['eventId', 'attendeeId'].flatMap((field) => BAD_IDENTIFIERS.map((bad) => [field, ...bad] as const)))(
    'returns Validation failed when %s %s',
    async (field, _, value) => {
      const fields = { eventId: 'event', attendeeId: 'ada', [field]: value };
      expect(await callWith(checkIn, fields)).toEqual(validationFailed(field));
    },
  );
});
