/** The process that the workers serve under: it lays what they stand on, and replaces those that end. */
import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { bootstrap } from '../bootstrap.ts';
import type { Config } from '../config/config.ts';
import { openListener } from '../http/listener.ts';
import type { Service } from '../server.ts';
import { packConfig, type WorkerInit } from './messages.ts';
import { WorkerProcess } from './worker-process.ts';

/** So that workers which cannot live do not come and go in a rush. */
const REPLACE_PAUSE_MS = 1_000;

/** Serves from `config.workers` processes on one port. Rejects with an Error of one clear line. */
export async function startWorkers(config: Config, logger: Logger): Promise<Service> {
  cluster.setupPrimary({ exec: fileURLToPath(new URL('worker.ts', import.meta.url)), serialization: 'advanced' });
  await using starting = new AsyncDisposableStack();
  const first = new WorkerProcess();
  const workers = [first, ...Array.from({ length: config.workers - 1 }, () => new WorkerProcess())];
  const foundation = starting.use(await bootstrap(config));
  const closing = new AbortController();
  starting.defer(async () => {
    closing.abort();
    for (const worker of workers) worker.stop();
    await Promise.all(workers.map(({ ended }) => ended));
  });

  const port = config.port || (await findFreePort(config));
  const order = { config: packConfig({ ...config, port }), foundation };
  // It opens the demo, which all of them show.
  const { url, demo } = await first.serve({ ...order, demo: undefined });
  const orderOfOthers: WorkerInit = { ...order, demo };
  await Promise.all(workers.slice(1).map((worker) => worker.serve(orderOfOthers)));

  const supervise = async (place: number, worker: WorkerProcess) => {
    for (let current = worker; ; workers[place] = current) {
      const how = await current.ended;
      if (!closing.signal.aborted) logger.error({ how }, 'a worker has ended; another takes its place');
      await sleep(REPLACE_PAUSE_MS, undefined, { signal: closing.signal }).catch(() => {});
      if (closing.signal.aborted) return;
      try {
        current = new WorkerProcess();
      } catch (error) {
        // There is no memory or no file descriptor for it now.
        logger.error({ err: error }, 'a worker cannot be started');
        continue;
      }
      current.serve(orderOfOthers).catch((error) => logger.error({ err: error }, 'a worker cannot serve'));
    }
  };
  for (const [place, worker] of workers.entries()) supervise(place, worker);

  const started = starting.move();
  return { url, demo, close: () => started.disposeAsync() };
}

/**
 * Found before there are workers: the cluster gives all of them the same port for port 0, but to one
 * that comes when all others are gone another.
 */
async function findFreePort(config: Config): Promise<number> {
  const probe = await openListener(config);
  await probe.close(0);
  return probe.port;
}
