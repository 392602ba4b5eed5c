/** Conditions of the rules and limits of events, a row each. What callers see: test/contract/check-in-rules.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { createEvent } from '../../../../src/domain/events/create-event.ts';
import { decideScans, type Scan } from '../../../../src/domain/events/scan.ts';
import { readEventVersion, updateEvent } from '../../../../src/domain/events/update-event.ts';
import { at, DAY, HOUR, NOW, reason } from '../../../support/domain-scene.ts';
import { type Fields, type OpenEvent, openEvents, textAt } from '../../../support/event-scene.ts';

const { sql, callOf, readTold, createListening, openIn } = await openEvents();

let here: string;
beforeEach(async () => {
  here = await createListening();
});

const open = (rules?: Fields, eventId?: string) => openIn(here, rules, eventId);

describe('an event with one rule checks it', () => {
  test.each<[string, rules: Fields, answer: string]>([
    ['none', {}, 'done'],
    ['it admits anyone', { admission: 'ANYONE' }, 'done'],
    ['its start', { startsAt: textAt(HOUR) }, 'EVENT_NOT_STARTED'],
    ['its end', { endsAt: textAt(-HOUR) }, 'EVENT_ENDED'],
    ['its list', { admission: 'LISTED' }, 'ATTENDEE_NOT_LISTED'],
  ])('%s', async (_, rules, answer) => {
    expect(await (await open(rules)).come('ada')).toBe(answer);
  });

  test('of each scan of a batch', async () => {
    const { put, scan } = await open({ admission: 'LISTED' });
    await put({ attendeeId: 'grace' }, { attendeeId: 'eve', isBlocked: true }, { attendeeId: 'ada' });
    const results = await scan(['joan', 'eve', 'ada', 'grace'].map((attendeeId) => ({ attendeeId })));
    const answers = ['ATTENDEE_NOT_LISTED', 'ATTENDEE_BLOCKED', 'CHECKED_IN', 'CHECKED_IN'];
    expect(results.map((each) => each.reason ?? each.outcome)).toEqual(answers);
  });
});

describe('a capacity', () => {
  test('is not given back by the undo of somebody who has not come', async () => {
    const { come, undo } = await open({ capacity: 1 });
    await come('ada');
    expect(await undo('grace')).toBe('CHECK_IN_NOT_FOUND');
    expect(await come('grace')).toBe('EVENT_FULL');
  });

  test('counts nobody less where a check-in was undone before it was set', async () => {
    const { come, put, undo, update } = await open();
    await put({ attendeeId: 'ada' });
    expect([await come('ada'), await undo('ada')]).toEqual(['done', 'done']);
    await update({ capacity: 1 });
    expect([await come('ada'), await come('grace')]).toEqual(['done', 'EVENT_FULL']);
  });

  test('counts those who came while there was none', async () => {
    const { come, update } = await open({ capacity: 3 });
    await come('ada');
    await update({ capacity: null });
    await come('grace');
    await update({ capacity: 2 });
    expect(await come('joan')).toBe('EVENT_FULL');
    await update({ name: 'Fest', capacity: 3 });
    expect([await come('joan'), await come('lin')]).toEqual(['done', 'EVENT_FULL']);
  });
});

describe('the count of an event', () => {
  const readCount = async (eventId: string) => (await sql`select checked_in from events where id = ${eventId}`)[0];

  test('is none without a capacity, so that a later one counts all', async () => {
    const { eventId, come, update } = await open();
    await come('ada');
    await update({ endsAt: textAt(HOUR) });
    await come('grace');
    expect(await readCount(eventId)).toEqual({ checked_in: null });
    await update({ capacity: 2 });
    expect(await come('joan')).toBe('EVENT_FULL');
  });

  test('is stored, and not made again', async () => {
    const { eventId, come, undo } = await open({ capacity: 6 });
    await sql`update events set checked_in = 5 where id = ${eventId}`;
    expect([await come('ada'), await come('grace')]).toEqual(['done', 'EVENT_FULL']);
    expect(await readCount(eventId)).toEqual({ checked_in: 6 });
    expect(await undo('ada')).toBe('done');
    expect(await readCount(eventId)).toEqual({ checked_in: 5 });
  });
});

test('the rows of events are written only if they change', async () => {
  const { eventId, scan } = await open();
  const version = () => sql`select xmin::text from events where id = ${eventId}`;
  const before = await version();
  expect(await scan([{ attendeeId: 'ada' }])).toMatchObject([{ outcome: 'CHECKED_IN' }]);
  expect(await version()).toEqual(before);
});

test('an update of another version, or one that ends before it starts, changes nothing', async () => {
  const { eventId, update, end } = await open({ name: 'Old' });
  const version = (call = callOf(here)) => readEventVersion(call, { eventId });
  const ifVersion = await version();
  const name = async () => (await sql`select name from events where id = ${eventId} and application_id = ${here}`)[0];
  expect(await reason(update({ name: 'Bad', startsAt: textAt(1), endsAt: textAt(0) }))).toBe('VALIDATION_FAILED');
  expect(await name()).toEqual({ name: 'Old' });
  const change = (given: string) => reason(updateEvent({ ...callOf(here), ifVersion }, { eventId, name: given }));
  expect([await change('New'), await change('Newer')]).toEqual(['done', 'CHANGED_MEANWHILE']);
  expect(await name()).toEqual({ name: 'New' });
  const elsewhere = await createListening();
  await openIn(elsewhere, {}, eventId);
  expect(await version()).not.toBe(await version(callOf(elsewhere)));
  await end();
  expect(await version()).toBeUndefined();
});

describe('a scan', () => {
  const OPEN = { startsAt: null, endsAt: null, capacity: null, isListed: false, checkedIn: null, attendeeVersion: 0 };
  const scanOf = (attendeeId: string, fields: Partial<Scan> = {}): Scan => ({
    ...{ attendeeId, scanId: null, occurredAt: null, gate: null, alreadyAdmitted: false },
    ...fields,
  });
  const decide = (scans: readonly Scan[], now = NOW) =>
    decideScans(OPEN, scans, new Map(), now).map(({ outcome, reason: why }) => [outcome, why]);

  test('without an ID is none of the others', () => {
    expect(decide(['ada', 'grace'].map((attendeeId) => scanOf(attendeeId)))).toEqual([
      ['CHECKED_IN', null],
      ['CHECKED_IN', null],
    ]);
  });

  test('that is too old is refused, even of somebody who is inside', () => {
    expect(decide([scanOf('ada', { occurredAt: at(-8 * DAY), alreadyAdmitted: true })])).toEqual([
      ['REFUSED', 'SCAN_TIME_OUT_OF_RANGE'],
    ]);
  });

  test('is in time for an event without times, whenever that is', () => {
    expect(decide([scanOf('ada')], new Date(-1))).toEqual([['CHECKED_IN', null]]);
  });

  test('may have an empty gate', async () => {
    expect(await (await open()).come('ada', { gate: '' })).toBe('done');
  });
});

describe('the limit of', () => {
  test('the list is 100,000, wherever else others are', async () => {
    const application = here;
    const { eventId, put } = await open();
    here = await createListening();
    await (await open({}, eventId)).put({ attendeeId: 'ada' });
    await sql`insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
      select ${application}, ${eventId}, 'a' || n, '', false, n, ${NOW} from generate_series(1, 99999) n`;
    expect(await reason(put({ attendeeId: 'grace' }))).toBe('done');
    expect(await reason(put({ attendeeId: 'grace' }))).toBe('done');
    expect(await reason(put({ attendeeId: 'joan' }))).toBe('TOO_MANY_ATTENDEES');
    await sql`delete from attendees where event_id = ${eventId}`;
  });

  const listIds = (count: number) => Array.from({ length: count }, (_, at) => `a${at}`);
  test.each<[string, most: number, change: (event: OpenEvent, count: number) => Promise<unknown>]>([
    ['changes', 500, ({ put }, count) => put(...listIds(count).map((attendeeId) => ({ attendeeId })))],
    ['removals', 500, ({ remove }, count) => remove(...listIds(count))],
    ['scans', 200, ({ scan }, count) => scan(listIds(count).map((attendeeId) => ({ attendeeId })))],
    ['a label', 100, ({ put }, length) => put({ attendeeId: 'ada', label: 'a'.repeat(length) })],
  ])('%s is %d', async (_, most, change) => {
    const event = await open();
    expect(await reason(change(event, most))).toBe('done');
    expect(await reason(change(event, most + 1))).toBe('VALIDATION_FAILED');
  });

  test('gates is 1,000, by their names', async () => {
    const { eventId, count } = await open();
    await sql`insert into check_ins (application_id, event_id, attendee_id, checked_in_at, gate)
      select ${here}, ${eventId}, 'a' || n, ${NOW}, 'gate ' || (10000 + n) from generate_series(0, 1000) n`;
    const { gates, checkedIn } = await count();
    expect([gates.length, checkedIn]).toEqual([1_000, 1_001]);
    expect([gates[0]?.gate, gates.at(-1)?.gate]).toEqual(['gate 10000', 'gate 10999']);
  });
});

test.each<[string, fields: Fields, answer: string]>([
  ['that ends when it starts', { startsAt: textAt(0), endsAt: textAt(0) }, 'VALIDATION_FAILED'],
  ['that ends later', { startsAt: textAt(0), endsAt: textAt(1) }, 'done'],
  ['that ended long ago, without a start', { endsAt: '1960-01-01T00:00:00Z' }, 'done'],
])('an event %s: %s', async (_, fields, answer) => {
  expect(await reason(createEvent(callOf(here), { eventId: randomUUID(), ...fields }))).toBe(answer);
  expect(readTold()).toEqual(answer === 'done' ? [here] : []);
});
