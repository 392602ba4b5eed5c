const MAX_DETAIL = 200;

/** Why an e-mail was not sent. Without the message of the mail server, which quotes addresses. */
export class MailError extends Error {
  /** Of nodemailer, or ours. */
  readonly code: string | undefined;
  /** What the mail server answered, such as 550. */
  readonly responseCode: number | undefined;
  /**
   * Whether Usher got no login at the mail server. A decoy meets the same, so it may be shown without telling whether
   * the address has a user.
   */
  readonly isOfServer: boolean;
  /** Why there is no connection, such as a certificate that is not trusted. No address has been sent by then. */
  readonly detail: string | undefined;

  /** `cause` is an error of nodemailer, or has a code of ours. */
  constructor(cause: unknown, { isOfServer, isConnected = true }: { isOfServer: boolean; isConnected?: boolean }) {
    super('The e-mail was not sent');
    this.detail = !isConnected && cause instanceof Error ? cause.message.slice(0, MAX_DETAIL) : undefined;
    const { code, responseCode } = toReason(cause);
    this.code = code;
    this.responseCode = responseCode;
    this.isOfServer = isOfServer;
  }

  /** Whether sending the same again is of no use. */
  get isPermanent(): boolean {
    const { code, responseCode = 0 } = this;
    return responseCode >= 500 || ((code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode === 0);
  }
}

function toReason(cause: unknown): { readonly code?: string; readonly responseCode?: number } {
  return typeof cause === 'object' && cause !== null ? cause : {};
}

export function toMailError(cause: unknown): MailError {
  return cause instanceof MailError ? cause : new MailError(cause, { isOfServer: false });
}
