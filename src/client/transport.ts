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

/**
 * Returns a transport that sends the headers with every call.
 *
 * @throws TypeError if `baseUrl` is not an http or https URL
 */
export function createTransport(options: TransportOptions, headers: Readonly<Record<string, string>>): Transport {
  const { baseUrl, timeoutMs = DEFAULT_TIMEOUT_MS, fetch = globalThis.fetch } = options;
  if (!URL.canParse(baseUrl)) throw new TypeError(`baseUrl is not a URL: ${baseUrl}`);
  if (!/^https?:/i.test(baseUrl)) throw new TypeError(`baseUrl does not begin with https:// or http://: ${baseUrl}`);
  const intercept: Interceptor = (next) => async (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: explainErrors(response.message) } : response;
    } catch (error) {
      throw explain(error);
    }
  };
  return createConnectTransport({
    baseUrl,
    defaultTimeoutMs: timeoutMs,
    interceptors: [intercept],
    fetch: (...request) => fetch(...request).catch((error) => throwUnavailable(baseUrl, error)),
  });
}

/** The error of a stream may come after its first messages. */
async function* explainErrors<T>(messages: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* messages;
  } catch (error) {
    throw explain(error);
  }
}

/** @throws TypeError if the key is empty, or if it has characters that `fetch` does not send in a header */
export function requireKey(name: string, key: string): void {
  if (!key) throw new TypeError(`${name} is empty`);
  if (/[^\t\n\r\x20-\x7e]/.test(key)) throw new TypeError(`${name} has characters that are not ASCII, such as …`);
}

/** If the network fails, `fetch` rejects with a TypeError. Rejects as for a 503 instead, so that callers handle both alike. */
function throwUnavailable(baseUrl: string, error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  const { message } = error.cause instanceof Error ? error.cause : error;
  throw new ConnectError(
    `Usher cannot be reached at ${baseUrl}: ${message.trim()}`,
    Code.Unavailable,
    undefined,
    undefined,
    error,
  );
}
