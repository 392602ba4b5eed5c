import { deriveKeys } from '../derive-keys.ts';
import type { SealKeys } from './sealed-bytes.ts';

export interface TokenKeys {
  readonly code: SealKeys;
  readonly accessToken: SealKeys;
  readonly refreshToken: SealKeys;
}

export function deriveTokenKeys(encryptionKeys: readonly Buffer[]): TokenKeys {
  return {
    code: deriveKeys(encryptionKeys, 'oidc code'),
    accessToken: deriveKeys(encryptionKeys, 'oidc access token'),
    refreshToken: deriveKeys(encryptionKeys, 'oidc refresh token'),
  };
}
