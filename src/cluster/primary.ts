/** The primary process: starts the database and the workers, and replaces workers that exit. */
import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type BootstrapOptions, bootstrap } from '../bootstrap.ts';
import type { Config } from '../config/config.ts';
import type { UsherServer } from '../server.ts';
import type { WorkerInit } from './messages.ts';
import type { WorkerMetrics } from './worker-metrics.ts';
import { WorkerProcess } from './worker-process.ts';

/** Limits how often a worker that crashes at its start is replaced. */
const RESTART_DELAY_MS = 1_000;

export interface WorkersOptions extends BootstrapOptions {
  /** Called before the first worker serves calls. From then on, `close` ends the start and finishes these calls. */
  readonly onServing: (server: Pick<UsherServer, 'close'>) => void;
}

/** Serves from `config.workers` processes on one port. @throws Error of one line */
export async function startWorkers(config: Config, options: WorkersOptions): Promise<UsherServer> {
  const { logger, onServing } = options;
  cluster.setupPrimary({ exec: fileURLToPath(new URL('worker.ts', import.meta.url)), serialization: 'advanced' });
  await using stack = new AsyncDisposableStack();
  const running = new Set<WorkerProcess>();
  const startWorker = (): WorkerProcess => {
    const worker = new WorkerProcess();
    running.add(worker);
    worker.onForget(async (userId) => {
      const others = [...running].filter((other) => other !== worker);
      await Promise.all(others.map((other) => other.forgetUser(userId)));
    });
    return worker;
  };
  const first = startWorker();
  const workers = [first, ...Array.from({ length: config.workers - 1 }, startWorker)];
  const base = stack.use(await bootstrap(config, options));
  const metrics = await openMetrics(config);
  const closing = new AbortController();
  stack.defer(async () => {
    closing.abort();
    for (const worker of workers) worker.stop();
    await Promise.all(workers.map(({ exited }) => exited));
  });
  onServing({ close: () => stack.disposeAsync() });

  let init: WorkerInit = { config, bootstrap: base, demo: undefined };
  // The first worker opens the demo for all of them.
  const serve = async (worker: WorkerProcess) => {
    const started = await worker.serve(init);
    metrics?.add(worker);
    return started;
  };
  const { url, demo, consoleLink } = await serve(first);
  init = { ...init, demo };
  await Promise.all(workers.slice(1).map(serve));

  const startReplacement = (): WorkerProcess | undefined => {
    try {
      // With port 0 the workers share a free port, which the system takes back when none of them runs.
      if (running.size === 0) init = { ...init, config: { ...config, port: config.port || Number(new URL(url).port) } };
      const worker = startWorker();
      serve(worker).catch((error) => logger.error({ err: error }, 'worker cannot serve'));
      return worker;
    } catch (error) {
      // Memory or file descriptors may have run out.
      logger.error({ err: error }, 'worker cannot be started');
      return undefined;
    }
  };
  const supervise = async (index: number, worker: WorkerProcess) => {
    let current: WorkerProcess | undefined = worker;
    for (;;) {
      if (current) {
        workers[index] = current;
        const exitReason = await current.exited;
        running.delete(current);
        if (!closing.signal.aborted) logger.error({ exitReason }, 'worker exited');
      }
      await sleep(RESTART_DELAY_MS, undefined, { signal: closing.signal }).catch(() => {});
      if (closing.signal.aborted) return;
      current = startReplacement();
    }
  };
  for (const [index, worker] of workers.entries()) supervise(index, worker);

  const disposables = stack.move();
  return { url, demo, consoleLink, collect: metrics?.collect, close: () => disposables.disposeAsync() };
}

/** Loads Prometheus's client library only if it is needed. */
async function openMetrics({ metricsPort }: Config): Promise<WorkerMetrics | undefined> {
  if (metricsPort === undefined) return undefined;
  const { WorkerMetrics } = await import('./worker-metrics.ts');
  return new WorkerMetrics();
}
