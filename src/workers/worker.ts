/**
 * A process that serves beside others. The primary tells it what to serve; when the primary is gone,
 * `node:cluster` ends it.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { loadSwiftly } from '../load-swiftly.ts';
import { type Order, type Report, unpackConfig } from './messages.ts';

// A Ctrl-C arrives in every process of the terminal; the primary answers it for all.
process.on('SIGINT', () => {});

const ordered = once(process, 'message');
const [{ createLogger }, { startService }, { createShutdown }] = await loadSwiftly(() =>
  Promise.all([import('../log.ts'), import('../service.ts'), import('../shutdown.ts')]),
);
const [{ config, foundation, demo }]: [Order] = (await ordered) as [Order];
try {
  const logger = createLogger(config.logLevel).child({ worker: cluster.worker?.id });
  const service = await startService(unpackConfig(config), { foundation, demo, logger });
  // It prints codes; whoever reads them may have gone.
  if (service.demo) process.stdout.on('error', () => {});
  process.on('SIGTERM', createShutdown(service, logger, config.shutdownTimeoutMs));
  report({ url: service.url, demo: service.demo });
} catch (error) {
  // Who hears it ends us: were we gone before, nobody might hear it.
  report({ failure: error instanceof Error ? error.message : String(error) });
}

function report(message: Report): void {
  process.send?.(message);
}
