import type { JWK } from 'jose';
import { OidcSigningKeys } from './signing-keys.ts';
import { deriveTokenKeys, type TokenKeys } from './token-keys.ts';

/** What every endpoint of OpenID Connect needs. */
export interface OidcProvider {
  readonly signingKeys: OidcSigningKeys;
  readonly tokenKeys: TokenKeys;
}

/** Returns undefined without signing keys: OpenID Connect is off. */
export function createOidcProvider({
  oidcSigningKeys,
  encryptionKeys,
}: {
  readonly oidcSigningKeys: readonly JWK[];
  readonly encryptionKeys: readonly Buffer[];
}): OidcProvider | undefined {
  if (oidcSigningKeys.length === 0) return undefined;
  return { signingKeys: new OidcSigningKeys(oidcSigningKeys), tokenKeys: deriveTokenKeys(encryptionKeys) };
}
