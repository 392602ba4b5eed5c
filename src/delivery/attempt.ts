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
  async send(attempt: AttemptRequest, signal?: AbortSignal): Promise<AttemptOutcome> {
    const { policy, timeoutMs } = this.#options;
    // A URL that an earlier version accepted, or that other settings allowed. Sockets skip `lookup` for addresses.
    if (findUrlProblem(attempt.url, policy)) return fail(new ForbiddenAddressError());
    let exchange: Exchange | undefined;
    const timer = setTimeout(() => exchange?.end(new TimeoutError()), timeoutMs);
    const abort = () => exchange?.end(new ShutdownError());
    signal?.addEventListener('abort', abort, { once: true });
    let outcome: AttemptOutcome | undefined;
    while (!outcome) {
      exchange = new Exchange(this.#request(attempt));
      outcome = await exchange.outcome;
    }
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    return outcome;
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

/** A request and its response, of which it reads no more than the limits. */
class Exchange {
  readonly #request: ClientRequest;
  readonly #outcome = Promise.withResolvers<AttemptOutcome | undefined>();
  #response: IncomingMessage | undefined;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #readBytes = 0;
  #isOver = false;

  constructor(request: ClientRequest) {
    this.#request = request;
    request.on('error', (error) => this.end(error));
    // An endpoint that switches protocols closes the request without a response.
    request.on('close', () => this.end(new Error('The request was closed')));
    request.on('response', (response) => {
      this.#response = response;
      response.on('error', (error) => this.end(error));
      response.on('end', () => this.end());
      response.on('data', (chunk: Buffer) => {
        this.#keep(chunk);
        if (this.#readBytes >= READ_BYTES) this.end();
      });
    });
  }

  /** Undefined: try again. The endpoint has closed a connection that was idle, just when it was used again. */
  get outcome(): Promise<AttemptOutcome | undefined> {
    return this.#outcome.promise;
  }

  /** Closes the connection, unless it can be kept. The first end counts: a request that has failed is closed, too. */
  end(error?: Error & { code?: string }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#request.destroy();
    const isStale = this.#request.reusedSocket && !this.#response && error?.code === 'ECONNRESET';
    this.#outcome.resolve(isStale ? undefined : this.#conclude(error));
  }

  #keep(chunk: Buffer): void {
    const part = chunk.subarray(0, KEPT_BYTES - this.#keptBytes);
    if (part.length > 0) this.#kept.push(part);
    this.#keptBytes += part.length;
    this.#readBytes += chunk.length;
  }

  #conclude(error?: Error): AttemptOutcome {
    if (!this.#response) return fail(error);
    const { statusCode = 0, headers } = this.#response;
    // Postgres stores no NUL.
    const responseBody = Buffer.concat(this.#kept).toString('utf8').replaceAll('\0', '\ufffd');
    if (error) return { ...fail(error), statusCode, responseBody };
    const isSuccess = statusCode >= 200 && statusCode < 300;
    const problem = isSuccess ? null : `The endpoint answered with status ${statusCode}`;
    return { statusCode, error: problem, responseBody, retryAfter: headers['retry-after'] };
  }
}

function fail(cause?: Error): AttemptOutcome {
  return { statusCode: null, error: describe(cause), responseBody: null, retryAfter: undefined };
}

/** Returns a fixed text. Messages of the system name addresses and ports. */
function describe(error?: Error & { code?: unknown }): string {
  const code = String(error?.code ?? '');
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
