/** The canonical codes of gRPC that Usher answers with. */
export type ErrorCode =
  | 'canceled'
  | 'invalid_argument'
  | 'deadline_exceeded'
  | 'not_found'
  | 'already_exists'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'unimplemented'
  | 'internal'
  | 'unavailable'
  | 'unauthenticated';

/** What is wrong with one field of a request. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

/** A documented error. Every edge maps its code once; callers see its message as it is. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly violations: readonly Violation[];
  /** For the log only: why, where the message does not say. It holds no value of a caller's. */
  readonly reason: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    { violations = [], reason }: { violations?: readonly Violation[]; reason?: string } = {},
  ) {
    super(message);
    this.code = code;
    this.violations = violations;
    this.reason = reason;
  }
}
