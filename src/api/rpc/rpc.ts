/** The edge of RPCs. It serves plain unary calls itself, and hands everything else over to Connect's handlers. */
import { constants } from 'node:http2';
import { ServiceError } from '../../domain/core/errors.ts';
import type { PathHandler, StreamHandler } from '../../http/http-context.ts';
import type { CallLog } from '../calls.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Procedures } from '../procedures.ts';
import { refuseCall, refuseMismatch, refuseUnknownMethod } from './connect-response.ts';
import { createEndpoints, handOver } from './hand-over.ts';
import { servePlain, toPlainConnect, toPlainGrpc } from './plain-calls.ts';
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
    if (plain) await servePlain(endpoint, context, plain, pipeline);
    else if (handler && refuseMismatch(context, handler, log)) return true;
    else if (isPublic && !limits.admit(context)) refuseCall(context, new ServiceError('TOO_MANY_STREAMS'), log);
    else if (endpoint) await handOver(endpoint, context, pipeline);
    else if (stream) await serveStream(stream, context, log);
    else if (RPC_PATH.test(context.path)) refuseUnknownMethod(context);
    else return false;
    return true;
  };

  /** Before Node wraps the stream in a request and a response, which take several times its memory. */
  const handleStream: StreamHandler = (context) => {
    const endpoint = endpoints.get(context.path);
    const plain = endpoint && toPlainGrpc(context);
    if (!plain) return endpoint?.procedure.credential === 'none' && limits.reset(context);
    servePlain(endpoint, context, plain, pipeline).catch((error) => {
      log.logger.error({ err: error, requestId: context.requestId }, 'unexpected error');
      context.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    return true;
  };
  return { handle, handleStream };
}
