/** The span of a call, or undefined without an SDK of OpenTelemetry. */
import {
  context,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { RequestContext } from '../http/http-context.ts';
import { type CallOutcome, type Protocol, RPC_SYSTEMS } from './call-info.ts';

const tracer = trace.getTracer('usher');
/** An SDK registers its provider before Usher is loaded. */
const provider = trace.getTracerProvider();
const hasSdk = !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('usher') !== undefined;

/** Codes that blame Usher, not the caller. They give the span the status ERROR. */
const FAULTS: readonly CallOutcome['code'][] = ['internal', 'unavailable', 'deadline_exceeded'];

/** Starts the span of a call. It continues the trace of a trusted proxy, and links to the trace of any other caller. */
export function startCallSpan(request: RequestContext, name: string, protocol: Protocol): Span | undefined {
  if (!hasSdk) return undefined;
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

/** Runs the work as part of the span: log lines have its trace ID, and statements have spans below it. */
export function runInSpan<Result>(span: Span | undefined, work: () => Result): Result {
  if (!span) return work();
  return context.with(trace.setSpan(context.active(), span), work);
}

export function endCallSpan(
  span: Span | undefined,
  { code, reason, applicationId }: CallOutcome,
  status: number,
): void {
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
