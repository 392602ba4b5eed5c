/**
 * Requests without a credential that cost the service more than their sender, and crowds that leave theirs open: a
 * process with 512 MiB outlives them and serves others.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, type TestContext, test, vi } from 'vitest';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { readUsage } from '../lab/bench/read-usage.ts';
import { type CheapRequest, listCheapRequests } from '../support/cheap-requests.ts';
import { cloneDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { CONTAINER_BYTES, CONTAINER_NODE_OPTIONS, limitMemory } from '../support/memory-limit.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MB = 1024 * 1024;
/** What 200 requests may take: 400 KB each, most of it the connection's and garbage. Brotli took 6 MB and more each. */
const MAX_GROWTH_BYTES = 80 * MB;
/** What a connection costs its sender in packets without data. */
const PACKET_BYTES = 200;
/**
 * By how much a byte may cost more than one of a health check, which costs as much as any request. Long answers to many
 * requests cost 15 times as much, more on a busy machine; a decompressed body without a limit costs hundreds.
 */
const MAX_COST_RATIO = quickOrLong(100, 20);
/** The short form opens a tenth of the connections, and a fiftieth of the crowds. Only the long one judges memory. */
const PART = quickOrLong(10, 1);
/** A process that does next to nothing for so long has done what it was asked for. */
const CALM_MS = quickOrLong(50, 400);
/** How long an attack is watched for at most. */
const WATCH_MS = 60_000;

/** All crowds together, with what honest calls and the heap take before it is collected. The rest is what a start takes. */
const MAX_CROWD_BYTES = 350 * MB;
/** A crowd comes as soon as the one before leaves. */
const WAVES = quickOrLong(2, 20);
const WAVE_MS = quickOrLong(200, 2_000);

/** How many connections send what. Those over HTTP/2 have a hundred streams each. */
const CROWDS = {
  'streams with many indexed headers': 500,
  'streams with long indexed headers': 500,
  'streams whose body never comes': 500,
  'streams of Connect whose body never comes': 500,
  'streams of gRPC-Web whose body never comes': 500,
  'unread answers': 500,
  'a header that never ends': 2_000,
  'a body that never comes': 2_000,
};

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

const database = await cloneDatabase();
const limits = [limitMemory(CONTAINER_BYTES), limitMemory(CONTAINER_BYTES)];
const start = (limit: (typeof limits)[number] | undefined, env = {}) =>
  startUsher(database.url, env, { cgroup: typeof limit === 'object' ? limit.processes : undefined });
const service = await start(limits[0], {
  NODE_OPTIONS: `--max-semi-space-size=2 --import=data:text/javascript,${encodeURIComponent(PROBE)}`,
});
const limitedBy = typeof limits[0] === 'string' ? `without a limit, since ${limits[0]}` : 'in 512 MiB';
const inMb = (bytes: number) => `${(bytes / MB).toFixed(0)} MB`;
const plain: CheapRequest = { connections: 200 * PART, bytes: Buffer.from('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n') };
// The first requests compile code and widen the heap.
for (let round = 0; round < quickOrLong(5, 3); round++) await send(plain);
const baseline = await send(plain);

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  for (const limit of limits) if (typeof limit === 'object') limit[Symbol.dispose]();
});

test.for([...listCheapRequests({ isShort: quickOrLong(true, false) })])(
  '%s cost no more than others',
  { timeout: 300_000 },
  async ([what, cheap], context) => {
    const cost = await send(cheap);
    note(context, `${cheap.connections / PART} connections: ${what}`, cost);
    await expectAlive(service, service.stderr.replace(/^\{"heap".*\n/gm, ''));
    if (PART === 1) expect(cost.growth).toBeLessThan(MAX_GROWTH_BYTES);
    expect(cost.cpuMicros / cost.sent).toBeLessThan((MAX_COST_RATIO * baseline.cpuMicros) / baseline.sent);
  },
);

describe('crowds', async () => {
  const requests = listCheapRequests({ isShort: true });
  const crowded = await start(limits[1], { NODE_OPTIONS: CONTAINER_NODE_OPTIONS });
  const residentBefore = crowded.residentBytes();
  afterAll(() => crowded[Symbol.asyncDispose]());

  const crowds = Object.entries(CROWDS).map(([what, connections]) => [what, connections / quickOrLong(50, 1)] as const);
  test.for(crowds)('outlives %s over %d connections', { timeout: 600_000 }, async ([what, connections], context) => {
    const bytes = requests.get(what)?.bytes ?? expect.unreachable();
    resetPeak(crowded);
    let answers = 0;
    for (let wave = 0; wave < WAVES; wave++) {
      const sockets = await openSockets(crowded, connections);
      for (const socket of sockets) socket.resume().write(bytes);
      for (const startedAt = performance.now(); performance.now() - startedAt < WAVE_MS; await sleep(50)) {
        for (const httpVersion of ['1.1', '2'] as const)
          expect((await request(crowded.url, { httpVersion, path: '/healthz' })).status).toBe(200);
        answers += 2;
      }
      for (const socket of sockets) socket.destroy();
    }
    const growth = peakOf(crowded) - residentBefore;
    report(context, {
      tried: `${WAVES} times ${connections} connections: ${what} (${limitedBy})`,
      figures: `+${inMb(growth)}, ${answers} health checks answered meanwhile`,
    });
    await expectAlive(crowded, crowded.errors);
    // Without a limit of its memory Node collects its heap later.
    if (PART === 1 && typeof limits[1] === 'object') expect(growth).toBeLessThan(MAX_CROWD_BYTES);
  });

  test('refuses no stream when many connections send a hundred requests each at once', async () => {
    const sessions = Array.from({ length: quickOrLong(20, 50) }, () => openHttp2Session(crowded.url));
    const call = { ':method': 'POST', ':path': pathOf(Health.method.check), 'content-type': 'application/json' };
    // Each has a reply, although some are told that the service is overloaded.
    const replies = await Promise.allSettled(
      sessions.flatMap(({ exchange }) => Array.from({ length: 100 }, () => exchange(call, '{}'))),
    );
    for (const session of sessions) session[Symbol.dispose]();
    expect(replies.filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});

function note(context: TestContext, tried: string, { sent, growth, cpuMicros, heap, external }: Cost): void {
  const perByte = `${(growth / sent).toFixed(1)} bytes and ${(cpuMicros / sent).toFixed(2)} us per byte sent`;
  const memory = `${inMb(growth)} resident, up to ${inMb(heap)} of heap and ${inMb(external)} beside it`;
  report(context, { tried: `${tried} (${limitedBy})`, figures: `${perByte}; ${memory}` });
}

async function expectAlive({ isRunning, url }: UsherProcess, errors: string): Promise<void> {
  expect({ isRunning, errors }).toEqual({ isRunning: true, errors: '' });
  expect((await request(url, { path: '/healthz' })).status).toBe(200);
}

type Cost = Awaited<ReturnType<typeof send>>;

/** Sends the bytes over all connections at once, and measures the service until it has done what they ask for. */
async function send({ connections, bytes }: CheapRequest) {
  const count = Math.ceil(connections / PART);
  // What is made once, such as a compressed page, is not what each request costs.
  const sockets = await openSockets(service, count + 1);
  sockets.pop()?.resume().write(bytes);
  await settle();
  await readProbe();
  resetPeak(service);
  const before = readUsage(service.pid);
  for (const socket of sockets) socket.resume().write(bytes);
  await settle();
  const probe = await readProbe();
  const cost = {
    sent: count * (bytes.length + PACKET_BYTES),
    growth: peakOf(service) - before.residentBytes,
    cpuMicros: readUsage(service.pid).cpuMicros - before.cpuMicros,
    ...probe,
  };
  for (const socket of sockets) socket.destroy();
  return cost;
}

/** Resolves when the service does next to nothing. */
async function settle(): Promise<void> {
  let { cpuMicros } = readUsage(service.pid);
  for (const startedAt = performance.now(); service.isRunning && performance.now() - startedAt < WATCH_MS; ) {
    await sleep(CALM_MS);
    // It has had the processor since, however busy the machine is.
    await request(service.url, { path: '/healthz' });
    const now = readUsage(service.pid).cpuMicros;
    if (now - cpuMicros < CALM_MS * 100) return;
    cpuMicros = now;
  }
}

async function readProbe(): Promise<{ heap: number; external: number }> {
  const { length } = service.stderr;
  service.kill('SIGUSR2');
  await vi.waitFor(
    () => expect([service.isRunning, service.stderr.slice(length)]).toEqual([true, expect.stringContaining('\n')]),
    { timeout: 30_000, interval: 5 },
  );
  return JSON.parse(service.stderr.slice(length));
}

async function openSockets({ port }: UsherProcess, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

/** Resets the peak of the resident memory (proc(5)). */
function resetPeak({ pid }: UsherProcess): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function peakOf({ pid }: UsherProcess): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
