/** How long Usher waits for Postgres, and how often it asks. The clock is the test's. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readTarget } from '../../../src/database/connection/open-client.ts';
import {
  type PipelinedConnection,
  ReconnectLimiter,
  TICK_MS,
} from '../../../src/database/connection/pipelined-connection.ts';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { Database, selectTime } from '../../../src/database/pool/database.ts';
import { PrimaryFinder } from '../../../src/database/primary/primary-finder.ts';
import { PrimaryLease } from '../../../src/database/primary/primary-lease.ts';
import { startSocketServer } from '../../support/mail-server.ts';

const SECOND = 1_000;
const realNow = performance.now.bind(performance);
let offset = 0;

beforeEach(() => {
  offset = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + offset);
});
afterEach(() => vi.restoreAllMocks());

/** Counts connections, and ends each before it says who it is. */
async function startClosedDoor() {
  let tries = 0;
  const server = await startSocketServer((socket) => {
    tries++;
    socket.destroy();
  });
  return { server, url: `postgres://usher@127.0.0.1:${server.port}/usher`, countTries: () => tries };
}

test('a start waits five minutes for Postgres, and no longer', async () => {
  const { server, url, countTries } = await startClosedDoor();
  await using _server = server;
  const reasons: string[] = [];
  const started = migrateDatabase(url, { onWait: (reason) => reasons.push(reason) }).then(
    () => 'started',
    (error: Error) => error.message,
  );
  await expect.poll(countTries).toBeGreaterThan(1);
  offset = 5 * 60 * SECOND - 30 * SECOND;
  const before = countTries();
  await expect.poll(countTries).toBeGreaterThan(before + 2);
  offset = 5 * 60 * SECOND;
  expect(await started).toContain('The connection was lost');
  expect(reasons).toHaveLength(1);
});

test('connections that have failed open again 0.4 s later, and 125 ms apart, however many there are', () => {
  vi.spyOn(performance, 'now').mockImplementation(() => offset);
  const limiter = new ReconnectLimiter();
  const reserved = Array.from({ length: 40 }, () => limiter.reserve());
  expect(reserved[0]).toBe(400);
  expect(reserved.slice(1).map((at, index) => at - (reserved[index] ?? 0))).toEqual(Array(39).fill(125));
  // Those that fail again wait behind the others.
  offset = 2 * SECOND;
  expect(limiter.reserve()).toBe((reserved.at(-1) ?? 0) + 125);
  offset = 60 * SECOND;
  expect(limiter.reserve()).toBe(offset + 400);
});

test('a Postgres that ends every connection is tried no more often than every 125 ms, however many calls wait', async () => {
  const { server, url, countTries } = await startClosedDoor();
  await using _server = server;
  const connections = 4;
  const database = new Database(url, { connections, statementTimeoutMs: 60_000 });
  const startedAt = performance.now();
  // At first, every connection is opened at once: four for writes, two for reads and one for the clock.
  const opened = connections + 3;
  const call = () => database.run(selectTime, {}, performance.now() + 60 * SECOND).catch(() => {});
  const ping = () => database.ping(performance.now() + SECOND).catch(() => {});
  while (countTries() < 2 * opened + 8) {
    await Promise.all([call(), call(), call(), ping(), sleep(5)]);
  }
  const tries = countTries();
  expect((tries - 2 * opened) * 125).toBeLessThanOrEqual(performance.now() - startedAt);
  await database.close();
});

test('a lease is renewed four times a second, and lasts for one second from the beginning of its commit', async () => {
  vi.spyOn(performance, 'now').mockImplementation(() => offset);
  let commits = 0;
  let isStalled = false;
  const commit = async () => {
    commits++;
    if (isStalled) await new Promise(() => {});
    return [];
  };
  const connection = { tick() {}, silentMs: 0, run: commit } as unknown as PipelinedConnection;
  const lease = new PrimaryLease(connection, { find: async () => {} } as unknown as PrimaryFinder);
  const pass = async (ms: number) => {
    for (const end = offset + ms; offset < end; ) {
      offset += 10;
      lease.tick(offset);
      await nextTurn();
    }
  };
  await pass(10);
  const before = commits;
  await pass(3 * SECOND);
  expect(commits - before).toBe(12);
  isStalled = true;
  // The last commit that succeeded began up to 250 ms ago.
  const isLeased = () => Promise.race([lease.require(Number.POSITIVE_INFINITY).then(() => true), nextTurn(false)]);
  await pass(740);
  expect(await isLeased()).toBe(true);
  await pass(260);
  expect(await isLeased()).toBe(false);
});

test('each server is asked once a second whether it is the primary', async () => {
  const doors = [await startClosedDoor(), await startClosedDoor()];
  await using _first = doors[0]?.server;
  await using _second = doors[1]?.server;
  const [one, two] = doors.map(({ server }) => `127.0.0.1:${server.port}`);
  using finder = new PrimaryFinder(readTarget(`postgres://usher@${one},${two}/usher`));
  await expect(finder.find()).rejects.toThrow();
  const before = doors.map(({ countTries }) => countTries());
  const start = performance.now();
  for (let second = 1; second <= 5; second++) {
    for (let at = TICK_MS; at <= SECOND; at += TICK_MS) finder.tick(start + (second - 1) * SECOND + at);
    const expected = before.map((tries) => tries + second);
    await expect.poll(() => doors.map(({ countTries }) => countTries())).toEqual(expected);
    // The answer to the question has come, so the next tick may ask again.
    await sleep(50);
  }
});
