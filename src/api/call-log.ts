import type { Logger } from 'pino';
import type { RequestContext } from '../http/http-context.ts';
import { durationMsSince } from '../log.ts';
import type { Call, CallRoute, Outcome, Protocol } from './call.ts';
import { endCallSpan, startCallSpan } from './call-span.ts';
import type { LineSampler } from './line-sampler.ts';

/** Takes note of a call that is over. */
export type RecordCall = (call: Call, outcome: Outcome & { readonly status: number; readonly seconds: number }) => void;

/** Where calls leave their traces. */
export interface CallLog {
  readonly logger: Logger;
  readonly recordCall?: RecordCall | undefined;
  readonly sampler: LineSampler;
}

interface NewCall {
  readonly name: string;
  readonly protocol: Protocol;
  readonly route?: CallRoute | undefined;
  /** The caller's timeout. The deadline is that or Usher's, whichever is shorter. */
  readonly timeoutMs?: number | undefined;
  readonly requestTimeoutMs: number;
}

/**
 * Begins a call. When it is over, logs one line unless there are too many of callers without a credential, ends its span and records it. They hold no field of the request or the
 * response.
 */
export function beginCall(
  log: CallLog,
  context: RequestContext,
  { name, protocol, route, timeoutMs, requestTimeoutMs }: NewCall,
  getOutcome: () => Outcome,
): Call {
  const { requestId, receivedAt: startedAt } = context;
  const isCallersDeadline = timeoutMs !== undefined && timeoutMs < requestTimeoutMs;
  const deadline = startedAt + (isCallersDeadline ? timeoutMs : requestTimeoutMs);
  const span = startCallSpan(context, name, protocol);
  const call = { requestId, protocol, name, route, startedAt, deadline, isCallersDeadline, span };
  // A caller that left before the response was sent did not get it.
  context.onClose(({ status, isSent }) => {
    const outcome = getOutcome();
    endCall(log, call, isSent ? outcome : { ...outcome, code: 'canceled' }, status);
  });
  return call;
}

function endCall({ logger, recordCall, sampler }: CallLog, call: Call, outcome: Outcome, status: number): void {
  const { requestId, protocol, name, startedAt, span } = call;
  const { code, reason, detail, applicationId } = outcome;
  const durationMs = durationMsSince(startedAt);
  endCallSpan(span, outcome, status);
  recordCall?.(call, { ...outcome, status, seconds: durationMs / 1_000 });
  if (!outcome.isAuthenticated && !sampler.admit(protocol === 'login' ? protocol : code)) return;
  const traceId = span?.spanContext().traceId;
  logger.info(
    { requestId, protocol, method: name, code, status, durationMs, applicationId, reason, detail, traceId },
    'call',
  );
}
