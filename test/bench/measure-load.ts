import { setTimeout as sleep } from 'node:timers/promises';
import { applyLoad, type LoadResult } from './load/apply-load.ts';
import { openHttp1Client } from './load/http1-client.ts';
import { openHttp2Client } from './load/http2-client.ts';
import type { PreparedRequest } from './load/prepare-requests.ts';
import type { Protocol } from './protocols/protocol.ts';
import { readUsage } from './read-usage.ts';
import type { RunningServer } from './start-server.ts';

export interface Measurement {
  /** CPU time of the server process per request. */
  readonly cpuMicros: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly residentBytes: number;
}

const HTTP2_SESSIONS = 2;
/** Time for the server to accept connections, and to finish its work after the last response. */
const SETTLE_MS = 30;

/** Applies the load over new connections, because idle ones may be closed, and measures the server process. */
export async function measureLoad(
  { pid, ports }: RunningServer,
  { httpVersion }: Protocol,
  requests: readonly PreparedRequest[],
  { maxSeconds, concurrency }: { maxSeconds: number; concurrency: number },
): Promise<{ load: LoadResult; measurement: Measurement }> {
  const client = await (httpVersion === '2'
    ? openHttp2Client(ports['2'], HTTP2_SESSIONS)
    : openHttp1Client(ports['1.1'], concurrency));
  try {
    await sleep(SETTLE_MS);
    const before = readUsage(pid);
    const load = await applyLoad(client, requests, { maxSeconds, concurrency });
    await sleep(SETTLE_MS);
    const after = readUsage(pid);
    const measurement = {
      cpuMicros: (after.cpuMicros - before.cpuMicros) / load.requests,
      requestsPerSecond: load.requests / load.seconds,
      p50Ms: quantile(load.latencies, 0.5),
      p99Ms: quantile(load.latencies, 0.99),
      residentBytes: after.residentBytes,
    };
    return { load, measurement };
  } finally {
    client.close();
  }
}

/** Returns the value below which this fraction of the values lies. */
export function quantile(ascending: Float64Array, fraction: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * fraction))] ?? Number.NaN;
}
