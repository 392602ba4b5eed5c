/** Requests to providers. They may be slow, down, or hostile. */
import { readBounded } from '../read-text.ts';
import { ProviderError } from './login-provider.ts';

/** The largest known key set has 20 KiB. */
const MAX_BYTES = 262_144;

export interface ProviderFetchOptions {
  readonly timeoutMs: number;
  /** Whether http is allowed: for an issuer on this machine. */
  readonly isLoopback: boolean;
}

/** Returns a `fetch` that follows no redirect and reads no more than 256 KiB, with one limit of time for all of it. */
export function createProviderFetch({ timeoutMs, isLoopback }: ProviderFetchOptions): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.protocol !== 'https:' && !(isLoopback && isOnLoopback(url))) throw new ProviderError('insecure URL');
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, headers, body } = await fetch(url, { ...init, redirect: 'manual', signal });
    // The library reads the codes of errors from their bodies.
    return new Response(body && (await readBounded(body, MAX_BYTES)), { status, headers });
  };
}

/** Whether the host is this machine, by its name. */
export function isOnLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
