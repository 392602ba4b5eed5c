/** The one table of protocols: how a call is written, sent and read over each of them, byte by byte. */
import {
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { codeToString, errorFromJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerFlag, trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import type { Route } from '../../src/api/rest/routes.ts';
import { checkReason, readErrorDetails } from './error-details.ts';
import { type HttpReply, type HttpRequest, type HttpVersion, request } from './http.ts';
import { OPERATIONS } from './operations.ts';

type ProtocolKind = 'rest' | 'connect' | 'grpc-web' | 'grpc';

export interface Protocol {
  readonly name: string;
  readonly kind: ProtocolKind;
  readonly httpVersion: HttpVersion;
  readonly contentType: string;
  readonly isJson: boolean;
  /** Whether messages travel in length-prefixed frames. */
  readonly isFramed: boolean;
  readonly timeoutHeader: 'connect-timeout-ms' | 'grpc-timeout';
  readonly encodingHeader: 'content-encoding' | 'grpc-encoding';
  /** Returns the body that carries one message. */
  wrap(message: Uint8Array | string, options?: { isCompressed?: boolean }): Uint8Array;
  /** @throws where the reply is none of the protocol. */
  read(reply: RawReply): Outcome;
}

export type RawReply = Pick<HttpReply, 'status' | 'headers' | 'trailers' | 'bytes'>;

/** What a reply says, whatever the protocol. */
interface Outcome {
  /** `ok`, or the error's code as gRPC names it. */
  readonly code: string;
  /** Of an error; of a success REST alone has one. */
  readonly message: string;
  /** The names of the fields that are wrong. */
  readonly fields: readonly string[];
  /** Where to read on about an error. */
  readonly help?: string | undefined;
  /** The message of a success, encoded. */
  readonly payload: Buffer;
}

/** An outcome with its message decoded. */
export interface Answer extends Omit<Outcome, 'help' | 'payload'> {
  /** The response as JSON, every field present; undefined for an error. */
  readonly data: JsonValue | undefined;
}

export interface Call {
  readonly method: DescMethodUnary;
  /** In JSON any type and any string may be in it. */
  readonly fields?: JsonObject;
  /** Sent as it is, in the place of the encoded fields. */
  readonly body?: string | Uint8Array;
  readonly headers?: Record<string, string>;
  readonly isBodyPending?: boolean;
}

const UNFRAMED = {
  isFramed: false,
  // REST has none, and ignores it.
  timeoutHeader: 'connect-timeout-ms',
  encodingHeader: 'content-encoding',
  wrap: (message: Uint8Array | string) => Buffer.from(message),
} as const;
const FRAMED = {
  isJson: false,
  isFramed: true,
  timeoutHeader: 'grpc-timeout',
  encodingHeader: 'grpc-encoding',
  wrap: (message: Uint8Array | string, { isCompressed = false } = {}) =>
    frame(message, { flags: isCompressed ? 1 : 0 }),
} as const;

const GRPC: Protocol = {
  ...FRAMED,
  name: 'gRPC over HTTP/2',
  kind: 'grpc',
  httpVersion: '2',
  contentType: 'application/grpc+proto',
  read: readGrpc,
};

export const PROTOCOLS: readonly Protocol[] = (['1.1', '2'] as const).flatMap((httpVersion): Protocol[] => [
  {
    ...UNFRAMED,
    name: `REST over HTTP/${httpVersion}`,
    kind: 'rest',
    httpVersion,
    contentType: 'application/json',
    isJson: true,
    read: readRest,
  },
  ...(['json', 'proto'] as const).map(
    (format): Protocol => ({
      ...UNFRAMED,
      name: `Connect ${format === 'json' ? 'JSON' : 'binary'} over HTTP/${httpVersion}`,
      kind: 'connect',
      httpVersion,
      contentType: `application/${format}`,
      isJson: format === 'json',
      read: readConnect,
    }),
  ),
  {
    ...FRAMED,
    name: `gRPC-Web over HTTP/${httpVersion}`,
    kind: 'grpc-web',
    httpVersion,
    contentType: 'application/grpc-web+proto',
    read: readGrpcWeb,
  },
  ...(httpVersion === '2' ? [GRPC] : []),
]);

export const RPC_PROTOCOLS = PROTOCOLS.filter(({ kind }) => kind !== 'rest');
export const REST = protocolNamed('REST over HTTP/1.1');
export const CONNECT = protocolNamed('Connect JSON over HTTP/1.1');

export function protocolNamed(name: string): Protocol {
  const protocol = PROTOCOLS.find((each) => each.name === name);
  if (!protocol) throw new Error(`There is no protocol ${name}`);
  return protocol;
}

/** Returns whether the RPC can be called over the protocol: REST needs a route. */
export function supports({ kind }: Protocol, method: DescMethodUnary): boolean {
  return kind !== 'rest' || routeOf(method) !== undefined;
}

/** Returns REST for an RPC with a route, Connect for any other: what a test calls that is not about protocols. */
export function mainProtocolOf(method: DescMethodUnary): Protocol {
  return supports(REST, method) ? REST : CONNECT;
}

/** Makes the call as a proper client would, with `fields` that the schema allows. */
export async function call(
  protocol: Protocol,
  url: string,
  method: DescMethodUnary,
  fields: JsonObject,
  headers: Record<string, string>,
): Promise<Answer> {
  return answerOf(protocol, method, await send(protocol, url, { method, fields, headers }));
}

/** Sends the call over a connection of its own. */
export async function send(protocol: Protocol, url: string, each: Call): Promise<HttpReply> {
  const { isBodyPending = false } = each;
  return request(url, { httpVersion: protocol.httpVersion, ...toRequest(protocol, each), isBodyPending });
}

export function answerOf(protocol: Protocol, { output }: DescMethodUnary, reply: RawReply): Answer {
  const { help: _, payload, ...answer } = protocol.read(reply);
  if (answer.code !== 'ok') return { ...answer, data: undefined };
  if (protocol.kind === 'rest') return { ...answer, data: JSON.parse(payload.toString()).data };
  const message = protocol.isJson ? fromJson(output, JSON.parse(payload.toString())) : fromBinary(output, payload);
  return { ...answer, data: toJson(output, message, { alwaysEmitImplicit: true }) };
}

/** Decodes base64 with padding anywhere, as clients of `application/grpc-web-text` do. */
export function decodeBase64(text: string): Buffer {
  return Buffer.concat((text.match(/.{1,4}/gs) ?? []).map((part) => Buffer.from(part, 'base64')));
}

/** Returns the call as an HTTP request. */
export function toRequest(
  protocol: Protocol,
  each: Call,
): Required<Pick<HttpRequest, 'method' | 'path' | 'headers'>> & { body: string | Uint8Array } {
  const { method, path, body } = protocol.kind === 'rest' ? toRestRequest(each) : toRpcRequest(protocol, each);
  const headers: Record<string, string> = {
    'content-type': protocol.contentType,
    ...(protocol.kind === 'connect' && { 'connect-protocol-version': '1' }),
    ...each.headers,
  };
  return { method, path, headers, body: each.body ?? body };
}

/** Returns all of a reply but what differs between any two: the date and the request's ID. */
export function comparable({ status, headers, bytes, trailers }: RawReply) {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: Object.entries(rest), body: bytes.toString('latin1'), trailers: Object.entries(trailers) };
}

/** Returns a message in its frame (gRPC, "Length-Prefixed-Message"): five bytes of flags and length before it. */
export function frame(message: Uint8Array | string, { flags = 0, length = Buffer.byteLength(message) } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(message)]);
}

function routeOf(method: DescMethodUnary): Route | undefined {
  return OPERATIONS.find((operation) => operation.method === method)?.route;
}

function toRestRequest({ method: rpc, fields = {} }: Call) {
  const route = routeOf(rpc);
  if (!route) throw new Error(`${rpc.name} has no REST route`);
  const { method, fields: sources } = route;
  const query = new URLSearchParams();
  const body: JsonObject = {};
  let { path } = route;
  for (const [name, value] of Object.entries(fields)) {
    if (sources[name] === 'path') path = path.replace(`:${name}`, encodeURIComponent(String(value)));
    else if (sources[name] === 'query') for (const each of [value].flat()) query.append(name, String(each));
    else body[name] = value;
  }
  // A parameter that is missing is an empty segment.
  path = path.replace(/:\w+/g, '');
  const hasBody = Object.values(sources).includes('body');
  return { method, path: query.size > 0 ? `${path}?${query}` : path, body: hasBody ? JSON.stringify(body) : '' };
}

function toRpcRequest(protocol: Protocol, { method, fields = {}, body }: Call) {
  const path = `/${method.parent.typeName}/${method.name}`;
  if (body !== undefined) return { method: 'POST', path, body };
  if (protocol.isJson) return { method: 'POST', path, body: JSON.stringify(fields) };
  return { method: 'POST', path, body: protocol.wrap(toBinary(method.input, fromJson(method.input, fields))) };
}

const NOTHING = Buffer.alloc(0);

/** The codes that REST's statuses stand for. */
const REST_CODES: Readonly<Record<number, string>> = {
  200: 'ok',
  201: 'ok',
  400: 'invalid_argument',
  401: 'unauthenticated',
  404: 'not_found',
  409: 'already_exists',
  429: 'resource_exhausted',
  500: 'internal',
  503: 'unavailable',
};

/** @throws when the body is not the documented envelope, whole and with nothing beside it */
function readRest({ status, headers, bytes }: RawReply): Outcome {
  const { status: isSuccess, message, data, reason, errors, help, ...others } = JSON.parse(bytes.toString());
  const violations: readonly Record<string, unknown>[] = errors ?? [];
  const isEnvelope =
    headers['content-type'] === 'application/json' &&
    isSuccess === (status === 200 || status === 201) &&
    typeof message === 'string' &&
    (isSuccess ? reason : data) === undefined &&
    (errors !== undefined) === ['Validation failed', 'Unsupported media type'].includes(message) &&
    (help === undefined || help.endsWith(`/docs/errors#error-${reason}`)) &&
    violations.every(({ field, message: problem, ...more }) => field && problem && Object.keys(more).length === 0) &&
    Object.keys(others).length === 0;
  if (!isEnvelope) throw new Error(`The body is not the envelope: ${bytes}`);
  if (!isSuccess) checkReason(reason, message);
  const fields = violations.map(({ field }) => String(field));
  return { code: REST_CODES[status] ?? String(status), message, fields, help, payload: isSuccess ? bytes : NOTHING };
}

function readConnect({ status, headers, bytes }: RawReply): Outcome {
  if (status === 200) return toSuccess(bytes);
  if (headers['content-type'] !== 'application/json') throw new Error('An error of Connect is JSON');
  return toFailure(errorFromJsonBytes(bytes, undefined, new ConnectError('The body is no error of Connect')));
}

function readGrpc({ headers, trailers, bytes }: RawReply): Outcome {
  return readGrpcStatus({ ...headers, ...trailers }, bytes.subarray(5));
}

function readGrpcWeb({ headers, bytes }: RawReply): Outcome {
  if (bytes.length === 0) return readGrpcStatus(headers, bytes);
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const data = bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1));
    if (bytes[at] === trailerFlag) {
      return readGrpcStatus(Object.fromEntries(trailerParse(data)), Buffer.concat(messages));
    }
    messages.push(data);
    at += 5 + data.length;
  }
  throw new Error('The body has no trailers');
}

function readGrpcStatus(fields: Readonly<Record<string, string>>, payload: Buffer): Outcome {
  if (fields['grpc-status'] === undefined) throw new Error(`No grpc-status in ${JSON.stringify(fields)}`);
  const error = findTrailerError(new Headers(fields));
  return error ? toFailure(error) : toSuccess(payload);
}

function toSuccess(payload: Buffer): Outcome {
  return { code: 'ok', message: '', fields: [], payload };
}

function toFailure(error: ConnectError): Outcome {
  const { info, fieldViolations, links } = readErrorDetails(error);
  checkReason(info.reason, error.rawMessage);
  const fields = fieldViolations.map(({ field }) => field);
  const [help, ...others] = links.map(({ url }) => url);
  if (others.length > 0) throw new Error(`Several pages: ${JSON.stringify(links)}`);
  return { code: codeToString(error.code), message: error.rawMessage, fields, help, payload: NOTHING };
}
