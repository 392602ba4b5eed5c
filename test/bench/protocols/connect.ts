import { fromBinary, fromJson, type JsonObject, toBinary, toJson } from '@bufbuild/protobuf';
import { type Protocol, requireReply } from './protocol.ts';
import { procedureOf, requireObject } from './rpc.ts';

export const connectJson: Protocol = {
  name: 'Connect JSON',
  httpVersion: '1.1',

  encode: (method, fields) => ({
    method: 'POST',
    path: procedureOf(method),
    headers: headersFor('application/json'),
    body: Buffer.from(JSON.stringify(fields)),
  }),

  decode(_method, reply) {
    requireReply(reply.status === 200, reply);
    return requireObject(JSON.parse(reply.body.toString('utf8')));
  },
};

export const connectBinary: Protocol = {
  name: 'Connect binary',
  httpVersion: '1.1',

  encode: (method, fields) => ({
    method: 'POST',
    path: procedureOf(method),
    headers: headersFor('application/proto'),
    body: Buffer.from(toBinary(method.input, fromJson(method.input, fields))),
  }),

  decode(method, reply): JsonObject {
    requireReply(reply.status === 200, reply);
    return requireObject(toJson(method.output, fromBinary(method.output, reply.body)));
  },
};

function headersFor(contentType: string): Record<string, string> {
  return { 'content-type': contentType, 'connect-protocol-version': '1' };
}
