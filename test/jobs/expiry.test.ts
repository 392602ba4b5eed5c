import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/database/database.ts';
import { runExpiryJob, sweep } from '../../src/jobs/expiry.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { RecordingDatabase } from '../support/recording-database.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const MINUTE_MS = 60_000;

let testDatabase: TestDatabase;

beforeAll(async () => {
  testDatabase = await cloneDatabase();
});

afterAll(async () => {
  await testDatabase[Symbol.asyncDispose]();
});

describe('a sweep', () => {
  test.each([
    ['lives', 1, true],
    ['expires this very moment', 0, true],
    ['expired a minute ago', -MINUTE_MS, true],
    ['expired an hour ago', -60 * MINUTE_MS, true],
    ['expired more than an hour ago', -60 * MINUTE_MS - 1, false],
  ])('keeps or removes an intent that %s', async (_, livesForMs, isKept) => {
    await using house = await openHouse(testDatabase);
    await house.addIntents(1, new Date(NOW.getTime() + livesForMs));
    await sweep(house.database, NOW);
    expect(await house.count('login_intents')).toBe(isKept ? 1 : 0);
  });

  test('removes an old intent that was completed as well', async () => {
    await using house = await openHouse(testDatabase);
    await house.addIntents(1, new Date(NOW.getTime() - 61 * MINUTE_MS));
    await house.sql`update login_intents set completed_at = ${NOW}, user_id = ${house.userId}`;
    await sweep(house.database, NOW);
    expect(await house.count('login_intents')).toBe(0);
  });

  test.each([
    ['lives', 1, true],
    ['expires this very moment', 0, true],
    ['has just expired', -1, false],
    ['expired an hour ago', -60 * MINUTE_MS, false],
  ])('keeps or removes a session that %s', async (_, livesForMs, isKept) => {
    await using house = await openHouse(testDatabase);
    await house.addSessions(1, new Date(NOW.getTime() + livesForMs));
    await sweep(house.database, NOW);
    expect(await house.count('sessions')).toBe(isKept ? 1 : 0);
  });

  test('removes thousands and keeps every one that lives', async () => {
    await using house = await openHouse(testDatabase);
    const longAgo = new Date(NOW.getTime() - 120 * MINUTE_MS);
    await Promise.all([house.addIntents(1_750, longAgo), house.addSessions(1_750, longAgo)]);
    await Promise.all([house.addIntents(300, NOW), house.addSessions(300, NOW)]);
    await sweep(house.database, NOW);
    expect([await house.count('login_intents'), await house.count('sessions')]).toEqual([300, 300]);
  });

  test('goes in batches of 100, the oldest first, and stops between them when told to', async () => {
    await using house = await openHouse(testDatabase);
    const stop = new AbortController();
    await house.addSessions(140, new Date(NOW.getTime() - 1));
    await house.addSessions(80, new Date(NOW.getTime() - 2));
    const stopAfterFullBatch: Pick<Database, 'run'> = {
      async run(statement, parameters, deadline) {
        const rows = await house.database.run(statement, parameters, deadline);
        if (Array.isArray(rows) && rows[0]?.count === 100) stop.abort();
        return rows;
      },
    };
    await sweep(stopAfterFullBatch, NOW, stop.signal);
    const left = await house.sql`select expires_at, count(*)::int as count from sessions group by 1`;
    expect(left).toEqual([{ expires_at: new Date(NOW.getTime() - 1), count: 120 }]);
  });

  test('begins each batch where the last one ended, not at rows that are gone but not vacuumed', async () => {
    await using house = await openHouse(testDatabase);
    await using recording = new RecordingDatabase(house.url);
    const expiries = [3, 2, 1].map((age) => new Date(NOW.getTime() - age));
    for (const expiry of expiries) await house.addSessions(100, expiry);
    await sweep(recording, NOW);
    const batches = recording.sent.filter(({ sql }) => sql.includes('delete from "sessions"'));
    const beginnings = batches.map(({ parameters: [since] }) => new Date(String(since)));
    expect(beginnings).toEqual([new Date(0), ...expiries]);
  });

  test('leaves users and applications alone', async () => {
    await using house = await openHouse(testDatabase);
    await house.addSessions(10, new Date(0));
    const before = [await house.count('users'), await house.count('applications')];
    await sweep(house.database, NOW);
    expect([await house.count('users'), await house.count('applications')]).toEqual(before);
  });

  test('leaves out what another replica is removing, and does not wait for it', async () => {
    await using house = await openHouse(testDatabase);
    await house.addSessions(20, new Date(0));
    await house.sql.begin(async (replica) => {
      await replica`select from sessions order by user_id limit 5 for update`;
      await sweep(house.database, NOW);
      expect(await replica`select count(*)::int as count from sessions`).toEqual([{ count: 5 }]);
    });
  });

  test('by two replicas at once removes all that has expired and nothing else', async () => {
    await using house = await openHouse(testDatabase);
    await using other = openDatabase(house.url);
    const longAgo = new Date(NOW.getTime() - 120 * MINUTE_MS);
    await Promise.all([house.addIntents(3_000, longAgo), house.addSessions(3_000, longAgo)]);
    await Promise.all([house.addIntents(100, NOW), house.addSessions(100, NOW)]);
    await Promise.all([sweep(house.database, NOW), sweep(other.database, NOW)]);
    expect([await house.count('login_intents'), await house.count('sessions')]).toEqual([100, 100]);
  });
});

describe('keeping house', () => {
  test('sweeps at once, and ends soon after the signal', async () => {
    await using house = await openHouse(testDatabase);
    await house.addSessions(3, new Date(NOW.getTime() - 1));
    const housekeeping = new AbortController();
    const kept = runExpiryJob(house.database, {
      clock: () => NOW,
      signal: housekeeping.signal,
      onError: (error) => expect.unreachable(String(error)),
    });
    while ((await house.count('sessions')) > 0) await sleep(5);
    housekeeping.abort();
    await kept;
  });

  test('tells of a failure and goes on', async () => {
    await using house = await openHouse(testDatabase);
    await house.sql`alter table sessions rename to elsewhere`;
    onTestFinished(async () => {
      await house.sql`alter table elsewhere rename to sessions`;
    });
    const housekeeping = new AbortController();
    const { promise: told, resolve: tell } = Promise.withResolvers<unknown>();
    const kept = runExpiryJob(house.database, { clock: () => NOW, signal: housekeeping.signal, onError: tell });
    expect(await told).toMatchObject({ code: '42P01' });
    housekeeping.abort();
    await kept;
  });
});

function openDatabase(url: string) {
  const database = new Database(url, { connections: 2, statementTimeoutMs: 5_000 });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}

/** An empty database but for an application and a user. */
async function openHouse({ url, sql }: TestDatabase) {
  await sql`truncate applications, users cascade`;
  const { database } = openDatabase(url);
  const applicationId = randomUUID();
  const userId = randomUUID();
  await sql`insert into applications values (${applicationId}, 'Application', 'client', array['https://app.test'], now())`;
  await addUsers(sql, [userId]);
  return {
    url,
    sql,
    database,
    userId,
    async count(table: string): Promise<number> {
      const [row] = await sql`select count(*)::int as count from ${sql(table)}`;
      return row?.count;
    },
    async addIntents(count: number, expiresAt: Date) {
      await sql`
        insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at)
        select ${applicationId}, gen_random_uuid(), 'https://app.test', 'state', now(), ${expiresAt}
        from generate_series(1, ${count})`;
    },
    async addSessions(count: number, expiresAt: Date) {
      const userIds = Array.from({ length: count }, () => randomUUID());
      await addUsers(sql, userIds);
      await sql`
        insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, created_at, expires_at)
        select ${applicationId}, user_id, gen_random_uuid(), 'a@b', 'wallet', '::1', 'test', now(), ${expiresAt}
        from unnest(${userIds}::uuid[]) as user_id`;
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
}

async function addUsers(sql: TestDatabase['sql'], ids: readonly string[]): Promise<void> {
  await sql`
    insert into users (id, email, wallet_address, created_at)
    select id, id || '@example.com', 'wallet', now() from unnest(${ids as string[]}::uuid[]) as id`;
}
