/** Receives the spans of Usher, as a collector of OpenTelemetry does. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { REPOSITORY } from './process.ts';

/** The SDK that the documentation shows. */
export const TRACING = join(REPOSITORY, 'test/examples/tracing/tracing.js');

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: number } }[];
  readonly links?: readonly { traceId: string; spanId: string }[];
  readonly status: { code: number };
}

export class SpanCollector implements AsyncDisposable {
  /** With all that was sent of them, links and events included. */
  readonly spans: Span[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (incoming, response) => {
      const { resourceSpans } = JSON.parse(await text(incoming));
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) this.spans.push(...scope.spans);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }

  static async open(): Promise<SpanCollector> {
    const collector = new SpanCollector();
    await once(collector.#server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  /** What makes Usher send its spans here. */
  get env(): Record<string, string> {
    // A TCP server has an AddressInfo.
    const { port } = this.#server.address() as AddressInfo;
    return {
      NODE_OPTIONS: `--import=${TRACING}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
  }
}
