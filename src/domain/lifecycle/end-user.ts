/** Deactivation, reactivation, deletion and erasure of a user. Each ends the user's sessions and unused auth tokens. */
import { type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../../database/pool/database.ts';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { deleteIdentitiesOfDeleted } from '../identities/delete-identity.ts';
import { noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { announce, HAS_MESSAGES, type HasMessages, messagesOf, notified } from '../outbox/insert-message.ts';
import { loggedOutEverywhere } from '../outbox/logout-message.ts';
import { sessionsRevoked, userDeleted, userMessage } from '../outbox/user-messages.ts';
import { cutOffUserSessions, runCutoff } from '../sessions/cutoffs.ts';
import { endLateSessions } from '../sessions/late-sessions.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { cutoffParameter, isStillSignedIn } from '../users/still-signed-in.ts';
import { type User, userColumns } from '../users/user.ts';

const rules = { userId: uuid };
type Request = Unchecked<keyof typeof rules>;

/**
 * Deactivates a user, who then cannot sign in to any application. A deactivated user stays deactivated.
 *
 * @throws ServiceError `User not found`
 */
export async function deactivateUser(call: Call, request: Request): Promise<User> {
  return (await end(call, markDeactivated, request)).user;
}

/**
 * Lets a deactivated user sign in again. Earlier sign-ins stay ended. An active user stays active.
 *
 * @throws ServiceError `User not found`
 */
export async function reactivateUser(call: Call, request: Request): Promise<User> {
  return (await end(call, markActive, request)).user;
}

/**
 * Soft-deletes a user, who gets a notice. The row stays for the webhooks that the user owns.
 *
 * @throws ServiceError `User not found`
 */
export async function deleteUser(call: Call, request: Request): Promise<string> {
  const { userId } = await end(call, markUserDeleted, request);
  await removeLateCredentials(call, userId);
  return userId;
}

/** Removes what other statements have added to a user meanwhile, which the one that deleted the user could not see. */
export async function removeLateCredentials({ run }: Pick<Call, 'run'>, userId: string): Promise<void> {
  await run(deletePasskeysOfDeleted, { userId });
  await run(deleteSecondFactorOfDeleted, { userId });
  await run(deleteIdentitiesOfDeleted, { userId });
}

/**
 * Removes the personal data of a user, and deletes the user unless the user was deleted before. The row keeps its ID,
 * to which webhooks and login intents refer. Pending messages with personal data of the user are not sent any more.
 * Notices are: they keep the address until the mail server has taken them.
 *
 * @throws ServiceError `User not found`
 */
export async function eraseUser(call: Call, request: Request): Promise<string> {
  const { userId } = await end(call, eraseProfile, request);
  // In a statement of its own: the one above cannot see rows that were stored while it waited for a lock.
  await removeIfErased(call, userId);
  return userId;
}

/**
 * Erases a user with a statement of `createErasure`, if its condition holds. The user gets no notice.
 *
 * @param userId a UUID
 */
export async function eraseUserIf(call: Call, erasure: typeof eraseProfile, userId: string): Promise<void> {
  const erased = await endIf({ ...call, notices: undefined }, erasure, userId);
  if (erased) await removeIfErased(call, userId);
}

async function end<Row extends HasMessages>(call: Call, change: Statement<Row[]>, request: Request) {
  const { userId } = check(request, rules);
  const changed = await endIf(call, change, userId);
  if (!changed) throw new ServiceError('USER_NOT_FOUND');
  return { ...changed, userId };
}

async function endIf<Row extends HasMessages>(call: Call, change: Statement<Row[]>, userId: string) {
  const [changed] = await runCutoff(call, change, { userId, ...cutoffParameter(call), ...noticeParameters(call) });
  if (!changed) return undefined;
  announce(call.onMessage, changed);
  call.notices?.wake();
  await endLateSessions(call, userId);
  return changed;
}

const CHANGED = { user: userColumns, ...HAS_MESSAGES };
const { deactivatedAt: _, ...otherColumns } = userColumns;

/** Returns the CTE `audit`. */
function auditOf(changed: SQL): SQL {
  return auditEvent({ resource: sql`id`, from: changed, applicationId: noApplication });
}

const markDeactivated = statement('mark_user_deactivated', CHANGED)`
  with before as (
    select id, deactivated_at from users where id = ${p.uuid('userId')} and deleted_at is null for no key update
  ), deactivated as (
    update users u
    set deactivated_at = coalesce(u.deactivated_at, ${p.instant('now')}), cutoff_count = u.cutoff_count + 1 from before
    where u.id = before.id
    returning ${columnsOf(userColumns, 'u')}
  ), changed as (
    select deactivated.* from deactivated join before on before.deactivated_at is null
  ), ${auditOf(sql`changed`)},
  ${cutOffUserSessions(sql`deactivated`)},
  ${messagesOf(
    sessionsRevoked(sql`ended`),
    userMessage('user.deactivated', sql`changed`),
    ...loggedOutEverywhere(sql`changed`),
  )}
  select *, ${notified} from deactivated`;

const markActive = statement('mark_user_active', CHANGED)`
  with target as (
    -- Locked, so that after a wait for a concurrent deactivation, this reads the deactivated row.
    select ${columnsOf(userColumns)} from users where id = ${p.uuid('userId')} and deleted_at is null for update
  ), changed as (
    update users u set deactivated_at = null, cutoff_count = u.cutoff_count + 1 from target
    where u.id = target.id and target.deactivated_at is not null
    returning ${columnsOf(userColumns, 'u')}
  ), ${auditOf(sql`changed`)},
  ${cutOffUserSessions(sql`changed`)},
  ${messagesOf(userMessage('user.updated', sql`changed`))}
  select ${columnsOf(otherColumns)}, null::timestamptz as deactivated_at, ${notified} from target`;

const noticeOfDeletion = noticesOf({
  kind: 'accountDeleted',
  from: sql`deleted`,
  userId: sql`deleted.id`,
  recipient: sql`deleted.email`,
});

const markUserDeleted = statement('mark_user_deleted', HAS_MESSAGES)`
  with deleted as (
    update users set deleted_at = ${p.instant('now')}, cutoff_count = users.cutoff_count + 1
    where id = ${p.uuid('userId')} and deleted_at is null
    returning id, email
  ), ${auditOf(sql`deleted`)},
  ${noticeOfDeletion},
  ${cutOffUserSessions(sql`deleted`)}, passkeys_left as (
    delete from passkeys k using deleted where k.user_id = deleted.id
  ), ${messagesOf(sessionsRevoked(sql`ended`), userDeleted(sql`deleted`), ...loggedOutEverywhere(sql`deleted`))}
  select ${notified} from deleted`;

const deletePasskeysOfDeleted = statement('delete_passkeys_of_deleted_user')`
  delete from passkeys k using users
  where users.id = ${p.uuid('userId')} and users.deleted_at is not null and k.user_id = users.id`;

const deleteSecondFactorOfDeleted = statement('delete_second_factor_of_deleted_user')`
  with owner as (
    select id from users where id = ${p.uuid('userId')} and deleted_at is not null
  ), secrets_left as (
    delete from totp_secrets t using owner where t.user_id = owner.id
  ), codes_left as (
    delete from recovery_codes c using owner where c.user_id = owner.id
  )
  update users u set has_second_factor = false from owner where u.id = owner.id and u.has_second_factor`;

const eraseProfile = createErasure('erase_user');

/** @param condition selects a row if the user is to be erased. Parameter: userId. */
export function createErasure(name: string, condition = sql`select 1 as one`) {
  return statement(name, HAS_MESSAGES)`
  with wanted as (${condition}
  ), known as (
    select id, email, wallet_address, deleted_at from users
    where id = ${p.uuid('userId')} and ${isStillSignedIn} and exists (select 1 from wanted)
    for no key update
  ), ${auditOf(sql`known where deleted_at is null or email <> '' or wallet_address <> ''`)}, erased as (
    update users u set email = '', name = null, profile_image = null, wallet_address = '', email_verified_at = null,
      external_id = null, attributes = null,
      wallet_linked_at = null, passkey_removed_at = null, email_changed_at = null, void_undo_links = null,
      has_second_factor = false, deleted_at = coalesce(u.deleted_at, ${p.instant('now')}),
      cutoff_count = u.cutoff_count + 1
    from known where u.id = known.id
  ), ${cutOffUserSessions(sql`known`)}, codes as (
    -- Codes that other people have requested for the e-mail address of the user.
    delete from login_codes c using known where lower(c.email) = lower(known.email)
  ), challenges as (
    delete from wallet_challenges c using known where c.address = lower(known.wallet_address)
  ), deleted as (
    select id, email from known where deleted_at is null
  ), ${noticeOfDeletion},
  ${messagesOf(sessionsRevoked(sql`ended`), userDeleted(sql`deleted`), ...loggedOutEverywhere(sql`deleted`))}
  select ${notified} from known`;
}
