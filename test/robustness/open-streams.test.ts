/** What a replica needs in the memory of a container while many streams are open, also those of attackers. */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { readUsage } from '../lab/bench/read-usage.ts';
import { cloneDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { CONTAINER_BYTES, CONTAINER_NODE_OPTIONS, limitMemory } from '../support/memory-limit.ts';
import { startUsher } from '../support/process.ts';
import { report } from '../support/soak.ts';

const MB = 1024 * 1024;
const PER_CONNECTION = 100;
/** Usher allows as many streams of a connection that needs no credential. */
const WATCHES_PER_CONNECTION = 10;
const LONG = { timeout: 300_000 };
/** Room for the garbage of calls. */
const MAX_RESIDENT_BYTES = 0.75 * CONTAINER_BYTES;

const WATCH = {
  ':method': 'POST',
  ':path': pathOf(Health.method.watch),
  'content-type': 'application/grpc',
  te: 'trailers',
};

/** Opens streams over connections of their own, and says how many are open. */
async function openStreams(
  url: string,
  [count, perConnection]: readonly [number, number],
  start: (session: ClientHttp2Session) => ClientHttp2Stream,
) {
  const sessions: ClientHttp2Session[] = [];
  let open = 0;
  while (sessions.length * perConnection < count) {
    const session = connect(url, { settings: { initialWindowSize: 0 } });
    session.on('error', () => {});
    sessions.push(session);
    await once(session, 'remoteSettings');
    for (let at = 0; at < perConnection; at++) {
      const stream = start(session);
      open++;
      stream.on('error', () => {}).once('close', () => open--);
    }
  }
  return {
    count: () => open,
    [Symbol.dispose]() {
      for (const session of sessions) session.destroy();
    },
  };
}

/** Sends the head of a call, and leaves it open. */
const startCall = (session: ClientHttp2Session) =>
  session.request({ ':method': 'POST', ':path': '/api/sessions', 'content-type': 'application/json' });

/** Asks for a page, and reads nothing of it. */
const askForPage = (session: ClientHttp2Session) => session.request({ ':path': '/docs' });

/** Watches the health of the process. */
function startWatch(session: ClientHttp2Session): ClientHttp2Stream {
  const stream = session.request(WATCH);
  stream.end(Buffer.alloc(5));
  return stream;
}

test('a process with 512 MiB outlives 10,000 open streams', LONG, async (context) => {
  await using database = await cloneDatabase();
  const limit = limitMemory(CONTAINER_BYTES);
  using group = typeof limit === 'object' ? limit : undefined;
  await using usher = await startUsher(
    database.url,
    { NODE_OPTIONS: CONTAINER_NODE_OPTIONS },
    { cgroup: group?.processes },
  );
  const { url } = usher;
  const answer = async () => (await request(url, { path: '/readyz' })).status;
  const figures: string[] = [];
  const measure = async (what: string, count: () => number, atLeast: number) => {
    let peak = 0;
    let most = 0;
    for (let time = 0; time < 30; time++) {
      peak = Math.max(peak, readUsage(usher.pid).residentBytes);
      most = Math.max(most, count());
      await sleep(100);
    }
    expect(await answer()).toBe(200);
    figures.push(`${what}: ${most} open, ${Math.round(peak / MB)} MB`);
    expect(most, what).toBeGreaterThanOrEqual(atLeast);
    expect(peak, what).toBeLessThan(MAX_RESIDENT_BYTES);
  };
  await answer();
  await measure('idle', () => 0, 0);
  for (const [what, size, start] of [
    ['1,000 health watches', [1_000, WATCHES_PER_CONNECTION], startWatch],
    ['1,000 calls without their bodies', [1_000, PER_CONNECTION], startCall],
    ['10,000 calls without their bodies', [10_000, PER_CONNECTION], startCall],
    ['10,000 pages that nobody reads', [10_000, PER_CONNECTION], askForPage],
  ] as const) {
    using streams = await openStreams(url, size, start);
    await measure(what, streams.count, size[0] / 4);
  }
  report(context, { tried: `open streams in ${group ? '512 MiB' : String(limit)}`, figures: figures.join('; ') });
});
