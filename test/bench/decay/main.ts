/**
 * `npm run bench:decay`: whether the last 100,000 of 2,000,000 calls cost more than the first, and whether
 * memory grows. Tables have grown by then and the machine may have become busier; so a second Usher, just
 * started and warmed up, takes turns with the first at the end, on the same tables. `--calls 400000` takes less time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createFixtures, type Fixtures } from '../fixtures.ts';
import { seedDatabases } from '../growth/seed-databases.ts';
import { applyLoad } from '../load/apply-load.ts';
import type { LoadClient } from '../load/client.ts';
import { openHttp1Client } from '../load/http1-client.ts';
import { openHttp2Client } from '../load/http2-client.ts';
import { medianOf } from '../median.ts';
import { readUsage } from '../read-usage.ts';
import { runBench } from '../run-bench.ts';
import { makeDirectory } from '../start-fixture.ts';
import type { RunningServer } from '../start-server.ts';
import { startUsher } from '../start-usher.ts';
import { prepareMixed } from './prepare-mixed.ts';

const SPELL = 1_000;
/** How many calls are under way at a time, spell by spell. */
const TIDE = [64, 4];
const STEP = SPELL * TIDE.length * 5;
const SPELL_SECONDS = 120;
const HTTP2_SESSIONS = 2;
const COLLECTION_MS = 1_000;

const CPU_LIMIT = 1.1;
const MEMORY_LIMIT_MB = 20;

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '2000000' },
      window: { type: 'string', default: '100000' },
      profile: { type: 'boolean', default: false },
    },
  });
  const [calls, window] = [Number(values.calls), Number(values.window)];
  const steps = window / STEP;
  const directory = await makeDirectory(stack);
  const fixtures = createFixtures();
  const urls = await seedDatabases(stack, { directory, fixtures, progress }, { decay: async () => {} });
  const site = { directory, databaseUrl: urls.get('decay') ?? '', fixtures };
  const preload = new URL('collect-on-signal.ts', import.meta.url);
  const aging = await startUsher(stack, site, { isProfiling: values.profile, preload });
  let number = 0;
  const take = (server: RunningServer) => takeStep(server, fixtures, number++);

  for (let step = 0; step < steps; step++) await take(aging);
  const warm = await heldBy(aging);
  progress(`warm at ${megabytes(aging)} MB (${seconds()} s)`);
  const first: Step[] = [];
  for (let step = 0; step < steps; step++) first.push(await take(aging));
  for (let done = window; done < calls - window; done += STEP) {
    const { cpuMicros } = await take(aging);
    if (done % window === 0)
      progress(`${done} calls: ${cpuMicros.toFixed(0)} us, ${megabytes(aging)} MB (${seconds()} s)`);
  }
  const young = await startUsher(stack, site, { preload });
  for (let step = 0; step < steps; step++) await take(young);
  const last: Step[] = [];
  const control: Step[] = [];
  for (let step = 0; step < steps; step++) {
    last.push(await take(aging));
    control.push(await take(young));
  }

  const cpu = { first: cpuOf(first), last: cpuOf(last), control: cpuOf(control) };
  const memory = { first: memoryOf(first), last: memoryOf(last), held: (await heldBy(aging)) - warm };
  process.stdout.write(`CPU per call in us: ${cpu.first.toFixed(1)} for the first ${window} of ${calls}, ${cpu.last.toFixed(1)} for the last (${(cpu.last / cpu.first).toFixed(2)}x);
beside the last, ${cpu.control.toFixed(1)} in a process that has just been started (${(cpu.last / cpu.control).toFixed(2)}x)
Memory in MB: ${memory.first.toFixed(0)} during the first, ${memory.last.toFixed(0)} during the last; ${memory.held.toFixed(1)} more held than when warm
`);
  return cpu.last / cpu.control <= CPU_LIMIT && memory.held <= MEMORY_LIMIT_MB;
});

/** In MB, when garbage has been collected. */
async function heldBy({ pid }: RunningServer): Promise<number> {
  process.kill(pid, 'SIGUSR2');
  await sleep(COLLECTION_MS);
  return readUsage(pid).residentBytes / 1e6;
}

interface Step {
  readonly cpuMicros: number;
  readonly residentBytes: number;
}

async function takeStep({ pid, ports }: RunningServer, fixtures: Fixtures, number: number): Promise<Step> {
  const requests = prepareMixed(fixtures, { count: STEP, number });
  const before = readUsage(pid);
  for (let at = 0; at < STEP; at += SPELL) {
    const concurrency = TIDE[(at / SPELL) % TIDE.length] ?? 1;
    const client = await openClient(ports, concurrency);
    const limits = { maxSeconds: SPELL_SECONDS, concurrency };
    const { refusal } = await applyLoad(client, requests.slice(at, at + SPELL), limits);
    client.close();
    if (refusal) throw new Error(refusal);
  }
  const after = readUsage(pid);
  return { cpuMicros: (after.cpuMicros - before.cpuMicros) / STEP, residentBytes: after.residentBytes };
}

/** Sends each request over the HTTP it was made for. */
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

function cpuOf(steps: readonly Step[]): number {
  return steps.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0) / steps.length;
}

function memoryOf(steps: readonly Step[]): number {
  return medianOf(steps.map(({ residentBytes }) => residentBytes)) / 1e6;
}

function megabytes({ pid }: RunningServer): string {
  return (readUsage(pid).residentBytes / 1e6).toFixed(0);
}

function seconds(): number {
  return Math.round(performance.now() / 1000);
}
