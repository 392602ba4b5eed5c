/** What the baselines know about a call, and how they answer an error. */
import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import type { Owner } from './statements.ts';

export class BaselineCall {
  readonly requestId: string;
  readonly protocol: string;
  readonly startedAt = performance.now();
  application: Owner | undefined;

  constructor(protocol: string, requestId: string | string[] | undefined) {
    this.protocol = protocol;
    const isWellFormed = typeof requestId === 'string' && /^[\w.:+/=-]{1,128}$/.test(requestId);
    this.requestId = isWellFormed ? requestId : randomUUID();
  }

  /** Logs the same line as Usher. */
  log(logger: Logger, { method, code, status }: { method: string; code: string; status: number }): void {
    logger.info(
      {
        requestId: this.requestId,
        protocol: this.protocol,
        method,
        code,
        status,
        durationMs: Math.round((performance.now() - this.startedAt) * 100) / 100,
        application: this.application?.id,
      },
      'call',
    );
  }
}

/** The errors of the measured calls, by their code. */
const ANSWERS: Readonly<Record<string, { readonly status: number; readonly code: Code }>> = {
  invalid_argument: { status: 400, code: Code.InvalidArgument },
  unauthenticated: { status: 401, code: Code.Unauthenticated },
  not_found: { status: 404, code: Code.NotFound },
};

/** Returns the HTTP status, the code of gRPC and Connect, and the message. */
export function toAnswer(error: unknown): { status: number; code: Code; message: string } {
  const answer = error instanceof ServiceError ? ANSWERS[error.code] : undefined;
  return answer && error instanceof Error
    ? { ...answer, message: error.message }
    : { status: 500, code: Code.Internal, message: 'Internal error' };
}
