/** EventService. What it refuses: test/integration/reference/openapi.test.ts, authentication.test.ts and not-found.test.ts. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success } from '../support/answers.ts';
import { TestClock } from '../support/clock.ts';
import { request } from '../support/http.ts';
import { CONNECT, call, REST, send } from '../support/protocols.ts';
import { adminClient, clientsOf, createTenant, createTestEvent } from '../support/service.ts';
import { INVALID_API_KEY, openContractFixture } from './contract-fixture.ts';

const { createEvent, getEvent, deleteEvent, listEvents, checkIn, listCheckIns, undoCheckIn } = EventService.method;
const checkedIn = (data: JsonObject) => success(data, 'Attendee checked in successfully');
const DELETED = success(undefined, 'Event deleted successfully');
const NOT_FOUND = refusal('not_found', 'Event not found');
const ALREADY_EXISTS = refusal('already_exists', 'Event already exists');
const ASTRAL_255 = '\u{1F6AA}'.repeat(255);

const clock = new TestClock(new Date('2026-03-01T12:00:00.120Z'));
const { service, tenant, other, credentials, callWith } = await openContractFixture({ clock: clock.read });

const remove = (eventId: string, headers?: Record<string, string>) => callWith(deleteEvent, { eventId }, headers);

describe('CreateEvent', () => {
  it.each([{ name: 'Sommerfest – Zürich' }, {}, { name: null }, { name: ASTRAL_255 }])(
    'returns the event, as GetEvent does from then on: %j',
    async (optional) => {
      const eventId = `${randomUUID()}/?#`;
      const { name } = optional;
      const event = { eventId, ...(name && { name }), createdAt: clock.read().toISOString() };
      expect(await callWith(createEvent, { eventId, ...optional })).toEqual(
        success(event, 'Event created successfully'),
      );
      expect(await callWith(getEvent, { eventId })).toEqual(success(event, 'Event retrieved successfully'));
    },
  );

  it('returns AlreadyExists for an ID that the application has used, and leaves the event as it is', async () => {
    const eventId = randomUUID();
    await callWith(createEvent, { eventId, name: 'First' });
    expect(await callWith(createEvent, { eventId, name: 'Second' })).toEqual(ALREADY_EXISTS);
    expect(await service.database.sql`select name from events where id = ${eventId}`).toEqual([{ name: 'First' }]);
  });

  it('returns AlreadyExists for the ID of a deleted event, which stays deleted', async () => {
    const eventId = await createTestEvent(service, tenant);
    await remove(eventId);
    expect(await callWith(createEvent, { eventId })).toEqual(ALREADY_EXISTS);
    expect(await callWith(checkIn, { eventId, attendeeId: 'ada' })).toEqual(NOT_FOUND);
  });
});

// Its pages: lists.test.ts.
it('ListEvents returns the events of the application that are not deleted', async () => {
  const another = await createTenant(service);
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

// Its pages: lists.test.ts.
it('ListCheckIns returns the attendees who are checked in', async () => {
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

describe('DeleteEvent', () => {
  it('deletes an event and keeps its row, and lets nobody check in any more', async () => {
    const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
    expect(await callWith(checkIn, fields)).toMatchObject({ code: 'ok' });
    expect(await remove(fields.eventId)).toStrictEqual(DELETED);
    const rows = await service.database.sql`select deleted_at from events where id = ${fields.eventId}`;
    expect(rows).toEqual([{ deleted_at: expect.any(Date) }]);
    expect(await callWith(checkIn, fields)).toEqual(NOT_FOUND);
  });

  it("returns 404 for another application's event, or deletes the caller's of the same ID: the other is kept", async () => {
    const eventId = await createTestEvent(service, other);
    expect(await remove(eventId)).toEqual(NOT_FOUND);
    await createTestEvent(service, tenant, eventId);
    expect(await remove(eventId)).toEqual(DELETED);
    const { alreadyCheckedIn } = await clientsOf(service, other).events.checkIn({ eventId, attendeeId: 'ada' });
    expect(alreadyCheckedIn).toBe(false);
  });

  it.each([
    ['has 255 astral characters, each counted once', '\u{1F6AA}'.repeat(255)],
    ['has 1 character', 'a'],
    ['has reserved characters', 'a/b?c#d%2F&e=f+g;h:i@j\\k"l'],
    ['is a space', ' '],
    ['is the name of a property of every object', '__proto__'],
    ['is beyond ASCII', 'Sommerfest – Zürich 夏'],
  ])('deletes an event whose ID %s', async (_, eventId) => {
    await createTestEvent(service, tenant, eventId);
    expect(await remove(eventId)).toEqual(DELETED);
  });

  it.each(['.', '..'])('deletes an event of the ID %j, that is there, though none can be created', async (eventId) => {
    await service.database.sql`
    insert into events (application_id, id, created_at) values (${tenant.id}, ${eventId}, now())`;
    const answer = await call(CONNECT, service.url, deleteEvent, { eventId }, credentials);
    expect(answer).toMatchObject({ code: 'ok' });
    expect(await remove(eventId)).toEqual(NOT_FOUND);
  });

  it('tells IDs apart by case and by normalization', async () => {
    await createTestEvent(service, tenant, '\u00e9-event');
    expect(await remove('e\u0301-event')).toEqual(NOT_FOUND);
    expect(await remove('\u00c9-event')).toEqual(NOT_FOUND);
    expect(await remove('\u00e9-event')).toEqual(DELETED);
  });

  it('takes a plus sign in the path for a plus sign', async () => {
    const path = `/api/events/${await createTestEvent(service, tenant, 'a+b')}`;
    expect(await request(service.url, { method: 'DELETE', path, headers: credentials })).toMatchObject({ status: 200 });
  });

  it('checks the API key first, then the application, then the ID', async () => {
    const { id, apiKey } = await createTenant(service);
    await adminClient(service).deleteApplication({ applicationId: id });
    expect(await remove('', {})).toEqual(refusal('unauthenticated', INVALID_API_KEY));
    const notFound = refusal('unauthenticated', 'Application not found');
    for (const eventId of ['', 'event']) expect(await remove(eventId, { 'x-api-key': apiKey })).toEqual(notFound);
  });
});
