/** Interface, "4. Delete Event". */
import { expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { CONNECT, call } from '../support/protocols.ts';
import { adminClient, clientsOf, createTenant, createTestEvent } from '../support/service.ts';
import { INVALID_API_KEY, openContractFixture } from './contract-fixture.ts';

const { checkIn, deleteEvent } = EventService.method;
const NOT_FOUND = refusal('not_found', 'Event not found');
const DELETED = success(undefined, 'Event deleted successfully');

const { service, tenant, other, credentials, callWith } = await openContractFixture();

const remove = (eventId: string, headers?: Record<string, string>) => callWith(deleteEvent, { eventId }, headers);

it('deletes an event and keeps its row, and lets nobody check in any more', async () => {
  const fields = { eventId: await createTestEvent(service, tenant), attendeeId: 'ada' };
  expect(await callWith(checkIn, fields)).toMatchObject({ code: 'ok' });
  expect(await remove(fields.eventId)).toStrictEqual(DELETED);
  const rows = await service.database.sql`select deleted_at from events where id = ${fields.eventId}`;
  expect(rows).toEqual([{ deleted_at: expect.any(Date) }]);
  expect(await callWith(checkIn, fields)).toEqual(NOT_FOUND);
});

// Over several protocols, byte for byte: test/robustness/tenant-isolation.test.ts.
it('returns 404 when the event does not exist or has been deleted before', async () => {
  expect(await remove('no-such-event')).toEqual(NOT_FOUND);
  const eventId = await createTestEvent(service, tenant);
  await remove(eventId);
  expect(await remove(eventId)).toEqual(NOT_FOUND);
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

it.each(['.', '..'])('deletes an event of the ID %j, which an earlier version created', async (eventId) => {
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

// Malformed path segments: test/robustness/rest-malformed.test.ts.
it.each(['', 'a'.repeat(256), `${'a'.repeat(255)}\u{1F6AA}`, 'eve\0nt', 'event\n', 'event\u0085'])(
  'returns 400 Validation failed for the ID %j',
  async (eventId) => {
    expect(await remove(eventId)).toEqual(validationFailed('eventId'));
  },
);

it('checks the API key first, then the application, then the ID', async () => {
  const { id, apiKey } = await createTenant(service);
  await adminClient(service).deleteApplication({ applicationId: id });
  expect(await remove('', {})).toEqual(refusal('unauthenticated', INVALID_API_KEY));
  const notFound = refusal('unauthenticated', 'Application not found');
  for (const eventId of ['', 'event']) expect(await remove(eventId, { 'x-api-key': apiKey })).toEqual(notFound);
});
