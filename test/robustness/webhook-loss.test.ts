/** Every change that commits is told, and no other, whatever is killed and whenever. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openClient } from '../../src/database/connection/open-client.ts';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { watchLeases } from '../support/lease-log.ts';
import { startLoad } from '../support/load.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { AllowedRepeats, createSubscribers, judgeWhenTold, makeChanges } from '../support/told-changes.ts';

const REPLICAS = 2;
const CHANGES = quickOrLong(300, 10_000);
const APPLICATIONS = 8;
const CALLERS = 12;
/** The short form has changes on their way at each kill, and leaves the rest of the time to its neighbours. */
const PAUSE_MS = quickOrLong(100, 5);
const MAX_PAUSE_MS = quickOrLong(500, 3_000);
const SOAK_MS = quickOrLong(0, Number(process.env.SOAK_MINUTES ?? 10) * 60_000);
/** An attempt without an answer ends after this. */
const TIMEOUT_MS = 5_000;
/** Endpoints that fail for a minute must not exhaust it. */
const SCHEDULE = Array.from({ length: 100 }, (_, attempt) => Math.min(attempt, 3)).join();

test('kills at random moments and endpoints that fail lose no message, and nothing is told that did not commit', {
  timeout: SOAK_MS + 300_000,
}, async (context) => {
  await using scene = await openScene();
  const replicaKills = quickOrLong([scene.killReplica], [scene.killReplica, scene.killReplica]);
  const endAt = performance.now() + SOAK_MS;
  let rounds = 0;
  do {
    for (const fail of shuffle([...replicaKills, scene.killPostgres, scene.failEndpoints])) {
      await sleep(Math.random() * MAX_PAUSE_MS);
      await fail();
    }
    rounds++;
  } while (performance.now() < endAt);
  await expect.poll(() => scene.acknowledged.size, { timeout: 200_000 }).toBeGreaterThanOrEqual(CHANGES);
  const verdict = await scene.end();
  report(context, {
    tried: `kill -9 of replicas ${replicaKills.length * rounds} times and of Postgres ${rounds} times, failing endpoints ${rounds} times, ${verdict.tried}`,
    lost: verdict.summary,
    figures: verdict.figures,
  });
  expect(verdict).toMatchObject({ lost: [], untrue: [], twice: [], repeated: [], givenUp: 0 });
});

/** Replicas on a Postgres of their own, applications that change things all the time, and what receives the messages. */
async function openScene() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await OwnPostgres.start());
  const receiver = stack.use(await WebhookReceiver.open());
  const sql = openClient(server.url, { max: 1, onnotice: () => {} });
  stack.defer(() => sql.end({ timeout: 1 }));
  const start = () =>
    startUsher(server.url, {
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS),
      WEBHOOK_RETRY_SCHEDULE: SCHEDULE,
    });
  const replicas: UsherProcess[] = [await start()];
  stack.defer(async () => void (await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()))));
  await watchLeases(sql);
  while (replicas.length < REPLICAS) replicas.push(await start());
  const tenants = await createSubscribers(replicas[0] as UsherProcess, receiver, APPLICATIONS);
  const acknowledged = new Set<string>();
  const pickUrl = () => replicas[Math.floor(Math.random() * replicas.length)]?.url ?? '';
  const load = startLoad(
    { change: makeChanges(tenants, pickUrl, acknowledged) },
    { callers: CALLERS, pauseMs: PAUSE_MS },
  );
  const allowed = new AllowedRepeats();

  const disposables = stack.move();
  return {
    acknowledged,
    async killReplica() {
      const index = Math.floor(Math.random() * replicas.length);
      await allowed.beginFault(sql);
      await replicas[index]?.end('SIGKILL');
      await allowed.endFault(sql);
      await replicas[index]?.[Symbol.asyncDispose]();
      replicas[index] = await start();
    },
    async killPostgres() {
      await allowed.beginFault(sql);
      await server.kill();
      await sleep(Math.random() * 1_000);
      await server.bringBack();
      await allowed.endFault(sql);
    },
    /** For some seconds, half of the endpoints answer with errors, or not at all. */
    async failEndpoints() {
      const usual = receiver.respond;
      const failing = new Set(shuffle(tenants.map((_, number) => `/${number}`)).slice(0, APPLICATIONS / 2));
      receiver.respond = (message, response) => {
        if (!failing.has(message.path)) return usual(message, response);
        // The rest get no answer.
        const chance = Math.random();
        if (chance < 0.5) response.writeHead(500).end();
        else if (chance < 0.8) allowed.hangUp(message, response);
      };
      await sleep(Math.random() * 3_000);
      receiver.respond = usual;
    },
    /** Stops the changes, waits until nothing is pending, and compares. */
    async end() {
      const { length: calls } = await load.stop();
      return { tried: `${calls * 5} calls`, ...(await judgeWhenTold(sql, receiver, { acknowledged, allowed })) };
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
