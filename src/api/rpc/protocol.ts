/** What the head of a request says of its protocol. */
import type { RequestContext } from '../../http/http-context.ts';
import { readMediaType } from '../media-type.ts';

export type RpcProtocol = 'connect' | 'grpc' | 'grpc-web';
type Head = Pick<RequestContext, 'headers'>;

/** The prefix of a message in an envelope: one byte of flags, and four of length. */
export const PREFIX_BYTES = 5;

export function protocolOf(context: Head): RpcProtocol {
  const { name } = readMediaType(context);
  if (name.startsWith('application/grpc-web')) return 'grpc-web';
  return name.startsWith('application/grpc') ? 'grpc' : 'connect';
}

/** `application/grpc-web-text`: gRPC-Web in base64, the default of Google's client for browsers. */
const TEXT = /^application\/grpc-web-text(?=$|\+)/;

export function isText(context: Head): boolean {
  return TEXT.test(readMediaType(context).name);
}

/** Returns the media type in the spelling that Connect's handlers know, without base64. Empty if the charset is another. */
export function connectTypeOf(context: Head): string {
  const { name, isUtf8 } = readMediaType(context);
  if (name.endsWith('json') && !isUtf8) return '';
  return name.replace(TEXT, 'application/grpc-web');
}

export function timeoutHeaderOf(protocol: RpcProtocol): 'connect-timeout-ms' | 'grpc-timeout' {
  return protocol === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout';
}

const GRPC_UNITS_IN_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Returns the timeout that the caller set, in milliseconds. Undefined if there is none; NaN if it is malformed. */
export function readTimeout(protocol: RpcProtocol, { headers }: Head): number | undefined {
  const value = headers[timeoutHeaderOf(protocol)];
  if (value === undefined) return undefined;
  if (protocol === 'connect') return /^\d{1,10}$/.test(String(value)) ? Number(value) : Number.NaN;
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(value)) ?? [];
  return Number(amount) * (GRPC_UNITS_IN_MS[unit] ?? Number.NaN);
}
