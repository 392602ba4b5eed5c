/**
 * Plain unary calls over Connect and gRPC: one uncompressed message in the body of a POST. All others are handed over to
 * Connect's handlers, which convert to web headers and streams. Messages, errors and the order of checks are the same.
 *
 * Connect's handlers can serve these as well, if `toPlainConnect` and `toPlainGrpc` return undefined. Then CheckSession costs
 * 395 us of CPU instead of 184 over Connect and 515 instead of 211 over gRPC, GetWebhook 346 instead of 263 and 573 instead
 * of 313, and the first ExchangeToken 927 instead of 806 and 1196 instead of 849. The process takes 462 MB instead of 306. By
 * `npm run bench -- --server usher --server against --against ../without --protocol "Connect JSON" --protocol gRPC`.
 */
import type { Readable } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import type { ConnectError } from '@connectrpc/connect';
import { compressionNegotiate, encodeEnvelope } from '@connectrpc/connect/protocol';
import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { ServiceError } from '../../domain/core/errors.ts';
import { headerOf, send } from '../../http/exchange.ts';
import type { HttpContext, RequestContext, StreamContext } from '../../http/http-context.ts';
import { endUnreadStream } from '../../http/http2-server.ts';
import { readMediaType } from '../media-type.ts';
import type { Pipeline } from '../pipeline.ts';
import { toConnectError, toHttpStatus } from './connect-errors.ts';
import { setGrpcStatus } from './grpc-status.ts';
import { decodeByConnect, PREFIX_BYTES, type RpcEndpoint, readMessage } from './hand-over.ts';
import { readTimeout } from './protocol.ts';

interface PlainCall {
  readonly protocol: 'connect' | 'grpc';
  readonly timeoutMs: number | undefined;
  readonly isBinary: boolean;
  readonly body: Readable;
  /** Returns the message in the body. @throws Error if it is none */
  unwrap(body: Buffer): Buffer;
  respond(message: Uint8Array): Promise<void> | void;
  refuse(error: ConnectError): Promise<void> | void;
}

export async function servePlain(
  endpoint: RpcEndpoint,
  context: RequestContext,
  { protocol, timeoutMs, isBinary, ...call }: PlainCall,
  pipeline: Pipeline,
): Promise<void> {
  const { procedure, serialization } = endpoint;
  const read = async (deadline: number) => {
    const body = await readMessage(endpoint, context, call.body, deadline);
    try {
      return serialization.getI(isBinary).parse(call.unwrap(body));
    } catch {
      // Connect says what is wrong.
      return decodeByConnect(endpoint, context, body).fields;
    }
  };
  try {
    const response = await pipeline.runUnary(procedure, context, { protocol, timeoutMs }, read);
    const message = create(procedure.method.output, response);
    await call.respond(serialization.getO(isBinary).serialize(message));
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    await call.refuse(toConnectError(cause));
  }
}

/** Returns undefined if the call is not plain. */
export function toPlainConnect({ options }: RpcEndpoint, context: HttpContext): PlainCall | undefined {
  const { request, headers } = context;
  const contentType = contentTypeOf(context);
  const timeoutMs = readTimeout('connect', context);
  const isPlain =
    request.method === 'POST' &&
    contentType !== undefined &&
    (headers['connect-protocol-version'] ?? '1') === '1' &&
    (headers['content-encoding'] ?? 'identity') === 'identity' &&
    Number(headers['content-length'] ?? 0) <= options.readMaxBytes &&
    !Number.isNaN(timeoutMs);
  if (!isPlain) return undefined;

  const respond = async (status: number, body: Uint8Array, own: Record<string, string>) => {
    const compression = body.length < options.compressMinBytes ? undefined : acceptedCompression(context, options);
    if (compression)
      send(context, status, await compression.compress(body), { ...own, 'content-encoding': compression.name });
    else send(context, status, body, own);
  };
  return {
    protocol: 'connect',
    timeoutMs,
    isBinary: contentType === 'application/proto',
    body: request,
    unwrap: (body) => body,
    respond: (message) => respond(200, message, { 'content-type': contentType }),
    refuse(error) {
      const own = { 'content-type': 'application/json', ...Object.fromEntries(error.metadata) };
      return respond(toHttpStatus(codeToHttpStatus(error.code)), errorToJsonBytes(error, undefined), own);
    },
  };
}

function contentTypeOf({ headers }: HttpContext): 'application/json' | 'application/proto' | undefined {
  const contentType = headers['content-type'];
  if (contentType === 'application/json' || contentType === 'application/proto') return contentType;
  // Another spelling.
  const { name, isUtf8 } = readMediaType({ headers });
  if (name === 'application/proto') return name;
  return name === 'application/json' && isUtf8 ? name : undefined;
}

function acceptedCompression(context: HttpContext, { acceptCompression }: RpcEndpoint['options']) {
  const accepted = headerOf(context, 'accept-encoding') ?? null;
  return compressionNegotiate(acceptCompression, null, accepted, 'accept-encoding').response;
}

/** Returns undefined if the call is not plain. */
export function toPlainGrpc(context: StreamContext): PlainCall | undefined {
  const { headers, stream } = context;
  const contentType = headers['content-type'];
  const timeoutMs = readTimeout('grpc', context);
  const isPlain =
    (contentType === 'application/grpc' || contentType === 'application/grpc+proto') &&
    headers[':method'] === 'POST' &&
    // Such a client waits for `100 Continue`.
    headers.expect === undefined &&
    (headers['grpc-encoding'] ?? 'identity') === 'identity' &&
    !Number.isNaN(timeoutMs);
  if (!isPlain) return undefined;
  return {
    protocol: 'grpc',
    timeoutMs,
    isBinary: true,
    body: stream,
    unwrap(body) {
      const isMessage = body.length >= PREFIX_BYTES && body[0] === 0;
      if (!isMessage || PREFIX_BYTES + body.readUInt32BE(1) !== body.length) throw new Error('No plain message');
      return body.subarray(PREFIX_BYTES);
    },
    respond: (message) => respondGrpc(context, message, { 'grpc-status': '0' }),
    refuse: (error) => respondGrpc(context, undefined, Object.fromEntries(setGrpcStatus(new Headers(), error))),
  };
}

function respondGrpc(
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
  stream.end(message && encodeEnvelope(0, message));
}
