import { sql } from 'drizzle-orm';
import { loginCodes } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { type AttemptCause, ServiceError } from '../core/errors.ts';
import { ATTEMPTS, type StoredLoginCode } from './find-latest-code.ts';
import { isLoginCode, type LoginCodeSettings } from './login-code.ts';
import { readLoginCode } from './read-login-code.ts';

interface Guessed {
  readonly applicationId: string;
  readonly loginIntentId: string;
  readonly latest: StoredLoginCode;
  /** False if no user has the address and it may not sign up: then every guess is wrong. */
  readonly wasSent: boolean;
}

export function isRightCode({ keys }: LoginCodeSettings, { latest, wasSent }: Guessed, code: string): boolean {
  return isLoginCode(keys, latest.id, readLoginCode(code), latest.codeDigest) && wasSent;
}

/**
 * Counts the attempt, and throws unless the code is right, as `isRightCode` says.
 *
 * @throws ServiceError `Wrong code` with the attempts that are left, `Code no longer valid`
 */
export async function requireRightCode(
  { run, now, count }: Call,
  { applicationId, loginIntentId, latest }: Guessed,
  isRight: boolean,
): Promise<void> {
  const { id } = latest;
  // Counted before the result is revealed: concurrent guesses could otherwise exceed the limit.
  const [counted] = await run(countAttempt, { applicationId, loginIntentId, id, isRight, now });
  if (!counted) throw refuseLateCode(latest, now);
  if (isRight) return;
  count?.('wrong_codes');
  const left = ATTEMPTS - counted.attempts;
  throw left > 0 ? new ServiceError('WRONG_CODE', { figures: { left } }) : refuseCodeOf(latest, 'WRONG_CODES');
}

/** Returns the error for a code that has expired, or was entered too often. */
export function refuseLateCode(latest: StoredLoginCode, now: Date): ServiceError {
  return refuseCodeOf(latest, latest.expiresAt > now ? 'WRONG_CODES' : 'CODE_EXPIRED');
}

function refuseCodeOf({ userId }: StoredLoginCode, cause: AttemptCause): ServiceError {
  return new ServiceError('CODE_NOT_VALID', { attempt: { userId, cause } });
}

/**
 * A redeemed code may be entered again: by a double click, or because the login could not be completed the first time.
 * Parameters: applicationId, loginIntentId, id, isRight, now.
 */
export const countedAttempt = sql`
  update login_codes
  set attempts = least(attempts + 1, ${sql.raw(String(ATTEMPTS))}),
    is_redeemed = is_redeemed or ${p.boolean('isRight')}
  where application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')}
    and id = ${p.uuid('id')} and expires_at > ${p.instant('now')}
    and (attempts < ${sql.raw(String(ATTEMPTS))} or is_redeemed and ${p.boolean('isRight')})
  returning attempts`;

const countAttempt = statement('count_login_code_attempt', { attempts: loginCodes.attempts })`${countedAttempt}`;
