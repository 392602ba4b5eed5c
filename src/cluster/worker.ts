/** A process that serves beside others. `node:cluster` ends it when the primary is gone. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { importFast } from './import-fast.ts';
import {
  type MetricsReply,
  type MetricsRequest,
  unpackConfig,
  type WorkerInit,
  type WorkerStatus,
} from './messages.ts';

// Ctrl-C reaches every process of the terminal; the primary handles it for all of them.
process.on('SIGINT', () => {});

// Listens before the imports: the message may arrive while they load.
const initialised = once(process, 'message');
const [{ createLogger }, { startServer }, { createShutdown }, { describeFailure }] = await importFast(() =>
  Promise.all([
    import('../log.ts'),
    import('../server.ts'),
    import('./shutdown.ts'),
    import('../database/start-failure.ts'),
  ]),
);
const [{ config, bootstrap, demo }]: [WorkerInit] = (await initialised) as [WorkerInit];
try {
  const logger = createLogger(config.logLevel).child({ worker: cluster.worker?.id });
  const server = await startServer(unpackConfig(config), { bootstrap, demo, logger });
  // It prints codes; nobody may read them.
  if (server.demo) process.stdout.on('error', () => {});
  const close = createShutdown(server, logger, config);
  process.on('SIGTERM', () => close(0));
  const { collect } = server;
  if (collect) {
    process.on('message', async ({ withShared }: MetricsRequest) => {
      send({ metrics: await collect({ withShared }) });
    });
  }
  send({ url: server.url, demo: server.demo });
} catch (error) {
  // The primary stops this worker after it has read the message.
  send({ failure: describeFailure(error) });
}

function send(message: WorkerStatus | MetricsReply): void {
  // The primary may be gone.
  process.send?.(message, undefined, undefined, () => {});
}
