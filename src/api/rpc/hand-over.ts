/**
 * Hands unary calls over to Connect's handlers: gRPC-Web, compressed messages, other spellings and everything malformed.
 * They decode a request that has been read, and encode the answer. The pipeline runs the call, as it does plain ones.
 */
import type { Readable } from 'node:stream';
import type { DescMessage } from '@bufbuild/protobuf';
import { type ConnectError, createConnectRouter, createContextKey, createContextValues } from '@connectrpc/connect';
import {
  createAsyncIterable,
  createMethodSerializationLookup,
  type MethodSerializationLookup,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { headerOf } from '../../http/exchange.ts';
import type { HttpContext, RequestContext } from '../../http/http-context.ts';
import type { Fields, ResponseMessage } from '../call-info.ts';
import type { Procedure, Procedures } from '../procedures.ts';
import { toDecodingError } from './connect-errors.ts';
import { type connectOptions, optionsOf } from './connect-options.ts';
import { setResponseHeaders, writeResponse } from './connect-response.ts';
import { decodeBase64 } from './grpc-web-text.ts';
import { connectTypeOf, isText, protocolOf, type RpcProtocol } from './protocol.ts';

/** An RPC with what serves it. */
export interface RpcEndpoint {
  readonly procedure: Procedure;
  readonly handler: UniversalHandler;
  readonly options: typeof connectOptions;
  readonly serialization: MethodSerializationLookup<DescMessage, DescMessage>;
}

/** How the message of a unary call is read and answered. */
export interface UnaryExchange {
  readonly protocol: RpcProtocol;
  readonly body: Readable;
  /** @throws ServiceError if the body has no message of the RPC */
  decode(body: Buffer): Fields | Promise<Fields>;
  respond(message: ResponseMessage): Promise<void> | void;
  refuse(error: ConnectError): Promise<void> | void;
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
  const endpoints = new Map<string, RpcEndpoint>();
  for (const [path, procedure] of procedures) {
    const { method } = procedure;
    const options = optionsOf(procedure);
    const router = createConnectRouter().rpc(
      method,
      (message, { values }) => values.get(callsKey)?.handle(message) ?? {},
      { ...options, requestGate: ({ values, signal }) => values.get(callsKey)?.begin(signal) },
    );
    const [handler] = router.handlers;
    const serialization = createMethodSerializationLookup(method, options.binaryOptions, options.jsonOptions, options);
    if (handler) endpoints.set(path, { procedure, handler, options, serialization });
  }
  return endpoints;
}

/** Connect's handler decodes the request, and encodes the answer. */
export function handOver(endpoint: RpcEndpoint, context: HttpContext): UnaryExchange {
  const { promise: answer, resolve } = Promise.withResolvers<ResponseMessage>();
  let response: Promise<UniversalServerResponse> | undefined;
  setResponseHeaders(context, endpoint.options);
  return {
    protocol: protocolOf(context),
    body: context.request,
    decode(body) {
      const decoding = decodeByConnect(endpoint, context, body, answer);
      response = decoding.response;
      return decoding.fields;
    },
    async respond(message) {
      resolve(message);
      if (response) await writeResponse(context, await response);
    },
    async refuse(error) {
      const refuse = () => {
        throw error;
      };
      const request = toConnectRequest(context, Buffer.alloc(0), { begin: refuse, handle: refuse });
      await writeResponse(context, await endpoint.handler(request));
    },
  };
}

/**
 * Lets Connect's handler decode the body of a request. `fields` rejects with a ServiceError if it cannot. `response` is
 * that to the answer.
 */
export function decodeByConnect(
  { handler, procedure }: RpcEndpoint,
  context: RequestContext,
  body: Buffer,
  answer: Promise<ResponseMessage>,
): { readonly fields: Promise<Fields>; readonly response: Promise<UniversalServerResponse> } {
  const { promise: fields, resolve, reject } = Promise.withResolvers<Fields>();
  const fail = (signal: AbortSignal) => reject(toDecodingError(signal.reason, procedure.method.input));
  const request = toConnectRequest(context, body, {
    begin: (signal) => signal.addEventListener('abort', () => fail(signal)),
    handle(given) {
      resolve(given);
      return answer;
    },
  });
  const response = handler(request);
  // Connect throws if its error message quotes text that no header can carry. The signal is aborted before.
  response.catch(() => {});
  return { fields, response };
}

/** The headers of a request that Connect reads, beside its media type. The pipeline enforces the timeout. */
const READ_BY_CONNECT = [
  'content-length',
  'content-encoding',
  'accept-encoding',
  'grpc-encoding',
  'grpc-accept-encoding',
];

function toConnectRequest(context: RequestContext, bytes: Buffer, calls: HandlerCalls): UniversalServerRequest {
  const header = new Headers({ 'content-type': connectTypeOf(context) });
  for (const name of READ_BY_CONNECT) {
    const value = headerOf(context, name);
    if (value !== undefined) header.set(name, value);
  }
  const body = createAsyncIterable(bytes.length > 0 ? [bytes] : []);
  return {
    httpVersion: '2.0',
    method: 'POST',
    url: 'http://localhost/',
    header,
    body: isText(context) ? decodeBase64(body) : body,
    signal: new AbortController().signal,
    contextValues: createContextValues().set(callsKey, calls),
  };
}
