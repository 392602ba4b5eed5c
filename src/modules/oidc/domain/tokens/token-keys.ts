import { deriveKeys } from '../../../../domain/crypto/derived-keys.ts';
import type { SealKeys } from './sealed-bytes.ts';

export interface TokenKeys {
  readonly code: SealKeys;
  /** They seal the links to the page that asks for consent. */
  readonly consent: SealKeys;
  readonly accessToken: SealKeys;
  readonly refreshToken: SealKeys;
  readonly machineToken: SealKeys;
  /** They digest the codes of devices. */
  readonly deviceCode: SealKeys;
  /** They seal the login that a page about a device shows. */
  readonly deviceRequest: SealKeys;
  /** The same, for the browser that has completed the login. */
  readonly deviceApproval: SealKeys;
}

export function deriveTokenKeys(encryptionKeys: readonly Buffer[]): TokenKeys {
  const sealKeysOf = (purpose: string) => deriveKeys(encryptionKeys, purpose);
  return {
    code: sealKeysOf('oidc code'),
    consent: sealKeysOf('oidc consent'),
    accessToken: sealKeysOf('oidc access token'),
    refreshToken: sealKeysOf('oidc refresh token'),
    machineToken: sealKeysOf('oidc machine token'),
    deviceCode: sealKeysOf('oidc device code'),
    deviceRequest: sealKeysOf('oidc device request'),
    deviceApproval: sealKeysOf('oidc device approval'),
  };
}
