/** Histories while Postgres fails, or moves to its standby. Needs the Postgres of Debian, or PG_BIN. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { type Disturb, expectCorrectHistory } from './cluster/history.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, Replicas } from './cluster/replicas.ts';

/** How long the old primary stands still, and when during that time the standby is promoted. */
const PAUSE_MS = 4_000;
const PROMOTION_MS = 1_000;
/** How long it then lives beside the new one. */
const BOTH_MS = 15_000;
const CALM_MS = 4_000;

const FAULTS: readonly { fault: string; disturb: (servers: PrimaryWithStandby) => Disturb }[] = [
  {
    fault: 'kill -9 of Postgres',
    disturb: (servers) => async () => {
      await servers.primary.down('immediate');
      await servers.primary.up();
      await sleep(CALM_MS);
    },
  },
  {
    fault: 'moved primary, the old one killed',
    disturb: (servers) => async () => {
      await servers.primary.down('immediate');
      await servers.promote();
      await sleep(CALM_MS);
      await servers.rejoin();
      await sleep(CALM_MS);
    },
  },
  {
    fault: 'moved primary, the old one paused for 4 s',
    disturb: (servers) => async () => {
      const old = servers.primary;
      await old.signal('SIGSTOP');
      await sleep(PROMOTION_MS);
      await servers.promote();
      await sleep(PAUSE_MS - PROMOTION_MS);
      await old.signal('SIGCONT');
      await sleep(BOTH_MS);
      await old.down('immediate');
      await servers.rejoin();
      await sleep(CALM_MS);
    },
  },
];

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('the history is correct', () => {
  test.for(FAULTS)('during $fault', async ({ fault, disturb }, context) => {
    await using servers = await PrimaryWithStandby.start();
    await using replicas = await Replicas.start(alike(servers.url));
    const ground = { replicas, onPrimary: servers.onPrimary };
    await expectCorrectHistory(context, fault, ground, disturb(servers));
  });
});
