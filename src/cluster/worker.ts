/** The entry point of a worker process. `node:cluster` ends it when the primary has ended. */
import cluster from 'node:cluster';
import type { UsherServer } from '../server.ts';
import { importFast } from './import-fast.ts';
import type { MetricsReply, MetricsRequest, RevocationMessage, WorkerInit, WorkerStatus } from './messages.ts';
import { RevocationChannel } from './revocation-channel.ts';

// The terminal sends Ctrl-C to every process. The primary shuts down all workers.
process.on('SIGINT', () => {});
// Without a listener the signal opens Node's inspector, through which any local process could run code.
process.on('SIGUSR1', () => {});

// Listens before the imports, because the first message may arrive while modules load.
const initialised = Promise.withResolvers<WorkerInit>();
const serving = Promise.withResolvers<UsherServer>();
const revocations = new RevocationChannel(send);
process.on('message', (message: WorkerInit | RevocationMessage | MetricsRequest) => {
  if ('revocation' in message) revocations.receive(message);
  else if ('withShared' in message)
    serving.promise.then(async ({ collect }) => collect && send({ metrics: await collect(message) }));
  else initialised.resolve(message);
});
const [{ createLogger }, { startServer }, { createShutdown }, { describeFailure }] = await importFast(() =>
  Promise.all([
    import('../log.ts'),
    import('../server.ts'),
    import('./shutdown.ts'),
    import('../database/start-failure.ts'),
  ]),
);
const { config, bootstrap, demo } = await initialised.promise;
try {
  const logger = createLogger(config.logLevel).child({ worker: cluster.worker?.id });
  const server = await startServer(config, { bootstrap, demo, logger, revocations });
  // The demo prints login codes to stdout. If its reader is gone, a write must not end the process.
  if (server.demo) process.stdout.on('error', () => {});
  const close = createShutdown(server, logger, config);
  process.on('SIGTERM', () => close(0));
  serving.resolve(server);
  send({ url: server.url, demo: server.demo, consoleLink: server.consoleLink });
} catch (error) {
  // The primary stops this worker after it has read the message.
  send({ failure: describeFailure(error) });
}

function send(message: WorkerStatus | RevocationMessage | MetricsReply): void {
  // Errors are ignored: if the primary has ended, `node:cluster` ends this worker.
  process.send?.(message, undefined, undefined, () => {});
}
