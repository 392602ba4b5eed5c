import type { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { checkIn } from '../../domain/events/check-in.ts';
import { createEvent } from '../../domain/events/create-event.ts';
import { deleteEvent } from '../../domain/events/delete-event.ts';
import { getEvent } from '../../domain/events/get-event.ts';
import { listCheckIns } from '../../domain/events/list-check-ins.ts';
import { listEvents } from '../../domain/events/list-events.ts';
import { undoCheckIn } from '../../domain/events/undo-check-in.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createEventHandlers(pageTokens: PageTokens): ApplicationHandlers<typeof EventService> {
  return {
    async deleteEvent(fields, call) {
      await deleteEvent(call, fields);
      return {};
    },
    createEvent: async (fields, call) => ({ event: toMessage(await createEvent(call, fields)) }),
    getEvent: async (fields, call) => ({ event: toMessage(await getEvent(call, fields)) }),
    async listEvents(fields, call) {
      const { rows, nextPageToken } = await listEvents(call, pageTokens, fields);
      return { events: rows.map(toMessage), nextPageToken };
    },
    async checkIn(fields, call) {
      const { alreadyCheckedIn, ...made } = await checkIn(call, fields);
      return { checkIn: toMessage(made), alreadyCheckedIn };
    },
    async listCheckIns(fields, call) {
      const { rows, nextPageToken } = await listCheckIns(call, pageTokens, fields);
      return { checkIns: rows.map(toMessage), nextPageToken };
    },
    async undoCheckIn(fields, call) {
      await undoCheckIn(call, fields);
      return {};
    },
  };
}
