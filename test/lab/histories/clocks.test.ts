/** Histories with replicas whose clocks are apart. Need the Postgres of Debian, or PG_BIN. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { CLOCK_PRELOAD } from './cluster/clock-preload.ts';
import { expectCorrectHistory } from './cluster/history.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { Replicas } from './cluster/replicas.ts';

/** The services that answer from their memory are this far apart. */
const READERS_APART_MS = 6 * 60_000;
const PAUSE_MS = 1_000;

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('the history is correct', () => {
  test.for([300, 2_000])('with clocks that are %i ms apart', async (apartMs, context) => {
    await using servers = await PrimaryWithStandby.start();
    // One is behind that of Postgres, one is ahead of it.
    const options = [-apartMs / 2, 0, apartMs / 2].map((offset) => ({
      databaseUrl: servers.url,
      env: { CLOCK_OFFSET_MS: String(offset), NODE_OPTIONS: `--import ${CLOCK_PRELOAD}` },
    }));
    await using replicas = await Replicas.start(options);
    const ground = { replicas, onPrimary: servers.onPrimary, readerClocksApartMs: READERS_APART_MS };
    await expectCorrectHistory(context, `clocks ${apartMs} ms apart`, ground, () => sleep(PAUSE_MS));
  });
});
