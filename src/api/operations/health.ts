/** The gRPC health checking protocol, for the whole server ("") and each of its services. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  type Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/health/v1/health_pb.ts';
import { ServiceError } from '../../domain/errors.ts';
import { SERVED_SERVICES } from '../catalogue.ts';
import type { OpenHandlers } from '../procedures.ts';
import type { Readiness } from './readiness.ts';

export class HealthMonitor {
  readonly #known: ReadonlySet<string> = new Set(['', ...SERVED_SERVICES.map(({ typeName }) => typeName)]);
  readonly #readiness: Readiness;
  readonly #closing: AbortSignal;

  /** All services share the readiness. Watches end with `closing`. */
  constructor(readiness: Readiness, closing: AbortSignal) {
    this.#readiness = readiness;
    this.#closing = closing;
    closing.addEventListener('abort', () => readiness.wakeAll());
  }

  readonly handlers: Pick<OpenHandlers<typeof Health>, 'check' | 'list'> = {
    check: async ({ service }) => {
      if (!this.#known.has(String(service))) throw new ServiceError('UNKNOWN_SERVICE');
      return { status: toStatus(await this.#readiness.read()) };
    },

    list: async () => {
      const status = toStatus(await this.#readiness.read());
      return { statuses: Object.fromEntries([...this.#known].map((service) => [service, { status }])) };
    },
  };

  /** Yields the status of the service whenever it changes. */
  readonly watch: ServiceImpl<typeof Health>['watch'] = (request, context) => this.#watch(request, context);

  async *#watch({ service }: HealthCheckRequest, { signal }: HandlerContext) {
    const isKnown = this.#known.has(service);
    for (let last: Status | undefined; !signal.aborted; ) {
      const isReady = await this.#readiness.read();
      const status = isKnown ? toStatus(isReady) : Status.SERVICE_UNKNOWN;
      if (status !== last) yield { status };
      last = status;
      if (!isReady && this.#closing.aborted) return;
      await this.#readiness.waitForChange(isReady, signal);
    }
    signal.throwIfAborted();
  }
}

function toStatus(isReady: boolean): Status {
  return isReady ? Status.SERVING : Status.NOT_SERVING;
}
