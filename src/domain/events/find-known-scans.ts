/** What the database knows of scans and their attendees, before they are decided. */
import { type SQL, sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { type StoredCheckIn, scans as scansTable } from '../../database/schema/event-schema.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import { selectOneAttendee } from './attendee.ts';
import type { CheckIn } from './check-in-message.ts';
import type { EventIds } from './lock-event.ts';
import { type KnownScan, type RefusalReason, type Scan, UNKNOWN } from './scan.ts';

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
export async function findKnownScans(
  run: Run,
  ids: EventIds,
  scans: readonly Scan[],
  { hasList, mayBeSeen }: LookUp,
): Promise<ReadonlyMap<number, KnownScan>> {
  const attendeeIds = scans.map(({ attendeeId }) => attendeeId);
  const rows = await run(hasList ? selectKnownOrListed : selectKnown, { ...ids, attendeeIds });
  const known = new Map<number, KnownScan>();
  for (const { place, attendeeId, checkIn, listed } of rows) {
    const came = checkIn ? toCheckIn(attendeeId, checkIn) : undefined;
    known.set(place - 1, { seen: undefined, checkIn: came, listed: listed ?? undefined });
  }
  const scanIds = scans.flatMap(({ scanId }, at) =>
    scanId !== null && (mayBeSeen || known.get(at)?.checkIn) ? [scanId] : [],
  );
  if (scanIds.length === 0) return known;
  const seen = new Map((await run(selectSeen, { ...ids, scanIds })).map((row) => [row.scanId, row]));
  for (const [at, { scanId }] of scans.entries()) {
    const row = scanId !== null && seen.get(scanId);
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
