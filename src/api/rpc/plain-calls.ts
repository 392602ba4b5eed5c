/**
 * Plain unary calls over Connect and gRPC: one uncompressed message in the body of a POST. All others are handed over to
 * Connect's handlers, which convert to web headers and streams. Messages, errors and the order of checks are the same.
 *
 * Connect's handlers can serve these as well, if `toPlainConnect` and `toPlainGrpc` return undefined. Then GetWebhook costs
 * 304 us of CPU instead of 185 over Connect and 442 instead of 210 over gRPC, CheckSession 303 instead of 142 and 341 instead
 * of 119, and CheckIn 512 instead of 335 and 622 instead of 386. The process takes 429 MB instead of 336. By
 * `npm run bench -- --server usher --server against --against ../without --protocol "Connect JSON" --protocol gRPC`.
 */
import { create } from '@bufbuild/protobuf';
import { compressionNegotiate, encodeEnvelope } from '@connectrpc/connect/protocol';
import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { headerOf, send } from '../../http/exchange.ts';
import type { HttpContext, RequestContext, StreamContext } from '../../http/http-context.ts';
import { endUnreadStream } from '../../http/http2-server.ts';
import type { Fields, ResponseMessage } from '../call-info.ts';
import { toHttpStatus } from './connect-errors.ts';
import { setGrpcStatus } from './grpc-status.ts';
import { decodeByConnect, type RpcEndpoint, type UnaryExchange } from './hand-over.ts';
import { connectTypeOf, PREFIX_BYTES } from './protocol.ts';

const CONNECT_TYPES = ['application/json', 'application/proto'];

/** Returns undefined if the call is not plain. */
export function toPlainConnect(endpoint: RpcEndpoint, context: HttpContext): UnaryExchange | undefined {
  const { request, headers } = context;
  const given = headers['content-type'] ?? '';
  const contentType = CONNECT_TYPES.includes(given) ? given : connectTypeOf(context);
  const isPlain =
    request.method === 'POST' &&
    CONNECT_TYPES.includes(contentType) &&
    (headers['connect-protocol-version'] ?? '1') === '1' &&
    (headers['content-encoding'] ?? 'identity') === 'identity' &&
    Number(headers['content-length'] ?? 0) <= endpoint.options.readMaxBytes;
  if (!isPlain) return undefined;

  const isBinary = contentType === 'application/proto';
  const sendBody = async (status: number, body: Uint8Array, own: Record<string, string>) => {
    const compression = acceptedCompression(context, endpoint, body);
    if (!compression) return send(context, status, body, own);
    send(context, status, await compression.compress(body), { ...own, 'content-encoding': compression.name });
  };
  return {
    protocol: 'connect',
    body: request,
    decode: (body) => decode(endpoint, context, { body, message: body, isBinary }),
    respond: (message) => sendBody(200, encode(endpoint, message, isBinary), { 'content-type': contentType }),
    refuse(error) {
      const own = { 'content-type': 'application/json', ...Object.fromEntries(error.metadata) };
      return sendBody(toHttpStatus(codeToHttpStatus(error.code)), errorToJsonBytes(error, undefined), own);
    },
  };
}

function acceptedCompression(context: HttpContext, { options }: RpcEndpoint, { length }: Uint8Array) {
  if (length < options.compressMinBytes) return undefined;
  const accepted = headerOf(context, 'accept-encoding') ?? null;
  return compressionNegotiate(options.acceptCompression, null, accepted, 'accept-encoding').response;
}

/** Returns undefined if the call is not plain. */
export function toPlainGrpc(endpoint: RpcEndpoint, context: StreamContext): UnaryExchange | undefined {
  const { headers, stream } = context;
  const contentType = headers['content-type'];
  const isPlain =
    (contentType === 'application/grpc' || contentType === 'application/grpc+proto') &&
    headers[':method'] === 'POST' &&
    // Such a client waits for `100 Continue`.
    headers.expect === undefined &&
    (headers['grpc-encoding'] ?? 'identity') === 'identity';
  if (!isPlain) return undefined;
  return {
    protocol: 'grpc',
    body: stream,
    decode(body) {
      const isMessage = body.length >= PREFIX_BYTES && body[0] === 0;
      const isOne = isMessage && PREFIX_BYTES + body.readUInt32BE(1) === body.length;
      const message = isOne ? body.subarray(PREFIX_BYTES) : undefined;
      return decode(endpoint, context, { body, message, isBinary: true });
    },
    respond: (message) => respondGrpc(context, encode(endpoint, message, true), { 'grpc-status': '0' }),
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

interface PlainBody {
  readonly body: Buffer;
  /** Undefined if the body is malformed. */
  readonly message: Buffer | undefined;
  readonly isBinary: boolean;
}

function decode(
  endpoint: RpcEndpoint,
  context: RequestContext,
  { body, message, isBinary }: PlainBody,
): Fields | Promise<Fields> {
  try {
    if (message) return endpoint.serialization.getI(isBinary).parse(message);
  } catch {
    // Connect says what is wrong.
  }
  return decodeByConnect(endpoint, context, body, Promise.resolve({})).fields;
}

function encode({ procedure, serialization }: RpcEndpoint, response: ResponseMessage, isBinary: boolean): Uint8Array {
  return serialization.getO(isBinary).serialize(create(procedure.method.output, response));
}
