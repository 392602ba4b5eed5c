/** A history on Citus. Needs CITUS_URL, the database of a coordinator with workers on this machine, which are restarted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, inject, test } from 'vitest';
import { restartWorker } from '../support/citus.ts';
import { cloneDatabase } from '../support/database.ts';
import { expectCorrectHistory } from './cluster/history.ts';
import { alike, Replicas } from './cluster/replicas.ts';

const CALM_MS = 4_000;

describe.runIf(process.env.CITUS_URL)('the history is correct', () => {
  test('while workers of Citus are restarted', async (context) => {
    await using database = await cloneDatabase();
    await using replicas = await Replicas.start(alike(database.url));
    const ground = {
      replicas,
      onPrimary: <Result>(use: (sql: typeof database.sql) => Promise<Result>) => use(database.sql),
    };
    await expectCorrectHistory(context, 'restarts of workers of Citus', ground, async (round) => {
      const workers = inject('workerUrls');
      await restartWorker(workers[round % workers.length] ?? '', round % 4 < 2 ? 'fast' : 'immediate');
      await sleep(CALM_MS);
    });
  });
});
