/** What Usher's delivery is compared with: job queues, and a loop. */
import { once } from 'node:events';
import { makeWorkerUtils } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import { startChild } from '../webhooks/scene.ts';
import { type Job, LOOP, QUEUE, type Sender } from './jobs.ts';

/** Starts a process for each. `toJobs` returns so many jobs. */
export async function openSenders(
  stack: AsyncDisposableStack,
  databaseUrl: string,
  toJobs: (count: number) => Job[],
): Promise<Sender[]> {
  const startSender = async (name: string) => {
    const child = startChild(stack, '../baselines/send-jobs.ts', [name], { DATABASE_URL: databaseUrl });
    await once(child, 'message');
    return { child, name, pid: child.pid ?? 0 };
  };
  const worker = await startSender('graphile-worker');
  const utils = await makeWorkerUtils({ connectionString: databaseUrl });
  stack.defer(() => utils.release());
  const queue = await startSender('pg-boss');
  const boss = new PgBoss(databaseUrl);
  await boss.start();
  stack.defer(() => boss.stop());
  const loop = await startSender(LOOP);
  return [
    {
      ...worker,
      send: async (count) =>
        void (await utils.addJobs(toJobs(count).map((payload) => ({ identifier: QUEUE, payload })))),
    },
    {
      ...queue,
      send: async (count) =>
        void (await boss.insert(
          QUEUE,
          toJobs(count).map((data) => ({ data })),
        )),
    },
    { ...loop, send: async (count) => void loop.child.send({ job: toJobs(1)[0] as Job, count }) },
  ];
}
