import type { Logger } from 'pino';
import type { ErrorCode, ErrorReason } from '../domain/errors.ts';
import type { HttpErrorReason } from '../http/errors.ts';
import type { RequestContext } from '../http/http-context.ts';
import { durationMsSince } from '../log.ts';
import type { Call } from './call.ts';

/** How a call ended. */
export interface Outcome {
  readonly code: ErrorCode | 'ok';
  readonly reason?: ErrorReason | HttpErrorReason;
  /** Why, where the reason does not say. */
  readonly detail?: string | undefined;
  readonly applicationId?: string | undefined;
}

/** Logs one line when the call is over. It holds no field of the request or the response. */
export function logCall(logger: Logger, context: RequestContext, call: Call, getOutcome: () => Outcome): void {
  context.onClose(({ status, isSent }) => {
    const { code, reason, detail, applicationId } = getOutcome();
    logger.info(
      {
        requestId: call.requestId,
        protocol: call.protocol,
        method: call.name,
        // A caller that left before the response was sent did not get it.
        code: isSent ? code : 'canceled',
        status,
        durationMs: durationMsSince(call.startedAt),
        applicationId,
        reason,
        detail,
      },
      'call',
    );
  });
}
