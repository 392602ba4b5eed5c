/** How a call begins, fails and ends. Its log line, metrics and span remain, and functions of the domain get its `Call`. */
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
import type { Caller, Database, Deadline } from '../database/pool/database.ts';
import { NO_APPLICATION } from '../database/schema/audit-schema.ts';
import { type Actor, withAudit } from '../domain/audit/audit-event.ts';
import type { Call, CountName, Transactional } from '../domain/core/call.ts';
import type { ServiceError } from '../domain/core/errors.ts';
import type { HttpError } from '../http/errors.ts';
import type { HttpContext, RequestContext } from '../http/http-context.ts';
import type { HttpRoute, PathParameters } from '../http/route-table.ts';
import { hasTracing } from '../log.ts';
import { outcomeOf, toCallError } from './call-errors.ts';
import { type CallInfo, type CallOutcome, type CallRoute, type Protocol, RPC_SYSTEMS } from './call-info.ts';
import { sendError } from './envelope.ts';
import type { LineSampler, OutageLog } from './log-limits.ts';

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
  /** The page of the API reference about errors. */
  readonly errorsUrl: string;
  /** The time that calls have, if the caller sets no shorter timeout. */
  readonly requestTimeoutMs: number;
  readonly sampler: LineSampler;
}

interface NewCall {
  readonly protocol: Protocol;
  readonly route?: CallRoute | undefined;
  /** Defaults to method and path of the route. */
  readonly name?: string;
  /** The caller's timeout. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Serves a call. The work sends the response, and throws an error before that, which `answerError` answers. An error
 * after that breaks a response off that is not complete, so that the client knows that something is missing.
 */
export async function serveCall(
  log: CallLog,
  context: HttpContext,
  newCall: NewCall,
  work: (call: CallInfo) => Promise<void>,
  answerError: (error: ServiceError | HttpError, call: CallInfo) => void = (error) => sendError(context, error),
): Promise<void> {
  const call = beginCall(log, context, newCall);
  try {
    await runInSpan(call.span, () => work(call));
  } catch (cause) {
    const error = failCall(call, cause, log.logger);
    if (!context.response.headersSent) answerError(error, call);
    else if (!context.response.writableEnded) context.response.destroy();
  }
}

/** Returns a route whose requests are calls. */
export function callRoute(
  log: CallLog,
  method: HttpRoute['method'],
  path: string,
  work: (call: CallInfo, context: HttpContext, parameters: PathParameters) => Promise<void>,
): HttpRoute {
  const newCall = { protocol: 'rest', route: { method, path } } as const;
  const run: HttpRoute['run'] = (context, parameters) =>
    serveCall(log, context, newCall, (call) => work(call, context, parameters));
  return { method, path, run };
}

/**
 * Begins a call. When the call ends, writes its log line, ends its span and records its metrics. None of these has a
 * field of the request or the response. Lines of calls without a valid credential are sampled.
 */
export function beginCall(
  log: CallLog,
  context: RequestContext,
  { protocol, route, name = `${route?.method} ${route?.path}`, timeoutMs }: NewCall,
): CallInfo {
  const { errorsUrl, requestTimeoutMs } = log;
  const { requestId, receivedAt: startedAt } = context;
  const isCallersDeadline = timeoutMs !== undefined && timeoutMs < requestTimeoutMs;
  const deadline = startedAt + (isCallersDeadline ? timeoutMs : requestTimeoutMs);
  const span = startCallSpan(context, name, protocol);
  let hasLeft = false;
  const isGone = () => hasLeft;
  const outcome: CallOutcome = { code: 'ok' };
  const call = {
    ...{ requestId, protocol, name, route, startedAt, deadline, isCallersDeadline, isGone, span },
    errorsUrl,
    outcome,
  };
  // A caller that left before the whole response was sent did not get it.
  context.onClose(({ status, isSent }) => {
    hasLeft = !isSent;
    endCall(log, call, isSent ? call.outcome : { ...call.outcome, code: 'canceled' }, status);
  });
  return call;
}

/** Sets the outcome of a call, and returns the error to answer with. Logs an unexpected error. */
export function failCall(call: CallInfo, cause: unknown, logger: Logger): ServiceError | HttpError {
  const error = runInSpan(call.span, () => toCallError(cause, call, logger));
  call.outcome = { ...call.outcome, ...outcomeOf(error) };
  return error;
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

interface CallParts extends Pick<Call, 'notices' | 'onMessage'>, Pick<CallLog, 'count'> {
  readonly clock: () => Date;
  readonly database: Pick<Database, 'run' | 'transact'>;
}

interface CallLimits extends Pick<Caller, 'isGone'> {
  /** Called when the call waits for something that delays no other call, such as a row lock. */
  readonly onWait?: (() => void) | undefined;
  /** The application whose transactions wait for each other. By default, those that concern no single application. */
  readonly applicationId?: string;
  /** Read for each statement. */
  readonly deadline: Deadline;
}

/** The audit log stores no addresses of users: they are personal data, which only sessions store. */
const WITHOUT_ADDRESS: readonly Actor['actorType'][] = ['login_page', 'usher'];

/** Returns the call for functions of the domain. Reads the clock: call this after the body of the request has arrived. */
export function createAuditedCall(
  { clock, count, database, notices, onMessage }: CallParts,
  { clientAddress, requestId }: RequestContext,
  actor: Actor,
  limits: CallLimits,
): Call & Transactional {
  const now = clock();
  const ipAddress = WITHOUT_ADDRESS.includes(actor.actorType) ? '' : clientAddress;
  const audit = { ...actor, ipAddress, requestId, now };
  const { applicationId = NO_APPLICATION, isGone, onWait } = limits;
  const caller: Caller = { onLockWait: onWait, isGone };
  return {
    // Not before a statement runs: some calls, such as session checks, are answered from memory.
    run: (given, values) =>
      withAudit((statement, own) => database.run(statement, own, limits.deadline, caller), audit)(given, values),
    transact(work, lock) {
      // A transaction waits for locks on a connection of its own.
      onWait?.();
      const { deadline } = limits;
      return database.transact({ applicationId, deadline, lock, isGone }, (run) => work(withAudit(run, audit)));
    },
    now,
    actor: actor.actor,
    notices,
    onMessage,
    count: (name) => count?.(name, now),
  };
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
function runInSpan<Result>(span: Span | undefined, work: () => Result): Result {
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
