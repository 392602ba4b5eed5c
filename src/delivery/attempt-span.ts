/** The span of an attempt, if the process has an SDK of OpenTelemetry. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { AttemptOutcome, AttemptRequest } from './attempt.ts';

const tracer = trace.getTracer('usher');

/** Sends the request in a span of its own. Its headers, such as `traceparent`, lead the receiver to the trace. */
export async function sendInSpan(
  request: AttemptRequest,
  attributes: Readonly<Record<string, string | number>>,
  send: (request: AttemptRequest) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const span = tracer.startSpan('webhook attempt', { kind: SpanKind.CLIENT, attributes });
  const active = trace.setSpan(context.active(), span);
  const headers = { ...request.headers };
  propagation.inject(active, headers);
  const outcome = await context.with(active, () => send({ ...request, headers }));
  const { statusCode, error } = outcome;
  if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode);
  if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end();
  return outcome;
}
