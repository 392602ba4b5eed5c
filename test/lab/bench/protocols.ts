/** How calls are written, as in the tests, and how their responses are read. */
import { type DescMethodUnary, fromBinary, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import type { HttpVersion } from '../../support/http.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { protocolNamed, toRequest } from '../../support/protocols.ts';

export const PROTOCOL_NAMES = ['REST', 'Connect JSON', 'Connect binary', 'gRPC'] as const;
export type ProtocolName = (typeof PROTOCOL_NAMES)[number];

/** An HTTP request, ready to send. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface WireReply {
  readonly status: number;
  readonly body: Buffer;
  /** From the trailers, or from the headers of a response without a body. */
  readonly grpcStatus?: string | undefined;
}

export interface Protocol {
  readonly name: ProtocolName;
  readonly httpVersion: HttpVersion;
  encode(method: DescMethodUnary, fields: JsonObject): WireRequest;
  /** Returns the response message as JSON. @throws Error that shows the response if it is no success or malformed */
  decode(method: DescMethodUnary, reply: WireReply): JsonObject;
}

/** One byte of flags and four of length precede a message of gRPC. */
const PREFIX_BYTES = 5;

export const rest = createProtocol('REST', '1.1', (method, reply) => {
  const route = OPERATIONS.find((operation) => operation.method === method)?.route;
  const { status, message, data } = JSON.parse(reply.body.toString());
  requireReply(status === true && message === route?.message, reply);
  return route?.resource ? { [route.resource]: data } : (data ?? {});
});

export const connectJson = createProtocol('Connect JSON', '1.1', (_, { body }) => JSON.parse(body.toString()));

export const connectBinary = createProtocol('Connect binary', '1.1', ({ output }, { body }) =>
  toJson(output, fromBinary(output, body)),
);

export const grpc = createProtocol('gRPC', '2', ({ output }, reply) => {
  const { grpcStatus, body } = reply;
  const message = body.subarray(PREFIX_BYTES);
  const isWholeAndPlain = body.length >= PREFIX_BYTES && body[0] === 0 && body.readUInt32BE(1) === message.length;
  requireReply(grpcStatus === '0' && isWholeAndPlain, reply);
  return toJson(output, fromBinary(output, message));
});

function createProtocol(
  name: ProtocolName,
  httpVersion: HttpVersion,
  read: (method: DescMethodUnary, reply: WireReply) => JsonValue,
): Protocol {
  const protocol = protocolNamed(`${name} over HTTP/${httpVersion}`);
  return {
    name,
    httpVersion,
    encode(method, fields) {
      const sent = { method, fields, headers: name === 'gRPC' ? { te: 'trailers' } : {} };
      const { body, headers, ...target } = toRequest(protocol, sent);
      // Only REST has requests without a body. Fastify refuses a content type for them.
      return { ...target, headers: body.length > 0 ? headers : {}, body: Buffer.from(body) };
    },
    decode(method, reply) {
      requireReply(reply.status === 200 || reply.status === 201, reply);
      return read(method, reply) as JsonObject;
    },
  };
}

/** @throws Error that shows the response */
function requireReply(isFine: boolean, { status, grpcStatus, body }: WireReply): asserts isFine {
  if (isFine) return;
  const grpc = grpcStatus === undefined ? '' : `, grpc-status ${grpcStatus}`;
  throw new Error(`status ${status}${grpc}: ${body.toString('latin1').slice(0, 200)}`);
}
