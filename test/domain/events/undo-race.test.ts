import { expect, test } from 'vitest';
import { checkIn } from '../../../src/domain/events/check-in.ts';
import { undoCheckIn } from '../../../src/domain/events/undo-check-in.ts';
import { waitForLockWaiters } from '../../support/lock.ts';
import { raceCheckInsWithUndos } from '../../support/races.ts';
import { auditedRun, RecordingDatabase } from '../../support/recording-database.ts';
import { clientsOf, createTenant, startTestService } from '../../support/service.ts';

const ADA = { eventId: 'event', attendeeId: 'ada' };

test('check-ins and undos that race on two replicas add up to what is left', () => raceCheckInsWithUndos(20));

test('an undo waits for a repeated check-in that has not committed, and a check-in for an undo', async () => {
  await using service = await startTestService();
  const { sql } = service.database;
  const tenant = await createTenant(service);
  const { events } = clientsOf(service, tenant);
  await events.createEvent({ eventId: 'event' });
  await events.checkIn(ADA);
  await using recording = new RecordingDatabase(service.database.url);
  const call = { application: { ...tenant, redirectUris: [] }, run: auditedRun(recording), now: new Date() };

  await checkIn(call, ADA);
  let undo: Promise<unknown> | undefined;
  await sql.begin(async (transaction) => {
    await transaction.unsafe(...recording.lastStatement({}));
    undo = events.undoCheckIn(ADA);
    await waitForLockWaiters(service.database);
  });
  await undo;
  expect(await sql`select from check_ins`).toHaveLength(0);

  await events.checkIn(ADA);
  await undoCheckIn(call, ADA);
  await events.checkIn(ADA);
  let again: ReturnType<typeof events.checkIn> | undefined;
  await sql.begin(async (transaction) => {
    await transaction.unsafe(...recording.lastStatement({}));
    again = events.checkIn(ADA);
    await waitForLockWaiters(service.database);
  });
  expect((await again)?.alreadyCheckedIn).toBe(false);
  expect(await sql`select from check_ins`).toHaveLength(1);
});
