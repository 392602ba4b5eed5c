/** A login that an application has begun. */
export interface AskedLogin {
  /** How a protocol such as OpenID Connect answers it. Empty if GenerateAuthUrl began it: an auth token answers it. */
  readonly responseMode: string;
  readonly redirectUri: string;
  /** Empty if the application has sent none. */
  readonly state: string;
  readonly applicationId: string;
  /** The client that asked, if that is not the application: then the application is the resource of its tokens. */
  readonly forClient: string | null;
  /** Its name, if nobody has registered it: then the user must consent before it gets an answer. */
  readonly clientName: string | null;
}

/** A login whose answer may still be used. */
export interface CompletedAsk extends Pick<AskedLogin, 'clientName'> {
  readonly completedAt: Date;
  readonly consentedAt: Date | null;
  readonly redeemedAt: Date | null;
  readonly expiresAt: Date;
}

/** How a protocol answers the logins that it has begun. */
export interface ProtocolAnswers {
  /** Returns the URL to which the browser is redirected once the login is completed. */
  toCompletedUrl(login: AskedLogin & { readonly loginIntentId: string }): string;
  /** Returns the URL to which the browser is redirected with an error. */
  toErrorUrl(
    login: Pick<AskedLogin, 'responseMode' | 'redirectUri' | 'state'> & { readonly id: string },
    error: string,
  ): string;
  /** Returns whether the answer to a completed login can still be used. */
  isLive(login: CompletedAsk & Pick<AskedLogin, 'responseMode'>, now: Date): boolean;
}
