/** Says what is wrong with the reply to a hostile request. */
import { ERRORS } from '../../src/domain/core/errors.ts';
import type { HostileRequest } from './hostile-requests.ts';
import { decodeBase64, protocolNamed, type RawReply } from './protocols.ts';

/** Codes that blame the service. */
const FAULTS = new Set(['internal', 'unknown', 'unavailable', 'data_loss']);

/** Returns undefined if nothing is wrong. */
export function faultOf(asked: HostileRequest, reply: RawReply): string | undefined {
  const fault = faultOfHead(asked, reply) ?? faultOfShape(asked, reply);
  const head = JSON.stringify({ ...reply.headers, ...reply.trailers });
  return fault && `${fault}: ${reply.status} ${head} ${reply.bytes.toString('latin1', 0, 300)}`;
}

function faultOfHead(asked: HostileRequest, { status, headers, bytes }: RawReply): string | undefined {
  // Connect has 501 and 505. A 504 is right if the caller set a timeout.
  const mayTimeOut = Object.keys(asked.headers).some((name) => name.includes('timeout'));
  const allowed = asked.kind === 'rpc' ? [501, 505, ...(mayTimeOut ? [504] : [])] : [];
  if (status >= 500 && !allowed.includes(status)) return 'server error';
  if (!/^[\w.:+/=-]{1,128}$/.test(headers['x-request-id'] ?? '')) return 'no request ID';
  return bytes.includes('Internal error') ? 'internal error' : undefined;
}

function faultOfShape({ kind, path }: HostileRequest, reply: RawReply): string | undefined {
  const { 'content-type': contentType = '', location } = reply.headers;
  if (kind === 'rpc' && contentType.startsWith('application/grpc')) return faultOfGrpc(contentType, reply);
  if (kind === 'rpc' && reply.status === 200) return undefined;
  if (kind === 'login' && reply.status === 303 && location) return undefined;
  // To `if-none-match: *`.
  if (path.split('?')[0] === '/' && reply.status === 304 && reply.bytes.length === 0) return undefined;
  if (
    (kind === 'login' || path.split('?')[0] === '/') &&
    contentType.startsWith('text/html') &&
    reply.bytes.toString().startsWith('<!doctype html>')
  )
    return undefined;
  if (contentType !== 'application/json') return 'unexpected content type';
  try {
    const json = JSON.parse(reply.bytes.toString());
    return SHAPES[kind].some((isShape) => isShape(json, reply.status)) ? undefined : 'undocumented shape';
  } catch {
    return 'malformed JSON';
  }
}

function faultOfGrpc(contentType: string, reply: RawReply): string | undefined {
  const protocol = protocolNamed(
    contentType.startsWith('application/grpc-web') ? 'gRPC-Web over HTTP/1.1' : 'gRPC over HTTP/2',
  );
  try {
    const isText = contentType.startsWith('application/grpc-web-text');
    const bytes = isText ? decodeBase64(reply.bytes.toString()) : reply.bytes;
    const { code, message } = protocol.read({ ...reply, bytes });
    // gRPC demands this code of a client's mistake.
    if (message === ERRORS.COMPRESSED_WITHOUT_ENCODING[1]) return undefined;
    return FAULTS.has(code) ? `code ${code}` : undefined;
  } catch (error) {
    return `no gRPC status (${String(error).slice(0, 100)})`;
  }
}

type IsShape = (json: Record<string, unknown>, status: number) => boolean;

const isEnvelope: IsShape = (json, status) =>
  json.status === (status === 200 || status === 201) && typeof json.message === 'string' && json.message !== '';
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
