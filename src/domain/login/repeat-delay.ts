/**
 * The delay before a code may be sent again. Each e-mail gets 30 seconds to arrive, counted from the creation of the
 * code.
 */
import { sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import { ServiceError } from '../core/errors.ts';

const INTERVAL_SECONDS = 30;

interface SentCode {
  readonly code: string;
  readonly createdAt: Date;
  /** How many e-mails with the code were sent. */
  readonly sends: number;
}

export function secondsUntilRepeat(now: Date, { createdAt, sends }: Omit<SentCode, 'code'>): number {
  const age = (now.getTime() - createdAt.getTime()) / 1_000;
  return Math.max(0, Math.ceil(sends * INTERVAL_SECONDS - age));
}

/**
 * Whether the code may be sent again. Being a condition of the update, it refuses one of two concurrent requests. It
 * compares a difference: the sum of an instant and an interval depends on a time zone, which an update must not.
 */
export const isDueForRepeat = sql`
    ${p.instant('now')} - created_at >= sends * interval '${sql.raw(String(INTERVAL_SECONDS))} s'`;

/** Returns the error for a code that was sent `limit` times, or too recently. */
export function refuseRepeat(now: Date, sent: SentCode, limit: number): ServiceError {
  const digits = sent.code.length;
  if (sent.sends >= limit) return new ServiceError('CODE_SENT_TOO_OFTEN', { figures: { digits } });
  // Zero if a concurrent request has sent the code since this row was read.
  const wait = secondsUntilRepeat(now, sent) || INTERVAL_SECONDS;
  return new ServiceError('CODE_SENT_JUST_NOW', { figures: { digits, wait } });
}
