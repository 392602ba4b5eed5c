/**
 * A process that serves beside others. The primary tells it what to serve; when the primary is gone,
 * `node:cluster` ends it.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { loadSwiftly } from './load-modules.ts';
import { unpackConfig, type WorkerInit, type WorkerStatus } from './messages.ts';

// A Ctrl-C arrives in every process of the terminal; the primary answers it for all.
process.on('SIGINT', () => {});

const ordered = once(process, 'message');
const [{ createLogger }, { startServer }, { createShutdown }] = await loadSwiftly(() =>
  Promise.all([import('../log.ts'), import('../server.ts'), import('./shutdown.ts')]),
);
const [{ config, foundation, demo }]: [WorkerInit] = (await ordered) as [WorkerInit];
try {
  const logger = createLogger(config.logLevel).child({ worker: cluster.worker?.id });
  const service = await startServer(unpackConfig(config), { foundation, demo, logger });
  // It prints codes; whoever reads them may have gone.
  if (service.demo) process.stdout.on('error', () => {});
  process.on('SIGTERM', createShutdown(service, logger, config.shutdownTimeoutMs));
  report({ url: service.url, demo: service.demo });
} catch (error) {
  // Who hears it ends us: were we gone before, nobody might hear it.
  report({ failure: error instanceof Error ? error.message : String(error) });
}

function report(message: WorkerStatus): void {
  process.send?.(message);
}
