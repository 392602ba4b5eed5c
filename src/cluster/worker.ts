/** A process that serves beside others. `node:cluster` ends it when the primary is gone. */
import cluster from 'node:cluster';
import type { UsherServer } from '../server.ts';
import { importFast } from './import-fast.ts';
import {
  type MetricsReply,
  type MetricsRequest,
  type RevocationMessage,
  unpackConfig,
  type WorkerInit,
  type WorkerStatus,
} from './messages.ts';
import { RevocationChannel } from './revocation-channel.ts';

// Ctrl-C reaches every process of the terminal; the primary handles it for all of them.
process.on('SIGINT', () => {});
// Without a listener the signal opens Node's inspector, which runs whatever it is sent.
process.on('SIGUSR1', () => {});

// Listens before the imports: the message may arrive while they load.
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
  const server = await startServer(unpackConfig(config), { bootstrap, demo, logger, revocations });
  // It prints codes; nobody may read them.
  if (server.demo) process.stdout.on('error', () => {});
  const close = createShutdown(server, logger, config);
  process.on('SIGTERM', () => close(0));
  serving.resolve(server);
  send({ url: server.url, demo: server.demo });
} catch (error) {
  // The primary stops this worker after it has read the message.
  send({ failure: describeFailure(error) });
}

function send(message: WorkerStatus | RevocationMessage | MetricsReply): void {
  // A primary that is gone ends this worker.
  process.send?.(message, undefined, undefined, () => {});
}
