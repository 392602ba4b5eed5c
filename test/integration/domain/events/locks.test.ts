/** Which changes of an event wait for which others: with row locks alone, a stream of check-ins could starve a deletion. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { batchPutAttendees } from '../../../../src/domain/events/batch-put-attendees.ts';
import { checkIn } from '../../../../src/domain/events/check-in.ts';
import { createEvent } from '../../../../src/domain/events/create-event.ts';
import { deleteAttendees } from '../../../../src/domain/events/delete-attendees.ts';
import { deleteEvent } from '../../../../src/domain/events/delete-event.ts';
import { updateEvent } from '../../../../src/domain/events/update-event.ts';
import { LAYOUT } from '../../../support/database.ts';
import { openDomain } from '../../../support/domain-scene.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';

const { sql, callOf, clone, createApplication } = await openDomain();

type Change = (call: ReturnType<typeof callOf>, eventId: string) => Promise<unknown>;
const come: Change = (call, eventId) => checkIn(call, { eventId, attendeeId: 'ada' });

// On several servers, the lock is one of the server that has the event.
describe.runIf(LAYOUT === 'whole')('while', () => {
  test.each<[string, lock: 'lock' | 'lock_shared', change: Change, rules: object, waits: boolean]>([
    ['somebody checks in, a check-in goes on', 'lock_shared', come, {}, false],
    ['somebody changes the event, a check-in waits', 'lock', come, {}, true],
    ['somebody checks in, a check-in by rules waits', 'lock_shared', come, { capacity: 9 }, true],
    [
      'somebody checks in, a deletion waits',
      'lock_shared',
      (call, eventId) => deleteEvent(call, { eventId }),
      {},
      true,
    ],
    [
      'somebody checks in, an update waits',
      'lock_shared',
      (call, eventId) => updateEvent(call, { eventId, name: 'New' }),
      {},
      true,
    ],
  ])('%s', async (_, lock, change, rules, waits) => {
    const [application, eventId] = [await createApplication(), randomUUID()];
    await createEvent(callOf(application), { eventId, ...rules });
    const held = `select pg_advisory_xact_${lock}(hashtextextended('${application}' || '${eventId}', 0))`;
    await using holder = await holdLock(clone, held);
    const changed = change(callOf(application), eventId);
    if (waits) await waitForLockOf(clone, changed);
    else await changed;
    await holder.release();
    await changed;
  });
});

test('those who are removed get the next versions, whoever else has their IDs', async () => {
  const [here, eventId] = [await createApplication(), `m ${randomUUID()}`];
  const events = [
    [here, 'a'],
    [here, 'z'],
    [await createApplication(), eventId],
    [here, eventId],
  ] as const;
  const attendeeIds = ['ada', 'grace'];
  for (const [application, id] of events) {
    await createEvent(callOf(application), { eventId: id });
    const attendees = attendeeIds.map((attendeeId) => ({ attendeeId }));
    await batchPutAttendees(callOf(application), { eventId: id, attendees });
  }
  await deleteAttendees(callOf(here), { eventId, attendeeIds });
  const versions = await sql`select attendee_id, version::integer from attendees
    where application_id = ${here} and event_id = ${eventId} order by attendee_id`;
  expect(versions).toEqual([
    { attendee_id: 'ada', version: 3 },
    { attendee_id: 'grace', version: 4 },
  ]);
});
