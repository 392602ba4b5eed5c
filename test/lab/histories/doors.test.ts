/** Histories of two devices that scan the same attendees without a network, while operators undo and delete. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { clientsOf, createTenant } from '../../support/service.ts';
import { report } from '../../support/soak.ts';
import { doorModel } from './checker/door-model.ts';
import { findViolation } from './checker/linearize.ts';
import { answerOf, groupBySubject } from './checker/operation.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, REPLICAS, Replicas } from './cluster/replicas.ts';
import { Client } from './workload/client.ts';
import { DOOR_RULES, startDoors } from './workload/doors-workload.ts';
import { Recorder } from './workload/recorder.ts';

const SECONDS = Number(process.env.HISTORIES_SECONDS ?? 60);
const PAUSE_MS = 1_500;

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('what happens at doors is linearizable', () => {
  const stack = new AsyncDisposableStack();
  let servers: PrimaryWithStandby;

  beforeAll(async () => {
    servers = stack.use(await PrimaryWithStandby.start());
  });
  afterAll(() => stack.disposeAsync());

  async function expectCorrectDoors(context: TestContext, fault: string, disturb: Disturb): Promise<void> {
    await using replicas = await Replicas.start(alike(servers.url));
    const tenant = await createTenant(replicas);
    using client = new Client(replicas.ports);
    client.apiKey = tenant.apiKey;
    const recorder = new Recorder(client);
    const createEvent = async (eventId: string) => {
      // The model begins after it, whichever replica is away.
      const create = () => clientsOf(replicas, tenant).events.createEvent({ eventId, ...DOOR_RULES });
      await expect.poll(() => create().then(String, String)).toMatch(/object|already exists/);
    };
    const stop = startDoors({ recorder, replicas: client.replicas, createEvent });
    const endsAt = performance.now() + SECONDS * 1_000;
    try {
      for (let round = 0; performance.now() < endsAt; round++) await disturb(replicas, round);
    } finally {
      await stop();
    }
    const rows = groupBySubject(recorder.operations, 'door');
    const violations = [...rows.values()].flatMap((row) => findViolation(doorModel, row) ?? []);
    const { operations } = recorder;
    const told = operations.flatMap((each) => answerOf(each)?.results?.map(({ outcome }) => outcome) ?? []);
    const count = (outcome: string) => `${told.filter((each) => each === outcome).length} ${outcome}`;
    const unknown = operations.filter(({ outcome }) => outcome === 'unknown').length;
    report(context, {
      tried: `doors, ${fault}: ${operations.length} calls, ${rows.size} events`,
      lost: `${violations.length} violations`,
      figures: `${OUTCOMES.map(count).join(', ')}, ${unknown} calls without an answer`,
    });
    expect(violations.slice(0, 3).map(({ rule, details }) => `${rule}\n${details}`)).toEqual([]);
    expect(recorder.unexpected).toEqual([]);
    // Otherwise nothing was tried.
    for (const outcome of OUTCOMES) expect(told).toContain(outcome);
  }

  test('without a fault', (context) => expectCorrectDoors(context, 'no fault', () => sleep(PAUSE_MS)));

  test('while replicas are killed', (context) =>
    expectCorrectDoors(context, 'kill -9 of a replica', async (replicas, round) => {
      await replicas.end(round % REPLICAS, 'SIGKILL');
      await sleep(PAUSE_MS / 2);
      await replicas.start(round % REPLICAS);
      await sleep(PAUSE_MS);
    }));
});

type Disturb = (replicas: Replicas, round: number) => Promise<void>;

const OUTCOMES = ['CHECKED_IN', 'ALREADY_CHECKED_IN', 'REFUSED'];
