import { sql } from 'drizzle-orm';
import { passkeys } from '../../database/passkey-schema.ts';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { userId: uuid, passkeyId: uuid };

/**
 * Removes a passkey of a user, who cannot sign in with it any more. Returns its name.
 *
 * @throws ServiceError `Passkey not found`
 */
export async function deletePasskey({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const [deleted] = await run(removePasskey, check(request, rules));
  if (!deleted) throw new ServiceError('PASSKEY_NOT_FOUND');
  return deleted.name;
}

const removePasskey = statement('delete_passkey', { name: passkeys.name })`
  with deleted as (
    delete from passkeys where user_id = ${p.uuid('userId')} and id = ${p.uuid('passkeyId')} returning id, name
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })}
  select name from deleted`;
