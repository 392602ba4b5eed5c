/** Which form of a statement a database sends. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { Database, type Run } from '../../../src/database/pool/database.ts';
import { statement, t } from '../../../src/database/sql/template.ts';
import { cloneDatabase } from '../../support/database.ts';

const testDatabase = await cloneDatabase();

afterAll(() => testDatabase[Symbol.asyncDispose]());

const ROW = { of: t.text };
const select = statement('select', ROW)`select 'both' as of`;
const selectEither = statement('select_either', ROW)`select 'whole' as of`.ifDistributed`select 'distributed' as of`;
const selectIfWhole = statement('select_if_whole', ROW).ifWhole`select 'whole' as of`;
const selectIfDistributed = statement('select_if_distributed', ROW).ifDistributed`select 'distributed' as of`;

test.each([
  { layout: 'whole', other: 'selectIfDistributed', rows: ['both', 'whole', 'whole', undefined] },
  { layout: 'distributed', other: 'selectIfWhole', rows: ['both', 'distributed', undefined, 'distributed'] },
] as const)('a $layout database sends the forms of its layout, and nothing instead of $other', async (expected) => {
  const { layout, other, rows } = expected;
  const sent: string[] = [];
  const recordStatement = (name: string) => void sent.push(name);
  const settings = { connections: 1, statementTimeoutMs: 60_000, layout, recordStatement };
  const database = new Database(testDatabase.url, settings);
  const deadline = performance.now() + 60_000;
  const runAll = async (run: Run) => {
    const all = [await run(select, {}), await run(selectEither, {})];
    const some = [await run(selectIfWhole, {}), await run(selectIfDistributed, {})];
    return [...all, ...some].map((found) => found?.[0]?.of);
  };
  expect(await runAll(database.within(deadline))).toEqual(rows);
  expect(await database.transact({ applicationId: randomUUID(), deadline }, runAll)).toEqual(rows);
  const names = ['select', 'selectEither', 'selectIfWhole', 'selectIfDistributed'].filter((name) => name !== other);
  expect(sent).toEqual([...names, ...names]);
  await database.close();
});
