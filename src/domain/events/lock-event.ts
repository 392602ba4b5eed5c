import { type SQL, sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { events } from '../../database/schema/event-schema.ts';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { TransactionalCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { eventLock, isOpenEvent } from './event.ts';

const { startsAt, endsAt, capacity, admission, checkedIn, attendeeVersion } = events;
const RULES = { startsAt, endsAt, capacity, admission, checkedIn, attendeeVersion };

/** An event whose rules, attendees and check-ins nobody else changes now. */
export interface LockedEvent {
  readonly startsAt: Date | null;
  readonly endsAt: Date | null;
  readonly capacity: number | null;
  readonly isListed: boolean;
  /** How many attendees are checked in. Null for an event without a capacity: nobody counts them. */
  readonly checkedIn: number | null;
  readonly attendeeVersion: number;
}

/** The parameters of the statements of `work`. */
export interface EventIds {
  readonly applicationId: string;
  readonly eventId: string;
  readonly now: Date;
}

/**
 * Runs `work` in a transaction in which nobody else checks in, and nobody changes the event or its attendees. Its
 * statements begin after the lock is granted, so they see all that was committed before.
 *
 * @throws ServiceError `Event not found`, also for a deleted one
 */
export function withLockedEvent<Result>(
  { application, now, transact }: Pick<TransactionalCall, 'application' | 'now' | 'transact'>,
  eventId: string,
  work: (run: Run, event: LockedEvent, ids: EventIds) => Promise<Result>,
): Promise<Result> {
  const ids = { applicationId: application.id, eventId, now };
  return transact(async (run) => {
    const [found] = await run(lockEvent, ids);
    if (!found) throw new ServiceError('EVENT_NOT_FOUND');
    const { admission, ...event } = found;
    const isUncounted = event.capacity !== null && event.checkedIn === null;
    const [counted] = isUncounted ? await run(countCheckIns, ids) : [];
    return work(run, { ...event, isListed: admission === 'LISTED', ...counted }, ids);
  }, lockNameOf(ids));
}

/** Returns the name of an event's lock within a process. Transactions that wait for it take one connection together. */
export const lockNameOf = ({ applicationId, eventId }: Omit<EventIds, 'now'>) => `event ${applicationId} ${eventId}`;

const lockEvent = statement('lock_event', RULES)`
  select ${columnsOf(RULES)} from events where ${isOpenEvent} and ${eventLock.exclusive} for no key update`;

/** An update that gives the event a capacity cannot count them: it does not see what was committed while it waited. */
const countCheckIns = statement('count_all_check_ins', { checkedIn: t.integer })`
  select count(*)::integer as checked_in from check_ins
  where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}`;

/** The SQL that stores what has changed of a locked event. Parameters: checkedIn, attendeeVersion. */
export const storeCounts = sql`
  update events set checked_in = ${p.integer('checkedIn')}, attendee_version = ${p.bigint('attendeeVersion')}
  where application_id = ${p.uuid('applicationId')} and id = ${p.text('eventId')}
    and (checked_in, attendee_version) is distinct from (${p.integer('checkedIn')}, ${p.bigint('attendeeVersion')})`;

/**
 * Returns CTEs, and the statement after them, that store the newest version among the rows of the CTE `changed` as that
 * of the locked event, and write the audit event. Without a row nothing is stored.
 */
export const storeNewestVersion = (changed: SQL) => sql`
  newest as (
    select max(version) as version from ${changed} having count(*) > 0
  ), counted as (
    update events e set attendee_version = newest.version from newest
    where e.application_id = ${p.uuid('applicationId')} and e.id = ${p.text('eventId')}
  ), ${auditEvent({ resource: p.text('eventId'), from: sql`newest` })}
  select from newest`;
