import { Code } from '@connectrpc/connect';

/** A refusal that only HTTP knows: it has a status and no RPC of ours has a code for it. */
export class HttpError extends Error {
  readonly status: 408 | 413 | 415;

  constructor(status: HttpError['status'], message: string) {
    super(message);
    this.status = status;
  }

  /** The code closest to it, for the log. */
  get code(): Code {
    return this.status === 408 ? Code.DeadlineExceeded : Code.InvalidArgument;
  }
}
