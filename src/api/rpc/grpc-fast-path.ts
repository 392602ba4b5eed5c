/**
 * A fast path for the common call over gRPC: one whole, uncompressed message on an HTTP/2 stream.
 * Connect's own way, through Node's compatibility layer and streams of envelopes, costs several times
 * as much. Whatever else comes, in encoding or in framing, is left to Connect, untouched; the course of
 * the call, the errors and their trailers are the same.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import type { Logger } from 'pino';
import type { StreamContext, StreamHandler } from '../../http/http-context.ts';
import { endUnreadStream } from '../../http/http2-server.ts';
import { type CallEnvironment, MAX_MESSAGE_BYTES, RpcCall } from '../call.ts';
import { logCall } from '../call-log.ts';
import { toDecodingError } from '../errors.ts';
import type { Procedure } from '../procedures.ts';
import { runUnary } from '../run-unary.ts';
import { parseGrpcTimeout } from './timeout.ts';

export function createGrpcFastPath(
  procedures: ReadonlyMap<string, Procedure>,
  environment: CallEnvironment,
  logger: Logger,
): StreamHandler {
  return (exchange) => {
    const procedure = isPlainCall(exchange) ? procedures.get(exchange.path) : undefined;
    if (!procedure) return false;
    const timeout = exchange.headers['grpc-timeout'];
    const timeoutMs = timeout === undefined ? undefined : parseGrpcTimeout(String(timeout));
    if (timeout !== undefined && timeoutMs === undefined) return false;
    const call = new RpcCall(exchange, { procedure: exchange.path.slice(1), protocol: 'grpc', timeoutMs }, environment);
    serve(procedure, exchange, call, logger).catch((error) => {
      logger.error({ err: error, requestId: exchange.requestId }, 'unexpected error');
      exchange.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    return true;
  };
}

function isPlainCall({ stream, headers }: StreamContext): boolean {
  const contentType = headers['content-type'];
  return (
    (contentType === 'application/grpc' || contentType === 'application/grpc+proto') &&
    headers[':method'] === 'POST' &&
    (headers['grpc-encoding'] ?? 'identity') === 'identity' &&
    !stream.endAfterHeaders
  );
}

async function serve(procedure: Procedure, exchange: StreamContext, call: RpcCall, logger: Logger): Promise<void> {
  const { stream } = exchange;
  const { input, output } = procedure.method;
  let isPassedOn = false;
  stream.once('close', () => {
    if (!isPassedOn) logCall(logger, call, { status: 200, isSent: stream.headersSent && stream.writableFinished });
  });
  const read = async () => {
    const bytes = await readMessage(stream);
    return bytes && decode(input, bytes);
  };
  try {
    const response = await runUnary(procedure, call, read, logger);
    if (response) {
      respond(exchange, toBinary(output, create(output, response)), { 'grpc-status': '0' });
    } else {
      isPassedOn = true;
      // Once the stream has taken notice that nobody listens any more.
      setImmediate(exchange.fallThrough);
    }
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const trailers = new Headers();
    setTrailerStatus(trailers, error);
    respond(exchange, undefined, Object.fromEntries(trailers));
  }
}

/** The bytes of the one message, or undefined, with the stream as it was, where there is more to its framing. */
function readMessage(stream: ServerHttp2Stream): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    let message: Buffer | undefined;
    const onReadable = () => {
      for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) {
        if (message) return settle(() => reject(protocolError('received extra input message for unary method')));
        if (!isWholeFrame(chunk)) {
          stream.unshift(chunk);
          return settle(() => resolve(undefined));
        }
        message = chunk;
      }
    };
    const onEnd = () =>
      settle(() => {
        // Its caller wants no answer any more, and nothing done.
        if (stream.closed) reject(new ConnectError('The stream has been closed', Code.Canceled));
        else if (message) resolve(message.subarray(5));
        else reject(protocolError('missing input message for unary method'));
      });
    const settle = (conclude: () => void) => {
      stream.off('readable', onReadable).off('end', onEnd).off('close', onEnd);
      conclude();
    };
    stream.on('readable', onReadable).once('end', onEnd).once('close', onEnd);
    // A stream may have ended, or be gone, while the gate was busy.
    if (stream.readableEnded || stream.destroyed) onEnd();
  });
}

function isWholeFrame(chunk: Buffer): boolean {
  const length = chunk.length - 5;
  return length >= 0 && length <= MAX_MESSAGE_BYTES && chunk[0] === 0 && chunk.readUInt32BE(1) === length;
}

/** In Connect's words. */
function protocolError(message: string): ConnectError {
  return new ConnectError(`protocol error: ${message}`, Code.Unimplemented);
}

function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch {
    throw toDecodingError(undefined);
  }
}

function respond(
  { stream, requestId }: StreamContext,
  message: Uint8Array | undefined,
  trailers: Record<string, string>,
): void {
  if (stream.closed || stream.headersSent) return;
  const headers = {
    ':status': 200,
    'content-type': 'application/grpc+proto',
    'x-request-id': requestId,
    'cache-control': 'no-store',
  };
  stream.respond(headers, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  endUnreadStream(stream);
  if (!message) {
    stream.end();
    return;
  }
  const frame = Buffer.allocUnsafe(5 + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  stream.end(frame);
}
