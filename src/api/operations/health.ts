/** The gRPC health checking protocol, for the whole server ("") and each of its services. */
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type Health, HealthCheckResponse_ServingStatus as Status } from '../../../gen/health/v1/health_pb.ts';
import { pause } from '../../domain/pause.ts';

const WATCH_INTERVAL_MS = 1_000;

/** `isReady` tells whether work is taken now; all services share the answer. Watches end with `drain`. */
export function createHealthHandlers(
  serviceNames: readonly string[],
  isReady: () => Promise<boolean>,
  drain: AbortSignal,
): ServiceImpl<typeof Health> {
  const known = new Set(['', ...serviceNames]);
  const currentStatus = async () => ((await isReady()) ? Status.SERVING : Status.NOT_SERVING);

  return {
    async check({ service }) {
      if (!known.has(service)) throw new ConnectError('Unknown service', Code.NotFound);
      return { status: await currentStatus() };
    },

    async *watch({ service }, { signal }) {
      let last: Status | undefined;
      const wake = AbortSignal.any([signal, drain]);
      for (let isLast = false; !isLast && !signal.aborted; ) {
        isLast = drain.aborted;
        const status = known.has(service) ? await currentStatus() : Status.SERVICE_UNKNOWN;
        if (status !== last) yield { status };
        last = status;
        if (!isLast) await pause(WATCH_INTERVAL_MS, wake);
      }
      signal.throwIfAborted();
    },

    async list() {
      const status = await currentStatus();
      return { statuses: Object.fromEntries([...known].map((service) => [service, { status }])) };
    },
  };
}
