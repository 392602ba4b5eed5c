import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type AddressPolicy, findUrlProblem } from '../domain/webhooks/address-policy.ts';
import { createLookup, ForbiddenAddressError, type Resolve } from './address-lookup.ts';
import {
  AbortedError,
  type AttemptOutcome,
  HttpExchange,
  TimeoutError,
  TlsAgent,
  type TlsRequestOptions,
  toFailure,
} from './http-exchange.ts';

const MAX_HEADER_BYTES = 16 * 1024;
/** How long an idle connection is kept for the next attempt. */
const IDLE_MS = 4_000;
const MAX_IDLE_CONNECTIONS = 64;

export interface AttemptRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Without a body, a GET. */
type SentRequest = Omit<AttemptRequest, 'body'> & Partial<Pick<AttemptRequest, 'body'>>;

export interface SenderOptions {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
  /** Covers everything from the DNS look-up to the last byte of the response. */
  readonly timeoutMs: number;
  /** If set, this proxy connects to endpoints, and must check the addresses of host names in place of Usher. */
  readonly proxyUrl: string | undefined;
  /**
   * How many bytes of a response are read and returned, if not those that the log of deliveries keeps. A response that
   * breaks off then fails. Otherwise its status counts, because nothing needs its body.
   */
  readonly maxBytes?: number;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #http: HttpAgent;
  readonly #https: TlsAgent;

  constructor(options: SenderOptions) {
    const { policy, resolve, proxyUrl } = options;
    this.#options = options;
    const keepAlive = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
    const checked = (isPlain: boolean) => ({ ...keepAlive, lookup: createLookup(policy, resolve, { isPlain }) });
    this.#http = new HttpAgent(proxyUrl ? { ...keepAlive, proxyEnv: { HTTP_PROXY: proxyUrl } } : checked(true));
    this.#https = new TlsAgent(proxyUrl ? keepAlive : checked(false), proxyUrl);
  }

  /** Never rejects: a failed attempt has an outcome, too. An aborted signal ends the attempt at once. */
  async send(attempt: SentRequest, signal?: AbortSignal): Promise<AttemptOutcome> {
    const { policy, timeoutMs, maxBytes, proxyUrl } = this.#options;
    // A stored URL may predate the current settings. If the host of the URL is an address, the socket calls no `lookup`.
    if (findUrlProblem(attempt.url, policy)) return toFailure(new ForbiddenAddressError());
    let exchange: HttpExchange | undefined;
    let end: Error | undefined;
    const endWith = (error: Error) => {
      end ??= error;
      exchange?.end(end);
    };
    const abort = () => endWith(new AbortedError());
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(() => endWith(new TimeoutError()), timeoutMs);
    const over = new AbortController();
    let outcome: AttemptOutcome | undefined;
    while (!outcome) {
      if (!end)
        exchange = new HttpExchange(this.#request(attempt, over.signal), { maxBytes, isProxied: Boolean(proxyUrl) });
      outcome = end ? toFailure(end) : await exchange?.outcome;
    }
    over.abort();
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    return outcome;
  }

  #request({ url, headers, body }: SentRequest, attemptSignal: AbortSignal): ClientRequest {
    const isPlain = url.toLowerCase().startsWith('http:');
    const agent = isPlain ? this.#http : this.#https;
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const method = body === undefined ? 'GET' : 'POST';
    const tls: TlsRequestOptions = { attemptSignal };
    const limits = { maxHeaderSize: MAX_HEADER_BYTES };
    const options = { method, agent, headers: { ...headers, ...length }, ...limits, ...tls };
    return (isPlain ? requestHttp : requestHttps)(url, options).end(body);
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}
