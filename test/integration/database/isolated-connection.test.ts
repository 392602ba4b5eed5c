import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { readTarget } from '../../../src/database/connection/open-client.ts';
import { IsolatedConnection, ReconnectLimiter } from '../../../src/database/connection/pipelined-connection.ts';
import { PrimaryFinder } from '../../../src/database/primary/primary-finder.ts';
import type { Statement } from '../../../src/database/sql/statement.ts';
import { cloneDatabase } from '../../support/database.ts';

test.each([0, -0.5, -1, -60_000])(
  'a statement that starts %d ms before its deadline has a limit, and its tables',
  async (remainingMs) => {
    await using database = await cloneDatabase();
    await using connection = openConnection(database.url);
    const run = (deadlineIn: number) =>
      connection.run({ statement: selectSettings, parameters: {}, deadline: performance.now() + deadlineIn });
    await run(10_000);
    // It may exceed its limit, even so.
    const late = await run(remainingMs).catch((error: Error) => error);
    if (Array.isArray(late)) expect(late).toEqual([{ timeout: '1ms', path: 'usher' }]);
    // Far from its deadline, it has the limit of every statement.
    expect(await run(60_000)).toEqual([{ timeout: '10s', path: 'usher' }]);
  },
);

test('Postgres ends a statement at its deadline', async () => {
  await using database = await cloneDatabase();
  await using connection = openConnection(database.url);
  const pausing = connection.run({ statement: pause, parameters: {}, deadline: performance.now() + 100 });
  await expect(pausing).rejects.toThrow('No answer before the deadline');
  expect(connection.pending).toBe(0);
});

function openConnection(url: string): IsolatedConnection & AsyncDisposable {
  const target = readTarget(url);
  const connection = new IsolatedConnection(target, {
    name: 'usher lock isolation',
    primary: new PrimaryFinder(target),
    reconnects: new ReconnectLimiter(),
    areCommitsWaiting: () => false,
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 0,
  });
  return Object.assign(connection, { [Symbol.asyncDispose]: () => connection.close() });
}

const pause: Statement<unknown> = (db) => db.select({ one: sql`1` }).from(sql`pg_sleep(60)`).prepare('pause');

const selectSettings: Statement<{ timeout: string; path: string }[]> = (db) =>
  db
    .select({
      timeout: sql<string>`current_setting('statement_timeout')`,
      path: sql<string>`current_setting('search_path')`,
    })
    .from(sql`(select) as nothing`)
    .prepare('select_settings');
