/** What an intruder may have added to sign in again as a user: passkeys, identities, a second factor and a wallet. Links in notices remove it. */
import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userMessage } from '../outbox/user-messages.ts';
import { credentialRemoved } from '../users/counts-from.ts';
import { userColumns } from '../users/user.ts';

/** Returns CTEs that delete what the user in the CTE has added since. Parameter: addedSince. */
export function deleteAdded(from: SQL): SQL {
  const isAdded = sql`t.user_id = f.id and t.created_at >= ${p.instant('addedSince')}`;
  return sql`passkeys_left as (
    delete from passkeys t using ${from} f where ${isAdded} returning t.user_id
  ), identities_left as (
    delete from user_identities t using ${from} f where ${isAdded}
  ), secrets_left as (
    delete from totp_secrets t using ${from} f where ${isAdded} returning t.user_id
  ), codes_left as (
    delete from recovery_codes t using secrets_left f where t.user_id = f.user_id
  )`;
}

/** Joins to a row `w`, with the ID of the user, what `removedAdded` reads. */
export const joinRemoved = sql`
    -- Equivalent: conjunct: all are of one user
    left join (select distinct user_id from passkeys_left) k on k.user_id = w.id
    -- Equivalent: conjunct: they are, too
    left join secrets_left s on s.user_id = w.id`;

/**
 * What an update of `users u` from the row `w` sets beside `deleteAdded`. It removes a wallet if `w.removes`, and never
 * one that an operator has set, which has no `wallet_linked_at`. Parameters: addedSince, now.
 */
export const removedAdded = sql`
  wallet_address = case when u.wallet_linked_at >= ${p.instant('addedSince')} and w.removes then ''
    else u.wallet_address end,
  ${credentialRemoved(sql`k.user_id is not null or s.user_id is not null`)},
  has_second_factor = u.has_second_factor and s.user_id is null`;

/** Removes what was added since. The caller has ended the sign-ins before, so that nobody adds anything meanwhile. */
export async function removeAdded(call: Call, added: { readonly userId: string; readonly addedSince: Date }) {
  const [removed] = await call.run(removeAddedSince, { ...added });
  if (removed) announce(call.onMessage, removed);
}

const removeAddedSince = statement('remove_added', HAS_MESSAGES)`
  with owner as (
    select id, wallet_address, true as removes from users
    where id = ${p.uuid('userId')} and deleted_at is null for no key update
  ), ${deleteAdded(sql`owner`)}, removed as (
    update users u set ${removedAdded} from owner w ${joinRemoved}
    where u.id = w.id and (k.user_id is not null or s.user_id is not null or u.wallet_linked_at >= ${p.instant('addedSince')})
    returning ${columnsOf(userColumns, 'u')}
  ), changed as (
    select removed.* from removed join owner w on w.wallet_address <> removed.wallet_address
  ), ${messagesOf(userMessage('user.updated', sql`changed`))}
  select ${notified} from owner`;
