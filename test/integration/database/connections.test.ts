import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import postgres from 'postgres';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Database, DatabaseUnavailableError, type Statement } from '../../../src/database/pool/database.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { blockProcess } from '../../support/block-process.ts';
import { cloneDatabase } from '../../support/database.ts';
import { holdLock, type Lock } from '../../support/lock.ts';

const things = pgTable('things', { id: integer('id').primaryKey(), name: text('name').notNull() });

const TWO = [{ name: 'two' }];

const testDatabase = await cloneDatabase();
await testDatabase.sql`create table things (id int primary key, name text not null)`;

beforeEach(async () => {
  await testDatabase.sql`insert into things values (1, 'one'), (2, 'two')`;
});

afterEach(async () => {
  // The server may still run a statement whose caller has gone.
  await killBackends();
  await testDatabase.sql`truncate things`;
});

afterAll(() => testDatabase[Symbol.asyncDispose]());

test('a transaction prefers indexes, and compiles no statement', async () => {
  // As on a Postgres that nobody has configured.
  const name = new URL(testDatabase.url).pathname.slice(1);
  await testDatabase.sql.unsafe(`alter database ${name} set jit = on`);
  await using database = openDatabase();
  const transact = () => database.transact({ applicationId: '', deadline: soon() }, (run) => run(selectSetting, {}));
  expect(await transact()).toEqual([{ scansTables: 'off', sorts: 'off', compiles: 'off' }]);
  expect(await database.run(selectSetting, {}, soon())).toEqual([{ scansTables: 'on', sorts: 'on', compiles: 'on' }]);
  await testDatabase.sql.unsafe(`alter database ${name} reset jit`);
});

describe('a statement', () => {
  // Citus relays what becomes of its own connections.
  test.each(['08006', '57P01'])('that fails with ERROR %s is unavailable, and its connection stays', async (code) => {
    await using database = openDatabase();
    const before = await database.run(selectPid, {}, soon());
    await testDatabase.sql.unsafe(`
      create or replace function fail() returns int language plpgsql as $$
      begin raise exception 'a worker is away' using errcode = '${code}'; end $$`);
    await expectUnavailable(database.run(selectFailure, {}, soon()), code);
    await expectKept(database, before);
  });

  test('is parsed once per connection, however often it runs', async () => {
    await using database = openDatabase();
    for (let id = 0; id < 20; id++) await database.run(selectName, { id }, soon());
    const prepared = await database.run(selectPrepared, {}, soon());
    const ofThings = prepared.filter(({ statement }) => statement.includes('things'));
    const statement = 'select "name" from "things" where "things"."id" = $1';
    // Fewer than 20 if a busy machine made one slow: others run on a connection for slow statements then.
    expect(ofThings).toEqual([{ statement, executions: expect.any(Number) }]);
  });

  test('that begins many times at once is prepared once per connection', async () => {
    await using database = openDatabase();
    await database.run(selectPid, {}, soon());
    await Promise.all(Array.from({ length: 30 }, () => database.run(selectName, { id: 2 }, soon())));
    const prepared = await database.run(selectPrepared, {}, soon());
    expect(prepared.filter(({ statement }) => statement.includes('things'))).toHaveLength(1);
  });

  test('whose table has changed since succeeds, but for one in a transaction', async () => {
    await using database = openDatabase();
    const read = () => database.run(selectName, { id: 2 }, soon());
    const readInTransaction = () =>
      database.transact({ applicationId: '', deadline: soon() }, (run) => run(selectName, { id: 2 }));
    for (const type of ['varchar(40)', 'varchar(50)', 'text']) {
      expect(await Promise.all([read(), read(), readInTransaction()])).toEqual(Array(3).fill(TWO));
      await testDatabase.sql.unsafe(`alter table things alter column name type ${type}`);
      expect(await Promise.all(Array.from({ length: 40 }, read))).toEqual(Array(40).fill(TWO));
      // Earlier statements of the transaction have been rolled back.
      await expect(readInTransaction()).rejects.toMatchObject({ code: '0A000' });
    }
    expect(database.load.reconnects).toBe(0);
  });

  test('keeps its connection when this process was busy for longer than the statement timeout', async () => {
    await using database = openDatabase({ statementTimeoutMs: 100 });
    const before = await database.run(selectPid, {}, soon());
    await sleep(100);
    blockProcess(1_000);
    await expectKept(database, before);
  });

  test('whose deadline has passed takes no effect', async () => {
    await using database = openDatabase();
    await database.run(insertThing, { id: 3, name: 'before' }, soon());
    await expectUnavailable(database.run(insertThing, { id: 4, name: 'late' }, performance.now() - 1));
    await database.run(insertThing, { id: 5, name: 'after' }, soon());
    expect(await readIds()).toEqual([1, 2, 3, 5]);
  });

  test('whose deadline passes while its connection opens takes no effect', async () => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    await using database = openDatabase({ url: proxy.through(testDatabase.url) });
    await proxy.setMode('freeze');
    const late = expectUnavailable(database.run(insertThing, { id: 3, name: 'late' }, performance.now() + 50));
    const other = database.run(insertThing, { id: 4, name: 'in time' }, soon());
    await late;
    await proxy.setMode('pass');
    await other;
    expect(await readIds()).toEqual([1, 2, 4]);
  });

  test('is unavailable at once where 2000 wait for a connection', async () => {
    await using database = openDatabase();
    // Reads have two connections, each with 16 statements in flight.
    const runs = Array.from({ length: 2_042 }, () => database.run(selectName, { id: 1 }, soon()));
    const ends = await Promise.allSettled(runs);
    // Those that are slow on a busy machine wait elsewhere, where fewer may.
    const refused = ends.filter((end) => end.status === 'rejected' && /Too many statements wait$/.test(end.reason));
    expect(refused).toHaveLength(10);
  });

  test('does not count as slow while a connection opens', async () => {
    await testDatabase.sql.unsafe(`
      create function log_in_late() returns event_trigger language plpgsql as $$ begin
        perform pg_sleep(0.5) from pg_stat_activity
        where datname = current_database() and application_name = 'usher pool' and pid <> pg_backend_pid();
      end $$;
      create event trigger late on login execute function log_in_late()`);
    await using database = openDatabase();
    const onLockWait = vi.fn();
    const runs = async (count: number) => {
      const run = () => database.run(selectName, { id: 2 }, soon(), { onLockWait });
      return Promise.all(Array.from({ length: count }, run));
    };
    await runs(1);
    let isOver = false;
    const late = runs(2).finally(() => {
      isOver = true;
    });
    // The other connection answers meanwhile.
    while (!isOver) await runs(1);
    await late;
    await testDatabase.sql`drop event trigger late`;
    expect(onLockWait).not.toHaveBeenCalled();
  });

  test('that a caller has not begun when it leaves has no effect, and what it has begun goes on', async () => {
    await using database = openDatabase();
    let isGone = false;
    const open = () => database.within(soon(), { isGone: () => isGone });
    const [begun, reading, waiting] = [open(), open(), open()];
    await begun(insertThing, { id: 3, name: 'new' });
    await reading(selectName, { id: 2 });
    isGone = true;
    await begun(insertThing, { id: 4, name: 'new' });
    await expect(reading(insertThing, { id: 5, name: 'new' })).rejects.toMatchObject({ reason: 'The caller has left' });
    await expect(waiting(selectName, { id: 2 })).rejects.toMatchObject({ reason: 'The caller has left' });
    expect(await testDatabase.sql`select id from things order by id`.values()).toEqual([[1], [2], [3], [4]]);
  });

  test('that Postgres refuses rejects with its error, and the connection stays', async () => {
    await using database = openDatabase();
    const before = await database.run(selectPid, {}, soon());
    const refusals = [
      [database.run(insertThing, { id: 1, name: 'twice' }, soon()), '23505'],
      [database.run(insertThing, { id: 3, name: null }, soon()), '23502'],
      [database.run(selectNowhere, {}, soon()), '42P01'],
    ] as const;
    const errors = await Promise.all(refusals.map(([refusal]) => refusal.catch((error: unknown) => error)));
    for (const [index, [, code]] of refusals.entries()) {
      const error = errors[index];
      expect(error).toBeInstanceOf(postgres.PostgresError);
      expect(error).toMatchObject({ code });
    }
    await expectKept(database, before);
  });

  test('that exceeds the statement timeout is unavailable, and the connection stays', async () => {
    await using database = openDatabase({ statementTimeoutMs: 150 });
    const before = await database.run(selectPid, {}, soon());
    await expectUnavailable(database.run(pause, { seconds: 2 }, soon()), '57014');
    await expectKept(database, before);
  });
});

describe('a statement that waits for a lock', () => {
  test.each([100, 250])('is unavailable at its deadline of %d ms, and others go on', async (timeoutMs) => {
    await using database = openDatabase({ statementTimeoutMs: timeoutMs });
    // A busy machine may take longer for the first.
    await expectRecovered(database);
    await using _lock = await lockThing();
    const startedAt = performance.now();
    await expectUnavailable(database.run(renameThing, { id: 1, name: 'uno' }, startedAt + timeoutMs));
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(timeoutMs - 2);
    await expectRecovered(database);
  });

  test('does not make its connection look lost, however many wait', async () => {
    await using database = openDatabase({ statementTimeoutMs: 150 });
    await database.run(selectName, { id: 2 }, soon());
    await using _lock = await lockThing();
    const late = Array.from({ length: 6 }, () =>
      expectUnavailable(database.run(renameThing, { id: 1, name: 'uno' }, performance.now() + 50)),
    );
    const last = database.run(selectName, { id: 2 }, soon()).catch((error: unknown) => error);
    await Promise.all(late);
    expect(await last).toEqual(TWO);
  });
});

test.each([-1, 0, 1])('a deadline of %i ms does not end other statements on its connection', async (timeoutMs) => {
  await using database = openDatabase();
  await database.run(selectName, { id: 1 }, soon());
  const other = database.run(pause, { seconds: 0.2 }, soon()).catch((error: unknown) => error);
  await database.run(pause, { seconds: 0.1 }, performance.now() + timeoutMs).catch(() => {});
  expect(await other).toEqual([{ done: 1 }]);
});

describe('a lost connection', () => {
  test('makes its statements unavailable, and is replaced', async () => {
    await using database = openDatabase();
    await database.run(selectName, { id: 1 }, soon());
    const inFlight = expectUnavailable(database.run(pause, { seconds: 5 }, soon()));
    await sleep(50);
    await killBackends();
    await inFlight;
    await expectRecovered(database);
  });

  test('fails at most the next statement when it was idle', async () => {
    await using database = openDatabase();
    await database.run(selectName, { id: 1 }, soon());
    await killBackends();
    await sleep(50);
    await expectRecovered(database);
    for (let call = 0; call < 20; call++) {
      expect(await database.run(selectName, { id: 2 }, soon())).toEqual(TWO);
    }
  });

  test('fails no statement when its end was noticed before', async () => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    await using database = openDatabase({ url: proxy.through(testDatabase.url) });
    await database.run(selectName, { id: 1 }, soon());
    await killBackends();
    await expect.poll(() => proxy.connections).toBe(0);
    expect(await database.run(selectName, { id: 2 }, soon())).toEqual(TWO);
  });

  test('is not opened again at once', async () => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    await using database = openDatabase({ url: proxy.through(testDatabase.url) });
    await proxy.setMode('refuse');
    await expectUnavailable(database.readTime(soon()));
    await expect(database.readTime(soon())).rejects.toThrow('The connection has just failed');
  });

  test('ends its statements at their deadlines, and is replaced, when it only falls silent', async () => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    await using database = openDatabase({ url: proxy.through(testDatabase.url), statementTimeoutMs: 50 });
    await database.run(selectName, { id: 1 }, soon());
    const { reconnects } = database.load;
    await proxy.setMode('freeze');
    const late = database.run(selectName, { id: 1 }, performance.now() + 50);
    await expect(late).rejects.toThrow('No answer before the deadline');
    await expect.poll(() => database.load.reconnects).toBeGreaterThan(reconnects);
  });

  test('is unavailable for all who wait for it to open', async () => {
    await using proxy = await TcpProxy.open(testDatabase.url);
    await using database = openDatabase({ url: proxy.through(testDatabase.url), statementTimeoutMs: 50 });
    await proxy.setMode('freeze');
    const early = expectUnavailable(database.run(selectName, { id: 1 }, performance.now() + 2_000));
    const late = expectUnavailable(database.run(selectName, { id: 1 }, performance.now() + 50));
    await Promise.all([early, late]);
  });
});

test('after an outage there are as many connections as before', async () => {
  await using proxy = await TcpProxy.open(testDatabase.url);
  await using database = openDatabase({
    url: proxy.through(testDatabase.url),
    connections: 2,
    statementTimeoutMs: 500,
  });
  // Two for reads, and one that also looks after statements that are slow on a busy machine.
  const usual = ['usher control', 'usher pool', 'usher pool'];
  const read = () => database.run(selectName, { id: 1 }, performance.now() + 500);
  const findOpen = async () => {
    // Two reads at a time use both connections for them.
    await Promise.allSettled([database.readTime(performance.now() + 500), read(), read()]);
    const open = await testDatabase.sql`
      select application_name as name from pg_stat_activity
      where datname = current_database() and application_name like 'usher %' order by name`;
    return open.map(({ name }) => name);
  };
  let isOver = false;
  const callers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await read().catch(() => {});
      await sleep(2);
    }
  });
  // Statements that are slow meanwhile may have connections of their own, which close soon after the last one.
  const expectUsual = () => expect.poll(findOpen).toEqual(expect.arrayContaining(usual));
  await expectUsual();
  await proxy.setMode('refuse');
  await sleep(600);
  await proxy.setMode('pass');
  await expectUsual();
  isOver = true;
  await Promise.all(callers);
  await expect.poll(findOpen).toEqual(usual);
  await expect.poll(() => proxy.connections).toBe(usual.length);
  await database.close();
  await expect.poll(() => proxy.connections).toBe(0);
});

test('a closed database connects to Postgres no more', async () => {
  await using proxy = await TcpProxy.open(testDatabase.url);
  const database = openDatabase({ url: proxy.through(testDatabase.url) });
  const read = () => database.run(selectName, { id: 2 }, soon());
  const write = () => database.run(renameThing, { id: 2, name: 'late' }, soon());
  const transact = () =>
    database.transact({ applicationId: '', deadline: soon() }, (run) => run(renameThing, { id: 2, name: 'late' }));
  expect(await read()).toEqual(TWO);
  await database.close();
  // Their work has outlived the shutdown.
  for (const run of [read, write, transact, () => database.readTime(soon())]) await expectUnavailable(run());
  await expect.poll(() => proxy.connections).toBe(0);
  expect(await testDatabase.sql`select name from things where id = 2`).toEqual(TWO);
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

const selectFailure: Statement<unknown[]> = (db) =>
  db.select({ one: sql`fail()` }).from(sql`(select) as nothing`).prepare('select_failure');

const selectPid: Statement<unknown[]> = (db) =>
  db.select({ pid: sql`pg_backend_pid()` }).from(sql`(select) as nothing`).prepare('select_pid');

const selectSetting: Statement<unknown[]> = (db) =>
  db
    .select({
      scansTables: sql`current_setting('enable_seqscan')`,
      sorts: sql`current_setting('enable_sort')`,
      compiles: sql`current_setting('jit')`,
    })
    .from(sql`(select) as nothing`)
    .prepare('select_setting');

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

function openDatabase({ url = testDatabase.url, connections = 1, statementTimeoutMs = 60_000 } = {}) {
  const database = new Database(url, { connections, statementTimeoutMs });
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

/** Returns a deadline that no statement of these tests comes near. */
function soon(): number {
  return performance.now() + 60_000;
}

/** Locks the first row. */
function lockThing(): Promise<Lock> {
  return holdLock(testDatabase, 'select from things where id = 1 for update');
}

async function readIds(): Promise<number[]> {
  const rows = await testDatabase.sql`select id from things order by id`;
  return rows.map(({ id }) => id);
}

async function expectRecovered(database: Database): Promise<void> {
  await expect.poll(() => database.run(selectName, { id: 2 }, soon()).catch(() => [])).toEqual(TWO);
}

/** Expects no backoff, and the backend to be there. A statement that was slow may run on another one next time. */
async function expectKept(database: Database, backends: readonly unknown[]): Promise<void> {
  await database.run(selectPid, {}, soon());
  const open = await testDatabase.sql`select pid from pg_stat_activity where datname = current_database()`;
  expect([...open]).toEqual(expect.arrayContaining([...backends]));
}

/** Ends the connections from the server's side, and waits until they are gone. */
async function killBackends(): Promise<void> {
  for (;;) {
    const killed = await testDatabase.sql`
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
