/** Conditions of the statements about attendees and their check-ins, a row each. What callers see: test/contract/check-in-rules.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { createEvent } from '../../../../src/domain/events/create-event.ts';
import { at, DAY, HOUR, NOW, reason } from '../../../support/domain-scene.ts';
import { type Fields, type OpenEvent, openEvents, textAt } from '../../../support/event-scene.ts';

const { sql, callOf, readTold, createListening, openIn } = await openEvents();

let here: string;
beforeEach(async () => {
  here = await createListening();
});

const open = (rules?: Fields, eventId?: string) => openIn(here, rules, eventId);

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
  test.each<[string, change: (event: OpenEvent) => Promise<unknown>, count: number]>([
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

describe('the list', () => {
  const ADA = { attendeeId: 'ada', label: 'Ada', isBlocked: true };
  test.each<[string, change: (event: OpenEvent) => Promise<unknown>, changed: Fields | undefined]>([
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
      ({ come, undo }) => come('ada', { alreadyAdmitted: true }, -1).then(() => undo('ada')),
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

describe('the download says', () => {
  const FORCED = { attendeeId: 'ada', alreadyAdmitted: true };
  test.each<[string, prepare: (event: OpenEvent, another: OpenEvent) => Promise<unknown>, row: Fields]>([
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
