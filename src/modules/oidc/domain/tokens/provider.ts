import type { JWK } from 'jose';
import { OidcSigningKeys } from './signing-keys.ts';
import type { TokenKeys } from './token-keys.ts';

/** The keys that the endpoints of OpenID Connect share. */
export interface OidcProvider {
  readonly signingKeys: OidcSigningKeys;
  readonly tokenKeys: TokenKeys;
}

/** Returns undefined if there are no signing keys, which turns OpenID Connect off. */
export function createOidcProvider(signingKeys: readonly JWK[], tokenKeys: TokenKeys): OidcProvider | undefined {
  if (signingKeys.length === 0) return undefined;
  return { signingKeys: new OidcSigningKeys(signingKeys), tokenKeys };
}
