/** The edge of RPCs. It serves plain unary calls itself, and hands everything else over to Connect's handlers. */
import { constants } from 'node:http2';
import { ServiceError } from '../../domain/core/errors.ts';
import { collectBody, headerOf } from '../../http/exchange.ts';
import type { PathHandler, RequestContext, StreamHandler } from '../../http/http-context.ts';
import { deadlineExceeded } from '../call-errors.ts';
import type { CallLog } from '../calls.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Procedures } from '../procedures.ts';
import { toConnectError } from './connect-errors.ts';
import { refuseCall, refuseMismatch, refuseUnknownMethod } from './connect-response.ts';
import { createEndpoints, handOver, type RpcEndpoint, type UnaryExchange } from './hand-over.ts';
import { toPlainConnect, toPlainGrpc } from './plain-calls.ts';
import { PREFIX_BYTES, readTimeout, timeoutHeaderOf } from './protocol.ts';
import { StreamLimits } from './stream-limits.ts';
import { createStreams, type StreamParts, serveStream } from './streams.ts';

const RPC_PATH = /^\/[\w.]+\.\w+\/\w+$/;

export function createRpcEdge(
  procedures: Procedures,
  pipeline: Pipeline,
  streamParts: StreamParts,
  log: CallLog,
): { readonly handle: PathHandler; readonly handleStream: StreamHandler } {
  const endpoints = createEndpoints(procedures);
  const streams = createStreams(streamParts, log.logger);
  /** Of calls without a credential that are handed over: one whose body is to come holds some 15 kB. */
  const limits = new StreamLimits();

  const handle: PathHandler = async (context) => {
    const endpoint = endpoints.get(context.path);
    const stream = streams.get(context.path);
    const handler = endpoint?.handler ?? stream?.handler;
    const plain = endpoint && toPlainConnect(endpoint, context);
    const isPublic = endpoint?.procedure.credential === 'none';
    if (plain) await serveUnary(endpoint, context, plain, pipeline);
    else if (handler && refuseMismatch(context, handler, log)) return true;
    else if (isPublic && !limits.admit(context)) refuseCall(context, new ServiceError('TOO_MANY_STREAMS'), log);
    else if (endpoint) await serveUnary(endpoint, context, handOver(endpoint, context), pipeline);
    else if (stream) await serveStream(stream, context, log);
    else if (RPC_PATH.test(context.path)) refuseUnknownMethod(context);
    else return false;
    return true;
  };

  /** Before Node wraps the stream in a request and a response, which take several times its memory. */
  const handleStream: StreamHandler = (context) => {
    const endpoint = endpoints.get(context.path);
    const plain = endpoint && toPlainGrpc(endpoint, context);
    if (!plain) return endpoint?.procedure.credential === 'none' && limits.reset(context);
    serveUnary(endpoint, context, plain, pipeline).catch((error) => {
      log.logger.error({ err: error, requestId: context.requestId }, 'unexpected error');
      context.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    return true;
  };
  return { handle, handleStream };
}

/** The life of a unary call, whoever decodes and encodes it. */
async function serveUnary(
  endpoint: RpcEndpoint,
  context: RequestContext,
  exchange: UnaryExchange,
  pipeline: Pipeline,
): Promise<void> {
  const { protocol } = exchange;
  const timeoutMs = readTimeout(protocol, context);
  const read = async (deadline: number) => {
    if (Number.isNaN(timeoutMs)) throw invalidTimeout(exchange, context);
    return exchange.decode(await readMessage(endpoint, context, exchange, deadline));
  };
  try {
    await exchange.respond(await pipeline.runUnary(endpoint.procedure, context, { protocol, timeoutMs }, read));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    await exchange.refuse(toConnectError(error));
  }
}

/** Uses the wording of Connect. */
function invalidTimeout({ protocol }: UnaryExchange, context: RequestContext): ServiceError {
  const header = timeoutHeaderOf(protocol);
  const message = `protocol error: invalid ${header.split('-')[0]} timeout value: ${headerOf(context, header)}`;
  return new ServiceError('INVALID_TIMEOUT', { message });
}

/** Reads the body of a request, or as much of it as shows that the message is too large. */
async function readMessage(
  { options: { readMaxBytes } }: RpcEndpoint,
  context: RequestContext,
  { protocol, body }: UnaryExchange,
  deadline: number,
): Promise<Buffer> {
  // The length is refused.
  if (protocol === 'connect' && Number(context.headers['content-length'] ?? 0) > readMaxBytes) return Buffer.alloc(0);
  // gRPC-Web may be in base64.
  const maxBytes = { connect: readMaxBytes, grpc: PREFIX_BYTES + readMaxBytes, 'grpc-web': 2 * readMaxBytes }[protocol];
  try {
    return await collectBody(body, maxBytes, deadline);
  } catch {
    throw body.destroyed ? new ServiceError('CANCELED') : deadlineExceeded();
  }
}
