/** Anonymous callers of health checks by the thousand: memory, and the readiness that others see, stay as they are. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterAll, expect, test } from 'vitest';
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/health/v1/health_pb.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { readUsage } from '../lab/bench/read-usage.ts';
import { cloneDatabase } from '../support/database.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { request } from '../support/http.ts';
import { decodeFrames, encodeFrame, encodeHeaders, encodePreface, FLAG, FRAME } from '../support/http2-frames.ts';
import { type Answer, quantileOf, startLoad } from '../support/load.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { H2LOAD_PATH, lacks } from '../support/tools.ts';

const CONNECTIONS = 120;
const STREAMS = 100;
const MAX_GROWTH_BYTES = 60 * 1024 * 1024;
/** How long the watches are held. */
const HOLD_MS = quickOrLong(500, 20_000);
/** How often the work meanwhile is measured. On a busy machine the burst is not over the first time. */
const WINDOWS = quickOrLong(120, 3);
/** By how much other work on the machine may delay a probe in the long form, which alone judges their speed. */
const NOISE_MS = 10;
const READY_REQUESTS = quickOrLong(2_000, 60_000);
/** How long a burst may take to be over, its garbage included. */
const SETTLE_MS = quickOrLong(0, 5_000);
/** A service that is not ready by then never is. */
const GIVE_UP_MS = 60_000;
/** How much of a core watches may take; asking Postgres for each would take all of it. */
const MAX_CPU_SHARE = 0.2;
/** The short form measures no longer than until the share is below that. */
const CALM_CPU_SHARE = quickOrLong(0.1, 0);
const WATCH = pathOf(Health.method.watch);

const database = await cloneDatabase();
// Garbage is not what the watches hold.
const service = await startUsher(database.url, {
  NODE_OPTIONS: '--max-semi-space-size=2 --max-old-space-size=128',
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const CONTENT_TYPES = ['application/grpc', 'application/grpc-web+proto', 'application/connect+proto'];

test.for(quickOrLong(CONTENT_TYPES.slice(0, 1), CONTENT_TYPES))(
  '12,000 watches over %s take at most 60 MB and next to no work',
  { timeout: 600_000 },
  async (contentType, context) => {
    // What as many requests of another kind leave behind is not the watches' either. Only the long form judges memory.
    if (quickOrLong(false, true)) (await openStreams({ ':method': 'GET', ':path': '/healthz' }))[Symbol.dispose]();
    const idle = await hold();
    using _watches = await openStreams({ ':method': 'POST', ':path': WATCH, 'content-type': contentType });
    const held = await hold();
    using client = new GrpcClient(service);
    const watch = () =>
      client.serverStream(Health.method.watch, create(Health.method.watch.input)).on('error', () => {});
    const watches = [watch(), watch()];
    const [first, second] = await Promise.allSettled(watches.map((watch) => once(watch, 'data')));

    const growth = held.residentBytes - idle.residentBytes;
    report(context, {
      tried: `12,000 watches over ${contentType}`,
      lost: `${held.failed.length} readiness checks`,
      figures: `memory +${(growth / 1024 / 1024).toFixed(1)} MB; ${describe(idle)} before, ${describe(held)} during`,
    });
    await expectReady([...idle.failed, ...held.failed]);
    if (quickOrLong(false, true)) expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
    if (quickOrLong(false, true)) expect(held.p99Ms).toBeLessThan(2 * idle.p99Ms + NOISE_MS);
    // The first of a connection, and one more.
    expect(first).toMatchObject({
      status: 'fulfilled',
      value: [{ status: quickOrLong(expect.any(Number), ServingStatus.SERVING) }],
    });
    expect(second).toMatchObject({ status: 'rejected', reason: { code: status.RESOURCE_EXHAUSTED } });
    expect(held.cpuShare).toBeLessThan(idle.cpuShare + MAX_CPU_SHARE);
  },
);

test.skipIf(lacks('H2LOAD'))(
  `${READY_REQUESTS} readiness checks at once leave the service ready for others`,
  { timeout: 600_000 },
  async (context) => {
    const probe = startProbe();
    const url = `${service.url}/readyz`;
    const { stdout } = await promisify(execFile)(H2LOAD_PATH, [
      '-n',
      `${READY_REQUESTS}`,
      '-c',
      '100',
      '-m',
      '100',
      url,
    ]);
    const answers = await probe.stop();
    const [statusCodes] = /status codes:.*/.exec(stdout) ?? [''];
    const failed = answers.filter(({ outcome }) => outcome !== '200');
    report(context, { tried: `h2load: ${statusCodes}`, lost: `${failed.length} of ${answers.length} probes` });
    const counts = [...statusCodes.matchAll(/\d+(?= )/g)].map(Number);
    // None is without a reply, and none is refused for another reason than a late answer of Postgres.
    expect(counts.filter((_, hundred) => hundred === 0 || hundred === 3).reduce((sum, count) => sum + count, 0)).toBe(
      READY_REQUESTS,
    );
    if (quickOrLong(false, true)) expect(statusCodes).toContain(`${READY_REQUESTS} 2xx`);
    await expectReady(failed);
    expect(answers).not.toEqual([]);
  },
);

/** Asks for readiness over connections of its own. */
function startProbe() {
  const ready = async () => String((await request(service.url, { path: '/readyz' })).status);
  return startLoad({ ready }, { callers: 1, pauseMs: 10 });
}

/** In the short form, a busy machine may have kept Postgres from its answer, but not for ever. */
async function expectReady(failed: readonly Answer[]): Promise<void> {
  if (quickOrLong(false, true)) expect(failed).toEqual([]);
  const ready = async () => (await request(service.url, { path: '/readyz' })).status;
  await expect.poll(ready, { timeout: GIVE_UP_MS }).toBe(200);
}

type Held = Awaited<ReturnType<typeof hold>>;

/** Measures the service while nothing but the probe asks anything of it. */
async function hold() {
  await sleep(SETTLE_MS);
  const probe = startProbe();
  const shares: number[] = [];
  while (shares.length < WINDOWS && !(Math.min(...shares) < CALM_CPU_SHARE)) {
    const before = readUsage(service.pid);
    await sleep(HOLD_MS);
    shares.push((readUsage(service.pid).cpuMicros - before.cpuMicros) / (HOLD_MS * 1_000));
  }
  const { residentBytes } = readUsage(service.pid);
  const answers = await probe.stop();
  return {
    failed: answers.filter(({ outcome }) => outcome !== '200'),
    p99Ms: quantileOf(answers, 0.99),
    cpuShare: Math.min(...shares),
    residentBytes,
  };
}

function describe({ p99Ms, cpuShare }: Held): string {
  return `readiness p99 ${p99Ms.toFixed(1)} ms with ${(100 * cpuShare).toFixed(1)} % of a core`;
}

/** Opens 12,000 streams, and resolves when each has been answered and, unless it is a watch, closed. */
async function openStreams(headers: Readonly<Record<string, string>>): Promise<Disposable> {
  const streams = Array.from({ length: STREAMS }, (_, at) => encodeRequest(2 * at + 1, headers));
  const bytes = Buffer.concat([encodePreface(), ...streams]);
  const sockets = Array.from({ length: CONNECTIONS }, () => connect({ port: service.port, host: '127.0.0.1' }));
  await Promise.all(sockets.map((socket) => exchange(socket, bytes)));
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends the requests, and resolves when the headers of every reply have come. */
async function exchange(socket: Socket, requests: Buffer): Promise<void> {
  const received: Buffer[] = [];
  socket.on('error', () => {}).write(requests);
  for (let replies = 0; replies < STREAMS; ) {
    const [chunk] = await once(socket, 'data');
    received.push(chunk);
    replies = [...decodeFrames(Buffer.concat(received))].filter(({ type }) => type === FRAME.headers).length;
  }
  socket.resume();
}

/** Returns the frames of a request with an empty message of gRPC and Connect. */
function encodeRequest(stream: number, headers: Readonly<Record<string, string>>): Buffer {
  const message = encodeFrame(FRAME.data, FLAG.endStream, stream, Buffer.alloc(5));
  return Buffer.concat([encodeHeaders(stream, headers, { endStream: false }), message]);
}
