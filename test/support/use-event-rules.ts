/** Every statement of events with rules, for tests that go over all statements. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { TransactionalCall } from '../../src/domain/core/call.ts';
import { batchCheckIn } from '../../src/domain/events/batch-check-in.ts';
import { batchPutAttendees } from '../../src/domain/events/batch-put-attendees.ts';
import { createEvent } from '../../src/domain/events/create-event.ts';
import { deleteAttendees } from '../../src/domain/events/delete-attendees.ts';
import { undoCheckIn } from '../../src/domain/events/undo-check-in.ts';
import { readEventVersion } from '../../src/domain/events/update-event.ts';
import { PageTokens } from '../../src/domain/pages/page-tokens.ts';
import { findAttendees, listRefusals, readDoorFigures } from '../../src/modules/console/statements/events.ts';

export async function useEventRules(call: TransactionalCall): Promise<void> {
  const [eventId, attendeeId] = [randomUUID(), 'ada'];
  await createEvent(call, { eventId, capacity: 10 });
  await batchPutAttendees(call, { eventId, attendees: [{ attendeeId }] });
  const scans = [{ scanId: randomUUID(), attendeeId }];
  // The second finds the results of the first.
  for (let upload = 1; upload <= 2; upload++) await batchCheckIn(call, { eventId, scans });
  await undoCheckIn(call, { eventId, attendeeId });
  await readDoorFigures(call, eventId);
  await findAttendees(call, eventId, attendeeId);
  await listRefusals(call, new PageTokens([randomBytes(32)]), { eventId });
  await deleteAttendees(call, { eventId, attendeeIds: [attendeeId] });
  await readEventVersion(call, { eventId });
}
