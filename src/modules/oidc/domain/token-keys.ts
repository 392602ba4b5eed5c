import { createSecretKey } from 'node:crypto';
import { deriveKeys } from '../../../crypto/derive-keys.ts';
import type { SealKeys } from '../../../crypto/sealed-bytes.ts';

export interface TokenKeys {
  readonly code: SealKeys;
  readonly accessToken: SealKeys;
  readonly refreshToken: SealKeys;
}

export function deriveTokenKeys(encryptionKeys: readonly Buffer[]): TokenKeys {
  const sealKeysOf = (purpose: string) => deriveKeys(encryptionKeys, purpose).map((key) => createSecretKey(key));
  return {
    code: sealKeysOf('oidc code'),
    accessToken: sealKeysOf('oidc access token'),
    refreshToken: sealKeysOf('oidc refresh token'),
  };
}
