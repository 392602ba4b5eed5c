/** Opens recovery links: by their token, and by the code that an operator has read out. */
import { sql } from 'drizzle-orm';
import { recoveryLinks } from '../../../database/schema/recovery-schema.ts';
import { users } from '../../../database/schema/schema.ts';
import { columnsOf, p, type RowOfType, statement } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { ATTEMPTS } from '../../../domain/login/find-latest-code.ts';
import { isLoginCode, type LoginCodeKeys } from '../../../domain/login/login-code.ts';
import { noticeParameters, noticesOf } from '../../../domain/notices/store-notice.ts';
import { digestToken, isAddressOf } from '../../../domain/recovery/link-secrets.ts';
import { isOpenLink } from '../../../domain/recovery/recovery-link.ts';
import { isActiveUser } from '../../../domain/users/user.ts';

const { id, userId, codeHmac, addressKey, removes, createdBy, usableAt } = recoveryLinks;
const ofLink = { id, userId, codeHmac, addressKey, removes, createdBy, usableAt };
const ofUser = { email: users.email, name: users.name, walletAddress: users.walletAddress };

/** An open link, with the user whom it lets in. */
export type Recovery = RowOfType<typeof ofLink & typeof ofUser>;

export interface RecoveryKeys {
  readonly keys: LoginCodeKeys;
  readonly isOperator: (email: string) => boolean;
}

/**
 * Returns the open link with this token. It may not work yet.
 *
 * @throws ServiceError `Recovery link no longer valid`, also if the user is deactivated or an operator now, or has
 * another address than when the link was made
 */
export async function findRecovery(call: Call, { keys, isOperator }: RecoveryKeys, token: string): Promise<Recovery> {
  const [link] = await call.run(selectOpenLink, { digest: digestToken(token), now: call.now });
  const isValid = link && isAddressOf(keys, link.id, link.email, link.addressKey) && !isOperator(link.email);
  if (!isValid) throw new ServiceError('RECOVERY_LINK_NOT_VALID');
  return link;
}

/** Returns the ID of the link with this token if it was used, which is also that of the login that followed. */
export async function findUsedRecovery(call: Call, token: string): Promise<string | undefined> {
  const [used] = await call.run(selectUsedLink, { digest: digestToken(token) });
  return used?.id;
}

/**
 * Throws unless the spoken code is right. Five wrong ones end the link, and the user gets a notice.
 *
 * @param code eight digits
 * @throws ServiceError `Wrong code` with the attempts that are left, `Recovery link no longer valid`
 */
export async function requireSpokenCode(
  call: Call,
  { keys }: Pick<RecoveryKeys, 'keys'>,
  { id: linkId, codeHmac: expected }: Pick<Recovery, 'id' | 'codeHmac'>,
  code: string,
): Promise<void> {
  const isRight = isLoginCode(keys, linkId, code, expected);
  // Counted before the result is revealed, also if it is right: concurrent guesses wait for each other here.
  const parameters = { linkId, isRight, now: call.now, auditAction: 'RecoveryService/Fail', ...noticeParameters(call) };
  const [counted] = await call.run(countGuess, parameters);
  if (!counted) throw new ServiceError('RECOVERY_LINK_NOT_VALID');
  if (isRight) return;
  call.count?.('wrong_codes');
  const left = ATTEMPTS - counted.attempts;
  if (left > 0) throw new ServiceError('WRONG_CODE', { figures: { left } });
  call.notices?.wake();
  throw new ServiceError('RECOVERY_LINK_NOT_VALID');
}

const selectOpenLink = statement('select_open_recovery_link', { ...ofLink, ...ofUser })`
  select ${columnsOf(ofLink, 'l')}, ${columnsOf(ofUser, 'users')}
  from recovery_links l join users on users.id = l.user_id and ${isActiveUser}
  where l.digest = ${p.bytes('digest')} and ${isOpenLink}`;

const selectUsedLink = statement('select_used_recovery_link', { id })`
  select id from recovery_links where digest = ${p.bytes('digest')} and status = 'USED'`;

const isLast = sql`not ${p.boolean('isRight')} and l.attempts + 1 >= ${sql.raw(String(ATTEMPTS))}`;

const countGuess = statement('count_recovery_guess', { attempts: recoveryLinks.attempts })`
  with counted as (
    update recovery_links l set attempts = l.attempts + (not ${p.boolean('isRight')})::integer,
      status = case when ${isLast} then 'FAILED' else l.status end,
      ended_at = case when ${isLast} then ${p.instant('now')} end
    where l.id = ${p.uuid('linkId')} and ${isOpenLink} and l.usable_at <= ${p.instant('now')}
    returning l.user_id, l.attempts, l.status
  ), failed as (
    select user_id from counted where status = 'FAILED'
  ), ${auditEvent({ resource: sql`user_id`, from: sql`failed`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'recoveryFailed',
    from: sql`failed join users on users.id = failed.user_id`,
    userId: sql`users.id`,
    recipient: sql`users.email`,
  })}
  select attempts from counted`;
