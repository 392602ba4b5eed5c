import { describe, expect, test } from 'vitest';
import { checkIn } from '../../../src/domain/events/check-in.ts';
import { deleteEvent } from '../../../src/domain/events/delete-event.ts';
import { waitForLockWaiters } from '../../support/lock.ts';
import { raceCheckInsWithDeletes } from '../../support/races.ts';
import { auditedRun, RecordingDatabase } from '../../support/recording-database.ts';
import { clientsOf, createTenant, startTestService, type TestService } from '../../support/service.ts';

test('no check-in commits after a delete has answered, on either of two replicas', () => raceCheckInsWithDeletes(12));

describe('a check-in and a delete of the same event', () => {
  test('the delete waits for a check-in that has not committed', async () => {
    await using service = await startTestService();
    const { sql } = service.database;
    const { events, call } = await createEvent(service);
    await using recording = new RecordingDatabase(service.database.url);
    await checkIn({ ...call, run: auditedRun(recording) }, { eventId: 'event', attendeeId: 'early' });

    let hasAnswered = false;
    let deletion: Promise<void> | undefined;
    await sql.begin(async (transaction) => {
      expect(await transaction.unsafe(...recording.lastStatement({ early: 'slow' }))).toHaveLength(1);
      deletion = events.deleteEvent({ eventId: 'event' }).then(() => {
        hasAnswered = true;
      });
      await waitForLockWaiters(service.database);
      expect(hasAnswered).toBe(false);
    });
    await deletion;
    expect(await sql`select attendee_id from check_ins order by attendee_id`).toEqual([
      { attendee_id: 'early' },
      { attendee_id: 'slow' },
    ]);
  });

  test('the check-in waits for a delete that has not committed, and is refused', async () => {
    await using service = await startTestService();
    const { sql } = service.database;
    const { events, call } = await createEvent(service);
    await using recording = new RecordingDatabase(service.database.url);
    await deleteEvent({ ...call, run: auditedRun(recording) }, { eventId: 'missing' }).catch(() => {});

    let outcome: Promise<string> | undefined;
    await sql.begin(async (transaction) => {
      expect(await transaction.unsafe(...recording.lastStatement({ missing: 'event' }))).toHaveLength(1);
      outcome = events.checkIn({ eventId: 'event', attendeeId: 'attendee' }).then(
        () => 'admitted',
        (error: Error) => error.message,
      );
      await waitForLockWaiters(service.database);
    });
    expect(await outcome).toBe('[not_found] Event not found');
    expect(await sql`select * from check_ins`).toEqual([]);
  });

  test('the check-in succeeds when the delete before it is rolled back', async () => {
    await using service = await startTestService();
    const { sql } = service.database;
    const { events } = await createEvent(service);

    let outcome: Promise<boolean> | undefined;
    const rolledBack = sql.begin(async (transaction) => {
      await transaction`update events set deleted_at = now()`;
      outcome = events.checkIn({ eventId: 'event', attendeeId: 'attendee' }).then((reply) => reply.alreadyCheckedIn);
      await waitForLockWaiters(service.database);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect(await outcome).toBe(false);
    expect(await sql`select attendee_id from check_ins`).toEqual([{ attendee_id: 'attendee' }]);
  });
});

async function createEvent(service: TestService) {
  const tenant = await createTenant(service);
  const { events } = clientsOf(service, tenant);
  await events.createEvent({ eventId: 'event' });
  const application = { id: tenant.id, name: tenant.name, clientId: tenant.clientId, redirectUris: [] };
  return { tenant, events, call: { application, now: new Date() } };
}
