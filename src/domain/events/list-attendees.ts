import { type SQL, sql } from 'drizzle-orm';
import { checkIns, events } from '../../database/schema/event-schema.ts';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { columnsOf, p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { invalidField, ServiceError } from '../core/errors.ts';
import { check, identifier, optional, type Unchecked } from '../core/validation.ts';
import { cursorRule, DEFAULT_PAGE_SIZE, type PageScope, type PageTokens, pageRules } from '../pages/list.ts';
import { attendeeColumns, DELETED_DAYS, selectCheckedInAt } from './attendee.ts';
import { isOpenEvent } from './event.ts';

const rules = {
  eventId: identifier,
  ...pageRules,
  cursor: optional(cursorRule),
};

const ROW = { ...attendeeColumns, checkedInAt: checkIns.checkedInAt, eventVersion: events.attendeeVersion };

interface AttendeePage {
  readonly rows: readonly RowOfType<typeof ROW>[];
  /** Empty on the last page, and among changes. */
  readonly nextPageToken: string;
  /** For the changes since the first page, or since these changes. */
  readonly cursor: string;
}

/**
 * Returns a page of the listed attendees, the last changed first, or the changes since a cursor, oldest first, with the
 * deleted attendees. Every page has the cursor of the first one, so whoever reads all pages and then the changes has
 * missed nothing.
 *
 * @throws ServiceError `Event not found`, also for a deleted one; `Cursor expired`
 */
export async function listAttendees(
  call: ApplicationCall,
  tokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<AttendeePage> {
  const { eventId, pageSize, pageToken, cursor } = check(request, rules);
  if (pageToken && cursor) throw invalidField('cursor', 'must be empty with a pageToken');
  const ids = { applicationId: call.application.id, eventId };
  const pages: PageScope = ['attendees', ...Object.values(ids)];
  const changes: PageScope = ['attendee changes', ...Object.values(ids)];
  const size = pageSize ?? DEFAULT_PAGE_SIZE;
  const from = cursor ? tokens.open(cursor, changes, 'cursor') : pageToken ? tokens.open(pageToken, pages) : undefined;
  if (from && from.at.getTime() < call.now.getTime() - DELETED_DAYS * DAY_MS) throw new ServiceError('CURSOR_EXPIRED');
  const seal = (scope: PageScope, id: string) => tokens.seal({ at: call.now, id }, scope);
  const found = await call.run(cursor ? selectChanges : selectPage, {
    ...ids,
    from: (cursor ? from?.id : from?.id.split(' ')[1]) ?? NEWEST,
    limit: size + 1,
  });
  if (!found[0]) throw new ServiceError('EVENT_NOT_FOUND');
  const rows = found.filter(({ attendeeId }) => attendeeId !== null).slice(0, size);
  const last = rows.at(-1)?.version;
  // Equivalent: condition: a cursor says from where
  if (from && cursor) return { rows, nextPageToken: '', cursor: seal(changes, String(last ?? from.id)) };
  const first = from?.id.split(' ')[0] ?? String(found[0].eventVersion);
  const nextPageToken = found.length > size ? seal(pages, `${first} ${last}`) : '';
  return { rows, nextPageToken, cursor: seal(changes, first) };
}

/** Greater than any version. */
const NEWEST = String(Number.MAX_SAFE_INTEGER);

/** Returns a statement for rows of attendees in a range of versions; one row without an attendee if there are none. */
const selectRange = (name: string, range: SQL, order: SQL) => statement(name, ROW)`
  select ${columnsOf(attendeeColumns, 'a')}, event.version as event_version, ${selectCheckedInAt}
  from (select attendee_version as version from events where ${isOpenEvent}) as event
  left join lateral (
    select ${columnsOf(attendeeColumns)} from attendees
    where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')} and ${range}
    -- Equivalent: limit: further rows are left out
    order by version ${order} limit ${p.integer('limit')}) as a on true
  order by a.version ${order}`;

const selectPage = selectRange('select_attendees', sql`version < ${p.bigint('from')} and not is_deleted`, sql`desc`);
const selectChanges = selectRange('select_attendee_changes', sql`version > ${p.bigint('from')}`, sql`asc`);
