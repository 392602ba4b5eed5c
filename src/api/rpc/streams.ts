/** The RPCs that are streams: open to everyone, without a deadline of ours, logged like every other call. */
import { type ConnectRouter, createContextKey, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../../gen/health/v1/health_pb.ts';
import type { Outcome } from '../call.ts';
import type { HealthMonitor } from '../operations/health.ts';
import { codeOfConnectError, toConnectError, toDecodingError, toStreamError } from './connect-errors.ts';
import { openOptions } from './connect-options.ts';
import { createReflectionHandlers } from './reflection.ts';

/** How a stream ends, for its log line. The interceptor sets it. */
export interface StreamEnd {
  outcome: Outcome;
}

export const streamEndKey = createContextKey<StreamEnd>({ outcome: { code: 'ok' } });

export function registerStreams(router: ConnectRouter, { watch }: Pick<HealthMonitor, 'watch'>, logger: Logger): void {
  const options = { ...openOptions, interceptors: [createErrorInterceptor(logger)] };
  const { serverReflectionInfo } = createReflectionHandlers();
  router.rpc(Health.method.watch, watch, options);
  router.rpc(ServerReflection.method.serverReflectionInfo, serverReflectionInfo, options);
}

/** Maps the errors of requests that cannot be decoded and of the implementation. */
function createErrorInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const end = request.contextValues.get(streamEndKey);
    const toAnswer = (error: unknown) => {
      const answer = toStreamError(error, logger);
      end.outcome = { code: codeOfConnectError(answer) };
      return answer;
    };
    try {
      if (!request.stream) return await next(request);
      const toRefusal = (error: unknown) => toConnectError(toDecodingError(error));
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
