import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { getUser } from '../users/get-user.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';

const rules = { userId: uuid, issuer: text({ max: 2_048 }), subject: text({ max: 255 }) };

/**
 * Removes an identity of a user, who cannot sign in with it any more. Sessions stay. Succeeds if the user does not have it.
 *
 * @throws ServiceError `User not found`
 */
export async function deleteUserIdentity(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { userId, issuer, subject } = check(request, rules);
  const [deleted] = await call.run(removeIdentity, { userId, issuer, subject });
  if (!deleted) await getUser(call, { userId });
}

const removeIdentity = statement('delete_identity', { userId: t.uuid })`
  with deleted as (
    delete from user_identities
    where issuer = ${p.text('issuer')} and subject = ${p.text('subject')} and user_id = ${p.uuid('userId')}
    returning user_id
  ), ${auditEvent({ resource: sql`user_id`, from: sql`deleted`, applicationId: noApplication })}
  select user_id from deleted`;
