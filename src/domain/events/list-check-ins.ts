import { and, eq, isNull, sql } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { checkIns, events } from '../../database/schema.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageRules, readPage, selectPage } from '../pages/read-page.ts';
import { check, identifier, type Unchecked } from '../validation.ts';
import type { CheckIn } from './check-in.ts';

const rules = { eventId: identifier, ...pageRules };

type ListedCheckIn = Omit<CheckIn, 'alreadyCheckedIn'>;

/** Returns a page of an event's check-ins. @throws ServiceError `Event not found`, also for a deleted one */
export async function listCheckIns(
  { application, run }: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<ListedCheckIn>> {
  const { eventId, ...page } = check(request, rules);
  return readPage(
    pageTokens,
    ['check-ins', application.id, eventId],
    page,
    async (parameters) => {
      const rows = await run(selectCheckIns, { applicationId: application.id, eventId, ...parameters });
      if (rows.length === 0) throw new ServiceError('EVENT_NOT_FOUND');
      return rows.flatMap(({ checkIn }) => checkIn ?? []);
    },
    ({ checkedInAt, attendeeId }) => ({ at: checkedInAt, id: attendeeId }),
  );
}

const order = [checkIns.checkedInAt, checkIns.attendeeId] as const;
const isOfEvent = matches(checkIns, 'applicationId', 'eventId');

/** Returns one row without a check-in for an open event that has none, and no row if there is no open event. */
const selectCheckIns: Statement<{ checkIn: ListedCheckIn | null }[]> = (db) =>
  db
    .select({ checkIn: { attendeeId: checkIns.attendeeId, checkedInAt: checkIns.checkedInAt } })
    .from(events)
    .leftJoin(selectPage(db, checkIns, order, isOfEvent), sql`true`)
    .where(
      and(
        eq(events.applicationId, sql.placeholder('applicationId')),
        eq(events.id, sql.placeholder('eventId')),
        isNull(events.deletedAt),
      ),
    )
    .orderBy(...newestFirst(...order))
    .prepare('select_check_ins');
