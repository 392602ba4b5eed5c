import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { EventService } from '../../gen/usher/v1/event_pb.ts';
import { checkIn } from '../core/events/check-in.ts';
import { createEvent } from '../core/events/create-event.ts';
import { deleteEvent } from '../core/events/delete-event.ts';
import { applicationCallOf } from './call.ts';

export function createEventHandlers(): ServiceImpl<typeof EventService> {
  return {
    async deleteEvent(request, context) {
      await deleteEvent(applicationCallOf(context), request);
      return {};
    },

    async createEvent(request, context) {
      const { eventId, name, createdAt } = await createEvent(applicationCallOf(context), request);
      return { event: { eventId, createdAt: timestampFromDate(createdAt), ...(name !== null && { name }) } };
    },

    async checkIn(request, context) {
      const { attendeeId, checkedInAt, alreadyCheckedIn } = await checkIn(applicationCallOf(context), request);
      return { checkIn: { attendeeId, checkedInAt: timestampFromDate(checkedInAt) }, alreadyCheckedIn };
    },
  };
}
