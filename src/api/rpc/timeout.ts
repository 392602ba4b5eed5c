/** The timeout that a caller sets in a header: `grpc-timeout` or `Connect-Timeout-Ms`. */

export type RpcProtocol = 'connect' | 'grpc' | 'grpc-web';

const GRPC_UNITS_IN_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The longest delay of a Node timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Removes the caller's timeout from the headers if it is too long for a timer. */
export function dropEndlessTimeout(protocol: RpcProtocol, headers: Headers): void {
  if ((timeoutIn(protocol, headers) ?? 0) > MAX_TIMER_MS) headers.delete(headerNameOf(protocol));
}

/**
 * Removes the caller's timeout from the headers and returns it in milliseconds. The pipeline enforces it, because a
 * huge timeout would overflow Connect's timer. A malformed timeout stays in the headers, and Connect refuses it.
 */
export function takeTimeout(protocol: RpcProtocol, headers: Headers): number | undefined {
  const timeoutMs = timeoutIn(protocol, headers);
  if (timeoutMs !== undefined) headers.delete(headerNameOf(protocol));
  return timeoutMs;
}

/** Returns whether the headers have a timeout. Once `takeTimeout` has taken it, one that is left is malformed. */
export function hasTimeout(protocol: RpcProtocol, headers: Headers): boolean {
  return headers.has(headerNameOf(protocol));
}

/** Returns milliseconds, or undefined if the headers have no timeout or a malformed one. */
function timeoutIn(protocol: RpcProtocol, headers: Headers): number | undefined {
  const value = headers.get(headerNameOf(protocol)) ?? '';
  return protocol === 'connect' ? parseConnectTimeout(value) : parseGrpcTimeout(value);
}

function headerNameOf(protocol: RpcProtocol): string {
  return protocol === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout';
}

/** Returns milliseconds, or undefined if the value is malformed. */
export function parseConnectTimeout(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

/** Returns milliseconds, or undefined if the value is malformed. */
export function parseGrpcTimeout(value: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  const factor = GRPC_UNITS_IN_MS[unit];
  return factor === undefined ? undefined : Number(amount) * factor;
}
