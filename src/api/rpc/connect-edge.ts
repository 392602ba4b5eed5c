/**
 * The edge for requests that Connect's own handlers serve: gRPC-Web, compressed messages, streams, and malformed
 * requests. Connect decodes and encodes; the pipeline runs unary calls.
 */
import { EmptySchema } from '@bufbuild/protobuf/wkt';
import { type ContextValues, createConnectRouter, createContextKey, createContextValues } from '@connectrpc/connect';
import {
  assertByteStreamRequest,
  type UniversalHandler,
  type UniversalServerRequest,
} from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import { invalidField, ServiceError } from '../../domain/core/errors.ts';
import { headerOf, setCommonHeaders } from '../../http/exchange.ts';
import type { HttpContext, PathHandler, StreamHandler } from '../../http/http-context.ts';
import { awaitBody } from '../../http/join-chunks.ts';
import type { AdmittedStream, ApplicationStream } from '../application-stream.ts';
import { outcomeOf } from '../call-errors.ts';
import type { CallInfo, CallOutcome } from '../call-info.ts';
import { beginCall, type CallLog } from '../calls.ts';
import { readMediaType } from '../media-type.ts';
import type { HealthMonitor } from '../operations/health.ts';
import type { Pipeline } from '../pipeline.ts';
import { type Procedure, type Procedures, pathOf } from '../procedures.ts';
import { nameSupported } from './compression.ts';
import { ConnectBridge } from './connect-bridge.ts';
import { connectOptions, optionsOf, publicOptions } from './connect-options.ts';
import { protocolOf, REFUSED_STATUSES, refuseStream, refuseUnknownMethod, writeResponse } from './connect-response.ts';
import { decodeBase64, toBinaryType } from './grpc-web-text.ts';
import { joinBody, joinEnvelopes } from './join-messages.ts';
import { StreamLimits } from './stream-limits.ts';
import { admittedKey, registerStreams, streamCallKey } from './streams.ts';
import { dropEndlessTimeout, hasTimeout, parseConnectTimeout, parseGrpcTimeout, takeTimeout } from './timeout.ts';

/** The bridge of a call. `serveUnary` sets it for each call, so the default is never used. */
const bridgeKey = createContextKey(
  new ConnectBridge({ schema: EmptySchema, hasMalformedTimeout: false }, () =>
    Promise.reject(new Error('The context has no call')),
  ),
);

export function createConnectEdge(
  procedures: Procedures,
  pipeline: Pipeline,
  health: HealthMonitor,
  streams: readonly ApplicationStream[],
  log: CallLog,
): { readonly handle: PathHandler; readonly resetStream: StreamHandler } {
  const router = createConnectRouter();
  for (const procedure of procedures.values()) {
    router.rpc(procedure.method, (message, { values }) => values.get(bridgeKey).handle(message), {
      ...optionsOf(procedure),
      requestGate: ({ values, signal }) => values.get(bridgeKey).admit(signal),
    });
  }
  registerStreams(router, health, streams, log.logger);
  const streamLimits = new StreamLimits();
  const callLimits = new StreamLimits();
  const streamsByPath = new Map(streams.map((stream) => [pathOf(stream.method), stream]));
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  const handle: PathHandler = async (context) => {
    const handler = handlers.get(context.path);
    const procedure = procedures.get(context.path);
    const stream = streamsByPath.get(context.path);
    if (handler && hasOtherVersion(context)) refuse(context, otherVersion(), log);
    else if (handler && procedure) await serveUnary(handler, procedure, context, { pipeline, limits: callLimits, log });
    else if (handler && stream) await serveApplicationStream(handler, context, stream, log);
    else if (handler) await serveStream(handler, context, streamLimits, log);
    else if (/^\/[\w.]+\.\w+\/\w+$/.test(context.path)) refuseUnknownMethod(context);
    else return false;
    return true;
  };
  /** Before Node wraps the stream in a request and a response, which take several times its memory. */
  const resetStream: StreamHandler = (context) =>
    procedures.get(context.path)?.credential === 'none' && callLimits.reset(context);
  return { handle, resetStream };
}

const CONNECT_TYPE = /^application\/(?:connect\+)?(?:json|proto)$/;

/** Returns whether the request says that it speaks another version of Connect than 1, the only one. */
function hasOtherVersion(context: HttpContext): boolean {
  const isConnect = context.request.method === 'POST' && CONNECT_TYPE.test(readMediaType(context).name);
  return isConnect && (headerOf(context, 'connect-protocol-version') ?? '1') !== '1';
}

function otherVersion(): ServiceError {
  return invalidField('Connect-Protocol-Version', 'must be 1');
}

async function serveUnary(
  handler: UniversalHandler,
  procedure: Procedure,
  context: HttpContext,
  { pipeline, limits, log }: { pipeline: Pipeline; limits: StreamLimits; log: CallLog },
): Promise<void> {
  // A request whose body is to come holds some 15 kB. Where a credential is needed, none is held.
  if (procedure.credential === 'none' && !limits.admit(context))
    return refuse(context, new ServiceError('TOO_MANY_STREAMS'), log);
  if (procedure.credential === 'none') await awaitMessage(context, optionsOf(procedure), pipeline.requestTimeoutMs);
  if (context.response.closed) return;
  setHeaders(context, optionsOf(procedure));
  const values = createContextValues();
  const request = toConnectRequest(context, values, optionsOf(procedure));
  const protocol = protocolOf(context);
  const timeoutMs = takeTimeout(protocol, request.header);
  const facts = { schema: procedure.method.input, hasMalformedTimeout: hasTimeout(protocol, request.header) };
  const bridge = new ConnectBridge(facts, (read) =>
    pipeline.runUnary(procedure, context, { protocol, timeoutMs }, read),
  );
  values.set(bridgeKey, bridge);
  const response = await bridge.serve(handler, request);
  if (!bridge.isStarted) beginOutsidePipeline(context, log, { code: 'invalid_argument' });
  writeResponse(context, response, 'unary');
}

/** Connect's handlers would hold four times as much of a request whose message is to come. They enforce its deadline. */
async function awaitMessage(
  { request, response, headers, receivedAt }: HttpContext,
  { readMaxBytes }: typeof publicOptions,
  requestTimeoutMs: number,
): Promise<void> {
  // The client waits for `100 Continue`, which is sent when the message is read.
  if (headers.expect !== undefined || request.method !== 'POST') return;
  const connectMs = parseConnectTimeout(String(headers['connect-timeout-ms']));
  const timeoutMs = connectMs ?? parseGrpcTimeout(String(headers['grpc-timeout'])) ?? requestTimeoutMs;
  const deadline = receivedAt + Math.min(timeoutMs, requestTimeoutMs);
  await awaitBody('stream' in response ? response.stream : request, 2 * readMaxBytes, deadline);
}

async function serveStream(
  handler: UniversalHandler,
  context: HttpContext,
  limits: StreamLimits,
  log: CallLog,
): Promise<void> {
  if (!limits.admit(context)) return refuse(context, new ServiceError('TOO_MANY_STREAMS'), log);
  await runStream(handler, context, { values: createContextValues(), options: publicOptions, log });
}

/** Checks the credential before Connect reads anything, so that nobody else holds a stream. */
async function serveApplicationStream(
  handler: UniversalHandler,
  context: HttpContext,
  stream: ApplicationStream,
  log: CallLog,
): Promise<void> {
  const values = createContextValues();
  let admitted: AdmittedStream;
  try {
    admitted = await stream.admit(context);
  } catch (error) {
    if (error instanceof ServiceError) return refuse(context, error, log);
    throw error;
  }
  values.set(admittedKey, admitted);
  const { applicationId } = admitted;
  await runStream(handler, context, { values, options: connectOptions, log, applicationId });
}

function refuse(context: HttpContext, error: ServiceError, log: CallLog): void {
  beginOutsidePipeline(context, log, outcomeOf(error));
  refuseStream(context, error);
}

interface StreamOptions {
  readonly values: ContextValues;
  readonly options: typeof connectOptions;
  readonly log: CallLog;
  /** The caller. Undefined for public streams. */
  readonly applicationId?: string;
}

async function runStream(
  handler: UniversalHandler,
  context: HttpContext,
  { values, options, log, applicationId }: StreamOptions,
): Promise<void> {
  setHeaders(context, options);
  const request = toConnectRequest(context, values, options);
  // Connect enforces the caller's timeout of a stream, which may be long.
  dropEndlessTimeout(protocolOf(context), request.header);
  const isAuthenticated = applicationId !== undefined;
  const call = beginOutsidePipeline(context, log, { code: 'ok', applicationId, isAuthenticated });
  values.set(streamCallKey, call);
  const response = await handler(request);
  if (REFUSED_STATUSES.has(response.status)) call.outcome = { ...call.outcome, code: 'invalid_argument' };
  writeResponse(context, response, 'stream');
}

/** Sets the common headers, and names the supported encodings if the request has another. */
function setHeaders(context: HttpContext, { acceptCompression }: typeof publicOptions): void {
  setCommonHeaders(context);
  for (const [name, value] of nameSupported(context.headers, acceptCompression))
    context.response.setHeader(name, value);
}

/** Begins the call of a stream, or of a request that Connect refused before the pipeline saw it. */
function beginOutsidePipeline(context: HttpContext, log: CallLog, outcome: CallOutcome): CallInfo {
  const call = beginCall(log, context, { name: context.path.slice(1), protocol: protocolOf(context) });
  call.outcome = outcome;
  return call;
}

/**
 * Returns the request for Connect's handlers, which know few spellings of a media type, and no base64, and keep each piece
 * of a body as it comes.
 */
function toConnectRequest(
  context: HttpContext,
  values: ContextValues,
  { readMaxBytes }: typeof publicOptions,
): UniversalServerRequest {
  const request = universalRequestFromNodeRequest(context.request, context.response, undefined, values);
  const { name, isUtf8 } = readMediaType(context);
  // Connect refuses the header as it is.
  if (name === '' || (name.endsWith('json') && !isUtf8)) return request;
  const binaryType = toBinaryType(name);
  request.header.set('content-type', binaryType ?? name);
  assertByteStreamRequest(request);
  const bytes = binaryType === undefined ? request.body : decodeBase64(request.body);
  const join = /^application\/(grpc|connect\+)/.test(name) ? joinEnvelopes : joinBody;
  return { ...request, body: join(bytes, readMaxBytes) };
}
