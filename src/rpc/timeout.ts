/** The deadline a caller sets in a header: `grpc-timeout` or `Connect-Timeout-Ms`. */

const GRPC_UNITS_IN_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The longest a timer of Node's can run, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Takes away a timeout that is too long for a timer, and so as good as none. */
export function dropEndlessTimeout(protocol: 'connect' | 'grpc' | 'grpc-web', headers: Headers): void {
  const name = protocol === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout';
  const value = headers.get(name) ?? '';
  const timeoutMs = protocol === 'connect' ? parseConnectTimeout(value) : parseGrpcTimeout(value);
  if (timeoutMs !== undefined && timeoutMs > MAX_TIMER_MS) headers.delete(name);
}

/**
 * Takes the caller's timeout, in milliseconds, out of the headers: it is we who keep it, since Connect
 * has no upper limit and a huge one would overflow a timer. A malformed one is left for Connect to refuse.
 */
export function takeTimeout(protocol: 'connect' | 'grpc' | 'grpc-web', headers: Headers): number | undefined {
  const name = protocol === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout';
  const value = headers.get(name);
  const timeoutMs =
    value === null ? undefined : protocol === 'connect' ? parseConnectTimeout(value) : parseGrpcTimeout(value);
  if (timeoutMs !== undefined) headers.delete(name);
  return timeoutMs;
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
