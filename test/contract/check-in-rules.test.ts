/** Check-ins by the rules of an event: its window, list and capacity, scans of devices without a network, and counts. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { request } from '../support/http.ts';
import { clientsOf, createTestUser } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { createEvent, updateEvent, getEvent, deleteEvent, checkIn, listCheckIns, undoCheckIn } = EventService.method;
const { batchCheckIn, getEventCounts, batchPutAttendees, listAttendees, deleteAttendees } = EventService.method;

const START = new Date('2026-03-01T12:00:00.120Z');
const DAY = 24 * 60 * MINUTE;

const clock = new TestClock(START);
const { service, tenant, callWith } = await openContractFixture({ clock: clock.read });
const at = (ms: number) => new Date(clock.read().getTime() + ms).toISOString();

interface Result {
  readonly scanId: string;
  readonly outcome: string;
  readonly reason: string;
  readonly checkIn?: JsonObject;
}

/** Creates an event with rules, and what asks for it. */
async function openEvent(rules: JsonObject = {}) {
  const eventId = randomUUID();
  expect(await callWith(createEvent, { eventId, ...rules })).toMatchObject({ code: 'ok' });
  const ask = (method: DescMethodUnary, fields: JsonObject = {}) => callWith(method, { eventId, ...fields });
  const tell = async (method: DescMethodUnary, fields: JsonObject = {}) => {
    const answer = await ask(method, fields);
    expect(answer).toMatchObject({ code: 'ok' });
    return answer.data as JsonObject;
  };
  return {
    eventId,
    ask,
    tell,
    checkIn: (attendeeId: string, fields: JsonObject = {}) => ask(checkIn, { attendeeId, ...fields }),
    scan: async (...scans: JsonObject[]) =>
      (await tell(batchCheckIn, { scans: scans.map((each) => ({ scanId: randomUUID(), ...each })) }))
        .results as unknown as Result[],
    put: (...attendees: JsonObject[]) => tell(batchPutAttendees, { attendees }),
    list: async (fields: JsonObject = {}) => {
      const { attendees, ...rest } = await tell(listAttendees, fields);
      return { attendees: attendees as JsonObject[], ...rest } as { attendees: JsonObject[]; cursor: string };
    },
  };
}

const admitted = { code: 'ok', data: { alreadyCheckedIn: false } };
// Over REST, a failed precondition is a conflict.
const NOT_STARTED = refusal('already_exists', 'Event has not started');
const ENDED = refusal('already_exists', 'Event has ended');
const NOT_LISTED = refusal('already_exists', 'Attendee not listed');
const BLOCKED = refusal('already_exists', 'Attendee blocked');
const FULL = refusal('already_exists', 'Event is full');
const OUT_OF_RANGE = refusal('already_exists', 'Scan time out of range');

describe('UpdateEvent', () => {
  it('changes the given fields, keeps the others, and null clears one', async () => {
    const { eventId, ask } = await openEvent({ name: 'Fest', capacity: 3 });
    const event = { eventId, createdAt: clock.read().toISOString() };
    const updated = (fields: JsonObject) => success({ ...event, ...fields }, 'Event updated successfully');
    const window = { startsAt: at(0), endsAt: at(MINUTE), admission: 'LISTED' };
    expect(await ask(updateEvent, window)).toEqual(updated({ name: 'Fest', capacity: 3, ...window }));
    expect(await ask(updateEvent, { name: null, capacity: null })).toEqual(updated(window));
    expect(await ask(getEvent)).toEqual(success({ ...event, ...window }, 'Event retrieved successfully'));
  });

  it.each([
    [{ capacity: 0 }, 'capacity'],
    [{ capacity: 1_000_001 }, 'capacity'],
    [{ admission: 'SOME' }, 'admission'],
    [{ startsAt: '2026-03-01' }, 'startsAt'],
    [{ startsAt: '0000-01-01T00:00:00Z' }, 'startsAt'],
    [{ startsAt: '2026-03-01T12:00:00Z', endsAt: '2026-03-01T12:00:00Z' }, 'endsAt'],
  ])('refuses %j, as CreateEvent does', async (fields, name) => {
    const { ask } = await openEvent();
    expect(await ask(updateEvent, fields)).toEqual(validationFailed(name));
    expect(await callWith(createEvent, { eventId: randomUUID(), ...fields })).toEqual(validationFailed(name));
  });

  it('refuses an end before the start that the event has', async () => {
    const { ask } = await openEvent({ startsAt: at(0) });
    expect(await ask(updateEvent, { endsAt: at(-MINUTE) })).toEqual(validationFailed('endsAt'));
  });

  it('takes Timestamps over RPC', async () => {
    const { eventId, ask } = await openEvent();
    const { events } = clientsOf(service, tenant);
    await events.updateEvent({ eventId, startsAt: { seconds: 1_772_366_400n, nanos: 120_999_999 } });
    expect((await ask(getEvent)).data).toMatchObject({ startsAt: START.toISOString() });
  });

  it('keeps the check-ins beyond a new capacity, and counts them', async () => {
    const event = await openEvent();
    await event.checkIn('ada');
    await event.checkIn('grace');
    await event.tell(updateEvent, { capacity: 1 });
    expect(await event.checkIn('joan')).toEqual(FULL);
    expect(await event.checkIn('ada')).toMatchObject({ code: 'ok', data: { alreadyCheckedIn: true } });
    await event.tell(updateEvent, { capacity: 3 });
    expect(await event.checkIn('joan')).toMatchObject(admitted);
    expect(await event.checkIn('mary')).toEqual(FULL);
  });
});

describe('the window', () => {
  it('is judged by the time of the scan, else by the time of the call', async () => {
    const { checkIn } = await openEvent({ startsAt: at(MINUTE), endsAt: at(2 * MINUTE) });
    expect(await checkIn('ada')).toEqual(NOT_STARTED);
    expect(await checkIn('ada', { occurredAt: at(MINUTE - 1) })).toEqual(NOT_STARTED);
    expect(await checkIn('ada', { occurredAt: at(MINUTE) })).toMatchObject(admitted);
    clock.advance(2 * MINUTE);
    expect(await checkIn('grace')).toEqual(ENDED);
    expect(await checkIn('grace', { occurredAt: at(-1) })).toMatchObject(admitted);
  });

  it.each([-7 * DAY - 1, 5 * MINUTE + 1, 365 * DAY])('refuses a scan whose time is off by %d ms', async (ms) => {
    const { checkIn, scan } = await openEvent();
    expect(await checkIn('ada', { occurredAt: at(ms) })).toEqual(OUT_OF_RANGE);
    const [late, other] = await scan({ attendeeId: 'ada', occurredAt: at(ms) }, { attendeeId: 'grace' });
    expect(late).toMatchObject({ outcome: 'REFUSED', reason: 'SCAN_TIME_OUT_OF_RANGE' });
    expect(other).toMatchObject({ outcome: 'CHECKED_IN' });
  });

  it.each([-7 * DAY, 5 * MINUTE])('accepts a scan whose time is off by %d ms', async (ms) => {
    const { checkIn } = await openEvent();
    expect(await checkIn('ada', { occurredAt: at(ms), gate: 'North' })).toMatchObject({
      data: { occurredAt: at(ms), gate: 'North', checkedInAt: at(0) },
    });
  });
});

describe('the list', () => {
  it('lets in only those who are listed and not blocked', async () => {
    const { checkIn, put, tell } = await openEvent({ admission: 'LISTED' });
    await put({ attendeeId: 'ada', label: 'Ada' }, { attendeeId: 'eve', isBlocked: true });
    expect(await checkIn('ada')).toMatchObject(admitted);
    expect(await checkIn('eve')).toEqual(BLOCKED);
    expect(await checkIn('joan')).toEqual(NOT_LISTED);
    await tell(deleteAttendees, { attendeeIds: ['eve'] });
    expect(await checkIn('eve')).toEqual(NOT_LISTED);
  });

  it('blocks attendees of an event that admits anyone', async () => {
    const { checkIn, put } = await openEvent();
    await put({ attendeeId: 'eve', isBlocked: true });
    expect(await checkIn('eve')).toEqual(BLOCKED);
    expect(await checkIn('joan')).toMatchObject(admitted);
  });

  it.each<[string, string, window: () => JsonObject]>([
    ['eve', 'ATTENDEE_BLOCKED', () => ({})],
    ['joan', 'ATTENDEE_NOT_LISTED', () => ({})],
    ['ada', 'EVENT_FULL', () => ({})],
    ['eve', 'EVENT_NOT_STARTED', () => ({ startsAt: at(1) })],
    ['eve', 'EVENT_ENDED', () => ({ endsAt: at(0) })],
  ])(
    'is asked before the capacity, and after the window: %s is refused with %s',
    async (attendeeId, reason, window) => {
      const { put, scan, tell } = await openEvent({ admission: 'LISTED' });
      await put({ attendeeId: 'ada' }, { attendeeId: 'grace' }, { attendeeId: 'eve', isBlocked: true });
      await scan({ attendeeId: 'grace' });
      await tell(updateEvent, { capacity: 1, ...window() });
      expect(await scan({ attendeeId })).toMatchObject([{ outcome: 'REFUSED', reason }]);
    },
  );

  it('refuses more attendees than it may have', async () => {
    const { ask, eventId, put, tell } = await openEvent();
    await put({ attendeeId: 'ada' }, { attendeeId: 'lin' });
    await tell(deleteAttendees, { attendeeIds: ['lin'] });
    await (await openEvent()).put({ attendeeId: 'ada' });
    await service.database.sql`
      insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
      select ${tenant.id}, ${eventId}, 'a' || n, '', false, n, now() from generate_series(3, 100000) n`;
    await put({ attendeeId: 'joan' });
    const tooMany = refusal('resource_exhausted', 'Too many attendees');
    expect(await ask(batchPutAttendees, { attendees: [{ attendeeId: 'grace' }] })).toEqual(tooMany);
    await put({ attendeeId: 'ada', label: 'Ada' });
  });
});

describe('ListAttendees', () => {
  it('tells every change since a cursor: of the list, of check-ins and of their undo', async () => {
    const { checkIn, list, put, tell } = await openEvent();
    await put({ attendeeId: 'ada', label: 'Ada' }, { attendeeId: 'grace' });
    const copy = await list();
    const names = ({ attendees }: { attendees: JsonObject[] }) => attendees.map(({ attendeeId }) => attendeeId);
    expect(names(copy)).toEqual(['grace', 'ada']);
    expect(names(await list({ cursor: copy.cursor }))).toEqual([]);

    await put({ attendeeId: 'ada', label: 'Ada' }, { attendeeId: 'joan' }, { attendeeId: 'joan', label: 'Joan' });
    await checkIn('grace');
    const changes = await list({ cursor: copy.cursor });
    expect(changes.attendees).toEqual([
      { attendeeId: 'joan', label: 'Joan', isBlocked: false, isDeleted: false },
      { attendeeId: 'grace', label: '', isBlocked: false, isDeleted: false, checkedInAt: at(0) },
    ]);

    await tell(undoCheckIn, { attendeeId: 'grace' });
    await tell(deleteAttendees, { attendeeIds: ['ada', 'unknown'] });
    const later = await list({ cursor: changes.cursor });
    expect(later.attendees).toEqual([
      { attendeeId: 'grace', label: '', isBlocked: false, isDeleted: false },
      { attendeeId: 'ada', label: '', isBlocked: false, isDeleted: true },
    ]);
    expect(names(await list())).toEqual(['grace', 'joan']);
    expect(names(await list({ cursor: later.cursor }))).toEqual([]);
  });

  it('gives every page the cursor of the first, so that a copy misses no change between its pages', async () => {
    const { checkIn, list, put, tell } = await openEvent();
    await put({ attendeeId: 'ada' }, { attendeeId: 'grace' }, { attendeeId: 'joan' });
    const first = (await tell(listAttendees, { pageSize: 2 })) as { nextPageToken: string; cursor: string };
    await checkIn('ada');
    const second = (await tell(listAttendees, { pageSize: 2, pageToken: first.nextPageToken })) as { cursor: string };
    for (const { cursor } of [first, second]) {
      expect((await list({ cursor })).attendees).toMatchObject([{ attendeeId: 'ada', checkedInAt: at(0) }]);
    }
  });

  it('refuses a cursor of another event, one that was altered, and one beside a page token', async () => {
    const { list } = await openEvent();
    const { ask } = await openEvent();
    const { cursor } = await list();
    expect(await ask(listAttendees, { cursor })).toEqual(validationFailed('cursor'));
    expect(await ask(listAttendees, { cursor: 'x' })).toEqual(validationFailed('cursor'));
    expect(await ask(listAttendees, { cursor, pageToken: 'x' })).toEqual(validationFailed('cursor'));
  });

  it('refuses a cursor that is older than the deleted attendees which are kept', async () => {
    const { ask, list } = await openEvent();
    const { cursor } = await list();
    clock.advance(14 * DAY);
    expect(await ask(listAttendees, { cursor })).toMatchObject({ code: 'ok' });
    clock.advance(1);
    expect(await ask(listAttendees, { cursor })).toEqual(refusal('already_exists', 'Cursor expired'));
  });
});

describe('the capacity', () => {
  it('is given back by an undo, and taken once by an attendee', async () => {
    const { checkIn, tell } = await openEvent({ capacity: 1 });
    expect(await checkIn('ada')).toMatchObject(admitted);
    expect(await checkIn('ada')).toMatchObject({ data: { alreadyCheckedIn: true } });
    expect(await checkIn('grace')).toEqual(FULL);
    await tell(undoCheckIn, { attendeeId: 'ada' });
    expect(await checkIn('grace')).toMatchObject(admitted);
  });

  it('admits exactly as many of one batch as there are places', async () => {
    const { scan, tell } = await openEvent({ capacity: 2 });
    const results = await scan(
      ...['ada', 'grace', 'ada', 'joan'].map((attendeeId) => ({ attendeeId, gate: attendeeId })),
    );
    expect(results.map(({ outcome, reason }) => reason || outcome)).toEqual([
      'CHECKED_IN',
      'CHECKED_IN',
      'ALREADY_CHECKED_IN',
      'EVENT_FULL',
    ]);
    expect(await tell(getEventCounts)).toEqual({
      listed: 0,
      checkedIn: 2,
      gates: [
        { gate: 'ada', checkedIn: 1 },
        { gate: 'grace', checkedIn: 1 },
      ],
    });
  });

  it('counts everybody, and names the 1,000 gates with the most check-ins', async () => {
    const { eventId, tell } = await openEvent();
    await service.database.sql`
      insert into check_ins (application_id, event_id, attendee_id, checked_in_at, gate)
      select ${tenant.id}, ${eventId}, n::text, now(), 'gate ' || n % 1002 from generate_series(1, 2002) n`;
    const { checkedIn, gates } = (await tell(getEventCounts)) as { checkedIn: number; gates: { gate: string }[] };
    expect(checkedIn).toBe(2_002);
    expect(gates).toHaveLength(1_000);
    // These two came once, all others twice.
    expect(gates.map(({ gate }) => gate)).not.toContain('gate 0');
    expect(gates.map(({ gate }) => gate)).not.toContain('gate 1001');
  });
});

describe('a scan', () => {
  it('of an attendee who is inside is recorded, whatever the rules say, and keeps the reason', async () => {
    const { checkIn, put, scan } = await openEvent({ admission: 'LISTED', capacity: 1, endsAt: at(-MINUTE) });
    await put({ attendeeId: 'eve', isBlocked: true });
    expect(await checkIn('eve', { alreadyAdmitted: true })).toMatchObject({ data: { reason: 'EVENT_ENDED' } });
    const [joan] = await scan({ attendeeId: 'joan', alreadyAdmitted: true });
    expect(joan).toMatchObject({ outcome: 'CHECKED_IN', reason: 'EVENT_ENDED', checkIn: { attendeeId: 'joan' } });
  });

  it('gets its first result again, whatever happened since', async () => {
    const { ask, scan, tell } = await openEvent({ capacity: 1 });
    const [ada, grace] = [randomUUID(), randomUUID()];
    const sent = [
      { scanId: ada, attendeeId: 'ada', gate: 'North' },
      { scanId: grace, attendeeId: 'grace' },
    ];
    const first = await scan(...sent, { scanId: ada, attendeeId: 'ada' });
    expect(first.map(({ outcome }) => outcome)).toEqual(['CHECKED_IN', 'REFUSED', 'CHECKED_IN']);
    await tell(undoCheckIn, { attendeeId: 'ada' });
    clock.advance(MINUTE);
    expect(await scan(...sent)).toEqual(first.slice(0, 2));
    expect(await ask(checkIn, { attendeeId: 'grace', scanId: grace })).toEqual(FULL);
    expect(await ask(checkIn, { attendeeId: 'ada', scanId: ada })).toMatchObject({
      data: { attendeeId: 'ada', gate: 'North', alreadyCheckedIn: false },
    });
    expect((await tell(getEventCounts)).checkedIn).toBe(0);
    const results = await scan({ scanId: randomUUID(), attendeeId: 'lin' }, ...sent);
    expect(results).toMatchObject([{ outcome: 'CHECKED_IN' }, ...first.slice(0, 2)]);
    expect((await tell(getEventCounts)).checkedIn).toBe(1);
  });

  it('with the ID of a scan of another attendee is refused alone, and not recorded', async () => {
    const { ask, eventId, scan, tell } = await openEvent();
    const [first, second] = [randomUUID(), randomUUID()];
    const reused = { outcome: 'REFUSED', reason: 'SCAN_ID_REUSED' };
    expect(await ask(checkIn, { attendeeId: 'ada', scanId: first, gate: 'North' })).toMatchObject({ code: 'ok' });
    const path = `/api/events/${eventId}/check-ins`;
    const headers = { 'x-api-key': tenant.apiKey, 'content-type': 'application/json' };
    // The rules and the first result have no say: nobody knows which of the two stood at the door.
    for (const fields of [{}, { alreadyAdmitted: true }, { occurredAt: at(-8 * DAY) }]) {
      const body = JSON.stringify({ attendeeId: 'grace', scanId: first, ...fields });
      const { status, body: answer } = await request(service.url, { path, headers, body });
      expect([status, JSON.parse(answer)]).toEqual([
        422,
        { status: false, message: 'Scan ID used for another attendee', reason: 'SCAN_ID_REUSED' },
      ]);
    }
    const results = await scan(
      { attendeeId: 'grace', scanId: first },
      { attendeeId: 'joan', scanId: second },
      { attendeeId: 'lin', scanId: second, alreadyAdmitted: true },
      { attendeeId: 'joan', scanId: second },
      { attendeeId: 'ada', scanId: first, gate: 'South' },
    );
    const ofJoan = { outcome: 'CHECKED_IN', checkIn: { attendeeId: 'joan' } };
    const ofAda = { outcome: 'CHECKED_IN', checkIn: { attendeeId: 'ada', gate: 'North' } };
    expect(results).toMatchObject([reused, ofJoan, reused, ofJoan, ofAda]);
    // Also while both attendees are inside, and after a refusal.
    await scan({ attendeeId: 'grace' });
    expect(await scan({ attendeeId: 'grace', scanId: first })).toMatchObject([reused]);
    await tell(updateEvent, { capacity: 3 });
    expect(await scan({ attendeeId: 'mary', scanId: eventId })).toMatchObject([{ reason: 'EVENT_FULL' }]);
    expect(await scan({ attendeeId: 'lin', scanId: eventId })).toMatchObject([reused]);
    expect(await tell(getEventCounts)).toMatchObject({ checkedIn: 3 });
    // Scan IDs belong to their event.
    const other = await openEvent();
    expect(await other.scan({ attendeeId: 'lin', scanId: first })).toMatchObject([{ outcome: 'CHECKED_IN' }]);
  });

  it('of an attendee who is checked in gets that check-in, with its own time and gate', async () => {
    const { scan } = await openEvent({ endsAt: at(MINUTE) });
    const first = { occurredAt: at(-MINUTE), gate: 'North' };
    const checkIn = { attendeeId: 'ada', checkedInAt: at(0), ...first };
    expect(await scan({ attendeeId: 'ada', ...first })).toMatchObject([{ outcome: 'CHECKED_IN', checkIn }]);
    clock.advance(2 * MINUTE);
    const second = await scan({ attendeeId: 'ada', occurredAt: at(-30 * MINUTE), gate: 'South' });
    expect(second).toMatchObject([{ outcome: 'ALREADY_CHECKED_IN', reason: '', checkIn }]);
  });

  it('keeps every character of its texts, and each millisecond', async () => {
    const { scan } = await openEvent();
    const sent = [
      { attendeeId: 'a"b\\c,{d}', gate: 'null', occurredAt: at(-123) },
      { attendeeId: 'NULL', gate: 'a\tb\n"\\u0041"\u0007' },
    ];
    await scan(...sent);
    expect(await scan(...sent)).toMatchObject(sent.map((checkIn) => ({ outcome: 'ALREADY_CHECKED_IN', checkIn })));
  });

  it('names the field of the scan that is wrong', async () => {
    const { ask } = await openEvent();
    const scan = { scanId: randomUUID(), attendeeId: 'ada' };
    const send = (...scans: JsonObject[]) => ask(batchCheckIn, { scans });
    expect(await send(scan, { scanId: 'x', attendeeId: '', gate: 'g'.repeat(65) })).toEqual(
      validationFailed('scans[1].attendeeId', 'scans[1].scanId', 'scans[1].gate'),
    );
    expect(await send({ ...scan, seat: 1 })).toEqual(validationFailed('scans[0].seat'));
    expect(await send()).toEqual(validationFailed('scans'));
    expect(await send(...Array(201).fill(scan))).toEqual(validationFailed('scans'));
  });

  it('is refused for an event that is deleted or of another application', async () => {
    const { ask, tell } = await openEvent({ capacity: 5 });
    await tell(deleteEvent);
    const calls: [DescMethodUnary, JsonObject][] = [
      [batchCheckIn, { scans: [{ scanId: randomUUID(), attendeeId: 'ada' }] }],
      [checkIn, { attendeeId: 'ada', gate: 'North' }],
      [undoCheckIn, { attendeeId: 'ada' }],
      [updateEvent, { capacity: 1 }],
      [getEventCounts, {}],
      [listAttendees, {}],
      [batchPutAttendees, { attendees: [{ attendeeId: 'ada' }] }],
      [deleteAttendees, { attendeeIds: ['ada'] }],
    ];
    for (const [method, fields] of calls) {
      expect(await ask(method, fields)).toEqual(refusal('not_found', 'Event not found'));
    }
  });
});

it('DeleteEvent writes no row of the list, however long, and nothing of it shows any more', async () => {
  const { ask, eventId, put, scan, tell } = await openEvent({ admission: 'LISTED' });
  await put({ attendeeId: 'ada', label: 'Ada Lovelace' }, { attendeeId: 'grace' });
  await scan({ attendeeId: 'ada' });
  const readRows = () => service.database.sql`
    select attendee_id, xmin::text, ctid::text from attendees where event_id = ${eventId} order by attendee_id`;
  const rows = await readRows();
  expect(rows).toHaveLength(2);
  await tell(deleteEvent);
  expect(await readRows()).toEqual(rows);
  for (const method of [getEvent, listAttendees, getEventCounts, listCheckIns, deleteEvent])
    expect(await ask(method)).toEqual(refusal('not_found', 'Event not found'));
  for (const path of ['check-ins.csv', 'check-ins.jsonl']) {
    const headers = { 'x-api-key': tenant.apiKey };
    expect(await request(service.url, { path: `/api/events/${eventId}/${path}`, headers })).toMatchObject({
      status: 404,
    });
  }
  expect(await callWith(createEvent, { eventId })).toEqual(refusal('already_exists', 'Event already exists'));
});

it('messages tell the time and gate of a scan, and each attendee of a batch', async () => {
  const { webhooks } = clientsOf(service, tenant);
  const { webhook } = await webhooks.createWebhook({
    url: 'https://hooks.test',
    ownerId: (await createTestUser(service, { applicationIds: [tenant.id] })).id,
    eventTypes: ['check_in.created', 'check_in.undone'],
  });
  const { eventId, scan, tell } = await openEvent({ capacity: 5 });
  await scan({ attendeeId: 'ada', gate: 'North', occurredAt: at(0) }, { attendeeId: 'grace' });
  await tell(undoCheckIn, { attendeeId: 'ada' });
  const rows = await service.database
    .sql`select payload from webhook_messages where payload like ${`%${eventId}%`} order by id`;
  await webhooks.deleteWebhook({ webhookId: webhook?.webhookId ?? '' });
  expect(rows.map(({ payload }) => JSON.parse(payload).data)).toEqual([
    { eventId, attendeeId: 'ada', checkedInAt: at(0), occurredAt: at(0), gate: 'North' },
    { eventId, attendeeId: 'grace', checkedInAt: at(0) },
    { eventId, attendeeId: 'ada' },
  ]);
});
