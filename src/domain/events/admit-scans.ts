import { sql } from 'drizzle-orm';
import { isUniqueViolation } from '../../database/sql/errors.ts';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { TransactionalCall } from '../core/call.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { checkInMessage } from './check-in-message.ts';
import { findKnownScans } from './find-known-scans.ts';
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
  const admit = (mayBeSeen: boolean) =>
    withLockedEvent(call, eventId, async (run, event, ids) => {
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
    stored.instants.push(occurredAt?.getTime() ?? null);
    stored.outcomes.push(outcome);
    stored.reasons.push(reason);
    // Of a scan that has checked somebody in, its own columns say the same.
    stored.earlier.push(isNew || !checkIn ? null : JSON.stringify(checkIn));
    stored.versions.push(isNew && listed ? ++stored.attendeeVersion : null);
  }
  const { reasons, earlier, versions } = stored;
  return { ...stored, reasons: dropNulls(reasons), earlier: dropNulls(earlier), versions: dropNulls(versions) };
}

/** Returns no values if all are null: `unnest` fills up with nulls what is shorter. */
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
