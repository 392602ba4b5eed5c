import { deriveKeys } from '../../crypto/derive-keys.ts';

/** The keys of the account page's cookie and of undo links. The first key encrypts, and all keys decrypt. */
export type AccountKeys = readonly Buffer[];

export function deriveAccountKeys(encryptionKeys: readonly Buffer[]): AccountKeys {
  return deriveKeys(encryptionKeys, 'account');
}
