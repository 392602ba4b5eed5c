/** The streaming RPCs. They have only the caller's deadline, and are logged like other calls. */
import type { Message } from '@bufbuild/protobuf';
import { type ConnectRouter, createContextKey, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { Health } from '../../../gen/health/v1/health_pb.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import type { AdmittedStream, ApplicationStream } from '../application-stream.ts';
import { outcomeOf } from '../call-errors.ts';
import type { CallInfo } from '../call-info.ts';
import type { HealthMonitor } from '../operations/health.ts';
import { codeOfConnectError, toConnectError, toDecodingError, toStreamError } from './connect-errors.ts';
import { connectOptions, publicOptions } from './connect-options.ts';
import { createReflectionHandler } from './reflection.ts';

/** The call of a stream. The interceptor sets its outcome. */
export const streamCallKey = createContextKey<Pick<CallInfo, 'outcome'>>({ outcome: { code: 'ok' } });

/** The stream of an application. The edge sets it before Connect reads the request, so the default is never used. */
export const admittedKey = createContextKey<AdmittedStream>({
  applicationId: '',
  run() {
    throw new ServiceError('INVALID_API_KEY');
  },
});

export function registerStreams(
  router: ConnectRouter,
  health: Pick<HealthMonitor, 'watch'>,
  streams: readonly ApplicationStream[],
  logger: Logger,
): void {
  const interceptors = [createErrorInterceptor(logger)];
  const options = { ...publicOptions, interceptors };
  const reflect = createReflectionHandler();
  router.rpc(Health.method.watch, health.watch, options);
  for (const { method } of streams) {
    const run = (request: Message, { signal, values }: HandlerContext) => values.get(admittedKey).run(request, signal);
    router.rpc(method, run, { ...connectOptions, interceptors });
  }
  router.rpc(ServerReflection.method.serverReflectionInfo, reflect, options);
  router.rpc(ServerReflectionAlpha.method.serverReflectionInfo, reflect, options);
}

/** Maps errors of decoding and of the implementation to answers. */
function createErrorInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const call = request.contextValues.get(streamCallKey);
    let refusal: ServiceError | undefined;
    const toAnswer = (error: unknown) => {
      const answer = toStreamError(error, logger);
      const thrown = refusal ?? (error instanceof ServiceError ? error : undefined);
      const ended = thrown ? outcomeOf(thrown) : { code: codeOfConnectError(answer) };
      call.outcome = { ...call.outcome, ...ended };
      return answer;
    };
    try {
      if (!request.stream) return await next(request);
      const toRefusal = (error: unknown) => {
        refusal = toDecodingError(error, { schema: request.method.input });
        return toConnectError(refusal);
      };
      const response = await next({ ...request, message: mapErrors(request.message, toRefusal) });
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
