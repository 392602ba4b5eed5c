/**
 * The account that has signed in at a provider. Issuer and subject identify it. Its address may change, or be false.
 */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Empty if the provider sent none. */
  readonly email: string;
  readonly isEmailVerified: boolean;
  /** Empty if the provider sent none. */
  readonly name: string;
  /** What the provider has said of the sign-in itself, signed: a level of `assurance.ts`. */
  readonly assurance: number;
  /** When the person signed in at the provider (`auth_time`). Undefined if the provider does not say. */
  readonly authenticatedAt?: Date | undefined;
  /** Why the provider has refused to tell the address, for the log. Undefined if it has not. */
  readonly problem?: string | undefined;
}

/** The secrets that bind the answer of a provider to the sign-in that Usher began. */
export interface AuthorizationSecrets {
  readonly state: string;
  readonly nonce: string;
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string;
}

/** How recent the sign-in at the provider must be. */
export interface Freshness {
  /** Before the login. Zero: the provider must ask the person to sign in. */
  readonly maxAgeSeconds: number;
  /** Whether a provider that does not say when is refused. */
  readonly isRequired: boolean;
}

export interface AuthorizationOptions {
  readonly redirectUri: string;
  /** An e-mail address for the form of the provider, or an empty string. */
  readonly loginHint: string;
  /** Undefined if any sign-in will do. */
  readonly freshness?: Freshness | undefined;
  /** Whether the login demands more than one factor. */
  readonly stepsUp?: boolean;
  /** Whether the provider must ask also a person who is signed in there. */
  readonly asksAgain?: boolean;
}

/** A client of one provider. Both methods throw a `ProviderError`, or errors of the network or of a library. */
export interface ProviderClient {
  authorizationUrl(secrets: AuthorizationSecrets, options: AuthorizationOptions): Promise<URL>;
  /** Redeems the code in the query of the callback. */
  identify(callback: URL, secrets: AuthorizationSecrets): Promise<Identity>;
}

/** The provider, or the browser that it redirected, sent an invalid answer, or none in time. */
export class ProviderError extends Error {}
