/** Serves in one of several processes, as the primary tells it to. `node:cluster` ends it when the primary is gone. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { importFast } from './import-fast.ts';
import { unpackConfig, type WorkerInit, type WorkerStatus } from './messages.ts';

// Ctrl-C reaches every process of the terminal; the primary handles it for all.
process.on('SIGINT', () => {});

// Listens before the imports: the primary's message may arrive while they load.
const received = once(process, 'message');
const [{ createLogger }, { startServer }, { createShutdown }] = await importFast(() =>
  Promise.all([import('../log.ts'), import('../server.ts'), import('./shutdown.ts')]),
);
const [{ config, foundation, demo }]: [WorkerInit] = (await received) as [WorkerInit];
try {
  const logger = createLogger(config.logLevel).child({ worker: cluster.worker?.id });
  const service = await startServer(unpackConfig(config), { foundation, demo, logger });
  // It prints login codes; the reader of stdout may have closed it.
  if (service.demo) process.stdout.on('error', () => {});
  process.on('SIGTERM', createShutdown(service, logger, config.shutdownTimeoutMs));
  report({ url: service.url, demo: service.demo });
} catch (error) {
  // The primary stops this worker after it has read the message.
  report({ failure: error instanceof Error ? error.message : String(error) });
}

function report(message: WorkerStatus): void {
  process.send?.(message);
}
