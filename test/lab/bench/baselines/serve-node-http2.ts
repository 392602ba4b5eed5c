/** The lower bound of gRPC in Node: as little code as possible on the streams of `node:http2`. */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Code } from '@connectrpc/connect';
import { BaselineCall, toAnswer } from './baseline-call.ts';
import { openBaseline } from './open-baseline.ts';
import { createRpcMethods, decodeRequest, encodeResponse, type RpcMethod } from './rpc-methods.ts';

/** gRPC over HTTP/2: one byte of flags and four of length precede a message. */
const PREFIX_BYTES = 5;

const { config, logger, operations } = openBaseline();
const methods = new Map(
  createRpcMethods(operations).map((rpc) => [`/${rpc.method.parent.typeName}/${rpc.method.name}`, rpc]),
);

const server = createServer();
server.on('stream', (stream, headers) => {
  const rpc = methods.get(headers[':path'] ?? '');
  if (!rpc) return stream.respond({ ':status': 404 }, { endStream: true });
  const call = new BaselineCall('grpc', headers['x-request-id']);
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', () => {});
  stream.on('end', () => serve(rpc, call, { stream, headers, body: Buffer.concat(chunks) }));
});
server.listen(config.port, config.host);

async function serve(
  { method, run }: RpcMethod,
  call: BaselineCall,
  { stream, headers, body }: { stream: ServerHttp2Stream; headers: IncomingHttpHeaders; body: Buffer },
): Promise<void> {
  let message: Uint8Array = Buffer.alloc(0);
  let trailers: Record<string, string> = { 'grpc-status': '0' };
  try {
    const apiKey = headers['x-api-key'];
    call.application = await operations.authenticate(typeof apiKey === 'string' ? apiKey : undefined);
    const { application, requestId } = call;
    const ipAddress = stream.session?.socket.remoteAddress ?? '';
    const caller = { application, requestId, ipAddress, userAgent: headers['user-agent'] ?? '' };
    message = encodeResponse(method, await run(caller, decodeRequest(method, body.subarray(PREFIX_BYTES))));
  } catch (error) {
    const answer = toAnswer(error);
    trailers = { 'grpc-status': String(answer.code), 'grpc-message': encodeURIComponent(answer.message) };
  }
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'x-request-id': call.requestId,
      'cache-control': 'no-store',
    },
    { waitForTrailers: true },
  );
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(frame);
  const code = Number(trailers['grpc-status']);
  call.log(logger, {
    method: `${method.parent.typeName}/${method.name}`,
    code: code === 0 ? 'ok' : (Code[code] ?? ''),
    status: 200,
  });
}
