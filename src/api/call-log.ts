/** What remains of a call: its log line, its metrics, and its span if an SDK of OpenTelemetry is loaded. */
import {
  context as activeContext,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { CountName } from '../domain/core/call.ts';
import type { RequestContext } from '../http/http-context.ts';
import { hasTracing } from '../log.ts';
import { type CallInfo, type CallOutcome, type CallRoute, type Protocol, RPC_SYSTEMS } from './call-info.ts';
import { LineSampler } from './line-sampler.ts';
import { OutageLog } from './outage-log.ts';

const tracer = trace.getTracer('usher');

/** Codes that blame Usher, not the caller. They give the span the status ERROR. */
const FAULTS: readonly CallOutcome['code'][] = ['internal', 'unavailable', 'deadline_exceeded'];

export type RecordCall = (
  call: CallInfo,
  outcome: CallOutcome & { readonly status: number; readonly seconds: number },
) => void;

export interface CallLog {
  /** Counts for the charts of operators. */
  readonly count?: ((name: CountName, now: Date) => void) | undefined;
  readonly logger: Logger;
  readonly outages: OutageLog;
  readonly recordCall?: RecordCall | undefined;
  readonly sampler: LineSampler;
}

/** Returns the parts of a `CallLog` that keep callers from filling the log. */
export function createLineLimits(logger: Logger): Pick<CallLog, 'outages' | 'sampler'> {
  return { outages: new OutageLog(logger), sampler: new LineSampler(logger) };
}

interface NewCall {
  readonly name: string;
  readonly protocol: Protocol;
  readonly route?: CallRoute | undefined;
  /** The caller's timeout. The deadline follows from this or `requestTimeoutMs`, whichever is shorter. */
  readonly timeoutMs?: number | undefined;
  readonly requestTimeoutMs: number;
}

/**
 * Begins a call. When the call ends, writes its log line, ends its span and records its metrics. None of these has a
 * field of the request or the response. Lines of calls without a valid credential are sampled.
 */
export function beginCall(
  log: CallLog,
  context: RequestContext,
  { name, protocol, route, timeoutMs, requestTimeoutMs }: NewCall,
  getOutcome: () => CallOutcome,
): CallInfo {
  const { requestId, receivedAt: startedAt } = context;
  const isCallersDeadline = timeoutMs !== undefined && timeoutMs < requestTimeoutMs;
  const deadline = startedAt + (isCallersDeadline ? timeoutMs : requestTimeoutMs);
  const span = startCallSpan(context, name, protocol);
  let hasLeft = false;
  const isGone = () => hasLeft;
  const call = { requestId, protocol, name, route, startedAt, deadline, isCallersDeadline, isGone, span };
  // A caller that left before the whole response was sent did not get it.
  context.onClose(({ status, isSent }) => {
    hasLeft = !isSent;
    const outcome = getOutcome();
    endCall(log, call, isSent ? outcome : { ...outcome, code: 'canceled' }, status);
  });
  return call;
}

function endCall(
  { logger, outages, recordCall, sampler }: CallLog,
  call: CallInfo,
  outcome: CallOutcome,
  status: number,
): void {
  const { requestId, protocol, name, startedAt, span } = call;
  const { code, reason, detail, applicationId } = outcome;
  const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
  endCallSpan(span, outcome, status);
  if (isNotServed(outcome)) outages.report({ requestId, method: name, reason, detail });
  recordCall?.(call, { ...outcome, status, seconds: durationMs / 1_000 });
  if (!outcome.isAuthenticated && !sampler.admit(protocol === 'login' ? protocol : code)) return;
  const traceId = span?.spanContext().traceId;
  logger.info(
    { requestId, protocol, method: name, code, status, durationMs, applicationId, reason, detail, traceId },
    'call',
  );
}

/** A late answer of the database also fails calls at the deadline of their caller. Then there is a detail. */
function isNotServed({ code, detail }: CallOutcome): boolean {
  return code === 'unavailable' || (code === 'deadline_exceeded' && detail !== undefined);
}

/** Starts the span of a call. It continues the trace of a trusted proxy, and links to the trace of any other caller. */
function startCallSpan(request: RequestContext, name: string, protocol: Protocol): Span | undefined {
  if (!hasTracing) return undefined;
  const remote = propagation.extract(ROOT_CONTEXT, request.headers);
  const caller = trace.getSpanContext(remote);
  const isContinued = caller !== undefined && request.isFromTrustedProxy();
  const system = RPC_SYSTEMS[protocol];
  const options = {
    kind: SpanKind.SERVER,
    startTime: request.receivedAt,
    attributes: {
      'usher.protocol': protocol,
      'usher.request_id': request.requestId,
      ...(system && { 'rpc.system.name': system, 'rpc.method': name }),
    },
    links: caller && !isContinued ? [{ context: caller }] : [],
  };
  return tracer.startSpan(name, options, isContinued ? remote : ROOT_CONTEXT);
}

/**
 * Runs the work of a call, as part of its span. Rejects with the error of `onTimeout` if the deadline passes first, and
 * does not begin after it.
 */
export async function runCall<Result>(
  { deadline, span }: Pick<CallInfo, 'deadline' | 'span'>,
  work: () => Promise<Result>,
  onTimeout: () => Error,
): Promise<Result> {
  const remaining = deadline - performance.now();
  if (remaining <= 0) throw onTimeout();
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const timer = setTimeout(() => reject(onTimeout()), remaining);
  try {
    runInSpan(span, work).then(resolve, reject);
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** Runs the work as part of the span: log lines have its trace ID, and statements have spans below it. */
export function runInSpan<Result>(span: Span | undefined, work: () => Result): Result {
  if (!span) return work();
  return activeContext.with(trace.setSpan(activeContext.active(), span), work);
}

function endCallSpan(span: Span | undefined, { code, reason, applicationId }: CallOutcome, status: number): void {
  if (!span?.isRecording()) return;
  span.setAttributes({
    'http.response.status_code': status,
    'rpc.response.status_code': code.toUpperCase(),
    ...(applicationId && { 'usher.application_id': applicationId }),
    ...(reason && { 'error.type': reason }),
  });
  if (FAULTS.includes(code)) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
