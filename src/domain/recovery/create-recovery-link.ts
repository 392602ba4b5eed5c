import { hash, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { users } from '../../database/schema/schema.ts';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, integer, listOf, oneOf, optional, orDefault, text, type Unchecked, uuid } from '../core/validation.ts';
import { digestLoginCode, type LoginCodeKeys } from '../login/login-code.ts';
import { type RateLimit, takePermit } from '../login/rate-limit.ts';
import { noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { isSameEmail, spellingsOf } from '../users/find-user-by-email.ts';
import { isActiveUser } from '../users/user.ts';
import { digestAddress, digestToken } from './link-secrets.ts';
import { REMOVALS, type RecoveryLink, recoveryLinkColumns, selectLinkColumns } from './recovery-link.ts';

const HOUR_MS = 60 * 60_000;
/** Somebody who reads the mailbox of the user has this time to object. */
const ADDRESS_DELAY_HOURS = 24;
/** Of an admin key or an operator: 20 at once, and 20 a day. */
const LINKS: RateLimit = { burst: 20, intervalMs: DAY_MS / 20 };
/** For so long, operators learn that somebody has objected. */
export const STOPPED_DAYS = 30;
/** How often a statement runs that has met a concurrent link of the same user. */
const TRIES = 3;

const rules = {
  userId: uuid,
  removes: orDefault(listOf(oneOf(REMOVALS), { min: 0, max: REMOVALS.length }), []),
  reason: text({ max: 500 }),
  expiresInMinutes: orDefault(integer({ min: 5, max: 1_440 }), 60),
  delayHours: optional(integer({ min: 0, max: 72 })),
};

export interface RecoveryParts {
  readonly codeKeys: LoginCodeKeys;
  /** Whether the person with the address is an operator of the console. */
  readonly isOperator: (email: string) => boolean;
  /** The URL of the page for links. Undefined if Usher has no account page. */
  readonly recoverUrl: string | undefined;
}

export interface MadeRecoveryLink {
  readonly recoveryLink: RecoveryLink;
  readonly url: string;
  readonly spokenCode: string;
  readonly stoppedBefore: boolean;
}

/**
 * Makes a link that, with its spoken code, lets a person back into the account or a new user in. Nothing else changes
 * before its use. Ends an earlier open link of the user, who gets a notice.
 *
 * @throws ServiceError `No account page`, `User not found`, `User is an operator`, `User not active`, `User has signed
 * in`, `Mail not configured`, `Too many recovery links`
 */
export async function createRecoveryLink(
  call: Call,
  { codeKeys, isOperator, recoverUrl }: RecoveryParts,
  request: Unchecked<keyof typeof rules>,
): Promise<MadeRecoveryLink> {
  const { userId, reason, expiresInMinutes, delayHours, ...fields } = check(request, rules);
  const removes = [...new Set(fields.removes)];
  if (recoverUrl === undefined) throw new ServiceError('NO_ACCOUNT_PAGE');
  const { run, now, notices, actor = '' } = call;
  const losesAddress = removes.includes('ADDRESS');
  const [id, token] = [randomUUID(), randomBytes(32).toString('base64url')];
  const code = String(randomInt(10 ** 8)).padStart(8, '0');
  const usableAt = new Date(now.getTime() + (delayHours ?? (losesAddress ? ADDRESS_DELAY_HOURS : 0)) * HOUR_MS);
  const link = {
    id,
    userId,
    digest: digestToken(token),
    codeHmac: digestLoginCode(codeKeys, id, code),
    removes,
    note: reason,
    createdBy: actor,
    usableAt,
    expiresAt: new Date(usableAt.getTime() + expiresInMinutes * 60_000),
    now,
    ...noticeParameters(call),
  };
  const stoppedSince = new Date(now.getTime() - STOPPED_DAYS * DAY_MS);
  for (let tries = 1; tries <= TRIES; tries++) {
    const [user] = await run(selectUser, { userId, stoppedSince });
    if (!user) throw new ServiceError('USER_NOT_FOUND');
    // Before anything else about the user: nobody learns by a link that an operator is deactivated.
    if (isOperator(user.email)) throw new ServiceError('USER_IS_OPERATOR');
    if (user.deactivatedAt) throw new ServiceError('USER_NOT_ACTIVE');
    if (removes.length === 0 && user.hasSignedIn) throw new ServiceError('USER_HAS_SIGNED_IN');
    if (losesAddress && !notices) throw new ServiceError('MAIL_NOT_CONFIGURED');
    if (tries === 1 && !(await takePermit(call, hash('sha256', `recovery links by ${actor}`, 'buffer'), LINKS))) {
      throw new ServiceError('TOO_MANY_RECOVERY_LINKS');
    }
    const addressKey = digestAddress(codeKeys[0], id, user.email);
    const [made] = await run(insertLink, { ...link, addressKey, ...spellingsOf(user.email) });
    // Another link was made meanwhile, or the user has changed: both are seen now.
    if (!made) continue;
    notices?.wake();
    return {
      recoveryLink: made,
      url: `${recoverUrl}#${token}`,
      spokenCode: code.replace(/^.{4}/, '$& '),
      stoppedBefore: user.wasStopped,
    };
  }
  throw new ServiceError('SERVICE_UNAVAILABLE');
}

/** Each sign-in leaves one of these, also one to the account page alone. */
const selectUser = statement('select_user_to_recover', {
  email: users.email,
  deactivatedAt: users.deactivatedAt,
  hasSignedIn: t.boolean,
  wasStopped: t.boolean,
})`
  select email, deactivated_at, email_verified_at is not null
      or exists (select 1 from application_users where user_id = ${p.uuid('userId')})
      or exists (select 1 from passkeys where user_id = ${p.uuid('userId')})
      or exists (select 1 from known_origins where user_id = ${p.uuid('userId')})
      or exists (select 1 from recovery_links where user_id = ${p.uuid('userId')} and status = 'USED') as has_signed_in,
    exists (
      select 1 from recovery_links
      where user_id = ${p.uuid('userId')} and status = 'STOPPED' and ended_at > ${p.instant('stoppedSince')}
    ) as was_stopped
  from users where id = ${p.uuid('userId')} and deleted_at is null`;

const insertLink = statement('insert_recovery_link', recoveryLinkColumns)`
  with owner as (
    select id, email from users
    where id = ${p.uuid('userId')} and ${isActiveUser} and ${isSameEmail(sql`email`)} for no key update
  ), earlier as (
    update recovery_links l set
      status = case when l.expires_at <= ${p.instant('now')} then 'EXPIRED' else 'REPLACED' end,
      ended_at = least(l.expires_at, ${p.instant('now')})
    from owner where l.user_id = owner.id and l.status = 'OPEN'
    returning l.id
  ), made as (
    insert into recovery_links (id, user_id, digest, code_hmac, address_key, removes, created_by, created_at, usable_at,
      expires_at)
    select ${p.uuid('id')}, owner.id, ${p.bytes('digest')}, ${p.bytes('codeHmac')}, ${p.bytes('addressKey')},
      ${p.texts('removes')}, ${p.text('createdBy')}, ${p.instant('now')}, ${p.instant('usableAt')},
      ${p.instant('expiresAt')}
    -- A user has one open link: the earlier one ends first.
    from owner where (select count(*) from earlier) >= 0
    on conflict do nothing
    returning *
  ), ${auditEvent({ resource: sql`user_id`, from: sql`made`, applicationId: noApplication, note: p.text('note') })},
  ${noticesOf({
    kind: 'recoveryStarted',
    // Equivalent: conjunct: there is one row of each
    from: sql`made join owner on owner.id = made.user_id`,
    userId: sql`made.user_id`,
    recipient: sql`owner.email`,
    value: sql`made.id`,
  })}
  select ${selectLinkColumns('made')} from made`;
