import { sql } from 'drizzle-orm';
import { userIdentities } from '../../database/identity-schema.ts';
import { users } from '../../database/schema.ts';
import { p, type RowOfType, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { getUser } from '../users/get-user.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';

const rules = { userId: uuid, issuer: text({ max: 2_048 }), subject: text({ max: 255 }) };

/** The provider of the removed identity, and the e-mail address of its user. */
export type RemovedIdentity = RowOfType<typeof REMOVED>;

/**
 * Removes an identity of a user. Sessions that began with it live on. Returns undefined if the user does not have it.
 *
 * @throws ServiceError `User not found`
 */
export async function deleteUserIdentity(
  call: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<RemovedIdentity | undefined> {
  const { userId, issuer, subject } = check(request, rules);
  const [deleted] = await call.run(removeIdentity, { userId, issuer, subject });
  if (!deleted) await getUser(call, { userId });
  return deleted;
}

const REMOVED = { provider: userIdentities.provider, email: users.email };

const removeIdentity = statement('delete_identity', REMOVED)`
  with deleted as (
    delete from user_identities
    where issuer = ${p.text('issuer')} and subject = ${p.text('subject')} and user_id = ${p.uuid('userId')}
    returning user_id, provider
  ), ${auditEvent({ resource: sql`user_id`, from: sql`deleted`, applicationId: noApplication })}
  select deleted.provider, users.email from deleted join users on users.id = deleted.user_id`;
