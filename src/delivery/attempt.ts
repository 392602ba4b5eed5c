/** One HTTP request to the endpoint of a webhook. */
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { AddressPolicy } from '../domain/webhooks/address-policy.ts';
import { findUrlProblem } from '../domain/webhooks/webhook-url.ts';
import { createLookup, ForbiddenAddressError, type Resolve } from './address-lookup.ts';

/** How much of a response is kept, and how much is read. */
const KEPT_BYTES = 4 * 1024;
const READ_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** How long a connection is kept for the next attempt. */
const IDLE_MS = 4_000;
const MAX_IDLE_CONNECTIONS = 64;

export interface AttemptRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How an attempt ended. The error is a fixed text that tenants may see. */
export interface AttemptOutcome {
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly responseBody: string | null;
  /** The value of `Retry-After`. */
  readonly retryAfter: string | undefined;
}

export interface SenderOptions {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
  /** From the look-up of the name to the last byte of the response. */
  readonly timeoutMs: number;
  /** The proxy that connects for Usher and then vets the addresses. */
  readonly proxyUrl: string | undefined;
}

/** Sends attempts, over connections that are kept for a moment. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor(options: SenderOptions) {
    const { policy, resolve, proxyUrl } = options;
    this.#options = options;
    const kept = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
    const connect = (isPlain: boolean) =>
      proxyUrl
        ? { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }
        : { lookup: createLookup(policy, resolve, { isPlain }) };
    this.#http = new HttpAgent({ ...kept, ...connect(true) });
    this.#https = new HttpsAgent({ ...kept, ...connect(false) });
  }

  /** Never rejects: a failure is an outcome. An aborted signal ends the attempt at once. */
  send(attempt: AttemptRequest, signal?: AbortSignal): Promise<AttemptOutcome> {
    const { policy, timeoutMs } = this.#options;
    // A URL that an earlier version accepted, or that other settings allowed. Sockets skip `lookup` for addresses.
    if (findUrlProblem(attempt.url, policy)) return Promise.resolve(fail(new ForbiddenAddressError()));
    return new Promise((resolve) => {
      let exchange: Exchange | undefined;
      const finish = (outcome: AttemptOutcome) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        exchange?.request.destroy();
        resolve(outcome);
      };
      const end = (error: Error) => finish(exchange?.failWith(error) ?? fail(error));
      const timer = setTimeout(() => end(new TimeoutError()), timeoutMs);
      const abort = () => end(new ShutdownError());
      signal?.addEventListener('abort', abort, { once: true });
      const start = () => {
        exchange = new Exchange(this.#request(attempt), {
          onEnd: finish,
          // The endpoint has closed a connection that was idle, just when it was used again.
          onError: (error, isStale) => (isStale ? start() : end(error)),
        });
      };
      start();
    });
  }

  #request({ url, headers, body }: AttemptRequest): ClientRequest {
    const isPlain = url.toLowerCase().startsWith('http:');
    const agent = isPlain ? this.#http : this.#https;
    const length = { 'content-length': Buffer.byteLength(body) };
    const options = { method: 'POST', agent, headers: { ...headers, ...length }, maxHeaderSize: MAX_HEADER_BYTES };
    return (isPlain ? requestHttp : requestHttps)(url, options).end(body);
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

class TimeoutError extends Error {}
class ShutdownError extends Error {}

interface ExchangeEvents {
  onEnd(outcome: AttemptOutcome): void;
  /** `isStale`: the request was not answered because its connection was an old one. */
  onError(error: Error, isStale: boolean): void;
}

/** A request and its response, of which it reads no more than the limits. */
class Exchange {
  readonly request: ClientRequest;
  #response: IncomingMessage | undefined;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #readBytes = 0;
  #isOver = false;

  constructor(request: ClientRequest, events: ExchangeEvents) {
    this.request = request;
    // The first event counts. A request that has failed is closed, too.
    const once = (report: () => void) => {
      if (!this.#isOver) report();
      this.#isOver = true;
    };
    const onEnd = (outcome: AttemptOutcome) => once(() => events.onEnd(outcome));
    const onError = (error: Error, isStale: boolean) => once(() => events.onError(error, isStale));
    const isStale = (error: Error & { code?: string }) =>
      request.reusedSocket && !this.#response && error.code === 'ECONNRESET';
    request.on('error', (error) => onError(error, isStale(error)));
    // An endpoint that switches protocols closes the request without a response.
    request.on('close', () => onError(new Error('The request was closed'), false));
    request.on('response', (response) => {
      this.#response = response;
      response.on('error', (error) => onError(error, false));
      response.on('end', () => onEnd(this.#conclude(response)));
      response.on('data', (chunk: Buffer) => {
        this.#keep(chunk);
        if (this.#readBytes >= READ_BYTES) onEnd(this.#conclude(response));
      });
    });
  }

  /** Returns the outcome of an exchange that has failed half-way. */
  failWith(error: Error): AttemptOutcome {
    return { ...fail(error), statusCode: this.#response?.statusCode ?? null, responseBody: this.#body };
  }

  get #body(): string | null {
    // Postgres stores no NUL.
    return this.#response ? Buffer.concat(this.#kept).toString('utf8').replaceAll('\0', '\ufffd') : null;
  }

  #keep(chunk: Buffer): void {
    const part = chunk.subarray(0, KEPT_BYTES - this.#keptBytes);
    if (part.length > 0) this.#kept.push(part);
    this.#keptBytes += part.length;
    this.#readBytes += chunk.length;
  }

  #conclude({ statusCode = 0, headers }: IncomingMessage): AttemptOutcome {
    const isSuccess = statusCode >= 200 && statusCode < 300;
    const error = isSuccess ? null : `The endpoint answered with status ${statusCode}`;
    return { statusCode, error, responseBody: this.#body, retryAfter: headers['retry-after'] };
  }
}

function fail(cause: Error): AttemptOutcome {
  return { statusCode: null, error: describe(cause), responseBody: null, retryAfter: undefined };
}

/** Returns a fixed text. Messages of the system name addresses and ports. */
function describe(error: Error & { code?: unknown }): string {
  const code = String(error.code ?? '');
  const causes = error instanceof AggregateError ? error.errors : [error];
  if (causes.some((cause) => cause instanceof ForbiddenAddressError)) return new ForbiddenAddressError().message;
  if (error instanceof TimeoutError) return 'The endpoint did not answer in time';
  if (code.startsWith('HPE_')) return 'The response is not valid HTTP';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO|HOSTNAME_)/.test(code)) {
    return 'The TLS connection failed';
  }
  if (error instanceof ShutdownError) return 'Usher was shutting down';
  return 'The connection failed';
}
