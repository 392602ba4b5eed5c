/** Errors that concern HTTP rather than the API, by reason. Reasons never change, because clients compare them. */
export const HTTP_ERRORS = {
  BAD_REQUEST: [400, 'Bad request'],
  INVALID_HOST: [400, 'Invalid host'],
  NOT_FOUND: [404, 'Not found'],
  METHOD_NOT_ALLOWED: [405, 'Method not allowed'],
  REQUEST_TIMEOUT: [408, 'Request timeout'],
  PAYLOAD_TOO_LARGE: [413, 'Payload too large'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'Unsupported media type'],
  EXPECTATION_FAILED: [417, 'Expectation failed'],
  HEADERS_TOO_LARGE: [431, 'Request header fields too large'],
  INTERNAL_ERROR: [500, 'Internal error'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type HttpErrorReason = keyof typeof HTTP_ERRORS;

export type RenderError = (reason: HttpErrorReason) => string;

interface Acceptable {
  readonly header: 'Content-Type' | 'Content-Encoding';
  readonly value: string;
}

export class HttpError extends Error {
  readonly reason: HttpErrorReason;
  readonly status: number;
  /** What the path takes in the place of what it has refused. */
  readonly takes: Acceptable | undefined;

  constructor(reason: HttpErrorReason, takes?: Acceptable) {
    const [status, message] = HTTP_ERRORS[reason];
    super(message);
    this.reason = reason;
    this.status = status;
    this.takes = takes;
  }
}
