/** A common choice: `@grpc/grpc-js`, with SQL by hand. */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import {
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import { BaselineCall, toAnswer } from './baseline-call.ts';
import { openBaseline } from './open-baseline.ts';
import { createRpcMethods, decodeRequest, encodeResponse, type ResponseInit, type RpcMethod } from './rpc-methods.ts';

type Request = MessageShape<DescMessage>;

const { config, logger, operations } = openBaseline();
const server = new Server();
for (const rpc of createRpcMethods(operations)) {
  const { localName } = rpc.method;
  server.addService({ [localName]: definitionOf(rpc) }, { [localName]: serve(rpc) });
}
server.bindAsync(`${config.host}:${config.port}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});

function definitionOf({ method }: RpcMethod): MethodDefinition<Request, ResponseInit> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream: false,
    requestDeserialize: (bytes) => decodeRequest(method, bytes),
    responseSerialize: (response) => {
      const { buffer, byteOffset, byteLength } = encodeResponse(method, response);
      return Buffer.from(buffer, byteOffset, byteLength);
    },
    // Only clients use these two.
    requestSerialize: () => Buffer.alloc(0),
    responseDeserialize: () => ({}),
  };
}

function serve({ method, run }: RpcMethod): handleUnaryCall<Request, ResponseInit> {
  const name = `${method.parent.typeName}/${method.name}`;
  return async (grpcCall, callback) => {
    const { metadata, request } = grpcCall;
    const apiKey = metadata.get('x-api-key')[0];
    const call = new BaselineCall('grpc', metadata.get('x-request-id').map(String)[0]);
    const headers = new Metadata();
    headers.set('x-request-id', call.requestId);
    headers.set('cache-control', 'no-store');
    grpcCall.sendMetadata(headers);
    let code = status.OK;
    try {
      call.application = await operations.authenticate(apiKey === undefined ? undefined : String(apiKey));
      const userAgent = String(metadata.get('user-agent')[0] ?? '');
      const { application, requestId } = call;
      const caller = { application, requestId, ipAddress: grpcCall.getPeer(), userAgent };
      callback(null, await run(caller, request));
    } catch (error) {
      const answer = toAnswer(error);
      code = Number(answer.code);
      callback({ code, details: answer.message });
    }
    call.log(logger, { method: name, code: code === status.OK ? 'ok' : status[code], status: 200 });
  };
}
