/** A process that Usher's delivery is compared with: one fetch for each job, from a job queue or from a loop. */
import { once } from 'node:events';
import { run } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import { CONCURRENCY, type Job, LOOP, QUEUE } from './jobs.ts';

const { DATABASE_URL = '' } = process.env;

async function post({ url, body }: Job): Promise<void> {
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await reply.arrayBuffer();
  if (!reply.ok) throw new Error(`Status ${reply.status}`);
}

/** The settings are those that their manuals recommend for many short jobs. */
const senders: Record<string, () => Promise<unknown>> = {
  'graphile-worker': () =>
    run({
      connectionString: DATABASE_URL,
      concurrency: CONCURRENCY,
      maxPoolSize: CONCURRENCY + 2,
      pollInterval: 500,
      taskList: { [QUEUE]: (job) => post(job as Job) },
      preset: { worker: { localQueue: { size: 2 * CONCURRENCY }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    }),
  'pg-boss': async () => {
    const boss = new PgBoss(DATABASE_URL);
    await boss.start();
    await boss.createQueue(QUEUE);
    const options = { batchSize: CONCURRENCY, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
    await boss.work<Job>(QUEUE, options, async (jobs) => void (await Promise.all(jobs.map(({ data }) => post(data)))));
  },
  [LOOP]: async () => {
    process.on('message', async ({ job, count }: { job: Job; count: number }) => {
      let left = count;
      const loop = async () => {
        while (left-- > 0) await post(job);
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, loop));
    });
  },
};

await senders[process.argv[2] ?? '']?.();
process.send?.({ isReady: true });
await once(process, 'disconnect');
process.exit();
