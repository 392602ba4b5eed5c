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

/**
 * Counts the attempt, and throws unless the code is right.
 *
 * @throws ServiceError `Wrong code` with the attempts that are left, `Code no longer valid`
 */
export async function requireRightCode(
  { run, now, count }: Call,
  { keys }: LoginCodeSettings,
  { applicationId, loginIntentId, latest, wasSent }: Guessed,
  code: string,
): Promise<void> {
  const { id, codeDigest, expiresAt, userId } = latest;
  const isRight = isLoginCode(keys, id, readLoginCode(code), codeDigest) && wasSent;
  // Counted before the result is revealed: concurrent guesses could otherwise exceed the limit.
  const [counted] = await run(countAttempt, { applicationId, loginIntentId, id, isRight, now });
  const refuse = (cause: AttemptCause) => new ServiceError('CODE_NOT_VALID', { attempt: { userId, cause } });
  if (!counted) throw refuse(expiresAt > now ? 'WRONG_CODES' : 'CODE_EXPIRED');
  if (isRight) return;
  count?.('wrong_codes');
  const left = ATTEMPTS - counted.attempts;
  throw left > 0 ? new ServiceError('WRONG_CODE', { figures: { left } }) : refuse('WRONG_CODES');
}

/**
 * A redeemed code may be entered again: by a double click, or because the login could not be completed the first time.
 */
const countAttempt = statement('count_login_code_attempt', { attempts: loginCodes.attempts })`
  update login_codes
  set attempts = least(attempts + 1, ${sql.raw(String(ATTEMPTS))}),
    is_redeemed = is_redeemed or ${p.boolean('isRight')}
  where application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')}
    and id = ${p.uuid('id')} and expires_at > ${p.instant('now')}
    and (attempts < ${sql.raw(String(ATTEMPTS))} or is_redeemed and ${p.boolean('isRight')})
  returning attempts`;
