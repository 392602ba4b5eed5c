import { once } from 'node:events';
import { UsageError } from '../command-line.ts';
import type { Fixtures } from '../fixtures.ts';
import { applyLoad, type LoadClient } from '../load/apply-load.ts';
import { openHttp1Client } from '../load/http1-client.ts';
import { openHttp2Client } from '../load/http2-client.ts';
import { readUsage, type Usage } from '../read-usage.ts';
import type { Progress } from '../run-bench.ts';
import { startUsher } from '../set-up.ts';
import type { RunningServer, StartedServer } from '../start-server.ts';
import { meanOf } from '../statistics.ts';
import { prepareMixed } from './prepare-mixed.ts';
import { seedDatabases } from './seed-databases.ts';

/** A burst is sent over new connections. */
const BURST = 1_000;
/** The calls in flight, burst by burst. */
const CONCURRENCY = [64, 4];
const BURSTS = CONCURRENCY.length * 5;
const STEP = BURST * BURSTS;
const HTTP2_SESSIONS = 2;
/** The first and the last of so many parts of the calls are compared. */
const PARTS = 20;

const CPU_LIMIT = 1.1;
const MEMORY_LIMIT_BYTES = 20e6;

/**
 * Compares what the last of many calls cost to what the first did, and whether memory grows. By the end the tables have
 * grown and the machine may be busier. So a second Usher, new and warmed up, alternates with the first one on the same
 * tables.
 */
export async function measureCalls(stack: AsyncDisposableStack, progress: Progress, calls: number): Promise<boolean> {
  const window = Math.floor(calls / PARTS);
  if (window < STEP) throw new UsageError(`--calls must be at least ${PARTS * STEP}`);
  const { urls, ...seeded } = await seedDatabases(stack, progress, { decay: async () => {} });
  const settings = { ...seeded, databaseUrl: urls[0] ?? '' };
  const preload = new URL('report-memory.ts', import.meta.url);
  const old = await startUsher(stack, settings, { preload });
  let number = 0;
  const runStep = (server: RunningServer) => measureStep(server, seeded.fixtures, number++);
  const runWindow = async (server: RunningServer) => {
    const steps: Usage[] = [];
    for (let step = 0; step < window / STEP; step++) steps.push(await runStep(server));
    return steps;
  };

  await runWindow(old);
  const warm = await measureUsed(old);
  const first = await runWindow(old);
  let halfway = Number.NaN;
  for (let done = window; done < calls - window; done += STEP) {
    const { cpuMicros, residentBytes } = await runStep(old);
    if (done % window === 0) progress(`${done} calls: ${cpuMicros.toFixed(0)} us, ${toMegabytes(residentBytes)} MB`);
    if (done * 2 <= calls) halfway = residentBytes;
  }
  const young = await startUsher(stack, settings, { preload });
  await runWindow(young);
  const last: Usage[] = [];
  const control: Usage[] = [];
  for (let step = 0; step < window / STEP; step++) {
    last.push(await runStep(old));
    control.push(await runStep(young));
  }

  const cpu = { first: meanCpuOf(first), last: meanCpuOf(last), control: meanCpuOf(control) };
  const ratio = cpu.last / cpu.control;
  const used = await measureUsed(old);
  const resident = last.at(-1)?.residentBytes ?? Number.NaN;
  process.stdout.write(`CPU per call in us: ${cpu.first.toFixed(1)} for the first ${window} of ${calls}, ${cpu.last.toFixed(1)} for the last (${(cpu.last / cpu.first).toFixed(2)}x);
at the same time as the last, ${cpu.control.toFixed(1)} in a new process (${ratio.toFixed(2)}x)
Memory in MB: used without garbage ${toMegabytes(warm)} when warm, ${toMegabytes(used)} at the end; resident ${toMegabytes(halfway)} halfway, ${toMegabytes(resident)} at the end
`);
  return ratio <= CPU_LIMIT && Math.max(used - warm, resident - halfway) <= MEMORY_LIMIT_BYTES;
}

/** Returns the bytes that the server uses after a garbage collection, in the heap of V8 and outside it. */
async function measureUsed({ child, pid }: StartedServer): Promise<number> {
  process.kill(pid, 'SIGUSR2');
  const [{ usedBytes }] = await once(child, 'message');
  return usedBytes;
}

/** Makes the calls of a step, and returns the CPU time per call and the memory afterwards. */
async function measureStep({ pid, ports }: RunningServer, fixtures: Fixtures, number: number): Promise<Usage> {
  const before = readUsage(pid);
  for (let burst = 0; burst < BURSTS; burst++) {
    const concurrency = CONCURRENCY[burst % CONCURRENCY.length] ?? 1;
    const requests = prepareMixed(fixtures, { count: BURST, number: number * BURSTS + burst });
    const client = await openClient(ports, concurrency);
    const { failure } = await applyLoad(client, requests, concurrency);
    client.close();
    if (failure) throw new Error(failure);
  }
  const after = readUsage(pid);
  return { cpuMicros: (after.cpuMicros - before.cpuMicros) / STEP, residentBytes: after.residentBytes };
}

/** Opens a client for requests over both versions of HTTP. */
async function openClient(ports: RunningServer['ports'], connections: number): Promise<LoadClient> {
  const http1 = await openHttp1Client(ports['1.1'], connections);
  const http2 = await openHttp2Client(ports['2'], HTTP2_SESSIONS);
  return {
    send: (request) => (request.headers.te === 'trailers' ? http2 : http1).send(request),
    close() {
      http1.close();
      http2.close();
    },
  };
}

function meanCpuOf(steps: readonly Usage[]): number {
  return meanOf(steps.map(({ cpuMicros }) => cpuMicros));
}

function toMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
