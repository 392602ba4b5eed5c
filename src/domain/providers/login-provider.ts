/** An identity provider of other people, as the operator has registered Usher there. */
export interface LoginProvider {
  /** In the path of the callback, and the method of its sign-ins. */
  readonly id: string;
  /** What people read on its button. */
  readonly name: string;
  readonly type: 'openid' | 'github';
  /** Compared with `iss`, byte for byte. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether an address that it has verified finds its user without a code. */
  readonly trustEmail: boolean;
  /** In lower case. Other addresses need a code. Empty for all. */
  readonly emailDomains: readonly string[];
}

/** Who has signed in at a provider. Only the issuer and the subject identify: addresses change and may be anybody's. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Empty if the provider names none. */
  readonly email: string;
  readonly isEmailVerified: boolean;
  /** Empty if the provider names none. */
  readonly name: string;
}

/** What a sign-in at a provider is bound to. */
export interface AuthorizationSecrets {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly codeVerifier: string;
}

export interface AuthorizationOptions {
  readonly redirectUri: string;
  /** An address to fill in, or an empty string. */
  readonly loginHint: string;
}

/** Speaks with one provider. Both methods throw a `ProviderError`, or what the network threw. */
export interface ProviderClient {
  authorizationUrl(secrets: AuthorizationSecrets, options: AuthorizationOptions): Promise<URL>;
  /** Redeems the code in the query of the callback. */
  identify(callback: URL, secrets: AuthorizationSecrets): Promise<Identity>;
}

/** The provider, or the browser on its behalf, sent something that is not true. */
export class ProviderError extends Error {}
