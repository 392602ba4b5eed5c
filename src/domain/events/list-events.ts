import { sql } from 'drizzle-orm';
import { events } from '../../database/schema/event-schema.ts';
import { p } from '../../database/sql/template.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { eventColumns } from './event.ts';

/** Returns a page of the application's events that are not deleted. */
export const listEvents = createList('select_events', {
  name: 'events',
  of: ofApplication,
  columns: eventColumns,
  order: [events.createdAt, events.id],
  where: sql`application_id = ${p.uuid('applicationId')} and deleted_at is null`,
});
