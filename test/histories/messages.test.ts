/**
 * Check-ins at three replicas that are killed, and a reader of their messages that leaves and returns at random. Needs the
 * Postgres of Debian, or PG_BIN.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUsherClient } from '../../src/client/usher-client.ts';
import { SKIPS_DEBIAN_POSTGRES } from '../support/debian-postgres.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser, type Tenant } from '../support/service.ts';
import { report } from '../support/soak.ts';
import { findFeedViolations, type Place } from './checker/invariants/feed.ts';
import { PrimaryWithStandby } from './cluster/primary-with-standby.ts';
import { alike, REPLICAS, Replicas } from './cluster/replicas.ts';

const CHECK_INS = Number(process.env.HISTORIES_CHECK_INS ?? 100_000);
const CALLERS = 32;
/** Users whose messages are erased meanwhile. */
const ERASED = 20;
const PAUSE_MS = 2_000;
/** How long the reader stays with a replica at most. */
const STAY_MS = 1_500;
const EVENT = 'fest';

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('a feed of messages', { timeout: 7_200_000 }, () => {
  const stack = new AsyncDisposableStack();
  let servers: PrimaryWithStandby;
  let replicas: Replicas;
  let tenant: Tenant;

  beforeAll(async () => {
    servers = stack.use(await PrimaryWithStandby.start());
    replicas = stack.use(await Replicas.start(alike(servers.url)));
    tenant = await createTenant(replicas, { messageFeed: true });
    await clientsOf(replicas, tenant).events.createEvent({ eventId: EVENT });
  });
  afterAll(() => stack.disposeAsync());

  /** Any replica, which may be down. */
  const anyReplica = () => ({ url: `http://127.0.0.1:${replicas.ports[randomInt(REPLICAS)]}` });

  /** Makes the call at one replica after the other until one answers. */
  async function insist<T>(make: (replica: { url: string }) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await make(anyReplica());
      } catch {
        await sleep(randomInt(200));
      }
    }
  }

  test('is read in the order of its table, without a gap, while replicas are killed', async (context) => {
    const startedAt = performance.now();
    let next = 0;
    const checkIn = async () => {
      for (let at = next++; at < CHECK_INS; at = next++) {
        const attendeeId = `attendee-${at}`;
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
    const finished = new AbortController();
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
      for (; isWorking; kills++) {
        await replicas.end(kills % REPLICAS, 'SIGKILL');
        await sleep(PAUSE_MS / 2);
        // On a busy machine the first may take too long.
        await replicas.start(kills % REPLICAS).catch(() => replicas.start(kills % REPLICAS));
        await sleep(PAUSE_MS);
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

    const changes = Array.from({ length: CHECK_INS }, (_, at) => `attendee-${at}`);
    const violations = findFeedViolations({ places, changes, read: stored.read });
    const erased = places.filter(({ subject }) => subject === null).length;
    report(context, {
      tried: `${CHECK_INS} check-ins, ${kills} times kill -9 of a replica, ${stored.streams} streams of a reader`,
      lost: `${violations.length} violations, ${erased} places of erased users`,
      figures: `${Math.round((CHECK_INS / tookMs) * 1_000)} check-ins a second, ${stored.responses} responses`,
    });
    expect(violations.slice(0, 5)).toEqual([]);
    expect(kills).toBeGreaterThan(0);
  });
});
