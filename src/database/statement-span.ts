import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Statement } from './statement.ts';

const tracer = trace.getTracer('usher');

/** Runs a statement in a span of its own if its call is traced. The span never contains parameters. */
export function traceStatement<Rows>({ name }: Statement<Rows>, run: () => Promise<Rows>): Promise<Rows> {
  return trace.getActiveSpan()?.isRecording() ? runInSpan(name, run) : run();
}

async function runInSpan<Rows>(name: string, run: () => Promise<Rows>): Promise<Rows> {
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
  try {
    return await run();
  } catch (error) {
    const type = error instanceof Error ? error.name : typeof error;
    span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
