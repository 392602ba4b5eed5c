/** Histories while replicas of Usher fail, or services that ask them. Needs the Postgres of Debian, or PG_BIN. */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProxyMode, TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { expectCorrectHistory } from './cluster/history.ts';
import { KeyFiles } from './cluster/key-files.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, REPLICAS, Replicas } from './cluster/replicas.ts';

const PAUSE_MS = 2_000;
/** Longer than callers wait. */
const STOPPED_MS = 6_000;
/** The longest. */
const HELD_MS = 10_000;
const PARTITIONS: readonly ProxyMode[] = ['freeze', 'reset', 'refuse', 'trickle'];

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('the history is correct', () => {
  const stack = new AsyncDisposableStack();
  let servers: PrimaryWithStandby;

  beforeAll(async () => {
    servers = stack.use(await PrimaryWithStandby.start());
  });
  afterAll(() => stack.disposeAsync());

  const start = (options = alike(servers.url)) => Replicas.start(options);
  const groundOf = (replicas: Replicas) => ({ replicas, onPrimary: servers.onPrimary });

  test('without a fault', async (context) => {
    await using replicas = await start();
    const { checks, calls } = await expectCorrectHistory(context, 'no fault', groundOf(replicas), () =>
      sleep(PAUSE_MS),
    );
    expect(calls / checks).toBeLessThan(0.01);
  });

  test('while replicas are killed', async (context) => {
    await using replicas = await start();
    await expectCorrectHistory(context, 'kill -9 of a replica', groundOf(replicas), async (round) => {
      await replicas.end(round % REPLICAS, 'SIGKILL');
      await sleep(PAUSE_MS / 2);
      await replicas.start(round % REPLICAS);
      await sleep(PAUSE_MS);
    });
  });

  test('while replicas are restarted in order', async (context) => {
    await using replicas = await start();
    const exitCodes = new Set<number | null>();
    await expectCorrectHistory(context, 'SIGTERM of a replica', groundOf(replicas), async (round) => {
      exitCodes.add(await replicas.end(round % REPLICAS, 'SIGTERM'));
      await replicas.start(round % REPLICAS);
      await sleep(PAUSE_MS);
    });
    expect([...exitCodes]).toEqual([0]);
  });

  test('while the keys are rotated by their files alone', async (context) => {
    const files = await KeyFiles.create();
    // The secrets of the other histories have another key.
    await using own = await PrimaryWithStandby.start();
    await using replicas = await start(files.env.map((env) => ({ databaseUrl: own.url, env })));
    await expectCorrectHistory(context, 'rotation of keys', { replicas, onPrimary: own.onPrimary }, () =>
      files.rotate(),
    );
    expect(replicas.errors).not.toMatch(/keys not read again/);
  });

  test('while replicas are stopped and go on', async (context) => {
    await using replicas = await start();
    await expectCorrectHistory(context, 'SIGSTOP of a replica', groundOf(replicas), async (round) => {
      await replicas.pause(round % REPLICAS, round % 2 === 0 ? STOPPED_MS : PAUSE_MS);
      await sleep(PAUSE_MS);
    });
  });

  test('while services that answer from their memory are stopped and go on', async (context) => {
    await using replicas = await start();
    await expectCorrectHistory(context, 'SIGSTOP of services', groundOf(replicas), async (_, readers) => {
      await readers.pause(() => randomInt(STOPPED_MS));
      await sleep(PAUSE_MS);
    });
  });

  test('while a network holds answers to services back', async (context) => {
    await using replicas = await start();
    await expectCorrectHistory(context, 'answers held back', groundOf(replicas), async (round, readers) => {
      // Sometimes less than the bound, so that what is old arrives.
      readers.hold(() => randomInt(round % 2 === 0 ? HELD_MS : HELD_MS / 5));
      await sleep(PAUSE_MS);
    });
  });

  test('while replicas cannot reach Postgres', async (context) => {
    await using stack = new AsyncDisposableStack();
    const proxies: TcpProxy[] = [];
    for (let at = 0; at < REPLICAS; at++) proxies.push(stack.use(await servers.openProxy()));
    const options = proxies.map((proxy) => ({ databaseUrl: proxy.through(servers.primaryUrl) }));
    const replicas = stack.use(await start(options));
    await expectCorrectHistory(context, 'partition of a replica from Postgres', groundOf(replicas), async (round) => {
      const proxy = proxies[round % REPLICAS];
      await proxy?.setMode(PARTITIONS[round % PARTITIONS.length] ?? 'freeze');
      await sleep(round % 2 === 0 ? STOPPED_MS / 2 : PAUSE_MS);
      await proxy?.setMode('pass');
      await sleep(PAUSE_MS);
    });
  });
});
