import type { JWK } from 'jose';
import { deriveTokenKeys } from '../oidc/token-keys.ts';
import { AuthTokens } from './auth-tokens.ts';
import { createExternalIssuer } from './external-issuer.ts';

interface Keys {
  readonly authSigningKeys: readonly JWK[];
  readonly encryptionKeys: readonly Buffer[];
}

/**
 * Creates the `AuthTokens` of the configuration. `issuer` is the public URL.
 *
 * @throws Error if the other issuer has the same name
 */
export async function createAuthTokens(
  issuer: string,
  { authSigningKeys, encryptionKeys }: Keys,
  other: { readonly issuer: string; readonly jwksUrl: string } | undefined,
): Promise<AuthTokens> {
  const external = createExternalIssuer(other, issuer);
  return AuthTokens.create(issuer, authSigningKeys, external, deriveTokenKeys(encryptionKeys).code);
}
