import { passkeys } from '../../database/schema/passkey-schema.ts';
import { columnsOf, p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { getUser } from '../users/get-user.ts';

const { id, credentialId, rpId, aaguid, transports, name, createdAt, countsFrom, lastUsedAt } = passkeys;
const { isBackupEligible, isBackedUp, isUserVerified } = passkeys;
const flags = { isBackupEligible, isBackedUp, isUserVerified };
/** The columns of lists, without public key and counter, which nobody needs to see. */
const passkeyColumns = {
  id,
  credentialId,
  rpId,
  aaguid,
  transports,
  ...flags,
  name,
  createdAt,
  countsFrom,
  lastUsedAt,
};

export type Passkey = RowOfType<typeof passkeyColumns>;

const rules = { userId: uuid };

/** Returns all passkeys of a user, oldest first. @throws ServiceError `User not found` */
export async function listPasskeys(call: Call, request: Unchecked<keyof typeof rules>): Promise<Passkey[]> {
  const { userId } = check(request, rules);
  const passkeys = await call.run(selectPasskeys, { userId });
  if (passkeys.length === 0) await getUser(call, { userId });
  return passkeys;
}

export const selectPasskeys = statement('select_passkeys', passkeyColumns)`
  select ${columnsOf(passkeyColumns)} from passkeys where user_id = ${p.uuid('userId')} order by created_at, id`;
