/** The request of an attempt and its response. */
import {
  type ClientRequest,
  type ClientRequestArgs,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent, type AgentOptions } from 'node:https';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { JoinedBytes } from '../encoding/joined-bytes.ts';
import { ForbiddenAddressError } from './address-lookup.ts';

/** The limits on the bytes of a response body that are stored, and that are read. */
const KEPT_BYTES = 4 * 1024;
const READ_BYTES = 64 * 1024;
/** The limit on all bytes of a response. Without it, the parser would skip endless chunk extensions, at 14 ns a byte. */
const MAX_SOCKET_BYTES = 2 * READ_BYTES;
const MAX_INFORMATIONAL_RESPONSES = 16;
/** TLS key updates and renegotiations emit no `data` event, so a timer checks the bytes below TLS. */
const WIRE_CHECK_MS = 100;

/** How an attempt ended. The error is a fixed text that applications may see. */
export interface AttemptOutcome {
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly responseBody: string | null;
  /** The value of `Retry-After`. */
  readonly retryAfter: string | undefined;
  /** Those of the response. */
  readonly headers?: IncomingHttpHeaders;
}

interface ExchangeOptions {
  /** How many bytes of a body are read and kept; a broken body then is an error. Without it, the status alone counts. */
  readonly maxBytes?: number | undefined;
  /** Whether a proxy connects to the endpoint. */
  readonly isProxied: boolean;
}

export class TimeoutError extends Error {}
export class AbortedError extends Error {}
class UnconnectedError extends Error {}
class FloodError extends Error {}

/** A request and its response, which is read up to the limits. */
export class HttpExchange {
  readonly #request: ClientRequest;
  readonly #outcome = Promise.withResolvers<AttemptOutcome | undefined>();
  #response: IncomingMessage | undefined;
  readonly #kept = new JoinedBytes();
  readonly #options: ExchangeOptions;
  readonly #maxKeptBytes: number;
  readonly #maxReadBytes: number;
  #readBytes = 0;
  #informational = 0;
  #isOver = false;
  #stopCounting = () => {};

  constructor(request: ClientRequest, options: ExchangeOptions) {
    this.#request = request;
    this.#options = options;
    this.#maxKeptBytes = options.maxBytes ?? KEPT_BYTES;
    this.#maxReadBytes = options.maxBytes ?? READ_BYTES;
    request.on('error', (error) => this.end(error));
    // If the endpoint switches protocols, the request closes without a response.
    request.on('close', () => this.end(new Error('The request was closed')));
    request.on('socket', (socket) => this.#limit(socket));
    request.on('information', () => {
      if (++this.#informational > MAX_INFORMATIONAL_RESPONSES) this.end(new FloodError());
    });
    request.on('response', (response) => {
      this.#response = response;
      response.on('error', (error) => this.end(error));
      response.on('end', () => this.end());
      response.on('data', (chunk: Buffer) => {
        this.#keep(chunk);
        if (this.#readBytes >= this.#maxReadBytes) this.end();
      });
    });
  }

  /** Undefined if the request must be sent again: the endpoint closed an idle connection just as it was reused. */
  get outcome(): Promise<AttemptOutcome | undefined> {
    return this.#outcome.promise;
  }

  /** Closes the connection, unless it can be reused. Later calls do nothing: a failed request also emits `close`. */
  end(error?: Error & { code?: string }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopCounting();
    const cause = error instanceof TimeoutError && !this.#isConnected ? new UnconnectedError() : error;
    this.#request.destroy();
    const isStale = this.#request.reusedSocket && !this.#response && error?.code === 'ECONNRESET';
    this.#outcome.resolve(isStale ? undefined : this.#conclude(cause));
  }

  get #isConnected(): boolean {
    const socket: (Socket & { secureConnecting?: boolean }) | null = this.#request.socket;
    return Boolean(socket) && !socket?.connecting && !socket?.secureConnecting;
  }

  /** Ends the attempt when the socket has received too many bytes since now: a reused socket has received some before. */
  #limit(socket: Socket): void {
    if (this.#isOver) return;
    const [before, wireBefore] = [socket.bytesRead, countWireBytes(socket)];
    const endAbove = (bytes: number) => {
      if (bytes > MAX_SOCKET_BYTES) this.end(new FloodError());
    };
    // The parser's listener runs first, so a body above the limit has ended the attempt by now.
    const onData = () => endAbove(socket.bytesRead - before);
    socket.on('data', onData);
    const timer = setInterval(() => endAbove(countWireBytes(socket) - wireBefore), WIRE_CHECK_MS);
    this.#stopCounting = () => {
      socket.off('data', onData);
      clearInterval(timer);
    };
  }

  #keep(chunk: Buffer): void {
    this.#kept.add(chunk.subarray(0, this.#maxKeptBytes - this.#kept.length));
    this.#readBytes += chunk.length;
  }

  #conclude(error?: Error): AttemptOutcome {
    if (!this.#response) return toFailure(error, this.#options);
    const { statusCode = 0, headers } = this.#response;
    // Postgres stores no NUL.
    const responseBody = this.#kept.bytes.toString('utf8').replaceAll('\0', '\ufffd');
    if (error && this.#options.maxBytes !== undefined) return { ...toFailure(error), statusCode, responseBody };
    const isSuccess = statusCode >= 200 && statusCode < 300;
    const problem = isSuccess ? null : `The endpoint answered with status ${statusCode}`;
    return { statusCode, error: problem, responseBody, retryAfter: headers['retry-after'], headers };
  }
}

export function toFailure(cause?: Error, { isProxied = false } = {}): AttemptOutcome {
  return { statusCode: null, error: describe(cause, isProxied), responseBody: null, retryAfter: undefined };
}

/** What the code or message of an error of Node says, of OpenSSL if it is about TLS. The first that matches counts. */
const TLS_CAUSES = [
  [/^CERT_HAS_EXPIRED/, ': the certificate has expired'],
  [/^CERT_NOT_YET_VALID/, ': the certificate is not valid yet'],
  [/^(ERR_TLS_CERT_ALTNAME|HOSTNAME_)/, ': the certificate is for another host name'],
  [
    /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_CA|INVALID_PURPOSE)/,
    ': the certificate is of no known authority, or its chain is incomplete',
  ],
  [/alert.certificate.required/i, ': the endpoint requires a client certificate'],
  [
    /alert.(handshake.failure|bad.certificate)/i,
    ': the endpoint refused the handshake, and may require a client certificate',
  ],
  [/^(ERR_TLS|ERR_SSL|EPROTO)/, ''],
] as const;
const CONNECTION_CAUSES = [
  [/^ECONNREFUSED/, ': the endpoint refused it'],
  [/^(ECONNRESET|EPIPE)/, ': the endpoint closed it'],
  [/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)/, ': the endpoint cannot be reached'],
] as const;

/** Returns a fixed text, because error messages of Node contain addresses and ports. */
function describe(error: (Error & { code?: unknown }) | undefined, isProxied: boolean): string {
  const code = String(error?.code ?? '');
  const causes = error instanceof AggregateError ? error.errors : [error];
  if (causes.some((cause) => cause instanceof ForbiddenAddressError)) return new ForbiddenAddressError().message;
  if (error instanceof TimeoutError) return 'The endpoint did not answer in time';
  if (error instanceof UnconnectedError) return 'The endpoint did not answer in time: no connection was established';
  if (error instanceof AbortedError) return 'Usher ended the attempt';
  if (error instanceof ProxyError) return `The connection failed: ${error.message}`;
  if (error instanceof FloodError || code.startsWith('HPE_')) return 'The response is not valid HTTP';
  const find = (known: typeof TLS_CAUSES | typeof CONNECTION_CAUSES) =>
    known.find(([pattern]) => pattern.test(`${code} ${error?.message}`))?.[1];
  const ofTls = find(TLS_CAUSES);
  if (ofTls !== undefined) return `The TLS connection failed${ofTls}`;
  // The proxy may have refused or closed it, in place of the endpoint.
  return `The connection failed${isProxied ? '' : (find(CONNECTION_CAUSES) ?? '')}`;
}

/** The limit on the answer to CONNECT. */
const MAX_HEAD_BYTES = 8 * 1024;
const FAILED = 'the proxy cannot be reached, or gave no valid answer';

/** The proxy has opened no tunnel. The message is a fixed text that applications may see. */
class ProxyError extends Error {}

/**
 * Opens a connection to `target`, a host with a port, through an HTTP proxy. An aborted signal closes an unfinished one.
 * The agent of Node does neither limit the answer of the proxy nor end with the request that needs the connection.
 */
function openTunnel(proxyUrl: string, target: string, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const wire = connectToProxy(proxyUrl);
  const { auth } = urlToHttpOptions(new URL(proxyUrl));
  const credentials = auth ? { 'proxy-authorization': `Basic ${Buffer.from(auth).toString('base64')}` } : {};
  const request = requestHttp({
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...credentials },
    maxHeaderSize: MAX_HEAD_BYTES,
    createConnection: () => wire,
    signal,
  });
  // Node takes its own listeners away as soon as it has parsed the head, also when what limits the answer ends it.
  const fail = (cause: Error) => reject(new ProxyError(FAILED, { cause }));
  wire.on('error', fail);
  // The parser does not count the spaces around a value.
  const limit = () => {
    if (wire.bytesRead > MAX_HEAD_BYTES) wire.destroy(new Error('The answer of the proxy is too long'));
  };
  wire.on('data', limit);
  request.on('connect', ({ statusCode = 0 }, _, head) => {
    wire.off('data', limit);
    // TLS servers do not speak first.
    if (statusCode >= 200 && statusCode < 300 && head.length === 0 && !wire.destroyed) return resolve(wire);
    wire.destroy();
    return reject(new ProxyError(statusCode < 300 ? FAILED : 'the proxy refused it'));
  });
  request.on('error', fail);
  request.on('close', () => reject(new ProxyError(FAILED)));
  request.end();
  return promise;
}

function connectToProxy(proxyUrl: string): Socket {
  const { protocol, hostname, port } = new URL(proxyUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'http:') return connect({ host, port: Number(port || 80) });
  return connectTls({ host, port: Number(port || 443), servername: /[^\d.:]/.test(host) ? host : '' });
}

/** The TCP socket of each TLS socket. */
const wires = new WeakMap<object, Socket>();

/** What the agent reads from the options of a request. Node passes them on. */
export interface TlsRequestOptions {
  /** Aborted when the attempt is over: a tunnel that is not open by then is closed. */
  readonly attemptSignal: AbortSignal;
}

type Callback = (error: Error | null, stream: Duplex) => void;

export class TlsAgent extends Agent {
  readonly #proxyUrl: string | undefined;

  constructor(options: AgentOptions, proxyUrl: string | undefined) {
    super(options);
    this.#proxyUrl = proxyUrl;
  }

  override createConnection(options: ClientRequestArgs & Partial<TlsRequestOptions>, callback?: Callback) {
    // Node has merged the options of the socket into those of the request.
    if (!this.#proxyUrl) return this.#wrap(connect(options as NetConnectOpts), options, callback);
    const { host, port, attemptSignal = AbortSignal.abort() } = options;
    const target = `${host?.includes(':') ? `[${host}]` : host}:${port}`;
    openTunnel(this.#proxyUrl, target, attemptSignal)
      .then((wire) => this.#wrap(wire, options) as Duplex)
      .then(
        (socket) => callback?.(null, socket),
        (error) => callback?.(error, undefined as unknown as Duplex),
      );
    return undefined;
  }

  #wrap(wire: Socket, options: ClientRequestArgs, callback?: Callback): Duplex | null | undefined {
    const below: object = { socket: wire };
    const socket = super.createConnection({ ...options, ...below }, callback);
    if (socket) wires.set(socket, wire);
    return socket;
  }
}

/** Returns the bytes that a socket has received, TLS included. */
function countWireBytes(socket: Socket): number {
  return (wires.get(socket) ?? socket).bytesRead;
}
