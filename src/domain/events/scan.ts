/** What a scan at the door of an event comes to. */

import { sql } from 'drizzle-orm';
import type { ScanOutcome } from '../../database/schema/event-schema.ts';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { p } from '../../database/sql/template.ts';
import type { ErrorReason } from '../core/errors.ts';
import { boolean, optional, orDefault, pathIdentifier, text, timestamp, uuid } from '../core/validation.ts';
import { jsonObject, toIsoText } from '../outbox/insert-message.ts';
import type { LockedEvent } from './lock-event.ts';

const MAX_GATE_LENGTH = 64;

/** How old a scan may be, and how far the clock of a device may be fast. */
const MAX_AGE_MS = 7 * DAY_MS;
const MAX_FAST_MS = 5 * 60_000;

const gate = text({ min: 0, max: MAX_GATE_LENGTH });

export const scanRules = {
  attendeeId: pathIdentifier,
  scanId: optional(uuid),
  occurredAt: optional(timestamp),
  gate: optional(gate),
  alreadyAdmitted: orDefault(boolean, false),
};

export interface Scan {
  readonly attendeeId: string;
  readonly scanId: string | null;
  readonly occurredAt: Date | null;
  readonly gate: string | null;
  readonly alreadyAdmitted: boolean;
}

export type RefusalReason = Extract<
  ErrorReason,
  | 'ATTENDEE_BLOCKED'
  | 'ATTENDEE_NOT_LISTED'
  | 'EVENT_ENDED'
  | 'EVENT_FULL'
  | 'EVENT_NOT_STARTED'
  | 'SCAN_ID_REUSED'
  | 'SCAN_TIME_OUT_OF_RANGE'
>;

export interface ScanResult {
  readonly scanId: string | null;
  readonly outcome: ScanOutcome;
  /** Why the scan was refused, or would have been if it did not say that the attendee is inside. */
  readonly reason: RefusalReason | null;
  readonly checkIn: CheckIn | null;
}

/** What the database knows of a scan and its attendee. */
export interface KnownScan {
  /** The result of an earlier scan with the same ID, and its attendee. */
  readonly seen: (Omit<ScanResult, 'scanId'> & Pick<Scan, 'attendeeId'>) | undefined;
  readonly checkIn: CheckIn | undefined;
  /** Undefined for an attendee who is not listed. */
  readonly listed: { readonly isBlocked: boolean } | undefined;
}

export const UNKNOWN: KnownScan = { seen: undefined, checkIn: undefined, listed: undefined };

/**
 * Decides scans in their order. A scan that was seen gets its first result, and an attendee who is checked in gets that
 * check-in, before any rule: what a door has let in, no rule can undo. A scan with the ID of another attendee's scan is
 * refused: the result of that one would let in somebody who is not recorded.
 */
export function decideScans(
  event: LockedEvent,
  scans: readonly Scan[],
  known: ReadonlyMap<number, KnownScan>,
  now: Date,
): readonly ScanResult[] {
  const byId = new Map<string | null, NonNullable<KnownScan['seen']>>();
  const admitted = new Map<string, CheckIn>();
  return scans.map((scan, at) => {
    const { attendeeId, scanId, gate, occurredAt } = scan;
    const { seen, listed, checkIn: stored } = known.get(at) ?? UNKNOWN;
    const earlier = (scanId !== null && byId.get(scanId)) || seen;
    if (earlier && earlier.attendeeId !== attendeeId)
      return { scanId, outcome: 'REFUSED', reason: 'SCAN_ID_REUSED', checkIn: null };
    if (earlier) return { scanId, outcome: earlier.outcome, reason: earlier.reason, checkIn: earlier.checkIn };
    const decide = (): ScanResult => {
      const checkIn = admitted.get(attendeeId) ?? stored;
      if (checkIn) return { scanId, outcome: 'ALREADY_CHECKED_IN', reason: null, checkIn };
      const isInTime = isTimeCredible(scan, now);
      const reason = isInTime
        ? refusalOf(event, scan, { listed, admitted: admitted.size, now })
        : 'SCAN_TIME_OUT_OF_RANGE';
      if (reason && !(isInTime && scan.alreadyAdmitted)) return { scanId, outcome: 'REFUSED', reason, checkIn: null };
      const created = { attendeeId, checkedInAt: now, occurredAt, gate };
      admitted.set(attendeeId, created);
      return { scanId, outcome: 'CHECKED_IN', reason, checkIn: created };
    };
    const result = decide();
    byId.set(scanId, { ...result, attendeeId });
    return result;
  });
}

function isTimeCredible({ occurredAt }: Scan, now: Date): boolean {
  if (!occurredAt) return true;
  const aheadMs = occurredAt.getTime() - now.getTime();
  return aheadMs >= -MAX_AGE_MS && aheadMs <= MAX_FAST_MS;
}

/** @param admitted how many attendees the scans before have checked in */
function refusalOf(
  { startsAt, endsAt, capacity, checkedIn, isListed }: LockedEvent,
  { occurredAt }: Scan,
  { listed, admitted, now }: Pick<KnownScan, 'listed'> & { readonly admitted: number; readonly now: Date },
): RefusalReason | null {
  const at = occurredAt ?? now;
  if (startsAt && at < startsAt) return 'EVENT_NOT_STARTED';
  if (endsAt && at >= endsAt) return 'EVENT_ENDED';
  if (isListed && !listed) return 'ATTENDEE_NOT_LISTED';
  if (listed?.isBlocked) return 'ATTENDEE_BLOCKED';
  if (capacity !== null && (checkedIn ?? 0) + admitted >= capacity) return 'EVENT_FULL';
  return null;
}

/** The first check-in of an attendee. */
export interface CheckIn {
  readonly attendeeId: string;
  readonly checkedInAt: Date;
  /** When the attendee came, by the clock of the scanner. */
  readonly occurredAt: Date | null;
  readonly gate: string | null;
}

/** The message about each row of the CTE `created`, which has columns of `check_ins`. Parameter: eventId. */
export const checkInMessage = {
  type: 'check_in.created',
  data: jsonObject({
    eventId: p.text('eventId'),
    attendeeId: sql`attendee_id`,
    checkedInAt: toIsoText(sql`checked_in_at`),
    occurredAt: toIsoText(sql`occurred_at`),
    gate: sql`gate`,
  }),
  from: sql`created`,
} as const;
