/** Check-ins beside changes that have not committed. Many at a time, on two replicas: test/robustness/races.test.ts. */
import { afterAll, expect, test } from 'vitest';
import type { Transactional } from '../../../src/domain/core/call.ts';
import { checkIn } from '../../../src/domain/events/check-in.ts';
import { deleteEvent } from '../../../src/domain/events/delete-event.ts';
import { undoCheckIn } from '../../../src/domain/events/undo-check-in.ts';
import { waitForLockOf } from '../../support/lock.ts';
import { auditedRun, RecordingDatabase } from '../../support/recording-database.ts';
import { clientsOf, createTenant, startTestService } from '../../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
const recording = new RecordingDatabase(service.database.url);

afterAll(async () => {
  await recording[Symbol.asyncDispose]();
  await service.close();
});

test('a delete waits for a check-in that has not committed', async () => {
  const { events, call, attendees } = await createEvent();
  await checkIn(call, { eventId: 'event', attendeeId: 'early' });

  let hasAnswered = false;
  let deletion: Promise<void> | undefined;
  await sql.begin(async (transaction) => {
    expect(await transaction.unsafe(...recording.lastStatement({ early: 'slow' }))).toHaveLength(1);
    deletion = events.deleteEvent({ eventId: 'event' }).then(() => {
      hasAnswered = true;
    });
    await waitForLockOf(service.database, deletion);
    expect(hasAnswered).toBe(false);
  });
  await deletion;
  expect(await attendees()).toEqual(['early', 'slow']);
});

test('a check-in waits for a delete that has not committed, and is refused', async () => {
  const { events, call, attendees } = await createEvent();
  await deleteEvent(call, { eventId: 'missing' }).catch(() => {});

  let outcome: Promise<string> | undefined;
  await sql.begin(async (transaction) => {
    expect(await transaction.unsafe(...recording.lastStatement({ missing: 'event' }))).toHaveLength(1);
    outcome = events.checkIn({ eventId: 'event', attendeeId: 'ada' }).then(
      () => 'admitted',
      (error: Error) => error.message,
    );
    await waitForLockOf(service.database, outcome);
  });
  expect(await outcome).toBe('[not_found] Event not found');
  expect(await attendees()).toEqual([]);
});

test('a check-in succeeds when the delete before it is rolled back', async () => {
  const { tenant, events, attendees } = await createEvent();

  let outcome: Promise<boolean> | undefined;
  const rolledBack = sql.begin(async (transaction) => {
    await transaction`update events set deleted_at = now() where application_id = ${tenant.id}`;
    outcome = events.checkIn({ eventId: 'event', attendeeId: 'ada' }).then((reply) => reply.alreadyCheckedIn);
    await waitForLockOf(service.database, outcome);
    throw new Error('rolled back');
  });
  await expect(rolledBack).rejects.toThrow('rolled back');
  expect(await outcome).toBe(false);
  expect(await attendees()).toEqual(['ada']);
});

test('an undo waits for a repeated check-in that has not committed, and a check-in for an undo', async () => {
  const ada = { eventId: 'event', attendeeId: 'ada' };
  const { events, call, attendees } = await createEvent();
  await events.checkIn(ada);

  await checkIn(call, ada);
  let undo: Promise<unknown> | undefined;
  await sql.begin(async (transaction) => {
    await transaction.unsafe(...recording.lastStatement({}));
    undo = events.undoCheckIn(ada);
    await waitForLockOf(service.database, undo);
  });
  await undo;
  expect(await attendees()).toEqual([]);

  await events.checkIn(ada);
  await undoCheckIn(call, ada);
  await events.checkIn(ada);
  let again: ReturnType<typeof events.checkIn> | undefined;
  await sql.begin(async (transaction) => {
    await transaction.unsafe(...recording.lastStatement({}));
    again = events.checkIn(ada);
    await waitForLockOf(service.database, again);
  });
  expect((await again)?.alreadyCheckedIn).toBe(false);
  expect(await attendees()).toEqual(['ada']);
});

/** Creates the event of a new application, and what makes changes of it whose statements a test can repeat. */
async function createEvent() {
  const tenant = await createTenant(service);
  const { events } = clientsOf(service, tenant);
  await events.createEvent({ eventId: 'event' });
  const run = auditedRun(recording);
  const transact: Transactional['transact'] = (work) => work(run);
  const call = { application: { ...tenant, redirectUris: [] }, run, transact, now: new Date() };
  const attendees = async () => {
    const rows = await sql`
      select attendee_id from check_ins where application_id = ${tenant.id} order by attendee_id`;
    return rows.map(({ attendee_id }) => attendee_id);
  };
  return { tenant, events, call, attendees };
}
