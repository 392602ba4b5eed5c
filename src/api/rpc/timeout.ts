/** The deadline a caller sets in a header: `grpc-timeout` or `Connect-Timeout-Ms`. */
import type { RpcProtocol } from '../call.ts';

const GRPC_UNITS_IN_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The longest a timer of Node's can run, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Takes away a timeout that is too long for a timer, and so as good as none. */
export function dropEndlessTimeout(protocol: RpcProtocol, headers: Headers): void {
  if ((timeoutIn(protocol, headers) ?? 0) > MAX_TIMER_MS) headers.delete(headerNameOf(protocol));
}

/**
 * Takes the caller's timeout, in milliseconds, out of the headers: it is we who keep it, since Connect
 * has no upper limit and a huge one would overflow a timer. A malformed one is left for Connect to refuse.
 */
export function takeTimeout(protocol: RpcProtocol, headers: Headers): number | undefined {
  const timeoutMs = timeoutIn(protocol, headers);
  if (timeoutMs !== undefined) headers.delete(headerNameOf(protocol));
  return timeoutMs;
}

/** In milliseconds; undefined where there is none, or a malformed one. */
function timeoutIn(protocol: RpcProtocol, headers: Headers): number | undefined {
  const value = headers.get(headerNameOf(protocol)) ?? '';
  return protocol === 'connect' ? parseConnectTimeout(value) : parseGrpcTimeout(value);
}

function headerNameOf(protocol: RpcProtocol): string {
  return protocol === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout';
}

/** In milliseconds; undefined where it is malformed. */
export function parseConnectTimeout(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

/** In milliseconds; undefined where it is malformed. */
export function parseGrpcTimeout(value: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  const factor = GRPC_UNITS_IN_MS[unit];
  return factor === undefined ? undefined : Number(amount) * factor;
}
