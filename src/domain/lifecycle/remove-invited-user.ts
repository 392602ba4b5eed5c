import { sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { createErasure, eraseUserIf } from './end-user.ts';

/**
 * Erases the user of a withdrawn invitation who is nothing but that invitation: nobody has ever signed in as the user,
 * and no operator has given the user anything. Usher keeps no addresses of strangers. An invitation no longer says that
 * it has created the user once an operator has changed the user, or has let the user into an application.
 */
export async function removeInvitedUser(call: Call, userId: string): Promise<void> {
  // Without a notice: the person never had an account.
  await eraseUserIf(call, eraseUnused, userId);
}

/** The subqueries compare with the parameter: one on a distributed table must not refer to rows of another table. */
const userId = p.uuid('userId');

const eraseUnused = createErasure(
  'erase_unused_user',
  sql`
    select u.id from users u
    where u.id = ${userId} and u.deleted_at is null and u.deactivated_at is null and u.wallet_address = ''
      and u.email_verified_at is null and u.email_changed_at is null
      and u.profile_image is null and u.external_id is null and u.attributes is null
      and not exists (select 1 from application_users where user_id = ${userId})
      and not exists (select 1 from added_users where user_id = ${userId})
      and not exists (select 1 from invitations where user_id = ${userId})
      and not exists (select 1 from group_members where user_id = ${userId})
      and not exists (select 1 from login_intents where user_id = ${userId})
      and not exists (select 1 from sessions where user_id = ${userId})
      and not exists (select 1 from oidc_grants where user_id = ${userId})
      and not exists (select 1 from passkeys where user_id = ${userId})
      and not exists (select 1 from user_identities where user_id = ${userId})
      and not exists (select 1 from webhooks where owner_id = ${userId})`,
);
