import { Code, ConnectError, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { explain } from './errors.ts';

const DEFAULT_TIMEOUT_MS = 10_000;

export interface TransportOptions {
  /** Where the application reaches Usher, such as `https://login.example.com`. */
  readonly baseUrl: string;
  /** How long a call may take. Default: 10 seconds. */
  readonly timeoutMs?: number;
  /** Default: the `fetch` of the runtime. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Returns a transport that sends the headers with every call. @throws TypeError if `baseUrl` is not a URL */
export function createTransport(options: TransportOptions, headers: Readonly<Record<string, string>>): Transport {
  const { baseUrl, timeoutMs = DEFAULT_TIMEOUT_MS, fetch = globalThis.fetch } = options;
  if (!URL.canParse(baseUrl)) throw new TypeError(`baseUrl is not a URL: ${baseUrl}`);
  const intercept: Interceptor = (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request).catch((error) => {
      throw explain(error);
    });
  };
  return createConnectTransport({
    baseUrl,
    defaultTimeoutMs: timeoutMs,
    interceptors: [intercept],
    fetch: (...request) => fetch(...request).catch((error) => throwUnavailable(baseUrl, error)),
  });
}

/** If the network fails, `fetch` rejects with a TypeError. Callers should handle that like a 503. */
function throwUnavailable(baseUrl: string, error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  const { message } = error.cause instanceof Error ? error.cause : error;
  throw new ConnectError(
    `Usher cannot be reached at ${baseUrl}: ${message}`,
    Code.Unavailable,
    undefined,
    undefined,
    error,
  );
}
