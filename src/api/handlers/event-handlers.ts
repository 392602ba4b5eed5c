import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { checkIn } from '../../domain/events/check-in.ts';
import { createEvent } from '../../domain/events/create-event.ts';
import { deleteEvent } from '../../domain/events/delete-event.ts';
import type { ApplicationHandlers } from '../procedures.ts';

export function createEventHandlers(): ApplicationHandlers<typeof EventService> {
  return {
    async deleteEvent(fields, call) {
      await deleteEvent(call, fields);
      return {};
    },

    async createEvent(fields, call) {
      const { eventId, name, createdAt } = await createEvent(call, fields);
      return { event: { eventId, createdAt: timestampFromDate(createdAt), ...(name !== null && { name }) } };
    },

    async checkIn(fields, call) {
      const { attendeeId, checkedInAt, alreadyCheckedIn } = await checkIn(call, fields);
      return { checkIn: { attendeeId, checkedInAt: timestampFromDate(checkedInAt) }, alreadyCheckedIn };
    },
  };
}
