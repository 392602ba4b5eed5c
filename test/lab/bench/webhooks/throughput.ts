/** Deliveries per second of sender and CPU, of Usher and of what it is compared with. */
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { CONCURRENCY, type Job, LOOP, type Sender } from '../baselines/jobs.ts';
import { openSenders } from '../baselines/open-senders.ts';
import { measureRounds } from '../measure-rounds.ts';
import { readConnections, readUsage } from '../read-usage.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { USHER } from '../servers.ts';
import { startServer } from '../start-server.ts';
import { medianOf } from '../statistics.ts';
import { insertEndpoints, insertMessages, MESSAGE } from './endpoints.ts';
import type { Scene } from './scene.ts';

const ENDPOINTS = 16;
/** The least share of the deliveries per CPU second of a loop of fetch. */
const LEAST_SHARE = 0.5;
const SETTLE_MS = 300;

interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly postgresCpuSeconds: number;
}

/** Prints a table. Returns whether Usher meets its goals. */
export async function measureThroughput(
  scene: Scene,
  { rounds, messages }: { rounds: number; messages: number },
): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  const { progress, sql, receiver } = scene;
  const senders = await openAll(stack, scene);
  const measured = await measureRounds(senders, { rounds, progress }, async (sender) => {
    const { arrived } = await receiver.expect(messages);
    return measureSending(sql, sender, messages, arrived);
  });

  const rates = senders.map(({ name }, index) => {
    const results = measured[index] ?? [];
    const rate = (seconds: (result: Measured) => number) => messages / medianOf(results.map(seconds));
    return {
      name,
      perSecond: rate(({ seconds }) => seconds),
      perCpuSecond: rate(({ cpuSeconds }) => cpuSeconds),
      postgresMicros: 1e6 / rate(({ postgresCpuSeconds }) => postgresCpuSeconds),
    };
  });
  const loop = rates.find(({ name }) => name === LOOP);
  const rows = rates.map(({ name, perSecond, perCpuSecond, postgresMicros }) => {
    const share = `${(perCpuSecond / (loop?.perCpuSecond ?? Number.NaN)).toFixed(2)}x`;
    return [name, perSecond.toFixed(0), perCpuSecond.toFixed(0), share, postgresMicros.toFixed(0)];
  });
  process.stdout.write(layOutTable(['', 'deliveries/s', 'per CPU second of the sender', '', 'Postgres us each'], rows));
  const [usher, ...others] = rates;
  return others.every(
    ({ name, perCpuSecond }) => (usher?.perCpuSecond ?? 0) >= perCpuSecond * (name === LOOP ? LEAST_SHARE : 1),
  );
}

async function measureSending(
  sql: postgres.Sql,
  { pid, send }: Sender,
  count: number,
  arrived: Promise<unknown>,
): Promise<Measured> {
  const backends = await readConnections(sql);
  const cpuBefore = readUsage(pid).cpuMicros;
  const startedAt = performance.now();
  await send(count);
  await arrived;
  const seconds = (performance.now() - startedAt) / 1_000;
  // What has been delivered is settled a moment later.
  await sleep(SETTLE_MS);
  const postgresMicros = [...(await readConnections(sql))].map(([pid, micros]) => micros - (backends.get(pid) ?? 0));
  return {
    seconds,
    cpuSeconds: (readUsage(pid).cpuMicros - cpuBefore) / 1e6,
    postgresCpuSeconds: postgresMicros.reduce((sum, micros) => sum + micros) / 1e6,
  };
}

async function openAll(stack: AsyncDisposableStack, scene: Scene): Promise<Sender[]> {
  const { sql, fixtures, receiver, environment, directory, databaseUrl } = scene;
  const urls = Array.from({ length: ENDPOINTS }, (_, number) => `${receiver.url}/${number}`);
  const endpoints = await insertEndpoints(sql, fixtures, urls);
  const usher = await startServer(stack, USHER, {
    environment: { ...environment, WEBHOOK_CONCURRENCY: String(CONCURRENCY) },
    directory,
  });
  const toJobs = (count: number): Job[] =>
    Array.from({ length: count }, (_, number) => ({ url: urls[number % ENDPOINTS] ?? '', body: MESSAGE }));
  return [
    { name: 'Usher', pid: usher.pid, send: (count) => insertMessages(sql, endpoints, count) },
    ...(await openSenders(stack, databaseUrl, toJobs)),
  ];
}
