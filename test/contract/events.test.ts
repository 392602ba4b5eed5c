/** EventService, except for DeleteEvent. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { TestClock } from '../support/clock.ts';
import { REST, send } from '../support/protocols.ts';
import { clientsOf, createTenant, createTestEvent } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { createEvent, getEvent, listEvents, checkIn, listCheckIns, undoCheckIn } = EventService.method;
const checkedIn = (data: JsonObject) => success(data, 'Attendee checked in successfully');
const created = (event: JsonObject) => success(event, 'Event created successfully');
const NOT_FOUND = refusal('not_found', 'Event not found');
const ALREADY_EXISTS = refusal('already_exists', 'Event already exists');
const ASTRAL_255 = '\u{1F6AA}'.repeat(255);
const BAD_IDENTIFIERS = ['', 'a'.repeat(256), `${ASTRAL_255}a`, 'a\0b', 'a\nb', 'a\u0085b'];
const NOW = '2026-03-01T12:00:00.120Z';

const clock = new TestClock(new Date(NOW));
const { service, tenant, other, credentials, callWith } = await openContractFixture({ clock: clock.read });

async function createDeletedEvent(): Promise<string> {
  const eventId = await createTestEvent(service, tenant);
  await clientsOf(service, tenant).events.deleteEvent({ eventId });
  return eventId;
}

const another = await createTenant(service);
const foreignId = await createTestEvent(service, other);
const deletedId = await createDeletedEvent();

describe('CreateEvent', () => {
  it.each([{ name: 'Sommerfest – Zürich' }, {}])('returns the event: %j', async (optional) => {
    const fields = { eventId: randomUUID(), ...optional };
    expect(await callWith(createEvent, fields)).toEqual(created({ ...fields, createdAt: NOW }));
  });

  it('takes null for a name that is not there', async () => {
    const eventId = randomUUID();
    const answer = await callWith(createEvent, { eventId, name: null });
    expect(answer).toEqual(created({ eventId, createdAt: NOW }));
  });

  it('takes 255 characters, each counted once, for ID and name', async () => {
    const fields = { eventId: randomUUID() + '\u{1F6AA}'.repeat(255 - 36), name: ASTRAL_255 };
    expect(await callWith(createEvent, fields)).toMatchObject({ code: 'ok', data: fields });
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

  it.each([
    ...BAD_IDENTIFIERS.flatMap((text) => [{ eventId: text }, { name: text }]),
    ...[{ eventId: '.' }, { eventId: '..' }, { eventId: '', name: '' }],
  ])('returns Validation failed for %j', async (wrong) => {
    const answer = await callWith(createEvent, { eventId: randomUUID(), ...wrong });
    expect(answer).toEqual(validationFailed(...Object.keys(wrong)));
  });
});

describe('GetEvent', () => {
  it.each([{ name: 'Sommerfest – Zürich' }, {}])('returns the event: %j', async (optional) => {
    const fields = { eventId: `${randomUUID()}/?#`, ...optional };
    await callWith(createEvent, fields);
    const event = { ...fields, createdAt: clock.read().toISOString() };
    expect(await callWith(getEvent, { eventId: fields.eventId })).toEqual(
      success(event, 'Event retrieved successfully'),
    );
  });

  it.each([
    ['does not exist', randomUUID()],
    ['belongs to another application', foreignId],
    ['has been deleted', deletedId],
  ])('returns 404 when the event %s', async (_, eventId) => {
    expect(await callWith(getEvent, { eventId })).toEqual(NOT_FOUND);
  });

  it.each(BAD_IDENTIFIERS)('returns Validation failed for %j', async (eventId) => {
    expect(await callWith(getEvent, { eventId })).toEqual(validationFailed('eventId'));
  });
});

// Its pages: lists.test.ts.
it('ListEvents returns the events of the application that are not deleted', async () => {
  const { events } = clientsOf(service, another);
  for (const eventId of ['a', 'b', 'c']) await events.createEvent({ eventId, ...(eventId === 'c' && { name: 'C' }) });
  await events.deleteEvent({ eventId: 'b' });
  const createdAt = clock.read().toISOString();
  const listed = {
    events: [
      { eventId: 'c', name: 'C', createdAt },
      { eventId: 'a', createdAt },
    ],
    nextPageToken: '',
  };
  const answer = await callWith(listEvents, {}, { 'x-api-key': another.apiKey });
  expect(answer).toEqual(success(listed, 'Events retrieved successfully'));
});

describe('CheckIn', () => {
  it('admits an attendee, and the second time returns the first', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
    const first = { attendeeId: 'ada', checkedInAt: clock.read().toISOString() };
    expect(await callWith(checkIn, fields)).toEqual(checkedIn({ ...first, alreadyCheckedIn: false }));
    clock.advance(90_000);
    for (let again = 0; again < 2; again++) {
      expect(await callWith(checkIn, fields)).toEqual(checkedIn({ ...first, alreadyCheckedIn: true }));
    }
  });

  it('answers 201 over REST the first time, and then 200', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
    for (const status of [201, 200, 200]) {
      expect(await send(REST, service.url, { method: checkIn, fields, headers: credentials })).toMatchObject({
        status,
      });
    }
  });

  it('admits each attendee of an event, and an attendee to each event', async () => {
    const [eventId, otherEventId] = [await createTestEvent(service, tenant), await createTestEvent(service, tenant)];
    for (const fields of [
      { eventId, attendeeId: 'ada' },
      { eventId, attendeeId: 'Ada' },
      { eventId, attendeeId: ASTRAL_255 },
      { eventId: otherEventId, attendeeId: 'ada' },
    ]) {
      expect(await callWith(checkIn, fields)).toMatchObject({ code: 'ok', data: { alreadyCheckedIn: false } });
    }
  });

  it.each([
    ['does not exist', randomUUID()],
    ['belongs to another application', foreignId],
    ['has been deleted', deletedId],
  ])('returns 404 when the event %s', async (_, eventId) => {
    expect(await callWith(checkIn, { eventId, attendeeId: 'ada' })).toEqual(NOT_FOUND);
    expect(await service.database.sql`select attendee_id from check_ins where event_id = ${eventId}`).toEqual([]);
  });

  const wrongAttendees = ['.', '..'].map((attendeeId) => ({ attendeeId }));
  it.each([...BAD_IDENTIFIERS.flatMap((text) => [{ eventId: text }, { attendeeId: text }]), ...wrongAttendees])(
    'returns Validation failed for %j',
    async (wrong) => {
      const answer = await callWith(checkIn, { eventId: 'event', attendeeId: 'ada', ...wrong });
      expect(answer).toEqual(validationFailed(...Object.keys(wrong)));
    },
  );
});

describe('UndoCheckIn', () => {
  it('lets the attendee check in again, at a later time', async () => {
    const fields = { eventId: await createTestEvent(service, tenant, `${randomUUID()}/?#`), attendeeId: 'ada/é?' };
    await callWith(checkIn, fields);
    expect(await callWith(undoCheckIn, fields)).toEqual(success(undefined, 'Check-in undone successfully'));
    clock.advance(1_000);
    const second = { attendeeId: fields.attendeeId, checkedInAt: clock.read().toISOString(), alreadyCheckedIn: false };
    expect(await callWith(checkIn, fields)).toEqual(checkedIn(second));
  });

  it('returns 404 for an attendee who is not checked in, and leaves the others', async () => {
    const eventId = await createTestEvent(service, tenant);
    await callWith(checkIn, { eventId, attendeeId: 'ada' });
    for (const attendeeId of ['grace', 'Ada']) {
      expect(await callWith(undoCheckIn, { eventId, attendeeId })).toEqual(refusal('not_found', 'Check-in not found'));
    }
    await callWith(undoCheckIn, { eventId, attendeeId: 'ada' });
    const again = await callWith(undoCheckIn, { eventId, attendeeId: 'ada' });
    expect(again).toEqual(refusal('not_found', 'Check-in not found'));
  });
});

describe('ListCheckIns', () => {
  // Its pages: lists.test.ts.
  it('returns the attendees who are checked in', async () => {
    const eventId = await createTestEvent(service, tenant);
    const listed = (checkIns: JsonObject[]) =>
      success({ checkIns, nextPageToken: '' }, 'Check-ins retrieved successfully');
    expect(await callWith(listCheckIns, { eventId })).toEqual(listed([]));
    for (const attendeeId of ['ada', 'grace', 'mary']) await callWith(checkIn, { eventId, attendeeId });
    await callWith(undoCheckIn, { eventId, attendeeId: 'grace' });
    const checkedInAt = clock.read().toISOString();
    const left = ['mary', 'ada'].map((attendeeId) => ({ attendeeId, checkedInAt }));
    expect(await callWith(listCheckIns, { eventId })).toEqual(listed(left));
  });
});

describe.each([
  { method: listCheckIns, fields: {} },
  { method: undoCheckIn, fields: { attendeeId: 'ada' } },
])('$method.name', ({ method, fields }) => {
  it.each([
    ['does not exist', randomUUID()],
    ['belongs to another application', foreignId],
    ['has been deleted', deletedId],
  ])('returns 404 when the event %s', async (_, eventId) => {
    expect(await callWith(method, { eventId, ...fields })).toEqual(NOT_FOUND);
  });

  it.each(
    BAD_IDENTIFIERS.flatMap((text) => [{ eventId: text }, ...('attendeeId' in fields ? [{ attendeeId: text }] : [])]),
  )('returns Validation failed for %j', async (wrong) => {
    const answer = await callWith(method, { eventId: 'event', ...fields, ...wrong });
    expect(answer).toEqual(validationFailed(...Object.keys(wrong)));
  });
});
