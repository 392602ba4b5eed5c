/** Sends requests to providers, which may be slow, down or hostile. */
import { JoinedBytes } from '../../../encoding/joined-bytes.ts';
import { ProviderError } from './provider-client.ts';

/** The largest known key set has 20 KiB. */
const MAX_BYTES = 262_144;

export interface ProviderFetchOptions {
  readonly timeoutMs: number;
  /** Whether the issuer is on this machine, so that http is allowed. */
  readonly isLoopback: boolean;
}

export type ProviderFetch = (input: string, init?: RequestInit) => Promise<Response>;

/** Returns a `fetch` that follows no redirect and reads at most 256 KiB. The timeout includes the body. */
export function createProviderFetch({ timeoutMs, isLoopback }: ProviderFetchOptions): ProviderFetch {
  return async (input, init = {}) => {
    const url = new URL(input);
    if (url.protocol !== 'https:' && !(isLoopback && isOnLoopback(url))) throw new ProviderError('insecure URL');
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, headers, body } = await fetch(url, { ...init, redirect: 'manual', signal });
    // The body is kept for every status: the library reads error codes from it.
    const response = new Response(body && (await readBounded(body)), { status, headers });
    // The log names the endpoint that has failed.
    return Object.defineProperty(response, 'url', { value: url.href });
  };
}

async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const joined = new JoinedBytes();
  for await (const chunk of body) {
    if (joined.length + chunk.length > MAX_BYTES) throw new Error('The reply is too large');
    joined.add(chunk);
  }
  return joined.bytes.toString('utf8');
}

/** Judges by the host name alone, without DNS. */
export function isOnLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
