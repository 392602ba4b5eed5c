import { passkeys } from '../../database/schema/passkey-schema.ts';
import type { RowOfType } from '../../database/sql/template.ts';

const { id, credentialId, rpId, aaguid, transports, name, createdAt, lastUsedAt } = passkeys;
const { isBackupEligible, isBackedUp, isUserVerified } = passkeys;
const flags = { isBackupEligible, isBackedUp, isUserVerified };
/** The columns of lists, without public key and counter, which nobody needs to see. */
export const passkeyColumns = { id, credentialId, rpId, aaguid, transports, ...flags, name, createdAt, lastUsedAt };

export type Passkey = RowOfType<typeof passkeyColumns>;
