/** The gRPC health checking protocol, for the whole server ("") and each of its services. */
import type { HandlerContext } from '@connectrpc/connect';
import {
  type Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/health/v1/health_pb.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { SERVED_SERVICES } from '../catalogue.ts';
import type { ServiceHandlers } from '../procedures.ts';
import type { Readiness } from './readiness.ts';

export type HealthMonitor = ReturnType<typeof createHealthMonitor>;

/** Every service has the readiness of the process. Watches end when `closing` is aborted. */
export function createHealthMonitor(readiness: Readiness, closing: AbortSignal) {
  const known = new Set(['', ...SERVED_SERVICES.map(({ typeName }) => typeName)]);
  closing.addEventListener('abort', () => readiness.wakeAll());

  const handlers: Pick<ServiceHandlers<typeof Health>, 'check' | 'list'> = {
    async check(_call, { service }) {
      if (!known.has(String(service))) throw new ServiceError('UNKNOWN_SERVICE');
      return { status: toStatus(await readiness.read()) };
    },

    async list() {
      const status = toStatus(await readiness.read());
      return { statuses: Object.fromEntries([...known].map((service) => [service, { status }])) };
    },
  };

  function watch({ service }: HealthCheckRequest, { signal }: HandlerContext) {
    return watchStatus(known.has(service), signal);
  }

  /**
   * Yields the status whenever it changes. The request is no parameter: a watch may last for days, and would keep the
   * request in memory.
   */
  async function* watchStatus(isKnown: boolean, signal: AbortSignal) {
    for (let last: Status | undefined; !signal.aborted; ) {
      const isReady = await readiness.read();
      const status = isKnown ? toStatus(isReady) : Status.SERVICE_UNKNOWN;
      if (status !== last) yield { status };
      last = status;
      if (!isReady && closing.aborted) return;
      await readiness.waitForChange(isReady, signal);
    }
    signal.throwIfAborted();
  }

  return { handlers, watch };
}

function toStatus(isReady: boolean): Status {
  return isReady ? Status.SERVING : Status.NOT_SERVING;
}
