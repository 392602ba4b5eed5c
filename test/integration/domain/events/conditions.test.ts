/** Conditions of the statements about events, a row each. What callers see: test/contract/check-in-rules.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { batchCheckIn } from '../../../../src/domain/events/batch-check-in.ts';
import { batchPutAttendees } from '../../../../src/domain/events/batch-put-attendees.ts';
import { checkIn } from '../../../../src/domain/events/check-in.ts';
import { createEvent } from '../../../../src/domain/events/create-event.ts';
import { deleteAttendees } from '../../../../src/domain/events/delete-attendees.ts';
import { deleteEvent } from '../../../../src/domain/events/delete-event.ts';
import { getEventCounts } from '../../../../src/domain/events/get-event-counts.ts';
import { listAttendees } from '../../../../src/domain/events/list-attendees.ts';
import { listCheckIns, listCheckInsToDownload } from '../../../../src/domain/events/list-check-ins.ts';
import { undoCheckIn } from '../../../../src/domain/events/undo-check-in.ts';
import { updateEvent } from '../../../../src/domain/events/update-event.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { at, DAY, HOUR, NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, readTold, createApplication } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);

let here: string;
beforeEach(async () => {
  here = await createApplication();
  await insert('webhooks', { application_id: here });
});

type Fields = Readonly<Record<string, unknown>>;

const textAt = (ms: number) => at(ms).toISOString();

const listed = (eventId: string) => listCheckIns(callOf(here), tokens, { eventId });

/** Creates an event, and returns what changes it. */
async function open(rules: Fields = {}, eventId: string = randomUUID()) {
  const application = here;
  const callNow = (ms = 0) => callOf(application, {}, callAt(at(ms)));
  await createEvent(callNow(), { eventId, ...rules });
  readTold();
  return {
    ...{ application, eventId },
    come: (attendeeId: string, fields: Fields = {}, ms = 0) =>
      reason(checkIn(callNow(ms), { eventId, attendeeId, ...fields })),
    scan: (scans: readonly Fields[], ms = 0) =>
      batchCheckIn(callNow(ms), { eventId, scans: scans.map((each) => ({ scanId: randomUUID(), ...each })) }),
    undo: (attendeeId: string) => reason(undoCheckIn(callNow(), { eventId, attendeeId })),
    put: (...attendees: Fields[]) => batchPutAttendees(callNow(), { eventId, attendees }),
    remove: (...attendeeIds: string[]) => deleteAttendees(callNow(), { eventId, attendeeIds }),
    update: (fields: Fields) => updateEvent(callNow(), { eventId, ...fields }),
    end: () => deleteEvent(callNow(), { eventId }),
    count: () => getEventCounts(callNow(), { eventId }),
    list: (fields: Fields = {}, ms = 0) => listAttendees(callNow(ms), tokens, { eventId, ...fields }),
    download: async () => (await listCheckInsToDownload(callNow(), tokens, { eventId })).rows,
  };
}

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
    const { eventId, come } = await open({ capacity: 6 });
    await sql`update events set checked_in = 5 where id = ${eventId}`;
    expect([await come('ada'), await come('grace')]).toEqual(['done', 'EVENT_FULL']);
    expect(await readCount(eventId)).toEqual({ checked_in: 6 });
  });
});

describe('an event of one application does not show what one with its ID has elsewhere, or another event', () => {
  type Event = Awaited<ReturnType<typeof open>>;
  const scanId = randomUUID();
  const FORCED = { attendeeId: 'ada', alreadyAdmitted: true, scanId };
  const idsOf = (rows: readonly { attendeeId: string }[]) => rows.map(({ attendeeId }) => attendeeId);
  test.each<[string, read: (event: Event) => Promise<unknown>, result: unknown]>([
    ['in its counts', ({ count }) => count(), { listed: 1, checkedIn: 1, gates: [{ gate: '', checkedIn: 1 }] }],
    ['in its list', async ({ list }) => idsOf((await list()).rows), ['grace']],
    ['in its check-ins', async ({ eventId }) => idsOf((await listed(eventId)).rows), ['grace']],
    ['in its download', async ({ download }) => idsOf(await download()), ['grace']],
    [
      'as a reason',
      async ({ come, download }) => {
        await come('ada');
        return (await download()).map(({ attendeeId, reason: why }) => [attendeeId, why]).toSorted();
      },
      [
        ['ada', null],
        ['grace', null],
      ],
    ],
    ['as a result', async ({ scan }) => (await scan([{ attendeeId: 'ada', scanId }]))[0]?.outcome, 'CHECKED_IN'],
    [
      'in its capacity',
      async ({ come, update }) => {
        await update({ capacity: 2 });
        return [await come('joan'), await come('lin')];
      },
      ['done', 'EVENT_FULL'],
    ],
  ])('%s', async (_, read, result) => {
    const application = here;
    const eventId = `m ${randomUUID()}`;
    const own = await open({}, eventId);
    const others = [await open({ endsAt: textAt(-1) }, 'a'), await open({ endsAt: textAt(-1) }, 'z')];
    here = await createApplication();
    others.push(await open({ endsAt: textAt(-1) }, eventId));
    here = application;
    for (const { put, scan } of others) {
      await put({ attendeeId: 'ada', label: 'Other' }, { attendeeId: 'lin', label: 'Other' });
      await scan([FORCED, { ...FORCED, attendeeId: 'lin', scanId: randomUUID() }]);
    }
    await own.put({ attendeeId: 'grace' });
    await own.come('grace');
    expect(await read(own)).toEqual(result);
  });
});

describe('the limit of', () => {
  test('the list is 100,000, wherever else others are', async () => {
    const application = here;
    const { eventId, put } = await open();
    here = await createApplication();
    await (await open({}, eventId)).put({ attendeeId: 'ada' });
    await sql`insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
      select ${application}, ${eventId}, 'a' || n, '', false, n, ${NOW} from generate_series(1, 99999) n`;
    expect(await reason(put({ attendeeId: 'grace' }))).toBe('done');
    expect(await reason(put({ attendeeId: 'grace' }))).toBe('done');
    expect(await reason(put({ attendeeId: 'joan' }))).toBe('TOO_MANY_ATTENDEES');
    await sql`delete from attendees where event_id = ${eventId}`;
  });

  type Event = Awaited<ReturnType<typeof open>>;
  const listIds = (count: number) => Array.from({ length: count }, (_, at) => `a${at}`);
  test.each<[string, most: number, change: (event: Event, count: number) => Promise<unknown>]>([
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

test('a message tells of the first check-in to an event without rules, and of no second one', async () => {
  const { come, eventId } = await open();
  await come('ada');
  expect(readTold()).toEqual([here]);
  await come('ada');
  expect(readTold()).toEqual([]);
  const resource = `${eventId}/ada`;
  expect(await sql`select action from audit_events where resource = ${resource}`).toHaveLength(1);
});

describe('a message', () => {
  type Event = Awaited<ReturnType<typeof open>>;
  test.each<[string, change: (event: Event) => Promise<unknown>, count: number]>([
    ['tells of an update', ({ update }) => update({ name: 'Fest' }), 1],
    ['tells of no update to what is there', ({ update }) => update({ startsAt: null, capacity: 9 }), 0],
    ['tells of a check-in', ({ come }) => come('ada'), 1],
    ['tells of each check-in of a batch', ({ scan }) => scan([{ attendeeId: 'ada' }, { attendeeId: 'lin' }]), 2],
    ['tells of no second check-in', ({ scan }) => scan([{ attendeeId: 'grace' }]), 0],
    ['tells of an undo', ({ undo }) => undo('grace'), 1],
    ['tells of no undo without a check-in', ({ undo }) => undo('ada'), 0],
    ['tells of no event that is there', ({ eventId }) => reason(createEvent(callOf(here), { eventId })), 0],
    ['tells of a deletion', ({ end }) => end(), 1],
  ])('%s', async (_, change, count) => {
    const event = await open({ capacity: 9 });
    await event.come('grace');
    readTold();
    await change(event);
    expect(readTold()).toEqual(Array(count).fill(here));
  });
});

describe('another event with the same attendees keeps all it has', () => {
  type Event = Awaited<ReturnType<typeof open>>;
  const scanId = randomUUID();
  const changes: readonly [string, rules: Fields, change: (event: Event) => Promise<unknown>][] = [
    ['of a change of the list', {}, ({ put }) => put({ attendeeId: 'ada', label: 'New', isBlocked: true })],
    ['of a removal', {}, ({ remove }) => remove('ada', 'grace')],
    ['of an undo', {}, ({ undo }) => undo('ada')],
    ['of an undo at one with a capacity', { capacity: 3 }, ({ undo }) => undo('ada')],
    ['of a scan', { capacity: 3 }, ({ scan }) => scan([{ attendeeId: 'grace', scanId }])],
    ['of an update', { capacity: 3 }, ({ update }) => update({ name: 'New', capacity: null })],
    ['of a deletion', {}, ({ end }) => end()],
  ];
  test.each(
    changes.flatMap(([name, rules, change]) => [
      { name, rules, change, where: 'here' },
      { name, rules, change, where: 'elsewhere' },
    ]),
  )('$name, $where', async ({ rules, change, where }) => {
    const other = await open(rules);
    if (where === 'elsewhere') here = await createApplication();
    const events = [other, await open(rules, where === 'elsewhere' ? other.eventId : undefined)] as const;
    for (const event of events) {
      await event.put({ attendeeId: 'ada', label: 'Ada' }, { attendeeId: 'grace', label: 'Grace' });
      await event.scan([{ attendeeId: 'ada', scanId }]);
    }
    const [{ eventId, application }, one] = events;
    const of = sql`event_id = ${eventId} and application_id = ${application}`;
    const read = async () => [
      await sql`select * from events where id = ${eventId} and application_id = ${application}`,
      await sql`select * from attendees where ${of} order by attendee_id`,
      await sql`select * from check_ins where ${of}`,
      await sql`select * from scans where ${of}`,
    ];
    const before = await read();
    await change(one);
    expect(await read()).toEqual(before);
  });
});

describe('the list', () => {
  const ADA = { attendeeId: 'ada', label: 'Ada', isBlocked: true };
  type Event = Awaited<ReturnType<typeof open>>;
  test.each<[string, change: (event: Event) => Promise<unknown>, changed: Fields | undefined]>([
    ['has no change by what is there', ({ put }) => put(ADA), undefined],
    ['has a new label', ({ put }) => put({ ...ADA, label: 'Lovelace' }), { ...ADA, label: 'Lovelace' }],
    ['blocks nobody any more', ({ put }) => put({ ...ADA, isBlocked: false }), { ...ADA, isBlocked: false }],
    ['forgets who is removed', ({ remove }) => remove('ada'), { label: '', isBlocked: false, isDeleted: true }],
    [
      'keeps the label of who comes',
      ({ come }) => come('ada', { alreadyAdmitted: true }),
      { ...ADA, checkedInAt: NOW },
    ],
    [
      'keeps the label of who has come, and left',
      ({ come, undo }) => come('ada', { alreadyAdmitted: true }).then(() => undo('ada')),
      { ...ADA, checkedInAt: null },
    ],
    [
      'has who was removed again',
      ({ put, remove }) => remove('ada').then(() => put(ADA)),
      { ...ADA, isDeleted: false },
    ],
  ])('%s', async (_, change, changed) => {
    const event = await open();
    await event.put(ADA, { attendeeId: 'grace', label: 'Grace' });
    await sql`update attendees set changed_at = ${at(-HOUR)} where event_id = ${event.eventId}`;
    const { cursor } = await event.list();
    await change(event);
    const { rows } = await event.list({ cursor });
    expect(rows).toMatchObject(changed ? [{ attendeeId: 'ada', changedAt: NOW, ...changed }] : []);
    const [row] = await sql`select removed_at from attendees where event_id = ${event.eventId} and attendee_id = 'ada'`;
    expect(row?.removed_at).toEqual(changed?.isDeleted ? at(14 * DAY) : null);
  });

  test('tells once of each who is removed, one by one', async () => {
    const { list, put, remove } = await open();
    await put(...['ada', 'grace', 'joan'].map((attendeeId) => ({ attendeeId })));
    let { cursor } = await list();
    await remove('joan', 'ada');
    const told: string[] = [];
    for (let page = 0; page < 3; page++) {
      const { rows, cursor: next } = await list({ cursor, pageSize: 1 });
      told.push(...rows.map(({ attendeeId }) => attendeeId));
      cursor = next;
    }
    await remove('joan');
    expect([told, (await list({ cursor })).rows]).toEqual([['ada', 'joan'], []]);
  });

  test('has the last page, also a full one, without a token, and tokens for 14 days', async () => {
    const { list, put } = await open();
    await put(...['ada', 'grace', 'joan', 'lin'].map((attendeeId) => ({ attendeeId })));
    const first = await list({ pageSize: 2 });
    const pageToken = first.nextPageToken;
    const { rows, nextPageToken } = await list({ pageSize: 2, pageToken }, 14 * DAY);
    expect([rows.map(({ attendeeId }) => attendeeId), nextPageToken]).toEqual([['grace', 'ada'], '']);
    expect(await reason(list({ pageToken }, 14 * DAY + 1))).toBe('CURSOR_EXPIRED');
    expect(await reason(list({ pageToken, cursor: first.cursor }))).toBe('VALIDATION_FAILED');
    const pages = [await list({ pageSize: 1 })];
    while (pages.at(-1)?.nextPageToken) pages.push(await list({ pageSize: 1, pageToken: pages.at(-1)?.nextPageToken }));
    expect(pages.flatMap((page) => page.rows.map(({ attendeeId }) => attendeeId))).toEqual([
      'lin',
      'joan',
      'grace',
      'ada',
    ]);
    for (const { cursor } of pages) expect((await list({ cursor })).rows).toEqual([]);
  });
});

test('the counts have gates of the same count by name, and no one who is removed', async () => {
  const { count, put, remove, scan } = await open();
  await put(...['ada', 'grace', 'joan'].map((attendeeId) => ({ attendeeId })));
  await remove('joan');
  const gates = { ada: 'South', grace: 'North', lin: 'West', eve: 'West', mary: undefined };
  await scan(Object.entries(gates).map(([attendeeId, gate]) => ({ attendeeId, ...(gate && { gate }) })));
  const counted = [
    ['West', 2],
    ['', 1],
    ['North', 1],
    ['South', 1],
  ].map(([gate, checkedIn]) => ({ gate, checkedIn }));
  expect(await count()).toEqual({ listed: 2, checkedIn: 5, gates: counted });
});

describe('a scan that is sent again gets', () => {
  test.each<[string, rules: Fields, sent: Fields, outcome: Fields]>([
    ['the check-in that was there', {}, {}, { outcome: 'ALREADY_CHECKED_IN', reason: null }],
    ['the reason', { endsAt: textAt(-1) }, { attendeeId: 'lin', alreadyAdmitted: true }, { reason: 'EVENT_ENDED' }],
  ])('%s', async (_, rules, fields, outcome) => {
    const { come, scan, undo } = await open(rules);
    await come('ada', { gate: 'North', alreadyAdmitted: true });
    const sent = [{ attendeeId: 'ada', scanId: randomUUID(), gate: 'South', ...fields }];
    const first = await scan(sent, HOUR);
    expect(first).toMatchObject([outcome]);
    for (const attendeeId of ['ada', 'lin']) await undo(attendeeId);
    expect(await scan(sent, 2 * HOUR)).toEqual(first);
  });
});

test('a scan is not taken for that of another event, or of the event of another application', async () => {
  const eventId = randomUUID();
  const sent = [{ attendeeId: 'ada', scanId: randomUUID() }];
  const events = [await open({}, eventId), await open()];
  here = await createApplication();
  events.push(await open({}, eventId));
  for (const { come } of events.slice(1)) await come('ada');
  const outcomes = [];
  for (const { scan } of events) outcomes.push((await scan(sent))[0]?.outcome);
  expect(outcomes).toEqual(['CHECKED_IN', 'ALREADY_CHECKED_IN', 'ALREADY_CHECKED_IN']);
});

describe('the download says', () => {
  const FORCED = { attendeeId: 'ada', alreadyAdmitted: true };
  type Event = Awaited<ReturnType<typeof open>>;
  test.each<[string, prepare: (event: Event, another: Event) => Promise<unknown>, row: Fields]>([
    ['why somebody would have been refused', ({ scan }) => scan([FORCED]), { reason: 'EVENT_FULL', label: 'Ada' }],
    [
      'no reason of a scan before that was refused',
      async ({ scan, update }) => {
        await update({ capacity: null });
        await scan([{ attendeeId: 'ada', occurredAt: textAt(-8 * DAY) }, { attendeeId: 'ada' }]);
      },
      { reason: null },
    ],
    [
      'no reason of a check-in that was undone',
      async ({ come, scan, undo, update }) => {
        await scan([FORCED]);
        await undo('ada');
        await update({ capacity: null });
        await come('ada', {}, 1);
      },
      { reason: null },
    ],
    [
      'no reason of others, here or at another event',
      async ({ come, scan, update }, another) => {
        await scan([{ ...FORCED, attendeeId: 'grace' }]);
        await another.scan([FORCED]);
        await update({ capacity: null });
        await come('ada');
      },
      { reason: null },
    ],
    [
      'the reason of one of several check-ins at the same instant',
      async ({ scan, undo, update }) => {
        await update({ capacity: null });
        await scan([{ attendeeId: 'ada', scanId: `${'0'.repeat(8)}${randomUUID().slice(8)}` }]);
        await undo('ada');
        await update({ capacity: 1 });
        for (let time = 0; time < 2; time++) {
          await scan([{ ...FORCED, scanId: `${'f'.repeat(8)}${randomUUID().slice(8)}` }]);
          if (time === 0) await undo('ada');
        }
      },
      { reason: 'EVENT_FULL' },
    ],
    [
      'no label of who is not listed any more',
      ({ remove, scan }) => scan([FORCED]).then(() => remove('ada')),
      { label: null },
    ],
  ])('%s', async (_, prepare, row) => {
    const [event, another] = [await open({ capacity: 1 }), await open({ capacity: 1 })];
    for (const { come, put } of [event, another]) {
      await put({ attendeeId: 'ada', label: 'Ada' }, { attendeeId: 'lin', label: 'Lin' });
      await come('lin');
    }
    await prepare(event, another);
    const rows = await event.download();
    expect(rows.find(({ attendeeId }) => attendeeId === 'ada')).toMatchObject(row);
    expect(rows.find(({ attendeeId }) => attendeeId === 'lin')).toMatchObject({ reason: null, label: 'Lin' });
  });
});
