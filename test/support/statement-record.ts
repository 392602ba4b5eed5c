/** The statements that test files have sent in their last run. `npm test` and `npm run test:integration` write it. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Query } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { vi } from 'vitest';
import type { Statement } from '../../src/database/sql/statement.ts';

export interface RecordedStatement {
  readonly name: string;
  /** Of a statement with forms, of which each is recorded. */
  readonly layout: string | undefined;
  readonly sql: string;
  /** The columns of a template's rows, with their types. */
  readonly columns: Readonly<Record<string, string>> | undefined;
  readonly names: readonly (string | null)[];
  /** As Postgres gets them. */
  readonly values: readonly (string | null)[];
}

export const REPOSITORY = join(import.meta.dirname, '../..');

/** Has a file for each test file, with a line for each statement. */
export const RECORD = join(REPOSITORY, 'node_modules/.cache/statements');

/** These tests send statements of their own: to tables of their own, or around a part of one. */
const OF_OWN_STATEMENTS = [
  'test/integration/database/',
  'test/integration/domain/outbox/conditions.test.ts',
  'test/integration/domain/pages/list.test.ts',
  'test/integration/domain/second-factor/conditions.test.ts',
];

/** Returns an execution of each statement, the same in every run: that of the first test file by path. */
export async function readRecord(): Promise<readonly RecordedStatement[]> {
  const names = (await readdir(RECORD)).sort().filter((name) => {
    const test = decodeURIComponent(name);
    return !OF_OWN_STATEMENTS.some((path) => test.startsWith(path)) && existsSync(join(REPOSITORY, test));
  });
  const texts = await Promise.all(names.map((name) => readFile(join(RECORD, name), 'utf8')));
  const statements = texts.flatMap((text) =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line): RecordedStatement => JSON.parse(line)),
  );
  return [...new Map(statements.reverse().map((each) => [`${each.name} ${each.sql}`, each])).values()];
}

/** Builds statements and sends none. */
const db = drizzle.mock();

/** Returns the text and the parameters of a statement with its name, as `statement('name')` or `.prepare('name')` has it. */
export function describeStatement(statement: Statement<unknown>): Query & { readonly name: string } {
  if ('queryName' in statement) return { ...statement(db).getQuery(), name: String(statement.queryName) };
  using prepare = vi.spyOn(db._.session, 'prepareQuery');
  const query = statement(db).getQuery();
  const [, , name = ''] = prepare.mock.lastCall ?? [];
  return { ...query, name };
}
