/** What events keep from each other, and from those of other applications. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Fields, type OpenEvent, openEvents, textAt } from '../../../support/event-scene.ts';

const { sql, createListening, openIn } = await openEvents();

let here: string;
beforeEach(async () => {
  here = await createListening();
});

const open = (rules?: Fields, eventId?: string) => openIn(here, rules, eventId);

describe('an event of one application does not show what one with its ID has elsewhere, or another event', () => {
  const scanId = randomUUID();
  const FORCED = { attendeeId: 'ada', alreadyAdmitted: true, scanId };
  const idsOf = (rows: readonly { attendeeId: string }[]) => rows.map(({ attendeeId }) => attendeeId);
  test.each<[string, read: (event: OpenEvent) => Promise<unknown>, result: unknown]>([
    ['in its counts', ({ count }) => count(), { listed: 1, checkedIn: 1, gates: [{ gate: '', checkedIn: 1 }] }],
    ['in its list', async ({ list }) => idsOf((await list()).rows), ['grace']],
    ['in its check-ins', async ({ listCheckIns }) => idsOf(await listCheckIns()), ['grace']],
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
    here = await createListening();
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

describe('another event with the same attendees keeps all it has', () => {
  const scanId = randomUUID();
  const changes: readonly [string, rules: Fields, change: (event: OpenEvent) => Promise<unknown>][] = [
    ['of a change of the list', {}, ({ put }) => put({ attendeeId: 'ada', label: 'New', isBlocked: true })],
    ['of a removal', {}, ({ remove }) => remove('ada', 'grace')],
    ['of an undo', {}, async ({ undo }) => expect(await undo('ada')).toBe('done')],
    ['of an undo at one with a capacity', { capacity: 3 }, async ({ undo }) => expect(await undo('ada')).toBe('done')],
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
    if (where === 'elsewhere') here = await createListening();
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

test('a scan is not taken for that of another event, or of the event of another application', async () => {
  const eventId = randomUUID();
  const sent = [{ attendeeId: 'ada', scanId: randomUUID() }];
  const events = [await open({}, eventId), await open()];
  here = await createListening();
  events.push(await open({}, eventId));
  for (const { come } of events.slice(1)) await come('ada');
  const outcomes = [];
  for (const { scan } of events) outcomes.push((await scan(sent))[0]?.outcome);
  expect(outcomes).toEqual(['CHECKED_IN', 'ALREADY_CHECKED_IN', 'ALREADY_CHECKED_IN']);
});
