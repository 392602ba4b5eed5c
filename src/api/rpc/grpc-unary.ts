/**
 * The fast path of gRPC: one uncompressed message on an HTTP/2 stream. Connect's own handlers use Node's request objects
 * and streams of envelopes. They serve all other requests. Messages, errors and trailers are the same. `connect-unary.ts`
 * says what calls cost without it.
 */
import { constants } from 'node:http2';
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/core/errors.ts';
import type { StreamContext, StreamHandler } from '../../http/http-context.ts';
import { endUnreadStream } from '../../http/http2-server.ts';
import { malformedMessage } from '../call-errors.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Procedure, Procedures } from '../procedures.ts';
import { toConnectError } from './connect-errors.ts';
import { connectOptions, optionsOf } from './connect-options.ts';
import { setGrpcStatus } from './grpc-status.ts';
import { readGrpcMessage } from './read-grpc-message.ts';
import { parseGrpcTimeout } from './timeout.ts';

export function createGrpcUnaryEdge(procedures: Procedures, pipeline: Pipeline, logger: Logger): StreamHandler {
  return (context) => {
    const procedure = isServed(context) ? procedures.get(context.path) : undefined;
    if (!procedure) return false;
    const timeout = context.headers['grpc-timeout'];
    const timeoutMs = timeout === undefined ? undefined : parseGrpcTimeout(String(timeout));
    if (timeout !== undefined && timeoutMs === undefined) return false;
    serve(procedure, timeoutMs, context, pipeline).catch((error) => {
      logger.error({ err: error, requestId: context.requestId }, 'unexpected error');
      context.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    return true;
  };
}

function isServed({ headers }: StreamContext): boolean {
  const contentType = headers['content-type'];
  return (
    (contentType === 'application/grpc' || contentType === 'application/grpc+proto') &&
    headers[':method'] === 'POST' &&
    // Such a client waits for `100 Continue`.
    headers.expect === undefined &&
    (headers['grpc-encoding'] ?? 'identity') === 'identity'
  );
}

async function serve(
  procedure: Procedure,
  timeoutMs: number | undefined,
  context: StreamContext,
  pipeline: Pipeline,
): Promise<void> {
  const { input, output } = procedure.method;
  const { readMaxBytes } = optionsOf(procedure);
  const read = async () => decode(input, await readGrpcMessage(context.stream, readMaxBytes));
  try {
    const response = await pipeline.runUnary(procedure, context, { protocol: 'grpc', timeoutMs }, read);
    respond(context, toBinary(output, create(output, response)), { 'grpc-status': '0' });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const trailers = setGrpcStatus(new Headers(), toConnectError(error));
    respond(context, undefined, Object.fromEntries(trailers));
  }
}

function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes, connectOptions.binaryOptions);
  } catch {
    throw malformedMessage();
  }
}

function respond(
  { stream, commonHeaders }: StreamContext,
  message: Uint8Array | undefined,
  trailers: Record<string, string>,
): void {
  if (stream.closed || stream.headersSent) return;
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc+proto', ...commonHeaders },
    { waitForTrailers: true },
  );
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  endUnreadStream(stream);
  if (message) stream.end(toFrame(message));
  else stream.end();
}

/** "Length-Prefixed-Message" of https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
function toFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(5 + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}
