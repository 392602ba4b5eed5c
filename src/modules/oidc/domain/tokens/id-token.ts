/** ID tokens: OpenID Connect Core 1.0, section 2. */

import type { Attributes } from '../../../../database/schema/column-types.ts';
import { acrOf, ONE_FACTOR, PHISHING_RESISTANT, TWO_FACTORS } from '../../../../domain/core/assurance.ts';
import { hasScope } from '../../../../domain/grants/scope.ts';
import { shownSignInTime } from '../../../../domain/login/sign-in-age.ts';
import { type SignInMethod, toSeconds } from '../../../../domain/tokens/verify-token.ts';
import { isClientUrl } from '../../clients/client-url.ts';
import type { Claims } from './signing-keys.ts';

const LIFETIME_SECONDS = 15 * 60;

/** The profile of a user, of which the scopes of a client show parts. */
export interface ClaimedProfile {
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  readonly profileImage: string | null;
  readonly preferredUsername?: string | null;
  /** Those of the user's attributes that the client sees. */
  readonly attributes?: Attributes | null;
  /** The names of the groups that the application sees. */
  readonly groups: readonly string[];
}

/** Together, in bytes of JSON. Clients keep tokens in cookies and headers. */
const MAX_ATTRIBUTE_BYTES = 1_024;

interface IdTokenFacts {
  readonly issuer: string;
  readonly clientId: string;
  readonly userId: string;
  /** Identifies the browser in which the user has signed in to the application. */
  readonly sid: string;
  readonly authenticatedAt: Date;
  readonly method: SignInMethod;
  readonly assurance: number;
  /** The `nonce` of the authorization request. Null in the tokens of a refresh. */
  readonly nonce: string | null;
  readonly scope: number;
  readonly profile: ClaimedProfile;
  readonly now: Date;
  readonly onLeftOut?: OnLeftOut;
}

/** Called with the name of an attribute for which a token has no room. */
export type OnLeftOut = (attribute: string) => void;

/** Returns the claims of an ID token. Unlike in auth tokens, `auth_time` is in seconds, as the standard demands. */
export function idTokenClaims(facts: IdTokenFacts): Claims {
  const { issuer, clientId, userId, sid, authenticatedAt, method, assurance, nonce, scope, profile, now, onLeftOut } =
    facts;
  const issuedAt = toSeconds(now);
  return {
    iss: issuer,
    sub: userId,
    aud: clientId,
    iat: issuedAt,
    exp: issuedAt + LIFETIME_SECONDS,
    auth_time: toSeconds(shownSignInTime(method, authenticatedAt)),
    amr: amrOf(method, assurance),
    acr: acrOf(assurance),
    sid,
    ...(nonce !== null && { nonce }),
    ...profileClaims(scope, profile, onLeftOut),
  };
}

/** The first factors that Usher checks itself. */
const OWN_METHODS: ReadonlySet<string> = new Set(['email', 'passkey', 'wallet']);

/** The registered values of RFC 8176, after the method of Usher, which tells providers apart. */
function amrOf(method: SignInMethod, assurance: number): readonly string[] {
  const isPasskey = method === 'passkey';
  const isVerified = isPasskey && assurance >= PHISHING_RESISTANT;
  // A provider and a page of one's own may have checked a second factor themselves.
  const isOtp = assurance === TWO_FACTORS && OWN_METHODS.has(method);
  return [
    method,
    ...(isPasskey ? ['pop'] : []),
    ...(isVerified ? ['user'] : []),
    ...(isOtp ? ['otp'] : []),
    ...(assurance > ONE_FACTOR ? ['mfa'] : []),
  ];
}

/**
 * Returns the claims that the scopes show, without those that the user has no value for. `email_verified` is true or
 * missing: some clients refuse `false`, but accept a token without the claim.
 */
export function profileClaims(scope: number, profile: ClaimedProfile, onLeftOut?: OnLeftOut): Claims {
  const { email, isEmailVerified, profileImage, attributes, groups, preferredUsername = null } = profile;
  const name = profile.name ?? preferredUsername;
  return {
    ...(hasScope(scope, 'email') && email !== '' && { email, ...(isEmailVerified && { email_verified: true }) }),
    ...(hasScope(scope, 'profile') && {
      ...fitAttributes(attributes ?? {}, onLeftOut),
      ...(name !== null && { name }),
      ...(preferredUsername !== null && { preferred_username: preferredUsername }),
      ...(profileImage !== null && { picture: profileImage }),
    }),
    // A list also without groups: clients take a missing claim for a mistake.
    ...(hasScope(scope, 'groups') && { groups }),
  };
}

/**
 * Returns the name by which a user wants to be called, which some products demand: the one that an operator has set, or
 * the part of the address before the last @. It is not unique. A client that nobody has registered gets none: people are
 * asked whether it may see their name and picture.
 */
export function chooseUsername(
  { email, preferredUsername }: Pick<ClaimedProfile, 'email' | 'preferredUsername'>,
  clientId: string,
): string | null {
  if (isClientUrl(clientId)) return null;
  const local = email.slice(0, Math.max(0, email.lastIndexOf('@')));
  return preferredUsername ?? (local === '' ? null : local);
}

/** Returns the attributes that fit together, in the order in which Postgres has them. */
function fitAttributes(attributes: Attributes, onLeftOut?: OnLeftOut): Claims {
  let left = MAX_ATTRIBUTE_BYTES;
  const fitting = Object.entries(attributes).filter(([name, value]) => {
    const size = Buffer.byteLength(JSON.stringify({ [name]: value }));
    if (size > left) {
      onLeftOut?.(name);
      return false;
    }
    left -= size;
    return true;
  });
  return Object.fromEntries(fitting);
}
