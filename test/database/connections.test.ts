import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Statement } from '../../src/database/database.ts';
import { cloneDatabase, countConnections, type TestDatabase } from '../support/database.ts';
import { holdLock, type Lock, waitForLockWaiters } from '../support/lock.ts';
import { type ProxyMode, TcpProxy } from '../support/tcp-proxy.ts';

/** How much later than its deadline a statement may end on a busy machine. */
const SLACK_MS = 1_000;

const things = pgTable('things', { id: integer('id').primaryKey(), name: text('name').notNull() });

let testDatabase: TestDatabase;

beforeAll(async () => {
  testDatabase = await cloneDatabase();
  await testDatabase.sql`create table things (id int primary key, name text not null)`;
});

beforeEach(async () => {
  await testDatabase.sql`insert into things values (1, 'one'), (2, 'two')`;
});

afterEach(async () => {
  // The server may still run a statement whose caller has gone.
  await killBackends(testDatabase);
  await testDatabase.sql`truncate things`;
});

afterAll(async () => {
  await testDatabase[Symbol.asyncDispose]();
});

describe('a statement', () => {
  test('is parsed once per connection, however often it runs', async () => {
    await using database = openDatabase({ connections: 1 });
    for (let id = 0; id < 20; id++) await database.run(selectName, { id }, soon());
    const prepared = await database.run(selectPrepared, {}, soon());
    const ofThings = prepared.filter(({ statement }) => statement.includes('things'));
    expect(ofThings).toEqual([{ statement: 'select "name" from "things" where "things"."id" = $1', executions: 20 }]);
  });

  test('keeps its connection when this process was busy for longer than the statement timeout', async () => {
    await using database = openDatabase({ connections: 1, statementTimeoutMs: 100 });
    const [before] = await database.run(selectPid, {}, soon());
    await sleep(100);
    const busyUntil = performance.now() + 1_000;
    while (performance.now() < busyUntil) hash('sha256', 'busy');
    expect(await database.run(selectPid, {}, soon())).toEqual([before]);
  });

  test('is prepared again on a new connection', async () => {
    await using database = openDatabase({ connections: 1 });
    await database.run(selectName, { id: 1 }, soon());
    await killBackends(testDatabase);
    await expect.poll(() => database.run(selectName, { id: 1 }, soon()).catch(() => [])).toEqual([{ name: 'one' }]);
  });

  test('that Postgres refuses rejects with its error, and the connection stays', async () => {
    await using database = openDatabase({ connections: 1 });
    const before = await database.run(selectPid, {}, soon());
    const refusals = [
      [database.run(insertThing, { id: 1, name: 'twice' }, soon()), '23505'],
      [database.run(insertThing, { id: 3, name: null }, soon()), '23502'],
      [database.run(selectNowhere, {}, soon()), '42P01'],
    ] as const;
    for (const [refusal, code] of refusals) {
      const error = await refusal.catch((error: unknown) => error);
      expect(error).toBeInstanceOf(postgres.PostgresError);
      expect(error).toMatchObject({ code });
    }
    expect(await database.run(selectPid, {}, soon())).toEqual(before);
  });

  test('that exceeds the statement timeout is unavailable, and the connection stays', async () => {
    await using database = openDatabase({ connections: 1, statementTimeoutMs: 150 });
    const before = await database.run(selectPid, {}, soon());
    await expectUnavailable(database.run(pause, { seconds: 2 }, soon()), '57014');
    expect(await database.run(selectPid, {}, soon())).toEqual(before);
  });
});

describe('a statement that waits for a lock', () => {
  test.each([100, 250])('is unavailable at its deadline of %d ms, and others go on', async (timeoutMs) => {
    await using database = openDatabase({ connections: 1, statementTimeoutMs: timeoutMs });
    await database.run(selectName, { id: 1 }, soon());
    await using _lock = await lockThing(testDatabase, 1);
    const startedAt = performance.now();
    await expectUnavailable(database.run(renameThing, { id: 1, name: 'uno' }, startedAt + timeoutMs));
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(timeoutMs - 2);
    expect(tookMs).toBeLessThan(timeoutMs + SLACK_MS);
    await expect.poll(() => database.run(selectName, { id: 2 }, soon()).catch(() => [])).toEqual([{ name: 'two' }]);
  });

  test('leaves the server at its deadline, without effect', async () => {
    await using database = openDatabase({ connections: 1, statementTimeoutMs: 300 });
    await using _lock = await lockThing(testDatabase, 1);
    await expectUnavailable(database.run(renameThing, { id: 1, name: 'uno' }, performance.now() + 100));
    const waiting = () => testDatabase.sql`
      select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(waiting, { timeout: 2_000 }).toEqual([]);
    expect(await testDatabase.sql`select name from things where id = 1`).toEqual([{ name: 'one' }]);
  });

  test('does not make its connection look lost, however many wait', async () => {
    await using database = openDatabase({ connections: 1, statementTimeoutMs: 150 });
    await database.run(selectName, { id: 2 }, soon());
    await using _lock = await lockThing(testDatabase, 1);
    const late = Array.from({ length: 6 }, () =>
      expectUnavailable(database.run(renameThing, { id: 1, name: 'uno' }, performance.now() + 50)),
    );
    const last = database.run(selectName, { id: 2 }, soon()).catch((error: unknown) => error);
    await Promise.all(late);
    expect(await last).toEqual([{ name: 'two' }]);
  });

  test('does not delay the other connections', async () => {
    await using database = openDatabase({ connections: 2 });
    await using _lock = await lockThing(testDatabase, 1);
    const waiting = expectUnavailable(database.run(renameThing, { id: 1, name: 'uno' }, performance.now() + 400));
    for (let call = 0; call < 50; call++) {
      expect(await database.run(selectName, { id: 2 }, soon())).toEqual([{ name: 'two' }]);
    }
    await waiting;
  });

  test('ends when the lock is released', async () => {
    await using database = openDatabase({ connections: 1 });
    await using lock = await lockThing(testDatabase, 1);
    const renamed = database.run(renameThing, { id: 1, name: 'uno' }, soon());
    await waitForLockWaiters(testDatabase);
    await lock.release();
    expect(await renamed).toEqual([{ id: 1 }]);
  });
});

describe('a statement with a short deadline', () => {
  test.each([
    ['that has passed', -1],
    ['of 0 ms', 0],
    ['of 1 ms', 1],
  ])('%s does not end other statements on its connection', async (_, timeoutMs) => {
    await using database = openDatabase({ connections: 1 });
    await database.run(selectName, { id: 1 }, soon());
    const other = database.run(pause, { seconds: 0.2 }, soon()).catch((error: unknown) => error);
    await database.run(pause, { seconds: 0.1 }, performance.now() + timeoutMs).catch(() => {});
    expect(await other).toEqual([{ done: 1 }]);
  });
});

describe('a lost connection', () => {
  test('makes its statements unavailable, and is replaced', async () => {
    await using database = openDatabase({ connections: 1 });
    await database.run(selectName, { id: 1 }, soon());
    const inFlight = expectUnavailable(database.run(pause, { seconds: 5 }, soon()));
    await sleep(50);
    await killBackends(testDatabase);
    await inFlight;
    await expect.poll(() => database.run(selectName, { id: 2 }, soon()).catch(() => [])).toEqual([{ name: 'two' }]);
  });

  test('fails at most the next statement when it was idle', async () => {
    await using database = openDatabase({ connections: 1 });
    await database.run(selectName, { id: 1 }, soon());
    await killBackends(testDatabase);
    await sleep(50);
    await expect.poll(() => database.run(selectName, { id: 2 }, soon()).catch(() => [])).toEqual([{ name: 'two' }]);
    for (let call = 0; call < 20; call++) {
      expect(await database.run(selectName, { id: 2 }, soon())).toEqual([{ name: 'two' }]);
    }
  });

  test.each<ProxyMode>(['refuse', 'reset'])('is unavailable for all who wait for it: %s', async (mode) => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    const { url } = testDatabase;
    await using database = disposable(new Database(proxy.through(url), { connections: 1, statementTimeoutMs: 2_000 }));
    await proxy.setMode(mode);
    const statements = Array.from({ length: 8 }, () => database.run(selectName, { id: 1 }, performance.now() + 300));
    for (const statement of statements) statement.catch(() => {});
    for (const statement of statements) await expectUnavailable(statement);
  });

  test('is unavailable for all who wait for it to open', async () => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    const { url } = testDatabase;
    await using database = disposable(new Database(proxy.through(url), { connections: 1, statementTimeoutMs: 50 }));
    await proxy.setMode('freeze');
    const early = expectUnavailable(database.run(selectName, { id: 1 }, performance.now() + 2_000));
    const late = expectUnavailable(database.run(selectName, { id: 1 }, performance.now() + 50));
    await Promise.all([early, late]);
  });

  test('again and again under load fails statements only as unavailable', async () => {
    await using database = openDatabase({ connections: 2 });
    let isOver = false;
    const outcomes = new Map<string, number>();
    const callers = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const outcome = await database.run(selectName, { id: 1 }, performance.now() + 1_000).then(
          ([row]) => row?.name ?? 'nothing',
          (error: Error) => error.constructor.name,
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        await sleep(1);
      }
    });
    for (let kill = 0; kill < 5; kill++) {
      await sleep(150);
      await killBackends(testDatabase);
    }
    isOver = true;
    await Promise.all(callers);
    expect(new Set(outcomes.keys())).toEqual(new Set(['one', 'DatabaseUnavailableError']));
    await expect.poll(() => database.run(selectName, { id: 2 }, soon()).catch(() => [])).toEqual([{ name: 'two' }]);
  });
});

describe('after an outage', () => {
  test('there are as many connections as before', async () => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    const { url } = testDatabase;
    await using database = disposable(new Database(proxy.through(url), { connections: 2, statementTimeoutMs: 500 }));
    let isOver = false;
    const callers = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        await database.run(selectName, { id: 1 }, performance.now() + 500).catch(() => {});
        await sleep(2);
      }
    });
    await sleep(50);
    await proxy.setMode('refuse');
    await sleep(600);
    await proxy.setMode('pass');
    await sleep(1_000);
    isOver = true;
    await Promise.all(callers);
    expect(proxy.connections).toBe(2);
    await database.close();
    await expect.poll(() => proxy.connections).toBe(0);
  });
});

describe('a database', () => {
  test('opens as many connections as configured, whatever the load', async () => {
    await using database = openDatabase({ connections: 3 });
    await Promise.all(Array.from({ length: 300 }, () => database.run(selectName, { id: 1 }, soon())));
    expect(await countConnections(testDatabase)).toBe(3);
  });

  test('closes every connection', async () => {
    const database = openDatabase({ connections: 2 });
    await Promise.all(Array.from({ length: 4 }, () => database.run(selectName, { id: 1 }, soon())));
    await database.close();
    await expect.poll(() => countConnections(testDatabase)).toBe(0);
  });

  test('lets statements in flight finish when it is closed', async () => {
    const database = openDatabase({ connections: 2 });
    await database.run(selectName, { id: 1 }, soon());
    const inFlight = database.run(pause, { seconds: 0.3 }, soon());
    await sleep(50);
    await database.close();
    expect(await inFlight).toEqual([{ done: 1 }]);
  });

  test('answers a ping, or rejects it by the deadline when Postgres is gone', async () => {
    await using database = openDatabase({ connections: 1 });
    await database.ping(soon());
    await using nowhere = disposable(
      new Database('postgres://127.0.0.1:1/usher', { connections: 1, statementTimeoutMs: 500 }),
    );
    const startedAt = performance.now();
    await expectUnavailable(nowhere.ping(startedAt + 300), 'ECONNREFUSED');
    expect(performance.now() - startedAt).toBeLessThan(300 + SLACK_MS);
  });
});

const selectName: Statement<{ name: string }[]> = (db) =>
  db
    .select({ name: things.name })
    .from(things)
    .where(eq(things.id, sql.placeholder('id')))
    .prepare('select_name');

const insertThing: Statement<unknown[]> = (db) =>
  db
    .insert(things)
    .values({ id: sql.placeholder('id'), name: sql.placeholder('name') })
    .returning({ id: things.id })
    .prepare('insert_thing');

const renameThing: Statement<unknown[]> = (db) =>
  db
    .update(things)
    .set({ name: sql`${sql.placeholder('name')}` })
    .where(eq(things.id, sql.placeholder('id')))
    .returning({ id: things.id })
    .prepare('rename_thing');

const selectNowhere: Statement<unknown[]> = (db) =>
  db.select({ one: sql`1` }).from(sql`no_such_table`).prepare('select_nowhere');

const selectPid: Statement<unknown[]> = (db) =>
  db.select({ pid: sql`pg_backend_pid()` }).from(sql`(select) as nothing`).prepare('select_pid');

const selectPrepared: Statement<{ statement: string; executions: number }[]> = (db) =>
  db
    .select({ statement: sql<string>`statement`, executions: sql<number>`(generic_plans + custom_plans)::int` })
    .from(sql`pg_prepared_statements`)
    .prepare('select_prepared');

const pause: Statement<unknown[]> = (db) =>
  db
    .select({ done: sql`1` })
    .from(sql`pg_sleep(${sql.placeholder('seconds')}::float8)`)
    .prepare('pause');

function openDatabase({
  connections,
  statementTimeoutMs = 10_000,
}: {
  connections: number;
  statementTimeoutMs?: number;
}) {
  return disposable(new Database(testDatabase.url, { connections, statementTimeoutMs }));
}

function disposable(database: Database): Database & AsyncDisposable {
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

/** Returns a deadline that no statement of these tests comes near. */
function soon(): number {
  return performance.now() + 10_000;
}

async function lockThing(database: TestDatabase, id: number): Promise<Lock> {
  return holdLock(database, `select from things where id = ${id} for update`);
}

/** Ends the connections from the server's side, and waits until they are gone. */
async function killBackends({ sql }: TestDatabase): Promise<void> {
  for (;;) {
    const killed = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'usher %'`;
    if (killed.length === 0) return;
    await sleep(5);
  }
}

/** Expects the error code as the cause, if given. */
async function expectUnavailable(promise: Promise<unknown>, code?: string): Promise<void> {
  const error = await promise.then(
    () => 'a success',
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  if (code !== undefined) expect(error).toMatchObject({ cause: { code } });
}
