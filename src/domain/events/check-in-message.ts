import { sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import { jsonObject, toIsoText } from '../outbox/insert-message.ts';

/** The first check-in of an attendee. */
export interface CheckIn {
  readonly attendeeId: string;
  readonly checkedInAt: Date;
  /** When the attendee came, by the clock of the scanner. */
  readonly occurredAt: Date | null;
  readonly gate: string | null;
}

/** The message about each row of the CTE `created`, which has columns of `check_ins`. Parameter: eventId. */
export const checkInMessage = {
  type: 'check_in.created',
  data: jsonObject({
    eventId: p.text('eventId'),
    attendeeId: sql`attendee_id`,
    checkedInAt: toIsoText(sql`checked_in_at`),
    occurredAt: toIsoText(sql`occurred_at`),
    gate: sql`gate`,
  }),
  from: sql`created`,
} as const;
