import { sql } from 'drizzle-orm';
import { attendees } from '../../database/event-schema.ts';
import { p } from '../../database/template.ts';
import { pathIdentifier, text } from '../core/validation.ts';

export const MAX_ATTENDEES = 100_000;
/** How many attendees one call changes. */
export const MAX_CHANGED_ATTENDEES = 500;
/** How long a deleted attendee stays, so that copies learn of it. */
export const DELETED_DAYS = 14;
/** How long the attendees of a deleted event stay. */
export const DELETED_EVENT_DAYS = 30;

const { attendeeId, label, isBlocked, isDeleted, version, changedAt } = attendees;
export const attendeeColumns = { attendeeId, label, isBlocked, isDeleted, version, changedAt };

/** When the attendee `a` was checked in. Not a join: a generic plan would read all check-ins of the event. */
export const selectCheckedInAt = sql`
  (select checked_in_at from check_ins
    where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
      and attendee_id = a.attendee_id) as checked_in_at`;

/** `label` is what a scanner shows, such as a name. */
export const attendeeRules = { attendeeId: pathIdentifier, label: text({ min: 0, max: 100 }) };
