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
    const hasList = event.attendeeVersion > 0;
    const given = scans.map(({ attendeeId, scanId }, place) => ({ place, attendee_id: attendeeId, scan_id: scanId }));
    const rows = await run(selectKnown, { ...ids, given, hasList });
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

/** In the order of the scans. */
const selectKnown = statement('select_known_scans', KNOWN)`
  select
    (select json_build_object('outcome', outcome, 'reason', reason, 'attendeeId', attendee_id, 'checkIn',
        case when outcome = 'CHECKED_IN' then
          json_build_object('checkedInAt', received_at, 'occurredAt', occurred_at, 'gate', gate) else check_in end)
      from scans where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
        and scan_id = given.scan_id) as seen,
    case when came.attendee_id is not null then json_build_object(
      'checkedInAt', came.checked_in_at, 'occurredAt', came.occurred_at, 'gate', came.gate) end as check_in,
    case when listed.attendee_id is not null then json_build_object('isBlocked', listed.is_blocked) end as listed
  from json_to_recordset(${p.json('given')}) as given (place integer, attendee_id text, scan_id uuid)
  left join lateral ${selectOneAttendee(sql`check_ins`, sql`checked_in_at, occurred_at, gate`, given)} as came
    on came.attendee_id = given.attendee_id
  left join lateral ${selectOneAttendee(sql`attendees`, sql`is_blocked, is_deleted`, given, p.boolean('hasList'))} as listed
    on listed.attendee_id = given.attendee_id and not listed.is_deleted
  order by place`;

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

/** Returns what the results change: new check-ins, results for later, and the counts of the event. */
function toStored(event: LockedEvent, scans: readonly (Scan & KnownScan)[], results: readonly ScanResult[]) {
  let { attendeeVersion } = event;
  const admitted = new Map<string, object>();
  const decided = new Map<string, object>();
  for (const [at, { attendeeId, scanId, occurredAt, gate, seen, listed }] of scans.entries()) {
    const { outcome, reason, checkIn } = results[at] as ScanResult;
    if (seen || (scanId !== null && decided.has(scanId))) continue;
    if (outcome === 'CHECKED_IN') {
      const version = listed ? ++attendeeVersion : null;
      admitted.set(attendeeId, { attendee_id: attendeeId, occurred_at: occurredAt, gate, version });
    }
    if (scanId === null) continue;
    const fields = { scan_id: scanId, attendee_id: attendeeId, occurred_at: occurredAt, gate };
    // Of a scan that has checked somebody in, its own columns say the same.
    decided.set(scanId, { ...fields, outcome, reason, check_in: outcome === 'CHECKED_IN' ? null : checkIn });
  }
  const checkedIn = event.checkedIn === null ? null : event.checkedIn + admitted.size;
  return { admitted: [...admitted.values()], decided: [...decided.values()], attendeeVersion, checkedIn };
}

const storeScans = statement('store_scans', HAS_MESSAGES)`
  with admitted as (
    select * from json_to_recordset(${p.json('admitted')})
      as admitted (attendee_id text, occurred_at timestamptz, gate text, version bigint)
  ), created as (
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at, occurred_at, gate)
    select ${p.uuid('applicationId')}, ${p.text('eventId')}, attendee_id, ${p.instant('now')}, occurred_at, gate
    from admitted
    returning attendee_id, checked_in_at, occurred_at, gate
  ), decided as (
    insert into scans (application_id, event_id, scan_id, attendee_id, outcome, reason, gate, occurred_at, received_at, check_in)
    select ${p.uuid('applicationId')}, ${p.text('eventId')}, scan_id, attendee_id, outcome, reason, gate, occurred_at,
      ${p.instant('now')}, check_in
    from json_to_recordset(${p.json('decided')}) as decided (scan_id uuid, attendee_id text, outcome text, reason text,
      gate text, occurred_at timestamptz, check_in json)
  ), listed as (
    update attendees a set version = admitted.version, changed_at = ${p.instant('now')} from admitted
    where a.application_id = ${p.uuid('applicationId')} and a.event_id = ${p.text('eventId')}
      and a.attendee_id = admitted.attendee_id and admitted.version is not null
  ), counted as (${storeCounts}
  ), ${auditEvent({ resource: p.text('resource'), from: sql`(select 1 from created limit 1) as changed` })},
  ${messagesOf({ ...checkInMessage, part: sql`attendee_id` })}
  select ${notified}`;
