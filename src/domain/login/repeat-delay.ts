/** When a code may be sent again: 30 seconds after its creation for each e-mail so far, which has that long to arrive. */
import { sql } from 'drizzle-orm';
import { p } from '../../database/template.ts';
import { ServiceError } from '../errors.ts';

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
 * Selects the code if it may be sent again. In SQL, so that one of two requests at the same time is refused. The instant
 * and the interval are not added: Citus updates by no sum of columns that depends on a time zone.
 */
export const isDueForRepeat = sql`
    ${p.instant('now')} - created_at >= sends * interval '${sql.raw(String(INTERVAL_SECONDS))} s'`;

/** Returns the error of a code that was sent `limit` times, or too recently. */
export function refuseRepeat(now: Date, sent: SentCode, limit: number): ServiceError {
  const digits = sent.code.length;
  if (sent.sends >= limit) return new ServiceError('CODE_SENT_TOO_OFTEN', { figures: { digits } });
  // The row may be older than the refusal.
  const wait = secondsUntilRepeat(now, sent) || INTERVAL_SECONDS;
  return new ServiceError('CODE_SENT_TOO_OFTEN', { message: 'Code sent just now', figures: { digits, wait } });
}
