import { passkeys } from '../../database/passkey-schema.ts';
import type { RowOfType } from '../../database/template.ts';

/** The limit per user and relying party. */
export const MAX_PASSKEYS = 10;

/** How long a passkey is young that was added after a sign-in without another one. */
export const YOUNG_PASSKEY_DAYS = 7;

const { id, credentialId, rpId, aaguid, transports, name, createdAt, lastUsedAt } = passkeys;
const { isBackupEligible, isBackedUp, isUserVerified } = passkeys;
const flags = { isBackupEligible, isBackedUp, isUserVerified };
/** The columns of lists, without public key and counter, which nobody needs to see. */
export const passkeyColumns = { id, credentialId, rpId, aaguid, transports, ...flags, name, createdAt, lastUsedAt };

export type Passkey = RowOfType<typeof passkeyColumns>;
