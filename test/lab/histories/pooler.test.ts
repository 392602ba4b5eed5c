/** A history behind pgbouncer in transaction mode, which needs PGBOUNCER or /usr/local/bin/pgbouncer, 1.21 or later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { Pgbouncer, SKIPS_PGBOUNCER } from '../../support/pgbouncer.ts';
import { expectCorrectHistory } from './cluster/history.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, Replicas } from './cluster/replicas.ts';

const PAUSE_MS = 1_500;
const SETTINGS = { pool_mode: 'transaction', max_prepared_statements: 200, default_pool_size: 60 };

describe.skipIf(SKIPS_PGBOUNCER)('the history is correct', () => {
  test('behind pgbouncer that reconnects, pauses, kills, resumes and is killed', async (context) => {
    await using servers = await PrimaryWithStandby.start();
    await using pooler = await Pgbouncer.start(servers.primary, SETTINGS);
    await using replicas = await Replicas.start(alike(pooler.urlOf('usher')));
    const faults = [
      () => pooler.admin('reconnect'),
      () => pooler.admin('pause').then(() => sleep(PAUSE_MS)),
      () => pooler.admin('kill usher').then(() => sleep(PAUSE_MS)),
      () => pooler.kill().then(() => pooler.up()),
    ];
    const ground = { replicas, onPrimary: servers.onPrimary };
    await expectCorrectHistory(context, 'RECONNECT, PAUSE, KILL, kill -9 of pgbouncer', ground, async (round) => {
      await faults[round % faults.length]?.();
      // Only what is paused or killed can resume.
      await pooler.admin('resume').catch(() => {});
      // A database that was killed is paused by itself.
      await pooler.admin('resume usher').catch(() => {});
      await sleep(PAUSE_MS);
    });
  });
});
