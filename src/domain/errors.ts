export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'not-found'
  | 'already-exists'
  | 'failed-precondition'
  | 'too-many';

/** What is wrong with one field of a request. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

/** An answer other than success. The message is documented and shown to the caller as it is. */
export class ServiceError extends Error {
  readonly kind: ErrorKind;
  readonly violations: readonly Violation[];

  constructor(kind: ErrorKind, message: string, violations: readonly Violation[] = []) {
    super(message);
    this.kind = kind;
    this.violations = violations;
  }
}
