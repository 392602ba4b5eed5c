/**
 * A fast path for the common call over Connect: one uncompressed message in the body of a POST.
 * Connect's own way, through web headers and streams, costs twice as much. Whatever else comes is
 * left to Connect, untouched; the course of the call, the messages and the errors are the same.
 */
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { compressionNegotiate, createMethodSerializationLookup } from '@connectrpc/connect/protocol';
import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import type { Logger } from 'pino';
import { type HttpAdapter, type HttpContext, headerOf } from '../../http/http-context.ts';
import { HttpError, readBody } from '../../http/read-body.ts';
import { send } from '../../http/response.ts';
import { type CallEnvironment, MAX_MESSAGE_BYTES, RpcCall } from '../call.ts';
import { logWhenDone } from '../call-log.ts';
import { deadlineExceeded, toDecodingError, toHttpStatus } from '../errors.ts';
import type { Procedure } from '../procedures.ts';
import { runUnary } from '../run-unary.ts';
import { connectOptions } from './connect-options.ts';
import { parseConnectTimeout } from './timeout.ts';

interface Endpoint {
  readonly procedure: Procedure;
  readonly serialization: ReturnType<typeof createMethodSerializationLookup>;
}

type ContentType = 'application/json' | 'application/proto';

export function createConnectFastPath(
  procedures: ReadonlyMap<string, Procedure>,
  environment: CallEnvironment,
  logger: Logger,
): HttpAdapter {
  const endpoints = new Map<string, Endpoint>();
  for (const [path, procedure] of procedures) {
    const { jsonOptions } = connectOptions;
    const serialization = createMethodSerializationLookup(procedure.method, undefined, jsonOptions, connectOptions);
    endpoints.set(path, { procedure, serialization });
  }

  return async (exchange) => {
    const endpoint = endpoints.get(exchange.path);
    if (!endpoint) return false;
    const contentType = contentTypeOf(exchange);
    const timeout = headerOf(exchange, 'connect-timeout-ms');
    const timeoutMs = timeout === undefined ? undefined : parseConnectTimeout(timeout);
    if (!contentType || (timeout !== undefined && timeoutMs === undefined)) return false;
    const procedure = exchange.path.slice(1);
    const call = new RpcCall(exchange, { procedure, protocol: 'connect', timeoutMs }, environment);
    logWhenDone(logger, call, exchange);
    await serve(endpoint, contentType, exchange, call, logger);
    return true;
  };
}

/** That of a plain call; undefined for any other. */
function contentTypeOf({ request, headers }: HttpContext): ContentType | undefined {
  const contentType = headers['content-type'];
  const isPlain =
    request.method === 'POST' &&
    (headers['content-encoding'] ?? 'identity') === 'identity' &&
    Number(headers['content-length'] ?? 0) <= MAX_MESSAGE_BYTES;
  return isPlain && (contentType === 'application/json' || contentType === 'application/proto')
    ? contentType
    : undefined;
}

async function serve(
  { procedure, serialization }: Endpoint,
  contentType: ContentType,
  exchange: HttpContext,
  call: RpcCall,
  logger: Logger,
): Promise<void> {
  const isBinary = contentType === 'application/proto';
  const read = async () => {
    const bytes = await readMessage(exchange, call);
    try {
      return serialization.getI(isBinary).parse(bytes);
    } catch (error) {
      throw toDecodingError(error);
    }
  };
  try {
    const response = await runUnary(procedure, call, read, logger);
    const message = create(procedure.method.output, response);
    await reply(exchange, 200, serialization.getO(isBinary).serialize(message), { 'content-type': contentType });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const body = errorToJsonBytes(error, undefined);
    const headers = { 'content-type': 'application/json', ...Object.fromEntries(error.metadata) };
    await reply(exchange, toHttpStatus(codeToHttpStatus(error.code)), body, headers);
  }
}

/** Fails as Connect does. */
async function readMessage({ request }: HttpContext, call: RpcCall): Promise<Uint8Array> {
  try {
    return await readBody(request, MAX_MESSAGE_BYTES, call.deadline);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    if (error.status === 408) throw deadlineExceeded();
    const message = `message size is larger than configured readMaxBytes ${MAX_MESSAGE_BYTES}`;
    throw new ConnectError(message, Code.ResourceExhausted);
  }
}

async function reply(
  exchange: HttpContext,
  status: number,
  body: Uint8Array,
  headers: Record<string, string>,
): Promise<void> {
  const compression = body.length < connectOptions.compressMinBytes ? undefined : acceptedCompression(exchange);
  if (compression) {
    send(exchange, status, await compression.compress(body), { ...headers, 'content-encoding': compression.name });
  } else {
    send(exchange, status, body, headers);
  }
}

function acceptedCompression(exchange: HttpContext) {
  const accepted = headerOf(exchange, 'accept-encoding') ?? null;
  return compressionNegotiate(connectOptions.acceptCompression, null, accepted, 'accept-encoding').response;
}
