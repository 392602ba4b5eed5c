const MAX_DETAIL = 200;

/** An e-mail was not sent. The error does not contain the message of the mail server, which quotes addresses. */
export class MailError extends Error {
  /** A code of nodemailer such as `EAUTH`, or one of Usher such as `shutdown`. */
  readonly code: string | undefined;
  /** The reply code of the mail server, such as 550. */
  readonly responseCode: number | undefined;
  /**
   * Whether the error does not depend on the address: no connection, no login, a full queue, or a shutdown. Decoys fail
   * in the same way, so the page may show the error without revealing whether the address has a user.
   */
  readonly isOfServer: boolean;
  /** Why the connection failed, such as an untrusted certificate. It quotes no address, because none was sent yet. */
  readonly detail: string | undefined;

  /** `cause` is an error of nodemailer, or an object with a code of Usher. */
  constructor(cause: unknown, { isOfServer, isConnected = true }: { isOfServer: boolean; isConnected?: boolean }) {
    super('The e-mail was not sent');
    this.detail = !isConnected && cause instanceof Error ? cause.message.slice(0, MAX_DETAIL) : undefined;
    const { code, responseCode } = toReason(cause);
    this.code = code;
    this.responseCode = responseCode;
    this.isOfServer = isOfServer;
  }

  /** Whether another attempt would fail, too. */
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
