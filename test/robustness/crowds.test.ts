/** Crowds that need no credential and leave their requests open: a process with 512 MiB outlives them and serves others. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { listCheapRequests } from '../support/cheap-requests.ts';
import { cloneDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { limitMemory } from '../support/memory-limit.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MB = 1024 * 1024;
const LIMIT_BYTES = 512 * MB;
/** All crowds together, with what honest calls and the heap take before it is collected. The rest is what a start takes. */
const MAX_GROWTH_BYTES = 350 * MB;
/** A crowd comes as soon as the one before leaves. */
const WAVES = quickOrLong(2, 20);
const WAVE_MS = 2_000;

/** How many connections send what. Those over HTTP/2 have a hundred streams each. */
const CROWDS = {
  'streams with many indexed headers': 500,
  'streams with long indexed headers': 500,
  'streams whose body never comes': 500,
  'streams of Connect whose body never comes': 500,
  'unread answers': 500,
  'a header that never ends': 2_000,
  'a body that never comes': 2_000,
};

const requests = listCheapRequests({ isShort: true });
const limit = limitMemory(LIMIT_BYTES);
const database = await cloneDatabase();
const service = await startUsher(database.url, {}, { cgroup: typeof limit === 'string' ? undefined : limit.processes });
const residentBefore = service.residentBytes();

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  if (typeof limit !== 'string') limit[Symbol.dispose]();
});

const crowds = Object.entries(CROWDS);
test.for(crowds)('outlives %s over %d connections', { timeout: 600_000 }, async ([what, connections], context) => {
  const bytes = requests.get(what)?.bytes ?? expect.unreachable();
  // Resets the peak of the resident memory (proc(5)).
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
  let answers = 0;
  for (let wave = 0; wave < WAVES; wave++) {
    const sockets = Array.from({ length: connections }, () => connect(service.port, '127.0.0.1').on('error', () => {}));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.resume().write(bytes);
    for (const startedAt = performance.now(); performance.now() - startedAt < WAVE_MS; await sleep(50)) {
      for (const httpVersion of ['1.1', '2'] as const)
        expect((await request(service.url, { httpVersion, path: '/healthz' })).status).toBe(200);
      answers += 2;
    }
    for (const socket of sockets) socket.destroy();
  }
  const growth = peakBytes() - residentBefore;
  const limited = typeof limit === 'string' ? `without a limit, since ${limit}` : 'in 512 MiB';
  report(context, {
    tried: `${WAVES} times ${connections} connections: ${what} (${limited})`,
    figures: `+${(growth / MB).toFixed(0)} MB, ${answers} health checks answered meanwhile`,
  });
  expect({ isRunning: service.isRunning, errors: service.errors }).toEqual({ isRunning: true, errors: '' });
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
});

test('refuses no stream when 50 connections send a hundred requests each at once', async () => {
  const sessions = Array.from({ length: 50 }, () => openHttp2Session(service.url));
  const call = { ':method': 'POST', ':path': pathOf(Health.method.check), 'content-type': 'application/json' };
  // Each has a reply, although some are told that the service is overloaded.
  const replies = await Promise.allSettled(
    sessions.flatMap(({ exchange }) => Array.from({ length: 100 }, () => exchange(call, '{}'))),
  );
  for (const session of sessions) session[Symbol.dispose]();
  expect(replies.filter(({ status }) => status === 'rejected')).toEqual([]);
});

function peakBytes(): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) * 1024;
}
