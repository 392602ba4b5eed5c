/** Calls RPCs of replicas over Connect with JSON, and their other paths, on connections that are kept. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { ADMIN_KEY } from '../../../support/service.ts';
import type { Answer } from '../checker/operation.ts';

/** Unsent: nobody listened. Lost: the connection ended, or the caller gave up. */
export type Reply =
  | { readonly answer: Answer }
  | { readonly code: string; readonly message: string }
  | 'unsent'
  | 'lost';

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** After so many milliseconds the caller closes the connection. */
  readonly patienceMs?: number;
}

/** Longer than `REQUEST_TIMEOUT_MS`, so that only what has stopped is given up. */
const PATIENCE_MS = 4_000;

export class Client implements Disposable {
  apiKey = '';
  readonly #ports: readonly number[];
  readonly #agent = new Agent({ keepAlive: true });

  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  get replicas(): number {
    return this.#ports.length;
  }

  async call(
    replica: number,
    rpc: string,
    body: object,
    { requestId, apiKey = this.apiKey }: { requestId: string; apiKey?: string | undefined },
  ): Promise<Reply> {
    const key = rpc.startsWith('AdminService/') ? { 'x-admin-key': ADMIN_KEY } : { 'x-api-key': apiKey };
    const reply = await this.send(replica, {
      method: 'POST',
      path: `/usher.v1.${rpc}`,
      headers: { 'content-type': 'application/json', 'x-request-id': requestId, ...key },
      body: JSON.stringify(body),
    });
    return typeof reply === 'string' ? reply : readReply(reply.status === 200, reply.body);
  }

  send(
    replica: number,
    { body, patienceMs = PATIENCE_MS, ...request }: HttpRequest,
  ): Promise<HttpReply | 'unsent' | 'lost'> {
    const sent = httpRequest({
      ...request,
      agent: this.#agent,
      host: '127.0.0.1',
      port: this.#ports[replica],
      timeout: patienceMs,
      signal: AbortSignal.timeout(patienceMs),
    });
    return new Promise((resolve) => {
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED' ? 'unsent' : 'lost'));
      sent.on('response', (response) => {
        const { statusCode: status = 0, headers } = response;
        text(response).then(
          (read) => resolve({ status, headers, body: read }),
          () => resolve('lost'),
        );
      });
      sent.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

function readReply(isSuccess: boolean, json: string): Reply {
  try {
    const body = JSON.parse(json);
    return isSuccess ? { answer: body } : { code: body.code ?? '', message: body.message ?? json };
  } catch {
    return { code: 'unreadable', message: json };
  }
}
