/** Statements that take effect together, or not at all. */
import { afterAll, afterEach, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Run } from '../../src/database/database.ts';
import { p, statement } from '../../src/database/template.ts';
import { cloneDatabase } from '../support/database.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const testDatabase = await cloneDatabase();
const proxy = await TcpProxy.open(testDatabase.url);
const database = new Database(proxy.through(testDatabase.url), { connections: 1, statementTimeoutMs: 60_000 });

afterEach(() => proxy.setMode('pass'));

afterAll(async () => {
  await database.close();
  await proxy[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

const insertMark = statement('insert_test_mark')`
  insert into expiry_marks (name, reached_at) values (${p.text('name')}, now()) returning name`;

const within = (ms: number) => ({ applicationId: 'a', deadline: performance.now() + ms });

async function readMarks(): Promise<string[]> {
  const rows = await testDatabase.sql`delete from expiry_marks returning name`;
  return rows.map(({ name }) => name).sort();
}

const insertTwo = async (run: Run) => {
  await run(insertMark, { name: 'one' });
  await run(insertMark, { name: 'two' });
  return 'answer';
};

test('both statements take effect', async () => {
  expect(await database.transact(within(60_000), insertTwo)).toBe('answer');
  expect(await readMarks()).toEqual(['one', 'two']);
});

test('neither takes effect after an error, of the statements or between them', async () => {
  const thrown = database.transact(within(60_000), async (run) => {
    await insertTwo(run);
    throw new Error('between');
  });
  await expect(thrown).rejects.toThrow('between');
  const refused = database.transact(within(60_000), async (run) => {
    await insertTwo(run);
    await insertTwo(run);
  });
  await expect(refused).rejects.toThrow('duplicate key');
  const ignored = database.transact(within(60_000), async (run) => {
    await insertTwo(run);
    await insertTwo(run).catch(() => {});
  });
  await expect(ignored).rejects.toThrow('rolled back');
  expect(await readMarks()).toEqual([]);
});

test('neither takes effect if the work ends after the deadline', async () => {
  const late = database.transact(within(300), async (run) => {
    await insertTwo(run);
    await expect.poll(() => performance.now(), { timeout: 60_000 }).toBeGreaterThan(performance.now() + 300);
  });
  await expect(late).rejects.toThrow(DatabaseUnavailableError);
  expect(await readMarks()).toEqual([]);
});

test.each(['refuse', 'reset', 'freeze'] as const)(
  'a network in the mode %s ends it, and others follow',
  async (mode) => {
    const broken = database.transact(within(1_000), async (run) => {
      await run(insertMark, { name: 'one' });
      await proxy.setMode(mode);
      await run(insertMark, { name: 'two' });
    });
    await expect(broken).rejects.toThrow(DatabaseUnavailableError);
    await expect(database.transact(within(500), insertTwo)).rejects.toThrow(DatabaseUnavailableError);
    await proxy.setMode('pass');
    expect(await database.transact(within(60_000), insertTwo)).toBe('answer');
    expect(await readMarks()).toEqual(['one', 'two']);
  },
);

test('more than run at the same time wait for their turn', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `mark ${String(index).padStart(2, '0')}`);
  await Promise.all(names.map((name) => database.transact(within(60_000), (run) => run(insertMark, { name }))));
  expect(await readMarks()).toEqual(names);
});
