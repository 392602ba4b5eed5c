/**
 * Calls and replies as they are on the wire, over every protocol: for requests that no proper client
 * would send, and for comparing replies byte for byte.
 */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { type DescMethodUnary, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { frame } from './rpc-wire.ts';

export interface Wire {
  readonly name: string;
  readonly httpVersion: '1.1' | '2';
  readonly protocol: 'rest' | 'connect' | 'grpc-web' | 'grpc';
  readonly contentType: string;
}

export interface WireCall {
  readonly method: DescMethodUnary;
  /** The request, encoded as the wire wants it; in JSON any type and any string may be in it. */
  readonly fields?: JsonObject;
  /** Sent as it is, in the place of the encoded fields. */
  readonly body?: string | Uint8Array;
  readonly headers?: Record<string, string>;
  /** Send the head only and wait for an answer to that. */
  readonly isBodyPending?: boolean;
}

export interface WireReply {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
  readonly trailers: Record<string, unknown>;
}

/** An error of any protocol. */
export interface Failure {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly fields: readonly string[];
}

export const WIRES: readonly Wire[] = (['1.1', '2'] as const).flatMap((httpVersion) => [
  { name: `REST over HTTP/${httpVersion}`, httpVersion, protocol: 'rest', contentType: 'application/json' },
  { name: `Connect JSON over HTTP/${httpVersion}`, httpVersion, protocol: 'connect', contentType: 'application/json' },
  {
    name: `Connect binary over HTTP/${httpVersion}`,
    httpVersion,
    protocol: 'connect',
    contentType: 'application/proto',
  },
  {
    name: `gRPC-Web over HTTP/${httpVersion}`,
    httpVersion,
    protocol: 'grpc-web',
    contentType: 'application/grpc-web+proto',
  },
  ...(httpVersion === '2'
    ? [{ name: 'gRPC over HTTP/2', httpVersion, protocol: 'grpc', contentType: 'application/grpc+proto' } as const]
    : []),
]);

export const RPC_WIRES = WIRES.filter(({ protocol }) => protocol !== 'rest');
export const CONNECT_JSON_WIRES = RPC_WIRES.filter(({ contentType }) => contentType === 'application/json');

/** The RPCs that have a REST route. */
const REST_TARGETS = new Map<DescMethodUnary, { method: string; path: string; parameter?: string }>([
  [AuthService.method.generateAuthUrl, { method: 'POST', path: '/api/oauth/generate-auth-url', parameter: 'clientId' }],
  [AuthService.method.exchangeToken, { method: 'POST', path: '/api/oauth/exchange' }],
  [WebhookService.method.getWebhook, { method: 'GET', path: '/api/webhooks/', parameter: 'webhookId' }],
  [EventService.method.deleteEvent, { method: 'DELETE', path: '/api/events/', parameter: 'eventId' }],
]);

/** Whether the RPC can be called over the wire: REST has four of them. */
export function carries({ protocol }: Wire, method: DescMethodUnary): boolean {
  return protocol !== 'rest' || REST_TARGETS.has(method);
}

export async function sendOver(wire: Wire, url: string, call: WireCall): Promise<WireReply> {
  const { body, ...request } = toRequest(wire, call);
  const send = wire.httpVersion === '2' ? sendOverHttp2 : sendOverHttp1;
  return send(url, { ...request, body: call.isBodyPending ? undefined : body });
}

/** The call as an HTTP request. */
export function toRequest(wire: Wire, call: WireCall) {
  const { method, path, body } = wire.protocol === 'rest' ? toRestRequest(call) : toRpcRequest(wire, call);
  const headers: Record<string, string> = {
    'content-type': wire.contentType,
    ...(wire.protocol === 'connect' && { 'connect-protocol-version': '1' }),
    ...call.headers,
  };
  return { method, path, headers, body: call.body ?? body };
}

/** The error that a reply is; throws where it is none. */
export function failureOf({ protocol }: Wire, reply: WireReply): Failure {
  if (protocol === 'rest') return restFailureOf(reply);
  const error = protocol === 'connect' ? connectErrorOf(reply) : grpcErrorOf(reply);
  if (!error) throw new Error(`No error, but a reply with status ${reply.status}`);
  const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  return {
    status: reply.status,
    code: Code[error.code] ?? '',
    message: error.rawMessage,
    fields: violations.map(({ field }) => field),
  };
}

/** All of a reply, byte for byte, but what differs between any two: the date and the request's ID. */
export function comparable({ status, headers, body, trailers }: WireReply) {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: Object.entries(rest), body: body.toString('latin1'), trailers: Object.entries(trailers) };
}

/** The body of a well-formed RPC but for a string in it that is not UTF-8. */
export function withInvalidUtf8(
  { protocol, contentType }: Wire,
  method: DescMethodUnary,
  fields: JsonObject,
  name: string,
): Uint8Array {
  const invalid = Buffer.from([0x61, 0xff, 0x61]);
  if (contentType === 'application/json') {
    const [before = '', after = ''] = JSON.stringify({ ...fields, [name]: '<here>' }).split('<here>');
    return Buffer.concat([Buffer.from(before), invalid, Buffer.from(after)]);
  }
  const field = method.input.fields.find(({ jsonName }) => jsonName === name);
  if (!field) throw new Error(`${method.name} has no field ${name}`);
  // Of a field that is there twice the last one counts.
  const message = Buffer.concat([
    toBinary(method.input, fromJson(method.input, fields)),
    Buffer.from([(field.number << 3) | 2, invalid.length]),
    invalid,
  ]);
  return protocol === 'connect' ? message : frame(message);
}

interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  /** Undefined: the body never comes. */
  readonly body: string | Uint8Array | undefined;
}

function toRestRequest({ method, fields = {} }: WireCall) {
  const target = REST_TARGETS.get(method);
  if (!target) throw new Error(`${method.name} has no REST route`);
  const { parameter = '', path } = target;
  const { [parameter]: value, ...rest } = fields;
  const argument = encodeURIComponent(String(value ?? ''));
  if (target.method !== 'POST') return { method: target.method, path: path + argument, body: '' };
  const query = value === undefined ? '' : `?${parameter}=${argument}`;
  return { method: 'POST', path: path + query, body: JSON.stringify(rest) };
}

function toRpcRequest({ protocol, contentType }: Wire, { method, fields = {}, body }: WireCall) {
  const path = `/${method.parent.typeName}/${method.name}`;
  if (body !== undefined) return { method: 'POST', path, body };
  if (contentType === 'application/json') return { method: 'POST', path, body: JSON.stringify(fields) };
  const message = toBinary(method.input, fromJson(method.input, fields));
  return { method: 'POST', path, body: protocol === 'connect' ? message : frame(message) };
}

async function sendOverHttp1(url: string, { method, path, headers, body }: HttpRequest): Promise<WireReply> {
  const { hostname, port } = new URL(url);
  const length = { 'content-length': body === undefined ? 100 : Buffer.byteLength(body) };
  const sent = httpRequest({ hostname, port, method, path, headers: { ...length, ...headers }, agent: false });
  if (body === undefined) sent.flushHeaders();
  else sent.end(body);
  const [reply]: IncomingMessage[] = await once(sent, 'response');
  // The server may close before it has read everything.
  sent.on('error', () => {});
  if (!reply) throw new Error('No reply');
  const received = await buffer(reply);
  sent.destroy();
  return { status: reply.statusCode ?? 0, headers: reply.headers, body: received, trailers: reply.trailers };
}

async function sendOverHttp2(url: string, { method, path, headers, body }: HttpRequest): Promise<WireReply> {
  const session = connectHttp2(url);
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: false });
    let trailers: Record<string, unknown> = {};
    stream.on('trailers', (received) => {
      trailers = received;
    });
    if (body !== undefined) stream.end(body);
    const [head] = await once(stream, 'response');
    const { ':status': status, ...rest } = head;
    const received = await buffer(stream);
    return { status, headers: rest, body: received, trailers };
  } finally {
    session.destroy();
  }
}

const REST_CODES: Record<number, string> = { 400: 'InvalidArgument', 401: 'Unauthenticated', 404: 'NotFound' };

function restFailureOf({ status, body }: WireReply): Failure {
  const { message, errors = [] } = JSON.parse(body.toString());
  return {
    status,
    code: REST_CODES[status] ?? '',
    message,
    fields: errors.map(({ field }: { field: string }) => field),
  };
}

function connectErrorOf({ status, body }: WireReply): ConnectError | undefined {
  if (status === 200) return undefined;
  return errorFromJsonBytes(body, undefined, new ConnectError(`Not an error: ${body}`));
}

/** From the trailers, the headers, or, in gRPC-Web, the last frame of the body. */
function grpcErrorOf({ headers, trailers, body }: WireReply): ConnectError | undefined {
  const inBody = body[0] === 0x80 ? [...trailerParse(body.subarray(5))] : [];
  const fields = [...Object.entries({ ...headers, ...trailers }), ...inBody].filter(([name]) =>
    name.startsWith('grpc-'),
  );
  return findTrailerError(new Headers(fields.map(([name, value]) => [name, String(value)])));
}
