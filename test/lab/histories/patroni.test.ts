/** A history while Patroni's process alone dies on the leader. Needs Debian's `patroni`, `etcd-server` and Postgres. */
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { describe, expect, test } from 'vitest';
import { DEFAULT_SCHEMA } from '../../../src/config/database-url.ts';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { onServer } from '../../../src/testing/on-server.ts';
import { PatroniCluster, SKIPS_PATRONI } from '../../support/patroni.ts';
import { expectCorrectHistory } from './cluster/history.ts';
import { alike, Replicas } from './cluster/replicas.ts';

/** Its lock holds for the `ttl` of 30 seconds. */
const PROMOTION_TIMEOUT_MS = 90_000;
/** How long the old primary then lives beside the new one. */
const BOTH_MS = 20_000;

describe.skipIf(SKIPS_PATRONI)('the history is correct', () => {
  test('while the Postgres of the leader has lost its Patroni', async (context) => {
    await using cluster = await PatroniCluster.start();
    const onPrimary = async <Result>(use: (sql: postgres.Sql) => Promise<Result>): Promise<Result> =>
      onServer(await cluster.leaderUrlOf('usher'), use, { connection: { search_path: DEFAULT_SCHEMA } });
    await onServer(await cluster.leaderUrlOf('postgres'), (sql) => sql`create database usher`);
    await migrateDatabase(cluster.urlOf('usher'));
    await using replicas = await Replicas.start(alike(cluster.urlOf('usher')));
    await expectCorrectHistory(
      context,
      "kill -9 of the leader's Patroni alone",
      { replicas, onPrimary },
      async (round) => {
        if (round > 0) return void (await sleep(BOTH_MS / 10));
        const before = await cluster.leaderUrlOf('usher');
        await cluster.killLeadersPatroni();
        const hasMoved = () =>
          cluster.leaderUrlOf('usher').then(
            (url) => url !== before,
            () => false,
          );
        await expect.poll(hasMoved, { timeout: PROMOTION_TIMEOUT_MS }).toBe(true);
        await sleep(BOTH_MS);
      },
    );
  });
});
