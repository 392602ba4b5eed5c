import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { checkIn } from '../../domain/events/check-in.ts';
import { createEvent } from '../../domain/events/create-event.ts';
import { deleteEvent } from '../../domain/events/delete-event.ts';
import { applicationCallOf } from '../call.ts';
import type { Handlers } from '../procedures.ts';

export function createEventHandlers(): Handlers<typeof EventService> {
  return {
    async deleteEvent(request, call) {
      await deleteEvent(applicationCallOf(call), request);
      return {};
    },

    async createEvent(request, call) {
      const { eventId, name, createdAt } = await createEvent(applicationCallOf(call), request);
      return { event: { eventId, createdAt: timestampFromDate(createdAt), ...(name !== null && { name }) } };
    },

    async checkIn(request, call) {
      const { attendeeId, checkedInAt, alreadyCheckedIn } = await checkIn(applicationCallOf(call), request);
      return { checkIn: { attendeeId, checkedInAt: timestampFromDate(checkedInAt) }, alreadyCheckedIn };
    },
  };
}
