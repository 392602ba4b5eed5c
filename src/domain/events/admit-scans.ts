import { type SQL, sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { type StoredCheckIn, scans as scansTable } from '../../database/schema/event-schema.ts';
import { isUniqueViolation } from '../../database/sql/errors.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { TransactionalCall } from '../core/call.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { selectOneAttendee } from './attendee.ts';
import { type EventIds, type LockedEvent, storeCounts, withLockedEvent } from './lock-event.ts';
import {
  type CheckIn,
  checkInMessage,
  decideScans,
  type KnownScan,
  type RefusalReason,
  type Scan,
  type ScanResult,
  UNKNOWN,
} from './scan.ts';

/** What the database knows of scans and their attendees, before they are decided. */
interface LookUp {
  /** Whether the event has ever had a list. */
  readonly hasList: boolean;
  /** Whether scans may have results although their attendees are not checked in. */
  readonly mayBeSeen: boolean;
}

/**
 * Returns what is known of the scans at these places. Most scans are new, and a look-up costs as much as an insert. So
 * without `mayBeSeen`, earlier results are looked up only where the attendee is checked in.
 */
async function findKnownScans(
  run: Run,
  ids: EventIds,
  scans: readonly Scan[],
  { hasList, mayBeSeen }: LookUp,
): Promise<ReadonlyMap<number, KnownScan>> {
  const attendeeIds = scans.map(({ attendeeId }) => attendeeId);
  // Equivalent: choice: without a list there is nobody to find there, only the look-up costs
  const rows = await run(hasList ? selectKnownOrListed : selectKnown, { ...ids, attendeeIds });
  const known = new Map<number, KnownScan>();
  for (const { place, attendeeId, checkIn, listed } of rows) {
    const came = checkIn ? toCheckIn(attendeeId, checkIn) : undefined;
    known.set(place - 1, { seen: undefined, checkIn: came, listed: listed ?? undefined });
  }
  const scanIds = scans.flatMap(({ scanId }, at) =>
    // Equivalent: choice, condition: more is looked up than is needed, or all once the unique index asks for it
    scanId !== null && (mayBeSeen || known.get(at)?.checkIn) ? [scanId] : [],
  );
  // Equivalent: guard: the statement would find nothing
  if (scanIds.length === 0) return known;
  const earlier = await run(selectSeen, { ...ids, scanIds });
  const seen = new Map<string | null, (typeof earlier)[number]>(earlier.map((row) => [row.scanId, row]));
  for (const [at, { scanId }] of scans.entries()) {
    const row = seen.get(scanId);
    if (!row) continue;
    const { outcome, reason, attendeeId, checkIn } = row;
    const first = { attendeeId, outcome, reason, checkIn: checkIn && toCheckIn(attendeeId, checkIn) };
    known.set(at, { ...UNKNOWN, ...known.get(at), seen: first });
  }
  return known;
}

function toCheckIn(attendeeId: string, { checkedInAt, occurredAt, gate }: StoredCheckIn): CheckIn {
  const scannedAt = occurredAt === null ? null : new Date(occurredAt);
  return { attendeeId, checkedInAt: new Date(checkedInAt), occurredAt: scannedAt, gate };
}

const KNOWN = {
  place: t.integer,
  attendeeId: t.text,
  checkIn: nullable(t.json<StoredCheckIn>()),
  listed: nullable(t.json<{ isBlocked: boolean }>()),
};

const given = sql`given.attendee_id`;

/**
 * Returns the statement that selects what is known of each attendee, and no row where nothing is. The array is in a
 * subquery, so that its length decides nothing: see `anyOf`.
 */
const selectKnownWith = (name: string, listed: SQL) => statement(name, KNOWN)`
  select * from (
    select place::integer, given.attendee_id,
      case when came.attendee_id is not null then json_build_object(
        'checkedInAt', came.checked_in_at, 'occurredAt', came.occurred_at, 'gate', came.gate) end as check_in,
      case when not listed.is_deleted then json_build_object('isBlocked', listed.is_blocked) end as listed
    from unnest((select ${p.texts('attendeeIds')})) with ordinality as given (attendee_id, place)
    left join lateral ${selectOneAttendee(sql`check_ins`, sql`checked_in_at, occurred_at, gate`, given)} as came on true
    left join lateral ${listed} as listed on true
    offset 0
  ) as known
  where check_in is not null or listed is not null`;

const selectKnown = selectKnownWith('select_known_scans', sql`(select false as is_blocked, true as is_deleted)`);
const selectKnownOrListed = selectKnownWith(
  'select_known_or_listed_scans',
  selectOneAttendee(sql`attendees`, sql`is_blocked, is_deleted`, given),
);

const { scanId, attendeeId, outcome } = scansTable;
const SEEN = {
  scanId,
  attendeeId,
  outcome,
  reason: nullable(t.textOf<RefusalReason>()),
  checkIn: nullable(t.json<StoredCheckIn>()),
};

/** Selects earlier results. What a scan has checked in is in its own columns. */
const selectSeen = statement('select_seen_scans', SEEN)`
  select given.scan_id, seen.*
  from unnest((select ${p.uuids('scanIds')})) as given (scan_id), lateral (
    select attendee_id, outcome, reason,
      case when outcome = 'CHECKED_IN' then
        json_build_object('checkedInAt', received_at, 'occurredAt', occurred_at, 'gate', gate) else check_in end as check_in
    from scans
    where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')} and scan_id = given.scan_id
    offset 0
  ) as seen`;

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
  const admit = (mayBeSeen: boolean) =>
    withLockedEvent(call, eventId, async (run, event, ids) => {
      // Equivalent: comparison: without a list there is nobody to find
      const known = await findKnownScans(run, ids, scans, { hasList: event.attendeeVersion > 0, mayBeSeen });
      const results = decideScans(event, scans, known, call.now);
      const [stored] = await run(storeScans, { ...ids, resource, ...toStored(event, { scans, known, results }) });
      return { results, stored };
    });
  const { results, stored } = await admit(false).catch((error) => {
    // A scan was seen although its attendee is not checked in: it was refused, or its check-in undone.
    if (isUniqueViolation(error)) return admit(true);
    throw error;
  });
  if (stored) announce(call.onMessage, stored);
  return results;
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
    instants: [] as (number | null)[],
    outcomes: [] as string[],
    reasons: [] as (string | null)[],
    earlier: [] as (string | null)[],
    versions: [] as (number | null)[],
    attendeeVersion,
    checkedIn,
  };
  const ids = new Set<string | null>();
  for (const [at, { attendeeId, scanId, occurredAt, gate }] of scans.entries()) {
    const { seen, listed } = known.get(at) ?? {};
    if (seen || ids.has(scanId)) continue;
    if (scanId !== null) ids.add(scanId);
    const { outcome, reason, checkIn } = results[at] as ScanResult;
    const isNew = outcome === 'CHECKED_IN';
    if (isNew && stored.checkedIn !== null) stored.checkedIn++;
    stored.scanIds.push(scanId);
    stored.attendeeIds.push(attendeeId);
    stored.gates.push(gate);
    stored.instants.push(occurredAt?.getTime() ?? null);
    stored.outcomes.push(outcome);
    stored.reasons.push(reason);
    // Equivalent: choice, condition: of a scan that has checked somebody in, its own columns say the same
    stored.earlier.push(isNew || !checkIn ? null : JSON.stringify(checkIn));
    stored.versions.push(isNew && listed ? ++stored.attendeeVersion : null);
  }
  const { reasons, earlier, versions } = stored;
  return { ...stored, reasons: dropNulls(reasons), earlier: dropNulls(earlier), versions: dropNulls(versions) };
}

/** Returns no values if all are null. */
// Equivalent: choice: `unnest` fills up with nulls what is shorter
const dropNulls = <Value>(values: readonly Value[]) => (values.every((value) => value === null) ? [] : values);

/**
 * With an array per column: Postgres reads JSON at several times the cost. The list is changed by an insert, whose
 * conflict always uses the primary key: an update may read the whole list, as Postgres plans it without statistics.
 */
const storeScans = statement('store_scans', HAS_MESSAGES)`
  with decided as (
    select decided.*, to_timestamp(milliseconds::float8 / 1000) as occurred_at
    from unnest((select ${p.uuids('scanIds')}), (select ${p.texts('attendeeIds')}), (select ${p.texts('gates')}),
        (select ${p.bigints('instants')}), (select ${p.texts('outcomes')}), (select ${p.texts('reasons')}),
        (select ${p.texts('earlier')}), (select ${p.bigints('versions')}))
      as decided (scan_id, attendee_id, gate, milliseconds, outcome, reason, check_in, version)
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
