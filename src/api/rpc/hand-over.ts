/**
 * Hands unary calls over to Connect's handlers: gRPC-Web, compressed messages, other spellings and everything malformed.
 * They decode a request that has been read, and encode the answer. The pipeline runs the call, as it does plain ones.
 */
import type { Readable } from 'node:stream';
import type { DescMessage } from '@bufbuild/protobuf';
import { createConnectRouter, createContextKey, createContextValues } from '@connectrpc/connect';
import {
  createAsyncIterable,
  createMethodSerializationLookup,
  type MethodSerializationLookup,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { ServiceError } from '../../domain/core/errors.ts';
import { collectBody } from '../../http/exchange.ts';
import type { HttpContext, RequestContext } from '../../http/http-context.ts';
import { deadlineExceeded } from '../call-errors.ts';
import { readMediaType } from '../media-type.ts';
import type { Fields, ResponseMessage } from '../messages.ts';
import type { Pipeline, ReadRequest } from '../pipeline.ts';
import type { Procedure, Procedures } from '../procedures.ts';
import { toConnectError, toDecodingError } from './connect-errors.ts';
import { type connectOptions, optionsOf } from './connect-options.ts';
import { setResponseHeaders, writeResponse } from './connect-response.ts';
import { decodeBase64, toBinaryType } from './grpc-web-text.ts';
import { connectTypeOf, protocolOf, readTimeout, timeoutHeaderOf } from './protocol.ts';

/** An RPC with what serves it. */
export interface RpcEndpoint {
  readonly procedure: Procedure;
  readonly handler: UniversalHandler;
  readonly options: typeof connectOptions;
  readonly serialization: MethodSerializationLookup<DescMessage, DescMessage>;
}

/** What Connect's handler calls while it serves a request. */
interface HandlerCalls {
  /** Before it decodes the request. It aborts the signal, with a reason, when it cannot. */
  begin(signal: AbortSignal): void;
  /** With the decoded request. The handler encodes the result. */
  handle(fields: Fields): Promise<ResponseMessage>;
}

const callsKey = createContextKey<HandlerCalls | undefined>(undefined);

/** Returns the endpoint of each path. */
export function createEndpoints(procedures: Procedures): ReadonlyMap<string, RpcEndpoint> {
  const router = createConnectRouter();
  for (const procedure of procedures.values()) {
    router.rpc(procedure.method, (message, { values }) => values.get(callsKey)?.handle(message) ?? {}, {
      ...optionsOf(procedure),
      requestGate: ({ values, signal }) => values.get(callsKey)?.begin(signal),
    });
  }
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const endpoints = new Map<string, RpcEndpoint>();
  for (const [path, procedure] of procedures) {
    const handler = handlers.get(path);
    const options = optionsOf(procedure);
    const { binaryOptions, jsonOptions } = options;
    const serialization = createMethodSerializationLookup(procedure.method, binaryOptions, jsonOptions, options);
    if (handler) endpoints.set(path, { procedure, handler, options, serialization });
  }
  return endpoints;
}

export async function handOver(endpoint: RpcEndpoint, context: HttpContext, pipeline: Pipeline): Promise<void> {
  const { procedure, options } = endpoint;
  const protocol = protocolOf(context);
  let decoding: Decoding | undefined;
  const read: ReadRequest = async (deadline) => {
    const body = await readMessage(endpoint, context, context.request, deadline);
    decoding = decodeByConnect(endpoint, context, body, () => answer);
    return decoding.fields;
  };
  setResponseHeaders(context, options);
  const answer = pipeline.runUnary(procedure, context, { protocol, timeoutMs: readTimeout(protocol, context) }, read);
  try {
    await answer;
    if (decoding) await writeResponse(context, await decoding.response);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const refuse = () => {
      throw toConnectError(error);
    };
    await writeResponse(
      context,
      await endpoint.handler(toConnectRequest(context, EMPTY, { begin: refuse, handle: refuse })),
    );
  }
}

interface Decoding {
  readonly fields: Promise<Fields>;
  readonly response: Promise<UniversalServerResponse>;
}

/**
 * Lets Connect's handler decode the body of a request. `fields` rejects with a ServiceError if it cannot. `response` is
 * that to the answer.
 */
export function decodeByConnect(
  endpoint: RpcEndpoint,
  context: RequestContext,
  body: Buffer,
  getAnswer: () => Promise<ResponseMessage> = async () => ({}),
): Decoding {
  const { promise: fields, resolve, reject } = Promise.withResolvers<Fields>();
  const hasMalformedTimeout = Number.isNaN(readTimeout(protocolOf(context), context));
  const facts = { schema: endpoint.procedure.method.input, hasMalformedTimeout };
  const request = toConnectRequest(context, body, {
    begin: (signal) => signal.addEventListener('abort', () => reject(toDecodingError(signal.reason, facts))),
    handle(given) {
      resolve(given);
      return getAnswer();
    },
  });
  const response = endpoint.handler(request);
  // Connect throws if its error message quotes text that no header can carry. The signal is aborted before.
  response.catch(() => {});
  return { fields, response };
}

/** The prefix of a message in an envelope: one byte of flags, and four of length. */
export const PREFIX_BYTES = 5;

/** Reads the body of a request, or as much of it as shows that the message is too large. */
export async function readMessage(
  { options: { readMaxBytes } }: RpcEndpoint,
  context: RequestContext,
  body: Readable,
  deadline: number,
): Promise<Buffer> {
  const protocol = protocolOf(context);
  // Connect refuses the length.
  if (protocol === 'connect' && Number(context.headers['content-length'] ?? 0) > readMaxBytes) return EMPTY;
  // gRPC-Web may be in base64.
  const maxBytes = { connect: readMaxBytes, grpc: PREFIX_BYTES + readMaxBytes, 'grpc-web': 2 * readMaxBytes }[protocol];
  try {
    return await collectBody(body, maxBytes, deadline);
  } catch {
    throw body.destroyed ? new ServiceError('CANCELED') : deadlineExceeded();
  }
}

const EMPTY = Buffer.alloc(0);

/** The headers of a request that Connect reads, beside its media type and a malformed timeout. */
const READ_BY_CONNECT = [
  'content-length',
  'content-encoding',
  'accept-encoding',
  'grpc-encoding',
  'grpc-accept-encoding',
];

function toConnectRequest(context: RequestContext, bytes: Buffer, calls: HandlerCalls): UniversalServerRequest {
  const { headers } = context;
  const protocol = protocolOf(context);
  const header = new Headers({ 'content-type': connectTypeOf(context) });
  // The pipeline enforces a valid one.
  const timeout = Number.isNaN(readTimeout(protocol, context)) ? [timeoutHeaderOf(protocol)] : [];
  for (const name of [...READ_BY_CONNECT, ...timeout]) {
    const value = headers[name];
    if (value !== undefined) header.set(name, String(value));
  }
  const body = createAsyncIterable(bytes.length > 0 ? [bytes] : []);
  return {
    httpVersion: '2.0',
    method: 'POST',
    url: 'http://localhost/',
    header,
    body: toBinaryType(readMediaType(context).name) === undefined ? body : decodeBase64(body),
    signal: new AbortController().signal,
    contextValues: createContextValues().set(callsKey, calls),
  };
}
