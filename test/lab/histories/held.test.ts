/** Histories of sign-ins that one replica holds and another completes, while operators end them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { adminClient, createTenant } from '../../support/service.ts';
import { report } from '../../support/soak.ts';
import { BY_APP, BY_RECOVERY, FIRST_STEP, heldModel } from './checker/held-model.ts';
import { findViolation } from './checker/linearize.ts';
import { answerOf, groupBySubject } from './checker/operation.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, REPLICAS, Replicas } from './cluster/replicas.ts';
import { Client } from './workload/client.ts';
import { startHeldSignIns } from './workload/held-workload.ts';
import { Recorder } from './workload/recorder.ts';

const SECONDS = Number(process.env.HISTORIES_SECONDS ?? 60);
const PAUSE_MS = 1_500;

type Disturb = (replicas: Replicas, round: number) => Promise<void>;

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('held sign-ins are linearizable', () => {
  const stack = new AsyncDisposableStack();
  let servers: PrimaryWithStandby;

  beforeAll(async () => {
    servers = stack.use(await PrimaryWithStandby.start());
  });
  afterAll(() => stack.disposeAsync());

  async function expectCorrectSignIns(context: TestContext, fault: string, disturb: Disturb): Promise<void> {
    await using replicas = await Replicas.start(alike(servers.url));
    const tenant = await createTenant(replicas);
    await adminClient(replicas).updateApplication({
      applicationId: tenant.id,
      openIdConnect: true,
      publicClient: true,
    });
    using client = new Client(replicas.ports);
    client.apiKey = tenant.apiKey;
    const recorder = new Recorder(client);
    const urls = replicas.ports.map((port) => `http://127.0.0.1:${port}`);
    const stop = startHeldSignIns({ recorder, replicas: client.replicas, urls, oidcApplication: tenant });
    const endsAt = performance.now() + SECONDS * 1_000;
    try {
      for (let round = 0; performance.now() < endsAt; round++) {
        // Wrong codes are limited, and guessed here often.
        await servers.onPrimary((sql) => sql`delete from rate_limits`);
        await disturb(replicas, round);
      }
    } finally {
      await stop();
    }
    const { operations } = recorder;
    const rows = groupBySubject(operations, 'held');
    const violations = [...rows.values()].flatMap((row) => findViolation(heldModel, row) ?? []);
    const count = (rpc: string, isActive: boolean) =>
      operations.filter((each) => each.rpc === rpc && answerOf(each) && (answerOf(each)?.active ?? false) === isActive)
        .length;
    const unknown = operations.filter(({ outcome }) => outcome === 'unknown').length;
    const [held, byApp, byRecovery] = [count(FIRST_STEP, false), count(BY_APP, true), count(BY_RECOVERY, true)];
    const refused = count(BY_APP, false) + count(BY_RECOVERY, false);
    report(context, {
      tried: `held sign-ins, ${fault}: ${operations.length} calls, ${rows.size} people`,
      lost: `${violations.length} violations`,
      figures: `${held} held, ${byApp} by app, ${byRecovery} by recovery code, ${refused} refused, ${unknown} without an answer`,
    });
    expect(violations.slice(0, 3).map(({ rule, details }) => `${rule}\n${details}`)).toEqual([]);
    expect(recorder.unexpected).toEqual([]);
    // Otherwise nothing was tried.
    for (const some of [held, byApp, byRecovery, refused]) expect(some).toBeGreaterThan(0);
  }

  test('without a fault', (context) => expectCorrectSignIns(context, 'no fault', () => sleep(PAUSE_MS)));

  test('while replicas are killed', (context) =>
    expectCorrectSignIns(context, 'kill -9 of a replica', async (replicas, round) => {
      await replicas.end(round % REPLICAS, 'SIGKILL');
      await sleep(PAUSE_MS / 2);
      await replicas.start(round % REPLICAS);
      await sleep(PAUSE_MS);
    }));
});
