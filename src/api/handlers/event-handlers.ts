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
import { toMessage, toPage } from './to-message.ts';

export function createEventHandlers(pageTokens: PageTokens): ApplicationHandlers<typeof EventService> {
  return {
    deleteEvent,
    createEvent: async (call, fields) => ({ event: toMessage(await createEvent(call, fields)) }),
    getEvent: async (call, fields) => ({ event: toMessage(await getEvent(call, fields)) }),
    listEvents: async (call, fields) => toPage('events', await listEvents(call, pageTokens, fields), toMessage),
    async checkIn(call, fields) {
      const { alreadyCheckedIn, ...made } = await checkIn(call, fields);
      return { checkIn: toMessage(made), alreadyCheckedIn };
    },
    listCheckIns: async (call, fields) => toPage('checkIns', await listCheckIns(call, pageTokens, fields), toMessage),
    undoCheckIn,
  };
}
