/** The link that restores the old e-mail address, for a user whose address somebody else has changed. */

import { sql } from 'drizzle-orm';
import { DAY_MS } from '../../../database/schema/table-facts.ts';
import { isUniqueViolation } from '../../../database/sql/errors.ts';
import { columnsOf, p, statement, t } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import type { DerivedKeys } from '../../../domain/crypto/derived-keys.ts';
import { deleteAdded, joinRemoved, removeAdded, removedAdded } from '../../../domain/lifecycle/remove-added.ts';
import { FRESH_MINUTES } from '../../../domain/login/sign-in-age.ts';
import { LINK_DAYS } from '../../../domain/notices/due-notices.ts';
import { createNoticeToken, readNoticeToken } from '../../../domain/notices/notice-token.ts';
import { noticeParameters, noticesOf } from '../../../domain/notices/store-notice.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../../../domain/outbox/insert-message.ts';
import { loggedOutEverywhere } from '../../../domain/outbox/logout-message.ts';
import { sessionsRevoked, userMessage } from '../../../domain/outbox/user-messages.ts';
import { cutOffUserSessions, runCutoff } from '../../../domain/sessions/cutoffs.ts';
import { endLateSessions } from '../../../domain/sessions/late-sessions.ts';
import { isSameEmail, spellingsOf } from '../../../domain/users/find-user-by-email.ts';
import { type EmailChange, nextEmailChange, rangeOf } from '../../../domain/users/update-user.ts';
import { userColumns } from '../../../domain/users/user.ts';

const LIFETIME_MS = LINK_DAYS * DAY_MS;
const PURPOSE = 'undo a change of address';

export interface AddressChange extends EmailChange {
  readonly userId: string;
}

export function createUndoToken(keys: DerivedKeys, { userId, from, to, at }: AddressChange): string {
  return createNoticeToken(keys, PURPOSE, [userId, from, to], at);
}

/** Returns the change that the token is for. */
export function readUndoToken(keys: DerivedKeys, token: string, now: Date): AddressChange | undefined {
  const read = readNoticeToken(keys, PURPOSE, token, now);
  const [userId = '', from = '', to = ''] = read?.facts ?? [];
  return read && { userId, from, to, at: read.at };
}

/**
 * Restores the address before the change, whatever address the user has by now, and ends every sign-in. This voids the
 * links of the change and of all later ones, so that an intruder's own link cannot take the address back. Links of
 * earlier changes stay valid, so that an intruder's own link cannot void that of the victim. A void link still ends
 * every sign-in if the user has its old address, as after a first click. The first click also removes the passkeys, the
 * identities and the wallet that were added since the sign-in that made the change: an intruder would sign in with them.
 * The address that the user loses gets a notice: somebody who reads an abandoned mailbox could have used the link.
 *
 * @throws ServiceError `User not found` also if the link is void, `User already exists` if somebody else has the old
 * address
 */
export async function undoAddressChange(call: Call, { userId, from, at }: AddressChange): Promise<void> {
  // No link is older. One day more, for clocks that differ.
  const oldestLinkAt = new Date(call.now.getTime() - LIFETIME_MS - DAY_MS);
  const spellings = spellingsOf(from);
  const addedSince = new Date(at.getTime() - FRESH_MINUTES * 60_000);
  const parameters = {
    userId,
    addedSince,
    email: from,
    ...spellings,
    changedAt: at,
    oldestLinkAt,
    ...noticeParameters(call),
  };
  const [restored] = await runCutoff(call, restoreEmail, parameters).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new ServiceError('USER_ALREADY_EXISTS') : error;
  });
  if (restored?.isTaken) throw new ServiceError('USER_ALREADY_EXISTS');
  if (!restored?.isRestored) throw new ServiceError('USER_NOT_FOUND');
  announce(call.onMessage, restored);
  call.notices?.wake();
  // What others have added while the statement waited for their lock, it could not see.
  if (restored.isFirst) await removeAdded(call, { userId, addedSince });
  await endLateSessions(call, userId);
}

const RESTORED = { isTaken: t.boolean, isRestored: t.boolean, isFirst: t.boolean, ...HAS_MESSAGES };

const restoreEmail = statement('restore_email', RESTORED)`
  with wanted as (
    -- Locked, so that after a wait for another link, this reads what that link has voided.
    select id, email as former_email, ${p.instant('changedAt')} <@ coalesce(void_undo_links, '{}') as is_void,
      greatest(${nextEmailChange}, ${p.instant('changedAt')}) as email_changed_at, exists (
        select 1 from users where ${isSameEmail(sql`email`)} and deleted_at is null
          and id <> ${p.uuid('userId')}) as is_taken
    from users where id = ${p.uuid('userId')} and deleted_at is null for no key update
  ), allowed as (
    select *, not is_void as removes from wanted
    where not is_taken and (not is_void or former_email = ${p.text('email')})
  ), first as (
    select id from allowed where removes
  ), ${deleteAdded(sql`first`)}, restored as (
    update users u set email = ${p.text('email')}, cutoff_count = u.cutoff_count + 1,
      ${removedAdded},
      email_verified_at = case when ${isSameEmail(sql`u.email`)} then u.email_verified_at end,
      email_changed_at = case when w.is_void then u.email_changed_at else w.email_changed_at end,
      void_undo_links = case when w.is_void then u.void_undo_links else
        (coalesce(u.void_undo_links, '{}') + ${rangeOf(p.instant('changedAt'), sql`w.email_changed_at`)})
          * ${rangeOf(p.instant('oldestLinkAt'), sql`null`)} end
    from allowed w ${joinRemoved}
    where u.id = w.id
    returning ${columnsOf(userColumns, 'u')}
  ), changed as (
    select r.*, w.former_email from restored r join wanted w on w.former_email <> r.email
  ), ${auditEvent({ resource: sql`id`, from: sql`restored`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'addressReplaced',
    from: sql`changed`,
    userId: sql`changed.id`,
    recipient: sql`changed.former_email`,
    value: sql`changed.email`,
  })},
  ${cutOffUserSessions(sql`restored`)},
  ${messagesOf(
    userMessage('user.updated', sql`changed`),
    sessionsRevoked(sql`ended`),
    ...loggedOutEverywhere(sql`restored`),
  )}
  select is_taken, exists (select 1 from restored) as is_restored, exists (select 1 from first) as is_first,
    ${notified} from wanted`;
