/** Says what is wrong with the reply to a hostile request. */

import type { HostileRequest } from './hostile-requests.ts';
import { RPC_PROTOCOLS } from './protocols.ts';

export interface SeenReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

type Asked = Pick<HostileRequest, 'kind' | 'method' | 'headers'> & Partial<HostileRequest>;
type Json = Record<string, unknown>;

/** Codes that blame the service. */
const FAULTS = new Set(['internal', 'unknown', 'unavailable', 'data_loss', 'dataloss']);

/** Returns undefined if nothing is wrong. */
export function faultOf(asked: Asked, reply: SeenReply): string | undefined {
  const fault = faultOfStatus(asked, reply) ?? faultOfHead(reply) ?? faultOfShape(asked, reply);
  const head = JSON.stringify({ ...reply.headers, ...reply.trailers });
  return fault && `${fault}: ${reply.status} ${head} ${reply.bytes.toString('latin1', 0, 300)}`;
}

function faultOfStatus({ kind, headers, framing }: Asked, { status }: SeenReply): string | undefined {
  if (status < 500) return undefined;
  // Connect has 501 and 505. A 504 is right if the caller set a timeout or does not send the body it announced.
  const mayTimeOut = framing === 'short' || headers.some(([name]) => name.includes('timeout'));
  const allowed = kind === 'rpc' ? [501, 505, ...(mayTimeOut ? [504] : [])] : [];
  return allowed.includes(status) ? undefined : 'server error';
}

function faultOfHead({ headers, bytes }: SeenReply): string | undefined {
  if (!/^[\w.:+/=-]{1,128}$/.test(headers['x-request-id'] ?? '')) return 'no request ID';
  if (bytes.includes('Internal error')) return 'internal error';
  return undefined;
}

function faultOfShape(asked: Asked, reply: SeenReply): string | undefined {
  if (asked.method === 'HEAD') return undefined;
  const contentType = reply.headers['content-type'] ?? '';
  if (asked.kind === 'rpc' || asked.kind === 'nothing') {
    if (contentType.startsWith('application/grpc')) return faultOfGrpc(contentType, reply);
    if (asked.kind === 'rpc' && reply.status === 200) return undefined;
  }
  if (asked.kind === 'login') {
    if (reply.status === 303 && reply.headers.location) return undefined;
    if (contentType.startsWith('text/html') && reply.bytes.toString('latin1', 0, 15) === '<!doctype html>')
      return undefined;
  }
  if (contentType !== 'application/json') return 'unexpected content type';
  const json = parseObject(reply.bytes);
  if (!json) return 'malformed JSON';
  return SHAPES[asked.kind].some((isShape) => isShape(json, reply.status)) ? undefined : 'undocumented shape';
}

function faultOfGrpc(contentType: string, reply: SeenReply): string | undefined {
  const name = contentType.startsWith('application/grpc-web') ? 'gRPC-Web over HTTP/1.1' : 'gRPC over HTTP/2';
  try {
    const code = RPC_PROTOCOLS.find((protocol) => protocol.name === name)?.read(reply).code ?? '';
    return FAULTS.has(code.toLowerCase()) ? `code ${code}` : undefined;
  } catch (error) {
    return `no gRPC status (${String(error).slice(0, 100)})`;
  }
}

type IsShape = (json: Json, status: number) => boolean;

/** Interface, "Common response envelope". */
const isEnvelope: IsShape = (json, status) =>
  json.status === (status === 200) && typeof json.message === 'string' && json.message !== '';
const isConnectError: IsShape = ({ code }) => typeof code === 'string' && !FAULTS.has(code);
const isStatus: IsShape = ({ status }) => status === 'ok' || status === 'ready';
const isKeySet: IsShape = ({ keys }) => Array.isArray(keys);
const isScriptReply: IsShape = ({ error, message, redirectUrl }) =>
  [error, message, redirectUrl].some((text) => typeof text === 'string');

const SHAPES: Record<HostileRequest['kind'], readonly IsShape[]> = {
  rest: [isEnvelope],
  rpc: [isConnectError, isEnvelope],
  operations: [isStatus, isKeySet, isEnvelope],
  login: [isScriptReply, isEnvelope],
  nothing: [isEnvelope, isConnectError, isStatus, isKeySet],
};

function parseObject(bytes: Buffer): Json | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString());
    return typeof json === 'object' && json !== null ? { ...json } : undefined;
  } catch {
    return undefined;
  }
}
