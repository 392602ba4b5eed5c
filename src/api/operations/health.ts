/** The gRPC health checking protocol, for the whole server ("") and each of its services. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  type Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/health/v1/health_pb.ts';
import { ServiceError } from '../../domain/errors.ts';
import { pause } from '../../domain/pause.ts';
import type { OpenHandlers } from '../procedures.ts';

const WATCH_INTERVAL_MS = 1_000;

export class HealthMonitor {
  readonly #known: ReadonlySet<string>;
  readonly #isReady: () => Promise<boolean>;
  readonly #drain: AbortSignal;

  /** `isReady` tells whether calls are served now; all services share it. Watches end with `drain`. */
  constructor(serviceNames: readonly string[], isReady: () => Promise<boolean>, drain: AbortSignal) {
    this.#known = new Set(['', ...serviceNames]);
    this.#isReady = isReady;
    this.#drain = drain;
  }

  readonly handlers: Pick<OpenHandlers<typeof Health>, 'check' | 'list'> = {
    check: async ({ service }) => {
      if (!this.#known.has(String(service))) throw new ServiceError('UNKNOWN_SERVICE');
      return { status: await this.#readStatus() };
    },

    list: async () => {
      const status = await this.#readStatus();
      return { statuses: Object.fromEntries([...this.#known].map((service) => [service, { status }])) };
    },
  };

  /** Yields the status of the service whenever it changes. */
  readonly watch: ServiceImpl<typeof Health>['watch'] = (request, context) => this.#watch(request, context);

  async *#watch({ service }: HealthCheckRequest, { signal }: HandlerContext) {
    let last: Status | undefined;
    const wake = AbortSignal.any([signal, this.#drain]);
    for (let isLast = false; !isLast && !signal.aborted; ) {
      isLast = this.#drain.aborted;
      const status = this.#known.has(service) ? await this.#readStatus() : Status.SERVICE_UNKNOWN;
      if (status !== last) yield { status };
      last = status;
      if (!isLast) await pause(WATCH_INTERVAL_MS, wake);
    }
    signal.throwIfAborted();
  }

  async #readStatus(): Promise<Status> {
    return (await this.#isReady()) ? Status.SERVING : Status.NOT_SERVING;
  }
}
