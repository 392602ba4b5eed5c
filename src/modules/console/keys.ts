import { deriveKeys } from '../../domain/crypto/aes-gcm.ts';

/** Keys for the cookies and links that the console gives to browsers. The first key encrypts, all decrypt. */
export type ConsoleKeys = readonly Buffer[];

export function deriveConsoleKeys(encryptionKeys: readonly Buffer[]): ConsoleKeys {
  return deriveKeys(encryptionKeys, 'console');
}
