import { sql } from 'drizzle-orm';
import { passkeys } from '../../database/passkey-schema.ts';
import { users } from '../../database/schema.ts';
import { p, type RowOfType, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { userId: uuid, passkeyId: uuid };

export type RemovedPasskey = RowOfType<typeof REMOVED>;

/**
 * Removes a passkey of a user. Sessions that began with it live on.
 *
 * @throws ServiceError `Passkey not found`
 */
export async function deletePasskey({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<RemovedPasskey> {
  const [deleted] = await run(removePasskey, check(request, rules));
  if (!deleted) throw new ServiceError('PASSKEY_NOT_FOUND');
  return deleted;
}

const REMOVED = { name: passkeys.name, email: users.email };

const removePasskey = statement('delete_passkey', REMOVED)`
  with deleted as (
    delete from passkeys where user_id = ${p.uuid('userId')} and id = ${p.uuid('passkeyId')} returning id, user_id, name
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })}
  select deleted.name, users.email from deleted join users on users.id = deleted.user_id`;
