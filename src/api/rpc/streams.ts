/** The streaming RPCs, which Connect's handlers serve. They have only the caller's deadline, and are logged like other calls. */
import {
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect';
import {
  assertByteStreamRequest,
  type UniversalHandler,
  type UniversalServerRequest,
} from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import type { Logger } from 'pino';
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { Health } from '../../../gen/health/v1/health_pb.ts';
import { MessageService, type WatchMessagesRequest } from '../../../gen/usher/v1/message_pb.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { JoinedBytes } from '../../encoding/joined-bytes.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { outcomeOf, withHelp } from '../call-errors.ts';
import type { CallInfo } from '../call-info.ts';
import type { CallLog } from '../calls.ts';
import type { AdmittedStream } from '../handlers/watch-stream.ts';
import type { HealthMonitor } from '../operations/health.ts';
import { toConnectError, toDecodingError, toStreamError } from './connect-errors.ts';
import { connectOptions, publicOptions } from './connect-options.ts';
import { beginOutsidePipeline, refuseCall, setResponseHeaders, writeResponse } from './connect-response.ts';
import { decodeBase64 } from './grpc-web-text.ts';
import { connectTypeOf, isText, PREFIX_BYTES, protocolOf, readTimeout, timeoutHeaderOf } from './protocol.ts';
import { createReflectionHandler } from './reflection.ts';
import { StreamLimits } from './stream-limits.ts';

export interface StreamParts {
  readonly health: Pick<HealthMonitor, 'watch'>;
  readonly watchMessages: (context: HttpContext) => Promise<AdmittedStream>;
}

export interface StreamEndpoint {
  readonly handler: UniversalHandler;
  readonly options: typeof connectOptions;
  /**
   * Checks the credential or the limits before Connect reads anything, so that nobody else holds a stream.
   *
   * @throws ServiceError
   */
  admit(context: HttpContext): Promise<AdmittedStream | undefined>;
}

/** What the implementation of a stream knows about its call. */
interface StreamFacts {
  /** The interceptor sets its outcome. */
  readonly call: Pick<CallInfo, 'errorsUrl' | 'outcome'>;
  /** Undefined without a credential. */
  readonly admitted?: AdmittedStream | undefined;
}

const factsKey = createContextKey<StreamFacts>({ call: { errorsUrl: '', outcome: { code: 'ok' } } });

/** Returns the endpoint of each path. */
export function createStreams(
  { health, watchMessages }: StreamParts,
  logger: Logger,
): ReadonlyMap<string, StreamEndpoint> {
  const router = createConnectRouter();
  const interceptors = [createErrorInterceptor(logger)];
  const reflect = createReflectionHandler();
  router.rpc(Health.method.watch, health.watch, { ...publicOptions, interceptors });
  router.rpc(ServerReflection.method.serverReflectionInfo, reflect, { ...publicOptions, interceptors });
  router.rpc(ServerReflectionAlpha.method.serverReflectionInfo, reflect, { ...publicOptions, interceptors });
  router.rpc(MessageService.method.watchMessages, runAdmitted, { ...connectOptions, interceptors });
  const limits = new StreamLimits();
  const admitPublic = async (context: HttpContext) => {
    if (!limits.admit(context)) throw new ServiceError('TOO_MANY_STREAMS');
    return undefined;
  };
  return new Map(
    router.handlers.map((handler) => {
      const isPublic = handler.method !== MessageService.method.watchMessages;
      const options = isPublic ? publicOptions : connectOptions;
      return [handler.requestPath, { handler, options, admit: isPublic ? admitPublic : watchMessages }];
    }),
  );
}

async function* runAdmitted(request: WatchMessagesRequest, { signal, values }: HandlerContext) {
  const { admitted } = values.get(factsKey);
  if (admitted) yield* admitted.run(request, signal);
}

export async function serveStream(
  { handler, options, admit }: StreamEndpoint,
  context: HttpContext,
  log: CallLog,
): Promise<void> {
  let admitted: AdmittedStream | undefined;
  try {
    admitted = await admit(context);
  } catch (error) {
    if (error instanceof ServiceError) return refuseCall(context, error, log);
    throw error;
  }
  setResponseHeaders(context, options);
  const applicationId = admitted?.applicationId;
  const isAuthenticated = admitted !== undefined;
  const call = beginOutsidePipeline(context, log, { code: 'ok', applicationId, isAuthenticated });
  await writeResponse(context, await handler(toStreamRequest(context, options.readMaxBytes, { call, admitted })));
}

/** The longest delay of a Node timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function toStreamRequest(context: HttpContext, maxBytes: number, facts: StreamFacts): UniversalServerRequest {
  const values = createContextValues().set(factsKey, facts);
  const request = universalRequestFromNodeRequest(context.request, context.response, undefined, values);
  assertByteStreamRequest(request);
  const { header, body } = request;
  header.set('content-type', connectTypeOf(context));
  // Connect enforces the caller's timeout, unless it is too long for a timer.
  const protocol = protocolOf(context);
  if ((readTimeout(protocol, context) ?? 0) > MAX_TIMER_MS) header.delete(timeoutHeaderOf(protocol));
  return { ...request, body: joinEnvelopes(isText(context) ? decodeBase64(body) : body, maxBytes) };
}

/**
 * Yields whole envelopes: Connect's decoders would keep each piece as it comes. An envelope that announces more than
 * `maxBytes`, and what is left at the end, is passed on as it is.
 */
async function* joinEnvelopes(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  const joined = new JoinedBytes();
  for await (const piece of body) {
    joined.add(piece);
    const length = lengthOfWhole(joined.bytes, maxBytes);
    if (length > 0) yield joined.take(length);
  }
  if (joined.length > 0) yield joined.take();
}

function lengthOfWhole(bytes: Buffer, maxBytes: number): number {
  let end = 0;
  while (end + PREFIX_BYTES <= bytes.length) {
    const size = bytes.readUInt32BE(end + 1);
    if (size > maxBytes) return bytes.length;
    if (end + PREFIX_BYTES + size > bytes.length) break;
    end += PREFIX_BYTES + size;
  }
  return end;
}

/** Maps errors of decoding and of the implementation to answers. */
function createErrorInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const { call } = request.contextValues.get(factsKey);
    const toAnswer = (error: unknown) => {
      const answer = withHelp(toStreamError(error, logger), call);
      call.outcome = { ...call.outcome, ...outcomeOf(answer) };
      return toConnectError(answer);
    };
    try {
      if (!request.stream) return await next(request);
      const message = mapErrors(request.message, (error) => toDecodingError(error, request.method.input));
      const response = await next({ ...request, message });
      return response.stream ? { ...response, message: mapErrors(response.message, toAnswer) } : response;
    } catch (error) {
      throw toAnswer(error);
    }
  };
}

async function* mapErrors<T>(messages: AsyncIterable<T>, map: (error: unknown) => Error): AsyncIterable<T> {
  try {
    yield* messages;
  } catch (error) {
    throw map(error);
  }
}
