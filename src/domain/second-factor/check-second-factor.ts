/** The second step: a code of the authenticator app, or a recovery code, each of which works once. */
import { sql } from 'drizzle-orm';
import { totpSecrets } from '../../database/schema/second-factor-schema.ts';
import { BY_POSTGRES, statementInstant } from '../../database/sql/instants.ts';
import { p, statement, t } from '../../database/sql/template.ts';
import { decodeBase32 } from '../../encoding/base32.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import type { RowCipher } from '../crypto/aes-gcm.ts';
import { hmac } from '../crypto/derived-keys.ts';
import type { LoginCodeKeys } from '../login/login-code.ts';
import { ONCE_A_DAY, type RateLimit, returnPermits, takePermit } from '../login/rate-limit.ts';
import { readLoginCode } from '../login/read-login-code.ts';
import { noticeParameters, noticeToUser } from '../notices/store-notice.ts';
import { isCounting } from '../users/counts-from.ts';
import { digestRecoveryCode } from './recovery-codes.ts';
import { findTotpStep, TOTP_DIGITS } from './totp.ts';

const INTERVAL_MS = 30 * 60_000;
/** Of apps and of recovery codes: 53 a day, and each code of an app has three chances in a million. */
const TRIES: RateLimit = { burst: 5, intervalMs: INTERVAL_MS };
/** The first wrong try beyond it is the fifth: somebody who has passed the first step guesses. */
const UNNOTICED: RateLimit = { burst: 4, intervalMs: INTERVAL_MS };

export interface SecondFactorParts {
  readonly cipher: RowCipher;
  readonly codes: { readonly keys: LoginCodeKeys };
}

export interface EnteredFactor {
  readonly kind: 'app' | 'recovery';
  readonly code: string;
}

/** The parameters of `usedFactor`. */
interface FactorParameters {
  readonly factorId: string | null;
  readonly step: number | null;
  readonly digest: Buffer | null;
}

/**
 * Runs a statement that uses the factor, with `usedFactor`. Returns its row if the factor was right.
 *
 * @throws ServiceError `Wrong code of the second factor`, `Code already used`, `Too many attempts`
 */
export async function useSecondFactor<Row extends { readonly isRight: boolean }>(
  call: Call,
  { cipher, codes }: SecondFactorParts,
  userId: string,
  { kind, code }: EnteredFactor,
  use: (parameters: FactorParameters) => Promise<Row | undefined>,
): Promise<Row> {
  const digest = kind === 'recovery' ? digestRecoveryCode(userId, code) : undefined;
  const digits = readLoginCode(code);
  // What is no code costs no try.
  if (kind === 'recovery' ? !digest : !isCode(digits)) throw new ServiceError('WRONG_SECOND_FACTOR');
  // First, because a replica without the key of the secret takes no permit.
  const app = digest ? undefined : await findApp(call, cipher, userId, digits);
  const [key] = codes.keys;
  const bucket = { key: hmac(key, `second step by ${kind}: ${userId}`), ...TRIES };
  if (!(await takePermit(call, bucket.key, bucket)))
    throw new ServiceError('TOO_MANY_ATTEMPTS', { figures: { minutes: INTERVAL_MS / 60_000 } });
  const refuse = async () => {
    const unnoticed = hmac(key, `wrong second steps by ${kind}: ${userId}`);
    if (!(await takePermit(call, unnoticed, UNNOTICED))) await notice(call, codes.keys, userId);
    return new ServiceError('WRONG_SECOND_FACTOR');
  };
  if (!digest && app?.step === undefined) throw await refuse();
  const used = await use({ factorId: app?.id ?? null, step: app?.step ?? null, digest: digest ?? null });
  // The code was right, and somebody has used it, or something else has ended the first step meanwhile.
  if (!used?.isRight) throw digest ? await refuse() : new ServiceError('SECOND_FACTOR_USED');
  await returnPermits(call, [bucket]);
  return used;
}

function isCode(digits: string): boolean {
  return digits.length === TOTP_DIGITS;
}

/** Returns the ID of the app, and the time step of the code. By the clock of Postgres, which all replicas share. */
async function findApp({ run }: Call, cipher: RowCipher, userId: string, code: string) {
  const [app] = await run(selectApp, { ...BY_POSTGRES, userId });
  if (!app) return undefined;
  const secret = decodeBase32(cipher.decrypt(app.sealed, { applicationId: userId, id: app.id }));
  return { id: app.id, step: secret && findTotpStep(secret, code, app.present) };
}

const { id, sealed } = totpSecrets;

const selectApp = statement('select_totp_secret', { id, sealed, present: t.instant })`
  select id, sealed, ${statementInstant} as present from totp_secrets where user_id = ${p.uuid('userId')}`;

/**
 * CTEs that use up the factor of the user in `live`. The last, `factor`, has the `user_id` if it was right and counts.
 * The condition on the step lets one of concurrent statements win. Parameters: userId, now, all of `FactorParameters`.
 */
export const usedFactor = sql`app_used as (
    update totp_secrets t set last_step = ${p.bigint('step')}, last_used_at = ${p.instant('now')} from live
    where t.user_id = ${p.uuid('userId')} and t.id = ${p.uuid('factorId')} and t.last_step < ${p.bigint('step')}
      and ${isCounting(sql`t.counts_from`)}
    returning t.user_id
  ), counting as (
    select user_id from totp_secrets where user_id = ${p.uuid('userId')} and ${isCounting(sql`counts_from`)}
  ), code_used as (
    delete from recovery_codes c using live cross join counting
    where c.user_id = ${p.uuid('userId')} and c.digest = ${p.bytes('digest')}
    returning c.user_id
  ), factor as (
    select user_id from app_used union all select user_id from code_used
  )`;

/** Tells the user, once a day, that somebody knows the first factor and guesses the second. */
async function notice(call: Call, [key]: LoginCodeKeys, userId: string): Promise<void> {
  if (!call.notices || !(await takePermit(call, hmac(key, `notices of second steps: ${userId}`), ONCE_A_DAY))) return;
  await call.run(insertNotice, { userId, now: call.now, ...noticeParameters(call) });
  call.notices.wake();
}

const insertNotice = statement('insert_second_factor_notice')`with ${noticeToUser('secondFactorFailed')} select`;
