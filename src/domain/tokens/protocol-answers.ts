/** A login that an application has begun. */
export interface AskedLogin {
  /** How a protocol such as OpenID Connect answers it. Empty if GenerateAuthUrl began it: an auth token answers it. */
  readonly responseMode: string;
  readonly redirectUri: string;
  /** Empty if the application has sent none. */
  readonly state: string;
}

/** How a protocol answers the logins that it has begun. */
export interface ProtocolAnswers {
  /** Returns the URL to which the browser is redirected once the login is completed. */
  toCompletedUrl(login: AskedLogin & { readonly loginIntentId: string }): string;
  /** Returns the URL to which the browser is redirected with an error. */
  toErrorUrl(login: AskedLogin & { readonly id: string }, error: string): string;
  /** Returns whether the answer to a completed login can still be used. */
  isLive(
    login: Pick<AskedLogin, 'responseMode'> & {
      readonly completedAt: Date;
      readonly redeemedAt: Date | null;
      readonly expiresAt: Date;
    },
    now: Date,
  ): boolean;
}
