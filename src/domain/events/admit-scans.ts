import { type SQL, sql } from 'drizzle-orm';
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
    const select = event.attendeeVersion > 0 ? selectKnownAndListed : selectKnown;
    const given = scans.map(({ attendeeId, scanId }, place) => ({ place, attendee_id: attendeeId, scan_id: scanId }));
    const rows = await run(select, { ...ids, given });
    const known = scans.map((scan, at) => ({ ...scan, ...toKnown(scan, rows[at]) }));
    const results = decideScans(event, known, now);
    const [stored] = await run(storeScans, { ...ids, resource, ...toStored(event, known, results) });
    return { results, stored };
  });
  if (stored) announce(onMessage, stored);
  return results;
}

const KNOWN = {
  seen: nullable(
    t.json<Omit<ScanResult, 'scanId' | 'checkIn'> & { attendeeId: string; checkIn: StoredCheckIn | null }>(),
  ),
  checkIn: nullable(t.json<StoredCheckIn>()),
  listed: nullable(t.json<{ isBlocked: boolean }>()),
};

const given = sql`given.attendee_id`;

/** In the order of the scans. JSON, since arrays of unknown length would be planned at each execution. */
const selectKnownWith = (listed: SQL, join = sql``) => sql`
  select
    (select json_build_object('outcome', outcome, 'reason', reason, 'attendeeId', attendee_id, 'checkIn',
        case when outcome = 'CHECKED_IN' then
          json_build_object('checkedInAt', received_at, 'occurredAt', occurred_at, 'gate', gate) else check_in end)
      from scans where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
        and scan_id = given.scan_id) as seen,
    case when came.attendee_id is not null then json_build_object(
      'checkedInAt', came.checked_in_at, 'occurredAt', came.occurred_at, 'gate', came.gate) end as check_in,
    ${listed} as listed
  from json_to_recordset(${p.json('given')}) as given (place integer, attendee_id text, scan_id uuid)
  left join lateral ${selectOneAttendee(sql`check_ins`, sql`checked_in_at, occurred_at, gate`, given)} as came on true
  ${join}
  order by place`;

/** Another statement than the next one: with the list as a condition, Postgres would plan each execution. */
const selectKnown = statement('select_known_scans', KNOWN)`${selectKnownWith(sql`null::json`)}`;
const selectKnownAndListed = statement('select_known_scans_of_list', KNOWN)`${selectKnownWith(
  sql`case when not listed.is_deleted then json_build_object('isBlocked', listed.is_blocked) end`,
  sql`left join lateral ${selectOneAttendee(sql`attendees`, sql`is_blocked, is_deleted`, given)} as listed on true`,
)}`;

function toKnown({ attendeeId }: Scan, row: RowOfType<typeof KNOWN> | undefined): KnownScan {
  const { seen, checkIn, listed } = row ?? {};
  return {
    seen: seen ? { ...seen, checkIn: seen.checkIn && toCheckIn(seen.attendeeId, seen.checkIn) } : undefined,
    checkIn: checkIn ? toCheckIn(attendeeId, checkIn) : undefined,
    listed: listed ?? undefined,
  };
}

function toCheckIn(attendeeId: string, { checkedInAt, occurredAt, gate }: StoredCheckIn): CheckIn {
  const scannedAt = occurredAt === null ? null : new Date(occurredAt);
  return { attendeeId, checkedInAt: new Date(checkedInAt), occurredAt: scannedAt, gate };
}

/** Returns what the results change: the columns of new results and check-ins, and the counts of the event. */
function toStored(event: LockedEvent, scans: readonly (Scan & KnownScan)[], results: readonly ScanResult[]) {
  let { attendeeVersion, checkedIn } = event;
  const decided: { scan: Scan; result: ScanResult; version: string | null }[] = [];
  const ids = new Set<string>();
  for (const [at, scan] of scans.entries()) {
    const { scanId, seen, listed } = scan;
    if (seen || (scanId !== null && ids.has(scanId))) continue;
    if (scanId !== null) ids.add(scanId);
    const result = results[at] as ScanResult;
    const isNew = result.outcome === 'CHECKED_IN';
    if (isNew && checkedIn !== null) checkedIn++;
    decided.push({ scan, result, version: isNew && listed ? String(++attendeeVersion) : null });
  }
  return {
    scanIds: decided.map(({ scan }) => scan.scanId),
    attendeeIds: decided.map(({ scan }) => scan.attendeeId),
    gates: decided.map(({ scan }) => scan.gate),
    instants: decided.map(({ scan }) => scan.occurredAt),
    outcomes: decided.map(({ result }) => result.outcome),
    reasons: decided.map(({ result }) => result.reason),
    // Of a scan that has checked somebody in, its own columns say the same.
    earlier: decided.map(({ result: { outcome, checkIn } }) =>
      outcome === 'CHECKED_IN' || !checkIn ? null : JSON.stringify(checkIn),
    ),
    versions: decided.map(({ version }) => version),
    attendeeVersion,
    checkedIn,
  };
}

/** With an array per column: JSON would cost Postgres more than the look-ups. */
const storeScans = statement('store_scans', HAS_MESSAGES)`
  with decided as (
    select * from unnest(${p.uuids('scanIds')}, ${p.texts('attendeeIds')}, ${p.texts('gates')}, ${p.instants('instants')},
        ${p.texts('outcomes')}, ${p.texts('reasons')}, ${p.texts('earlier')}, ${p.bigints('versions')})
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
    update attendees a set version = decided.version, changed_at = ${p.instant('now')} from decided
    where a.application_id = ${p.uuid('applicationId')} and a.event_id = ${p.text('eventId')}
      and a.attendee_id = decided.attendee_id and decided.version is not null
  ), counted as (${storeCounts}
  ), ${auditEvent({ resource: p.text('resource'), from: sql`(select 1 from created limit 1) as changed` })},
  ${messagesOf({ ...checkInMessage, part: sql`attendee_id` })}
  select ${notified}`;
