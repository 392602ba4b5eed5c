import { passkeys } from '../../database/passkey-schema.ts';
import type { RowOfType } from '../../database/template.ts';

/** Per user and relying party. */
export const MAX_PASSKEYS = 10;

/** Without the public key, which nobody needs to see. */
export const passkeyColumns = {
  id: passkeys.id,
  credentialId: passkeys.credentialId,
  rpId: passkeys.rpId,
  aaguid: passkeys.aaguid,
  transports: passkeys.transports,
  isBackupEligible: passkeys.isBackupEligible,
  isBackedUp: passkeys.isBackedUp,
  isUserVerified: passkeys.isUserVerified,
  name: passkeys.name,
  createdAt: passkeys.createdAt,
  lastUsedAt: passkeys.lastUsedAt,
};

export type Passkey = RowOfType<typeof passkeyColumns>;
