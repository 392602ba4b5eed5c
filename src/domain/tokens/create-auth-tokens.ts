import type { JWK } from 'jose';
import { AuthTokens } from './auth-tokens.ts';
import { createExternalIssuer } from './external-issuer.ts';
import type { ProtocolAnswers } from './protocol-answers.ts';

/**
 * Creates the `AuthTokens` of the configuration. `issuer` is the public URL.
 *
 * @throws Error if the other issuer has the same name
 */
export async function createAuthTokens(
  issuer: string,
  { authSigningKeys }: { readonly authSigningKeys: readonly JWK[] },
  other: { readonly issuer: string; readonly jwksUrl: string } | undefined,
  protocol?: ProtocolAnswers,
): Promise<AuthTokens> {
  const external = createExternalIssuer(other, issuer);
  return AuthTokens.create(issuer, authSigningKeys, external, protocol);
}
