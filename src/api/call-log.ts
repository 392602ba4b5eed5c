import type { Logger } from 'pino';
import type { ErrorCode, ErrorReason } from '../domain/errors.ts';
import type { HttpErrorReason } from '../http/errors.ts';
import type { RequestContext } from '../http/http-context.ts';
import { durationMsSince } from '../log.ts';
import type { Call } from './call.ts';
import { endCallSpan } from './call-span.ts';

/** How a call ended. */
export interface Outcome {
  readonly code: ErrorCode | 'ok';
  readonly reason?: ErrorReason | HttpErrorReason;
  /** Why, where the reason does not say. */
  readonly detail?: string | undefined;
  readonly applicationId?: string | undefined;
}

/** Takes note of a call that is over. */
export type RecordCall = (call: Call, outcome: Outcome & { readonly status: number; readonly seconds: number }) => void;

/** Where calls leave their traces. */
export interface CallLog {
  readonly logger: Logger;
  readonly recordCall?: RecordCall | undefined;
}

/** Logs one line, ends the span and records the call when it is over. They hold no field of the request or the response. */
export function logCall(
  { logger, recordCall }: CallLog,
  context: RequestContext,
  call: Call,
  getOutcome: () => Outcome,
): void {
  context.onClose(({ status, isSent }) => {
    const outcome = getOutcome();
    const { reason, detail, applicationId } = outcome;
    // A caller that left before the response was sent did not get it.
    const code = isSent ? outcome.code : 'canceled';
    const durationMs = durationMsSince(call.startedAt);
    endCallSpan(call.span, { code, status }, outcome);
    recordCall?.(call, { ...outcome, code, status, seconds: durationMs / 1_000 });
    logger.info(
      {
        requestId: call.requestId,
        protocol: call.protocol,
        method: call.name,
        code,
        status,
        durationMs,
        applicationId,
        reason,
        detail,
        traceId: call.span?.spanContext().traceId,
      },
      'call',
    );
  });
}
