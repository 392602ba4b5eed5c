import { and, isNull } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { events } from '../../database/schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageRules, readPage, selectPage } from '../pages/read-page.ts';
import { check, type Unchecked } from '../validation.ts';
import { type Event, eventColumns } from './event.ts';

/** Returns a page of the application's events that are not deleted. */
export async function listEvents(
  { application, run }: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof pageRules>,
): Promise<Page<Event>> {
  return readPage(
    pageTokens,
    ['events', application.id],
    check(request, pageRules),
    (page) => run(selectEvents, { applicationId: application.id, ...page }),
    ({ createdAt, eventId }) => ({ at: createdAt, id: eventId }),
  );
}

const order = [events.createdAt, events.id] as const;
const isListed = and(matches(events, 'applicationId'), isNull(events.deletedAt));

const selectEvents: Statement<Event[]> = (db) =>
  db
    .select(eventColumns)
    .from(selectPage(db, events, order, isListed))
    .orderBy(...newestFirst(...order))
    .prepare('select_events');
