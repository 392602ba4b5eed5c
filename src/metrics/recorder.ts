import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { type CallInfo, RPC_SYSTEMS } from '../api/call-info.ts';
import type { RecordCall } from '../api/calls.ts';
import type { RecordStatement } from '../database/pool/database.ts';
import { CounterSeries, DurationSeries } from './series.ts';

const COLLECTION_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** How often the delay of the event loop is sampled. */
const RESOLUTION_MS = 20;

/** Records the metrics of a process. No caller chooses the value of a label. */
export class Recorder {
  readonly rpcCalls = new DurationSeries();
  readonly httpRequests = new DurationSeries();
  readonly statements = new DurationSeries();
  /** Garbage collections. */
  readonly collections = new DurationSeries(Object.values(COLLECTION_KINDS).map((kind) => [kind]));
  readonly loginSteps = new CounterSeries();
  readonly expiredRows = new CounterSeries();
  readonly eventLoopDelay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  readonly #observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // The types of Node lack the detail.
      const { kind } = Object(Reflect.get(entry, 'detail'));
      this.collections.add([COLLECTION_KINDS[kind] ?? 'other'], entry.duration / 1_000);
    }
  });

  constructor() {
    this.eventLoopDelay.enable();
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  readonly recordCall: RecordCall = ({ name, protocol, route }: CallInfo, { code, reason, status, seconds }) => {
    if (route) this.httpRequests.add([route.method, route.path, String(status)], seconds);
    if (protocol === 'login') this.loginSteps.add([name, reason ?? code]);
    else this.rpcCalls.add([name, RPC_SYSTEMS[protocol] ?? '', code.toUpperCase(), protocol], seconds);
  };

  readonly recordStatement: RecordStatement = (name, seconds, errorType) => {
    this.statements.add(['postgresql', name, errorType], seconds);
  };

  readonly recordExpiredRows = (table: string, count: number): void => {
    if (count > 0) this.expiredRows.add([table], count);
  };

  close(): void {
    this.eventLoopDelay.disable();
    this.#observer.disconnect();
  }
}
