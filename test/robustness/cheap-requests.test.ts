/** Requests without a credential that cost the service more than their sender: it has 512 MiB, and outlives them. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, type TestContext, test, vi } from 'vitest';
import { readUsage } from '../bench/read-usage.ts';
import { type CheapRequest, listCheapRequests } from '../support/cheap-requests.ts';
import { cloneDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { limitMemory } from '../support/memory-limit.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MB = 1024 * 1024;
const LIMIT_BYTES = 512 * MB;
/** What 200 requests may take: 400 KB each, most of it the connection's and garbage. Brotli took 6 MB and more each. */
const MAX_GROWTH_BYTES = 80 * MB;
/** What a connection costs its sender in packets without data. */
const PACKET_BYTES = 200;
/** By how much a byte may cost more than one of a health check, which costs as much as any request. */
const MAX_COST_RATIO = 20;
/** How long an attack is watched for at most. */
const WATCH_MS = 15_000;

/** Writes the most that the heap and memory outside of it have had, since the signal before. */
const PROBE = `
let heap = 0, external = 0;
const look = () => {
  const usage = process.memoryUsage();
  heap = Math.max(heap, usage.heapUsed);
  external = Math.max(external, usage.external);
};
setInterval(look, 10).unref();
process.on('SIGUSR2', () => {
  look();
  process.stderr.write(JSON.stringify({ heap, external }) + '\\n');
  heap = external = 0;
});`;

const limit = limitMemory(LIMIT_BYTES);
const database = await cloneDatabase();
const service = await startUsher(
  database.url,
  { NODE_OPTIONS: `--max-semi-space-size=2 --import=data:text/javascript,${encodeURIComponent(PROBE)}` },
  { cgroup: typeof limit === 'string' ? undefined : limit.processes },
);
const plain: CheapRequest = { connections: 200, bytes: Buffer.from('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n') };
// The first requests compile code and widen the heap.
for (let round = 0; round < 3; round++) await send(plain);
const baseline = await send(plain);

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  if (typeof limit !== 'string') limit[Symbol.dispose]();
});

test.for([...listCheapRequests({ isShort: quickOrLong(true, false) })])(
  '%s cost no more than others',
  { timeout: 60_000 },
  async ([what, cheap], context) => {
    const cost = await send(cheap);
    note(context, `${cheap.connections} connections: ${what}`, cost);
    await expectAlive();
    expect(cost.growth).toBeLessThan(MAX_GROWTH_BYTES);
    expect(cost.cpuMicros / cost.sent).toBeLessThan((MAX_COST_RATIO * baseline.cpuMicros) / baseline.sent);
  },
);

function note(context: TestContext, tried: string, { sent, growth, cpuMicros, heap, external }: Cost): void {
  const limited = typeof limit === 'string' ? `without a limit, since ${limit}` : 'in 512 MiB';
  const perByte = `${(growth / sent).toFixed(1)} bytes and ${(cpuMicros / sent).toFixed(2)} us per byte sent`;
  const memory = `${inMb(growth)} resident, up to ${inMb(heap)} of heap and ${inMb(external)} beside it`;
  report(context, { tried: `${tried} (${limited})`, figures: `${perByte}; ${memory}` });
}

const inMb = (bytes: number) => `${(bytes / MB).toFixed(0)} MB`;

async function expectAlive(): Promise<void> {
  expect({ isRunning: service.isRunning, errors: service.stderr.replace(/^\{"heap".*\n/gm, '') }).toEqual({
    isRunning: true,
    errors: '',
  });
  expect((await request(service.url, { path: '/healthz' })).status).toBe(200);
}

type Cost = Awaited<ReturnType<typeof send>>;

/** Sends the bytes over all connections at once, and measures the service until it has done what they ask for. */
async function send({ connections, bytes }: CheapRequest) {
  const sockets = Array.from({ length: connections }, () => connect(service.port, '127.0.0.1').on('error', () => {}));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await readProbe();
  // Resets the peak of the resident memory (proc(5)).
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
  const before = readUsage(service.pid);
  for (const socket of sockets) socket.resume().write(bytes);
  let { cpuMicros } = before;
  for (const startedAt = performance.now(); service.isRunning && performance.now() - startedAt < WATCH_MS; ) {
    await sleep(400);
    const now = readUsage(service.pid).cpuMicros;
    if (now - cpuMicros < 40_000) break;
    cpuMicros = now;
  }
  const probe = await readProbe();
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) * 1024;
  const cost = {
    sent: connections * (bytes.length + PACKET_BYTES),
    growth: peak - before.residentBytes,
    cpuMicros: readUsage(service.pid).cpuMicros - before.cpuMicros,
    ...probe,
  };
  for (const socket of sockets) socket.destroy();
  return cost;
}

async function readProbe(): Promise<{ heap: number; external: number }> {
  const { length } = service.stderr;
  service.kill('SIGUSR2');
  await vi.waitFor(
    () => expect([service.isRunning, service.stderr.slice(length)]).toEqual([true, expect.stringContaining('\n')]),
    { timeout: 30_000 },
  );
  return JSON.parse(service.stderr.slice(length));
}
