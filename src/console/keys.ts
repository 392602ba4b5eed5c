import { deriveKeys } from '../domain/derive-keys.ts';

/** Seal what the console gives to browsers. The first key writes, all read. */
export type ConsoleKeys = readonly Buffer[];

export function deriveConsoleKeys(encryptionKeys: readonly Buffer[]): ConsoleKeys {
  return deriveKeys(encryptionKeys, 'console');
}
