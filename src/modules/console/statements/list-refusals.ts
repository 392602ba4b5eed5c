import { sql } from 'drizzle-orm';
import { scans } from '../../../database/schema/event-schema.ts';
import { p } from '../../../database/sql/template.ts';
import { identifier } from '../../../domain/core/validation.ts';
import { createList, ofApplication } from '../../../domain/pages/list.ts';

const { scanId, attendeeId, outcome, reason, gate, occurredAt, receivedAt } = scans;

/**
 * Returns a page of an event's scans that were refused, or would have been if they did not say that the attendee is
 * inside. Only scans with an ID are kept.
 */
export const listRefusals = createList('select_refusals', {
  name: 'refusals',
  of: ofApplication,
  rules: { eventId: identifier },
  columns: { scanId, attendeeId, outcome, reason, gate, occurredAt, receivedAt },
  order: [receivedAt, scanId],
  where: sql`application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')} and reason is not null`,
});
