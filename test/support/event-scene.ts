/** Events of an application and what changes them, for tests of each condition. */
import { randomBytes, randomUUID } from 'node:crypto';
import { batchCheckIn } from '../../src/domain/events/batch-check-in.ts';
import { batchPutAttendees } from '../../src/domain/events/batch-put-attendees.ts';
import { checkIn } from '../../src/domain/events/check-in.ts';
import { createEvent } from '../../src/domain/events/create-event.ts';
import { deleteAttendees } from '../../src/domain/events/delete-attendees.ts';
import { deleteEvent } from '../../src/domain/events/delete-event.ts';
import { getEventCounts } from '../../src/domain/events/get-event-counts.ts';
import { listAttendees } from '../../src/domain/events/list-attendees.ts';
import { listCheckIns, listCheckInsToDownload } from '../../src/domain/events/list-check-ins.ts';
import { undoCheckIn } from '../../src/domain/events/undo-check-in.ts';
import { updateEvent } from '../../src/domain/events/update-event.ts';
import { PageTokens } from '../../src/domain/pages/list.ts';
import { at, openDomain, reason } from './domain-scene.ts';

export type Fields = Readonly<Record<string, unknown>>;
/** An event, and what changes and reads it. */
export type OpenEvent = Awaited<ReturnType<Awaited<ReturnType<typeof openEvents>>['openIn']>>;

export const textAt = (ms: number) => at(ms).toISOString();

/** Opens an empty database until the tests of the file have ended. */
export async function openEvents() {
  const { sql, insert, callAt, callOf, readTold, createApplication } = await openDomain();
  const tokens = new PageTokens([randomBytes(32)]);
  return {
    ...{ sql, callOf, readTold },
    /** Returns the ID of an application that has a webhook. */
    createListening: async () => {
      const application = await createApplication();
      await insert('webhooks', { application_id: application });
      return application;
    },
    /** Creates an event. */
    openIn: async (application: string, rules: Fields = {}, eventId: string = randomUUID()) => {
      const callNow = (ms = 0) => callOf(application, {}, callAt(at(ms)));
      await createEvent(callNow(), { eventId, ...rules });
      readTold();
      return {
        ...{ application, eventId },
        come: (attendeeId: string, fields: Fields = {}, ms = 0) =>
          reason(checkIn(callNow(ms), { eventId, attendeeId, ...fields })),
        scan: (scans: readonly Fields[], ms = 0) =>
          batchCheckIn(callNow(ms), { eventId, scans: scans.map((each) => ({ scanId: randomUUID(), ...each })) }),
        undo: (attendeeId: string) => reason(undoCheckIn(callNow(), { eventId, attendeeId })),
        put: (...attendees: Fields[]) => batchPutAttendees(callNow(), { eventId, attendees }),
        remove: (...attendeeIds: string[]) => deleteAttendees(callNow(), { eventId, attendeeIds }),
        update: (fields: Fields) => updateEvent(callNow(), { eventId, ...fields }),
        end: () => deleteEvent(callNow(), { eventId }),
        count: () => getEventCounts(callNow(), { eventId }),
        list: (fields: Fields = {}, ms = 0) => listAttendees(callNow(ms), tokens, { eventId, ...fields }),
        download: async () => (await listCheckInsToDownload(callNow(), tokens, { eventId })).rows,
        listCheckIns: async () => (await listCheckIns(callNow(), tokens, { eventId })).rows,
      };
    },
  };
}
