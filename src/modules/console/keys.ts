import { type DerivedKeys, deriveKeys } from '../../domain/crypto/derived-keys.ts';

/** Keys for the cookies and links that the console gives to browsers. The first key encrypts, all decrypt. */
export type ConsoleKeys = DerivedKeys;

export function deriveConsoleKeys(encryptionKeys: readonly Buffer[]): ConsoleKeys {
  return deriveKeys(encryptionKeys, 'console');
}
