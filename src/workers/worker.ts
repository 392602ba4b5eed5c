/**
 * A process that serves beside others. The primary tells it what to serve; when the primary is gone,
 * `node:cluster` ends it.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { createLogger } from '../log.ts';
import { startService } from '../service.ts';
import { createShutdown } from '../shutdown.ts';
import { type Order, type Report, unpackConfig } from './messages.ts';

// A Ctrl-C arrives in every process of the terminal; the primary answers it for all.
process.on('SIGINT', () => {});

const [{ config, foundation, demo }]: [Order] = (await once(process, 'message')) as [Order];
try {
  const logger = createLogger(config.logLevel).child({ worker: cluster.worker?.id });
  const service = await startService(unpackConfig(config), { foundation, demo, logger });
  process.on('SIGTERM', createShutdown(service, config.shutdownTimeoutMs));
  report({ url: service.url, demo: service.demo });
} catch (error) {
  // Who hears it ends us: were we gone before, nobody might hear it.
  report({ failure: error instanceof Error ? error.message : String(error) });
}

function report(message: Report): void {
  process.send?.(message);
}
