import { sql } from 'drizzle-orm';
import type { StoredCheckIn } from '../../database/event-schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { TransactionalCall } from '../core/call.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { selectOneAttendee } from './attendee.ts';
import { type CheckIn, checkInMessage } from './check-in-message.ts';
import { type LockedEvent, storeCounts, withLockedEvent } from './lock-event.ts';
import { decideScans, type KnownScan, type Scan, type ScanResult } from './scan.ts';

/**
 * Decides scans of an event by its rules, in their order, and stores what they change. Scans of the same event follow one
 * another, so exactly as many attendees are admitted as the event has places.
 *
 * @param resource how the audit log names what was changed
 * @throws ServiceError `Event not found`, also for a deleted one
 */
export async function admitScans(
  call: TransactionalCall,
  eventId: string,
  scans: readonly Scan[],
  resource: string,
): Promise<readonly ScanResult[]> {
  const { now, onMessage } = call;
  const { results, stored } = await withLockedEvent(call, eventId, async (run, event, ids) => {
    const attendeeIds = scans.map(({ attendeeId }) => attendeeId);
    const scanIds = scans.map(({ scanId }) => scanId);
    const known = toKnown(await run(selectKnown, { ...ids, attendeeIds, scanIds, hasList: event.attendeeVersion > 0 }));
    const results = decideScans(event, scans, known, now);
    const [stored] = await run(storeScans, { ...ids, resource, ...toStored(event, { scans, known, results }) });
    return { results, stored };
  });
  if (stored) announce(onMessage, stored);
  return results;
}

const KNOWN = {
  place: t.integer,
  attendeeId: t.text,
  seen: nullable(
    t.json<Omit<ScanResult, 'scanId' | 'checkIn'> & { attendeeId: string; checkIn: StoredCheckIn | null }>(),
  ),
  checkIn: nullable(t.json<StoredCheckIn>()),
  listed: nullable(t.json<{ isBlocked: boolean }>()),
};

const given = sql`given.attendee_id`;

/**
 * Selects what is known of each scan, and no row for a scan of which nothing is. Without a list, Postgres plans each
 * execution, because the look-ups in the list are left out. It must: a plan that it has kept since there were few
 * check-ins may read all of them for each scan. The arrays are in subqueries, so that their lengths decide nothing: see
 * `anyOf`.
 */
const selectKnown = statement('select_known_scans', KNOWN)`
  select * from (
    select place::integer, given.attendee_id,
      (select json_build_object('outcome', outcome, 'reason', reason, 'attendeeId', attendee_id, 'checkIn',
          case when outcome = 'CHECKED_IN' then
            json_build_object('checkedInAt', received_at, 'occurredAt', occurred_at, 'gate', gate) else check_in end)
        from scans where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
          and scan_id = given.scan_id) as seen,
      case when came.attendee_id is not null then json_build_object(
        'checkedInAt', came.checked_in_at, 'occurredAt', came.occurred_at, 'gate', came.gate) end as check_in,
      case when not listed.is_deleted then json_build_object('isBlocked', listed.is_blocked) end as listed
    from unnest((select ${p.texts('attendeeIds')}), (select ${p.uuids('scanIds')}))
      with ordinality as given (attendee_id, scan_id, place)
    left join lateral ${selectOneAttendee(sql`check_ins`, sql`checked_in_at, occurred_at, gate`, given)} as came on true
    left join lateral ${selectOneAttendee(sql`attendees`, sql`is_blocked, is_deleted`, given, p.boolean('hasList'))} as listed
      on true
    offset 0
  ) as known
  where seen is not null or check_in is not null or listed is not null`;

/** Returns what is known of the scans at these places. */
function toKnown(rows: readonly RowOfType<typeof KNOWN>[]): ReadonlyMap<number, KnownScan> {
  return new Map(
    rows.map(({ place, attendeeId, seen, checkIn, listed }) => [
      place - 1,
      {
        seen: seen ? { ...seen, checkIn: seen.checkIn && toCheckIn(seen.attendeeId, seen.checkIn) } : undefined,
        checkIn: checkIn ? toCheckIn(attendeeId, checkIn) : undefined,
        listed: listed ?? undefined,
      },
    ]),
  );
}

function toCheckIn(attendeeId: string, { checkedInAt, occurredAt, gate }: StoredCheckIn): CheckIn {
  const scannedAt = occurredAt === null ? null : new Date(occurredAt);
  return { attendeeId, checkedInAt: new Date(checkedInAt), occurredAt: scannedAt, gate };
}

interface Decided {
  readonly scans: readonly Scan[];
  readonly known: ReadonlyMap<number, KnownScan>;
  readonly results: readonly ScanResult[];
}

/** Returns what the results change: the columns of new check-ins and of results for later, and the counts of the event. */
function toStored({ attendeeVersion, checkedIn }: LockedEvent, { scans, known, results }: Decided) {
  const stored = {
    scanIds: [] as (string | null)[],
    attendeeIds: [] as string[],
    gates: [] as (string | null)[],
    instants: [] as (Date | null)[],
    outcomes: [] as string[],
    reasons: [] as (string | null)[],
    earlier: [] as (string | null)[],
    versions: [] as (number | null)[],
    attendeeVersion,
    checkedIn,
  };
  const ids = new Set<string>();
  for (const [at, { attendeeId, scanId, occurredAt, gate }] of scans.entries()) {
    const { seen, listed } = known.get(at) ?? {};
    if (seen || (scanId !== null && ids.has(scanId))) continue;
    if (scanId !== null) ids.add(scanId);
    const { outcome, reason, checkIn } = results[at] as ScanResult;
    const isNew = outcome === 'CHECKED_IN';
    if (isNew && stored.checkedIn !== null) stored.checkedIn++;
    stored.scanIds.push(scanId);
    stored.attendeeIds.push(attendeeId);
    stored.gates.push(gate);
    stored.instants.push(occurredAt);
    stored.outcomes.push(outcome);
    stored.reasons.push(reason);
    // Of a scan that has checked somebody in, its own columns say the same.
    stored.earlier.push(isNew || !checkIn ? null : JSON.stringify(checkIn));
    stored.versions.push(isNew && listed ? ++stored.attendeeVersion : null);
  }
  return stored;
}

/**
 * With an array per column: Postgres reads JSON at several times the cost. The list is changed by an insert, whose
 * conflict always uses the primary key: an update may read the whole list, as Postgres plans it without statistics.
 */
const storeScans = statement('store_scans', HAS_MESSAGES)`
  with decided as (
    select * from unnest((select ${p.uuids('scanIds')}), (select ${p.texts('attendeeIds')}), (select ${p.texts('gates')}),
        (select ${p.instants('instants')}), (select ${p.texts('outcomes')}), (select ${p.texts('reasons')}),
        (select ${p.texts('earlier')}), (select ${p.bigints('versions')}))
      as decided (scan_id, attendee_id, gate, occurred_at, outcome, reason, check_in, version)
  ), created as (
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at, occurred_at, gate)
    select ${p.uuid('applicationId')}, ${p.text('eventId')}, attendee_id, ${p.instant('now')}, occurred_at, gate
    from decided where outcome = 'CHECKED_IN'
    returning attendee_id, checked_in_at, occurred_at, gate
  ), kept as (
    insert into scans (application_id, event_id, scan_id, attendee_id, outcome, reason, gate, occurred_at, received_at, check_in)
    select ${p.uuid('applicationId')}, ${p.text('eventId')}, scan_id, attendee_id, outcome, reason, gate, occurred_at,
      ${p.instant('now')}, check_in::json
    from decided where scan_id is not null
  ), listed as (
    insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
    select ${p.uuid('applicationId')}, ${p.text('eventId')}, attendee_id, '', false, version, ${p.instant('now')}
    from decided where version is not null
    on conflict (application_id, event_id, attendee_id)
      do update set version = excluded.version, changed_at = excluded.changed_at
  ), counted as (${storeCounts}
  ), ${auditEvent({ resource: p.text('resource'), from: sql`(select 1 from created limit 1) as changed` })},
  ${messagesOf({ ...checkInMessage, part: sql`attendee_id` })}
  select ${notified}`;
