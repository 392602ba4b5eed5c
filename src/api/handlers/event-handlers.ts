import type { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { batchCheckIn } from '../../domain/events/batch-check-in.ts';
import { batchPutAttendees } from '../../domain/events/batch-put-attendees.ts';
import { checkIn } from '../../domain/events/check-in.ts';
import { createEvent } from '../../domain/events/create-event.ts';
import { deleteAttendees } from '../../domain/events/delete-attendees.ts';
import { deleteEvent } from '../../domain/events/delete-event.ts';
import { getEvent } from '../../domain/events/get-event.ts';
import { getEventCounts } from '../../domain/events/get-event-counts.ts';
import { listAttendees } from '../../domain/events/list-attendees.ts';
import { listCheckIns } from '../../domain/events/list-check-ins.ts';
import { listEvents } from '../../domain/events/list-events.ts';
import type { ScanResult } from '../../domain/events/scan.ts';
import { undoCheckIn } from '../../domain/events/undo-check-in.ts';
import { updateEvent } from '../../domain/events/update-event.ts';
import type { PageTokens } from '../../domain/pages/list.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage, toPage } from './to-message.ts';

export function createEventHandlers(pageTokens: PageTokens): ApplicationHandlers<typeof EventService> {
  return {
    deleteEvent,
    createEvent: async (call, fields) => ({ event: toMessage(await createEvent(call, fields)) }),
    getEvent: async (call, fields) => ({ event: toMessage(await getEvent(call, fields)) }),
    listEvents: async (call, fields) => toPage('events', await listEvents(call, pageTokens, fields), toMessage),
    updateEvent: async (call, fields) => ({ event: toMessage(await updateEvent(call, fields)) }),
    async checkIn(call, fields) {
      const { alreadyCheckedIn, reason, ...made } = await checkIn(call, fields);
      return { checkIn: toMessage(made), alreadyCheckedIn, ...(reason && { reason }) };
    },
    batchCheckIn: async (call, fields) => ({ results: (await batchCheckIn(call, fields)).map(toScanResult) }),
    getEventCounts: async (call, fields) => {
      const { gates, ...counts } = await getEventCounts(call, fields);
      return { ...counts, gates: [...gates] };
    },
    batchPutAttendees,
    async listAttendees(call, fields) {
      const { cursor, ...page } = await listAttendees(call, pageTokens, fields);
      return { ...toPage('attendees', page, toMessage), cursor };
    },
    deleteAttendees,
    listCheckIns: async (call, fields) => toPage('checkIns', await listCheckIns(call, pageTokens, fields), toMessage),
    undoCheckIn,
  };
}

function toScanResult({ scanId, outcome, reason, checkIn }: ScanResult) {
  const result = { scanId: scanId ?? '', outcome, reason: reason ?? '' };
  return checkIn ? { ...result, checkIn: toMessage(checkIn) } : result;
}
