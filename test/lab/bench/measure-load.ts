import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import type { BenchCall } from './calls.ts';
import { applyLoad, type LoadResult } from './load/apply-load.ts';
import { openHttp1Client } from './load/http1-client.ts';
import { openHttp2Client } from './load/http2-client.ts';
import { type PreparedRequest, prepareRequests } from './load/prepare-requests.ts';
import type { Protocol } from './protocols.ts';
import { findBackends, readUsage } from './read-usage.ts';
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
  concurrency: number,
): Promise<{ load: LoadResult; measurement: Measurement }> {
  const client = await (httpVersion === '2'
    ? openHttp2Client(ports['2'], HTTP2_SESSIONS)
    : openHttp1Client(ports['1.1'], concurrency));
  try {
    await sleep(SETTLE_MS);
    const before = readUsage(pid);
    const load = await applyLoad(client, requests, concurrency);
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

/** Makes a call `count` times in a round, and measures Postgres too. @throws Error for an unexpected response */
export async function measureCall(
  { server, sql }: { server: RunningServer; sql: postgres.Sql },
  protocol: Protocol,
  call: BenchCall,
  { apiKey, round, count, concurrency }: { apiKey: string; round: number; count: number; concurrency: number },
): Promise<Measurement & { readonly postgresMicros: number }> {
  const headers = { 'x-api-key': apiKey };
  const requests = prepareRequests(protocol, call, { count, firstNumber: round * count, headers });
  const postgresMicros = await findBackends(sql);
  const before = postgresMicros();
  const { load, measurement } = await measureLoad(server, protocol, requests, concurrency);
  if (load.failure) throw new Error(`${call.name}: ${load.failure}`);
  return { ...measurement, postgresMicros: (postgresMicros() - before) / load.requests };
}

/** Returns the value below which this fraction of the values lies. */
export function quantile(ascending: Float64Array, fraction: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * fraction))] ?? Number.NaN;
}
