/** The use of a recovery link: what the person has lost goes, every sign-in ends, and a login begins to add passkeys. */
import { type SQL, sql } from 'drizzle-orm';
import { isUniqueViolation } from '../../../database/sql/errors.ts';
import { columnsOf, p, statement, t } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { hasReason, ServiceError } from '../../../domain/core/errors.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../domain/core/own-applications.ts';
import { INTENT_LIFETIME_MS } from '../../../domain/login/generate-auth-url.ts';
import { HELD_MS, holdSignIn, RECOVERY } from '../../../domain/login/held-sign-in.ts';
import { NOTHING_PROVED } from '../../../domain/login/proved-user.ts';
import { noticeParameters, noticesOf } from '../../../domain/notices/store-notice.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../../../domain/outbox/insert-message.ts';
import { loggedOutEverywhere } from '../../../domain/outbox/logout-message.ts';
import { sessionsRevoked, userMessage } from '../../../domain/outbox/user-messages.ts';
import { isOpenLink } from '../../../domain/recovery/recovery-link.ts';
import { type Browser, toSignInOrigin } from '../../../domain/sessions/browser.ts';
import { cutOffUserSessions, runCutoff } from '../../../domain/sessions/cutoffs.ts';
import { endLateSessions } from '../../../domain/sessions/late-sessions.ts';
import { credentialRemoved } from '../../../domain/users/counts-from.ts';
import { isSameEmail, spellingsOf } from '../../../domain/users/find-user-by-email.ts';
import { removeIfErased } from '../../../domain/users/personal-data.ts';
import { nextEmailChange, rangeOf } from '../../../domain/users/update-user.ts';
import { isActiveUser, userColumns } from '../../../domain/users/user.ts';
import type { Recovery } from './find-recovery.ts';

interface RecoveryUse {
  readonly link: Recovery;
  /** The proved address that replaces the lost one. Null if the person has not lost it. */
  readonly newEmail: string | null;
  readonly browser: Browser;
  /** The URL of the account page. */
  readonly accountUrl: string;
}

/**
 * Uses a link whose token and spoken code were right. In one statement: marks it as used, removes what the person has
 * lost, sets the new address, ends every sign-in of the user, and completes a login at the account page, which has the
 * ID of the link. For 10 minutes, this browser may add passkeys in that login, which count in full. No application and
 * no page gets the login: nobody has proved anything but that an operator vouches for them. If the person keeps a second
 * factor that counts, the login waits for it. Returns whether it does.
 *
 * @throws ServiceError `Recovery link no longer valid` if it has ended, or if the user has changed since it was read;
 * `User already exists` if somebody else has the new address
 */
export async function useRecovery(call: Call, { link, newEmail, browser, accountUrl }: RecoveryUse): Promise<boolean> {
  const { id: linkId, userId, removes } = link;
  const removed = { removes, formerEmail: link.email, formerWallet: link.walletAddress };
  const intentExpiresAt = new Date(call.now.getTime() + INTENT_LIFETIME_MS);
  const origin = toSignInOrigin(browser);
  const parameters = {
    ...spellingsOf(link.email),
    ...origin,
    ...noticeParameters(call),
    linkId,
    userId,
    newEmail,
    newEmails: spellingsOf(newEmail).emails,
    accountUrl,
    accountId: ACCOUNT_APPLICATION_ID,
    intentExpiresAt,
    heldUntil: new Date(call.now.getTime() + HELD_MS),
    auditAction: 'RecoveryService/Use',
  };
  const [used] = await runCutoff(call, useLink, parameters).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new ServiceError('USER_ALREADY_EXISTS') : error;
  });
  if (!used) throw new ServiceError('RECOVERY_LINK_NOT_VALID');
  if (used.isTaken) throw new ServiceError('USER_ALREADY_EXISTS');
  if (!used.isUsed) throw new ServiceError('RECOVERY_LINK_NOT_VALID');
  announce(call.onMessage, used);
  call.notices?.wake();
  // What others have added, and the sign-ins that they have made, before the statement above was committed.
  const [late] = await runCutoff(call, endLate, { ...removed, userId });
  if (late) {
    announce(call.onMessage, late);
    if (!used.isOpen) await call.run(moveLogin, { linkId, completedAt: new Date(late.cutoffAt.getTime() + 1) });
  }
  const login = { id: linkId, applicationId: ACCOUNT_APPLICATION_ID, expiresAt: intentExpiresAt };
  const firstStep = { ...NOTHING_PROVED, ...origin, userId, method: RECOVERY, assurance: ONE_FACTOR };
  const isHeld = used.isOpen && (await holdLogin(call, { ...login, requiredAssurance: ONE_FACTOR }, firstStep));
  await endLateSessions(call, userId);
  await removeIfErased(call, userId);
  return isHeld;
}

/**
 * Moves the held login after every cut-off, or completes it if the second factor is too young to be asked. Returns
 * whether the login waits for it.
 */
async function holdLogin(...firstStep: Parameters<typeof holdSignIn>): Promise<boolean> {
  try {
    await holdSignIn(...firstStep);
    return false;
  } catch (error) {
    if (hasReason(error, 'SECOND_FACTOR_NEEDED')) return true;
    throw error;
  }
}

const loses = (what: string) => sql`f.removes @> array[${sql.raw(`'${what}'`)}]`;

/** Returns CTEs that delete what the user in the CTE `f` has lost, except for the columns of `users`. */
function deleteLost(from: SQL): SQL {
  return sql`passkeys_left as (
    delete from passkeys k using ${from} f where k.user_id = f.id and ${loses('PASSKEYS')} returning k.user_id
  ), identities_left as (
    delete from user_identities i using ${from} f where i.user_id = f.id and ${loses('IDENTITIES')}
  ), secrets_left as (
    delete from totp_secrets t using ${from} f where t.user_id = f.id and ${loses('SECOND_FACTOR')}
  ), recovery_codes_left as (
    delete from recovery_codes c using ${from} f where c.user_id = f.id and ${loses('SECOND_FACTOR')}
  ), proofs_left as (
    delete from wallet_challenges w using ${from} f where w.address = lower(f.former_wallet) and ${loses('WALLET')}
  ), codes_left as (
    -- With them go changes of the address, and what a code would link.
    delete from login_codes c using ${from} f where c.user_id = f.id
  ), strangers_codes_left as (
    delete from login_codes c using ${from} f
    where lower(c.email) = lower(f.former_email) and c.user_id is null and ${loses('ADDRESS')}
  ), origins_left as (
    delete from known_origins o using ${from} f where o.user_id = f.id
  )`;
}

const newEmailTaken = sql`exists (
      select 1 from users where ${isSameEmail(sql`email`, 'newEmails')} and deleted_at is null
        and id <> ${p.uuid('userId')})`;

const method = sql.raw(`'${RECOVERY}'`);
const USED = { isTaken: t.boolean, isUsed: t.boolean, isOpen: t.boolean, ...HAS_MESSAGES };

const useLink = statement('use_recovery_link', USED)`
  with owner as (
    -- Locked, so that after a wait for an erasure or a change of the address, this reads the new row.
    select id, email as former_email, wallet_address as former_wallet, ${nextEmailChange} as email_changed_at,
      ${newEmailTaken} as is_taken
    from users
    where ${isActiveUser} and ${isSameEmail(sql`email`)}
      -- Equivalent: conjunct: whoever else has the address by now has no such link
      and id = ${p.uuid('userId')}
    for no key update
  ), used as (
    update recovery_links l set status = 'USED', ended_at = ${p.instant('now')}
    from owner
    where l.id = ${p.uuid('linkId')} and l.user_id = owner.id and not owner.is_taken
      and ${isOpenLink} and l.usable_at <= ${p.instant('now')}
    returning l.user_id as id, l.removes, l.created_by, owner.former_email, owner.former_wallet, owner.email_changed_at
  ), ${deleteLost(sql`used`)}, recovered as (
    update users u set email = coalesce(${p.text('newEmail')}, u.email), cutoff_count = u.cutoff_count + 1,
      email_verified_at = case when ${p.text('newEmail')} is null then u.email_verified_at else ${p.instant('now')} end,
      email_changed_at = case when ${p.text('newEmail')} is null then u.email_changed_at else f.email_changed_at end,
      void_undo_links = case when ${p.text('newEmail')} is null then u.void_undo_links
        else ${rangeOf(sql`null`, sql`f.email_changed_at`)} end,
      wallet_address = case when ${loses('WALLET')} then '' else u.wallet_address end,
      wallet_linked_at = case when ${loses('WALLET')} then null else u.wallet_linked_at end,
      has_second_factor = u.has_second_factor and not ${loses('SECOND_FACTOR')},
      ${credentialRemoved(sql`${loses('PASSKEYS')} or ${loses('SECOND_FACTOR')}`)}
    from used f
    where u.id = f.id
    returning ${columnsOf(userColumns, 'u')}, u.has_second_factor, u.email_changed_at
  ), changed as (
    select r.* from recovered r join used f on f.former_email <> r.email or f.former_wallet <> r.wallet_address
  ), kept as (
    -- The user is more than an invitation now, which no longer takes the user along.
    update invitations v set created_user = false from used f where v.user_id = f.id and v.created_user
  ), ${auditEvent({
    resource: sql`id`,
    from: sql`used`,
    applicationId: noApplication,
    onBehalfBy: sql`created_by`,
  })},
  ${noticesOf(
    // Equivalent: conjunct: both have the same user
    { ...toNotice(sql`r.email`), kind: 'recovered', from: sql`recovered r join used f on f.id = r.id` },
    {
      ...toNotice(sql`f.former_email`),
      kind: 'recoveredFormer',
      from: sql`recovered r join used f on f.former_email <> r.email`,
    },
  )},
  ${cutOffUserSessions(sql`recovered`)}, login as (
    insert into login_intents (application_id, id, redirect_uri, state, prompt, created_at, expires_at, completed_at,
      redeemed_at, user_id, vouched_user_id, method, assurance, browser_digest, answer_digest, ip_address, user_agent)
    select ${p.uuid('accountId')}, ${p.uuid('linkId')}, ${p.text('accountUrl')}, '', 'PASSKEYS', ${p.instant('now')},
      ${p.instant('intentExpiresAt')}, case when r.id is not null then c.cutoff_at + interval '1 ms' end,
      c.cutoff_at + interval '1 ms', r.id, r.id, ${method}, 1, ${p.bytes('browserDigest')},
      case when r.id is not null then ${p.bytes('answerDigest')}::bytea end,
      case when r.id is not null then ${p.text('ipAddress')} end,
      case when r.id is not null then ${p.text('userAgent')} end
    -- Who keeps a second factor may owe it: holdSignIn decides that.
    from cutoff c left join recovered r on not r.has_second_factor
      -- Equivalent: conjunct: both have the same user
      and r.id = c.user_id
  ), held as (
    insert into held_sign_ins (application_id, login_intent_id, user_id, method, browser_digest, proved_at,
      email_changed_at, expires_at)
    select ${p.uuid('accountId')}, ${p.uuid('linkId')}, r.id, ${method}, ${p.bytes('browserDigest')},
      c.cutoff_at + interval '1 ms', r.email_changed_at, ${p.instant('heldUntil')}
    from cutoff c join recovered r on r.has_second_factor
      -- Equivalent: conjunct: both have the same user
      and r.id = c.user_id
  ),
  ${messagesOf(
    userMessage('user.updated', sql`changed`),
    sessionsRevoked(sql`ended`),
    ...loggedOutEverywhere(sql`recovered`),
  )}
  select is_taken, exists (select 1 from used) as is_used,
    exists (select 1 from recovered where has_second_factor) as is_open, ${notified}
  from owner`;

function toNotice(recipient: SQL) {
  return { userId: sql`r.id`, recipient, value: sql`array_to_string(f.removes, ',')` };
}

/**
 * Does the same once more for what the statement above could not see: passkeys, and sign-ins that began before its
 * commit. Adds to the cut-offs, so that the changes of such a sign-in are refused.
 */
const endLate = statement('end_late_of_recovery', { cutoffAt: t.instant, ...HAS_MESSAGES })`
  with owner as (
    update users u set cutoff_count = u.cutoff_count + 1,
      has_second_factor = u.has_second_factor and not 'SECOND_FACTOR' = any(${p.texts('removes')}::text[])
    where u.id = ${p.uuid('userId')} and u.deleted_at is null
    returning u.id, ${p.texts('removes')}::text[] as removes, ${p.text('formerEmail')} as former_email,
      ${p.text('formerWallet')} as former_wallet
  ), ${deleteLost(sql`owner`)}, ${cutOffUserSessions(sql`owner`)},
  ${messagesOf(sessionsRevoked(sql`ended`))}
  select cutoff_at, ${notified} from cutoff`;

/** Keeps the login later than the second cut-off. */
const moveLogin = statement('move_recovery_login')`
  update login_intents set completed_at = ${p.instant('completedAt')}, redeemed_at = ${p.instant('completedAt')}
  where id = ${p.uuid('linkId')}`;
