import { UUID } from '../../../../domain/core/validation.ts';
import type { OidcSigningKeys } from '../tokens/signing-keys.ts';

/** The claims of an ID token that an application passes as `id_token_hint`. */
export interface IdTokenHint {
  readonly userId: string;
  readonly clientId: string;
  /** Identifies the browser of the sign-in. Older tokens have none. */
  readonly sid: string | undefined;
  readonly issuedAt: Date;
}

/**
 * Returns undefined unless Usher has signed the ID token. It may have expired, because a hint is no proof of a sign-in.
 */
export function readIdTokenHint(keys: OidcSigningKeys, issuer: string, token: string): IdTokenHint | undefined {
  const claims = keys.verify(token, ({ iss, aud, sub, iat }) => {
    return iss === issuer && typeof aud === 'string' && typeof iat === 'number' && UUID.test(`${sub}`);
  });
  if (!claims) return undefined;
  const { aud, sub, sid, iat } = claims;
  return {
    userId: String(sub),
    clientId: String(aud),
    sid: UUID.test(`${sid}`) ? `${sid}` : undefined,
    issuedAt: new Date(Number(iat) * 1_000),
  };
}
