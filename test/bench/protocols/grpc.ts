/** gRPC over HTTP/2: one byte of flags and four of length precede a message. */
import { fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import { type Protocol, requireReply } from './protocol.ts';
import { procedureOf, requireObject } from './rpc.ts';

const PREFIX_BYTES = 5;

export const grpc: Protocol = {
  name: 'gRPC',
  httpVersion: '2',

  encode: (method, fields) => ({
    method: 'POST',
    path: procedureOf(method),
    headers: { 'content-type': 'application/grpc+proto', te: 'trailers' },
    body: frame(toBinary(method.input, fromJson(method.input, fields))),
  }),

  decode(method, reply) {
    requireReply(reply.status === 200 && reply.grpcStatus === '0', reply);
    const message = reply.body.subarray(PREFIX_BYTES);
    const isWholeAndPlain =
      reply.body.length >= PREFIX_BYTES && reply.body[0] === 0 && reply.body.readUInt32BE(1) === message.length;
    requireReply(isWholeAndPlain, reply);
    return requireObject(toJson(method.output, fromBinary(method.output, message)));
  },
};

function frame(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(PREFIX_BYTES + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
}
