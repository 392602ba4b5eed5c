/** A history on Citus. Needs CITUS_URL, the database of a coordinator with workers on this machine, which are restarted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, inject, test } from 'vitest';
import { countPrepared, restartWorker } from '../../support/citus.ts';
import { cloneDatabase } from '../../support/database.ts';
import { lacks } from '../../support/tools.ts';
import { expectCorrectHistory } from './cluster/history.ts';
import { alike, Replicas } from './cluster/replicas.ts';

const CALM_MS = 4_000;

describe.skipIf(lacks('CITUS'))('the history is correct', () => {
  test('while workers of Citus are restarted', async (context) => {
    const workers = inject('workerUrls');
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await cloneDatabase());
    // What workers have prepared keeps a database from being dropped.
    stack.defer(() => expect.poll(() => countPrepared(database, workers)).toBe(0));
    const replicas = stack.use(await Replicas.start(alike(database.url)));
    const ground = {
      replicas,
      onPrimary: <Result>(use: (sql: typeof database.sql) => Promise<Result>) => use(database.sql),
    };
    await expectCorrectHistory(context, 'restarts of workers of Citus', ground, async (round) => {
      await restartWorker(workers[round % workers.length] ?? '', round % 4 < 2 ? 'fast' : 'immediate');
      await sleep(CALM_MS);
    });
  });
});
