/** ID tokens: OpenID Connect Core 1.0, section 2. */
import type { SignInMethod } from '../login/verify-token.ts';
import { toSeconds } from '../login/verify-token.ts';
import { hasScope } from './scope.ts';
import type { Claims } from './signing-keys.ts';

const LIFETIME_SECONDS = 15 * 60;

/** What the scopes of a client show of a user. */
export interface ClaimedProfile {
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  readonly profileImage: string | null;
}

interface IdTokenFacts {
  readonly issuer: string;
  readonly clientId: string;
  readonly userId: string;
  /** The browser in which the user has signed in to the application. */
  readonly sid: string;
  readonly authenticatedAt: Date;
  readonly method: SignInMethod;
  /** Of the request, in the first token only. */
  readonly nonce: string | null;
  readonly scope: number;
  readonly profile: ClaimedProfile;
  readonly now: Date;
}

/** Returns the claims of an ID token. `auth_time` has seconds, as the standard demands. */
export function idTokenClaims(facts: IdTokenFacts): Claims {
  const { issuer, clientId, userId, sid, authenticatedAt, method, nonce, scope, profile, now } = facts;
  const issuedAt = toSeconds(now);
  return {
    iss: issuer,
    sub: userId,
    aud: clientId,
    iat: issuedAt,
    exp: issuedAt + LIFETIME_SECONDS,
    auth_time: toSeconds(authenticatedAt),
    amr: [method],
    sid,
    ...(nonce !== null && { nonce }),
    ...profileClaims(scope, profile),
  };
}

/**
 * Returns the claims of the scopes. What the user does not have is left out, and so is an `email_verified` that is not
 * true: some clients refuse false, and accept none.
 */
export function profileClaims(scope: number, profile: ClaimedProfile): Claims {
  const { email, isEmailVerified, name, profileImage } = profile;
  return {
    ...(hasScope(scope, 'email') && email !== '' && { email, ...(isEmailVerified && { email_verified: true }) }),
    ...(hasScope(scope, 'profile') && {
      ...(name !== null && { name }),
      ...(profileImage !== null && { picture: profileImage }),
    }),
  };
}
