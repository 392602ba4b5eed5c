/**
 * Check-ins at three replicas that are killed, also while the primary moves, and a reader of their messages that leaves
 * and returns at random. Needs the Postgres of Debian, or PG_BIN.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, type TestContext, test } from 'vitest';
import { createUsherClient } from '../../../src/client/usher-client.ts';
import { SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser } from '../../support/service.ts';
import { report } from '../../support/soak.ts';
import { findFeedViolations, type Place } from './checker/invariants/feed.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, REPLICAS, Replicas } from './cluster/replicas.ts';

const CHECK_INS = Number(process.env.HISTORIES_CHECK_INS ?? 100_000);
const CALLERS = 32;
/** Users whose messages are erased meanwhile. */
const ERASED = 20;
const PAUSE_MS = 2_000;
/** How many replicas are killed before the primary moves, and how often it does. */
const KILLS_A_MOVE = 3;
const MOVES = 3;
/** How long the reader stays with a replica at most. */
const STAY_MS = 1_500;
const EVENT = 'fest';

interface Faults {
  /** Whether another attendee may check in. */
  mayGoOn(): boolean;
  /** Called after each kill. */
  afterKill(kills: number): Promise<void>;
}

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('a feed of messages is read in the order of its table, without a gap', () => {
  test('while replicas are killed', { timeout: 7_200_000 }, async (context) => {
    let left = CHECK_INS;
    await expectCompleteFeed(context, () => ({ mayGoOn: () => left-- > 0, afterKill: async () => {} }));
  });

  test(`while replicas are killed and the primary moves ${MOVES} times`, { timeout: 900_000 }, async (context) => {
    let moves = 0;
    await expectCompleteFeed(context, (servers) => ({
      mayGoOn: () => moves < MOVES,
      async afterKill(kills) {
        if (moves === MOVES || kills % KILLS_A_MOVE !== 0) return;
        await servers.primary.down('immediate');
        await servers.promote();
        await servers.rejoin();
        await servers.waitUntilSynchronous();
        moves++;
      },
    }));
    expect(moves).toBe(MOVES);
  });
});

async function expectCompleteFeed(
  context: TestContext,
  prepare: (servers: PrimaryWithStandby) => Faults,
): Promise<void> {
  await using servers = await PrimaryWithStandby.start();
  await using replicas = await Replicas.start(alike(servers.url));
  const tenant = await createTenant(replicas, { messageFeed: true });
  await clientsOf(replicas, tenant).events.createEvent({ eventId: EVENT });
  const { mayGoOn, afterKill } = prepare(servers);
  await using finishing = new AsyncDisposableStack();
  const finished = new AbortController();
  // Also if the test fails: what goes on would keep the process busy.
  finishing.defer(() => finished.abort());

  /** Any replica, which may be down. */
  const anyReplica = () => ({ url: `http://127.0.0.1:${replicas.ports[randomInt(REPLICAS)]}` });

  /** Makes the call at one replica after the other until one answers. */
  async function insist<T>(make: (replica: { url: string }) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await make(anyReplica());
      } catch (error) {
        if (finished.signal.aborted) throw error;
        await sleep(randomInt(200));
      }
    }
  }

  const startedAt = performance.now();
  let next = 0;
  const checkIn = async () => {
    while (mayGoOn()) {
      const attendeeId = `attendee-${next++}`;
      await insist((replica) =>
        clientsOf(replica, tenant).events.checkIn({ eventId: EVENT, attendeeId }, { timeoutMs: 5_000 }),
      );
    }
  };
  const erase = async () => {
    for (let at = 0; at < ERASED; at++) {
      const user = await insist((replica) => createTestUser(replica));
      await insist((replica) => beginSession(replica, tenant, user));
      await insist((replica) => adminClient(replica).updateUser({ userId: user.id, name: `User ${at}` }));
      await insist((replica) => adminClient(replica).eraseUser({ userId: user.id }));
      await sleep(randomInt(1_000));
    }
  };

  // The reader stores its cursor with what it has read.
  const stored = { cursor: 'oldest', read: [] as string[], streams: 0, responses: 0 };
  const readOnce = async () => {
    const leaving = AbortSignal.any([finished.signal, AbortSignal.timeout(randomInt(STAY_MS))]);
    const { messages } = createUsherClient({ baseUrl: anyReplica().url, apiKey: tenant.apiKey });
    stored.streams++;
    for await (const found of messages.watch({ cursor: stored.cursor, signal: leaving })) {
      stored.read.push(...found.messages.map(({ messageId }) => messageId));
      stored.cursor = found.cursor;
      stored.responses++;
    }
  };
  const reading = (async () => {
    while (!finished.signal.aborted) await readOnce();
  })();

  let kills = 0;
  let isWorking = true;
  const kill = async () => {
    for (; isWorking && !finished.signal.aborted; kills++) {
      await replicas.end(kills % REPLICAS, 'SIGKILL');
      await sleep(PAUSE_MS / 2);
      // On a busy machine the first may take too long.
      await replicas.start(kills % REPLICAS).catch(() => replicas.start(kills % REPLICAS));
      await sleep(PAUSE_MS);
      await afterKill(kills + 1);
    }
  };
  const work = async () => {
    await Promise.all([erase(), ...Array.from({ length: CALLERS }, checkIn)]);
    isWorking = false;
    return performance.now() - startedAt;
  };
  const [tookMs] = await Promise.all([work(), kill()]);
  const readPlaces = () =>
    servers.onPrimary(
      (sql) => sql<Place[]>`
          select f.position::int, 'msg_' || f.message_id as "messageId",
            case when m.id is not null then coalesce(m.payload::json->'data'->>'attendeeId', m.type) end as subject
          from usher.feed_positions f
          left join usher.webhook_messages m on m.application_id = f.application_id and m.id = f.message_id
          where f.application_id = ${tenant.id} order by f.position`,
    );
  const unplaced = () =>
    servers.onPrimary((sql) => sql`select id from usher.webhook_messages where fanned_out_to is not null`);
  await expect.poll(unplaced, { interval: 1_000 }).toEqual([]);
  const places = [...(await readPlaces())];
  const last = places.findLast(({ subject }) => subject !== null);
  await expect.poll(() => stored.read.at(-1), { interval: 500 }).toBe(last?.messageId);
  finished.abort();
  await reading;

  const changes = Array.from({ length: next }, (_, at) => `attendee-${at}`);
  const violations = findFeedViolations({ places, changes, read: stored.read });
  const erased = places.filter(({ subject }) => subject === null).length;
  report(context, {
    tried: `${next} check-ins, ${kills} times kill -9 of a replica, ${stored.streams} streams of a reader`,
    lost: `${violations.length} violations, ${erased} places of erased users`,
    figures: `${Math.round((next / tookMs) * 1_000)} check-ins a second, ${stored.responses} responses`,
  });
  expect(violations.slice(0, 5)).toEqual([]);
  expect(kills).toBeGreaterThan(0);
}
