/**
 * Records which statements each test file sends, with the parameters of their first execution, for the test of plans.
 * Run for each file before its own code.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fillPlaceholders, is, Param, Placeholder } from 'drizzle-orm';
import { PgColumn } from 'drizzle-orm/pg-core';
import { afterAll, expect } from 'vitest';
import type { PlaceholderValues, Statement } from '../../src/database/pool/database.ts';
import { StatementRunner } from '../../src/database/pool/statement-runner.ts';
import { type RowType, toSnakeCase } from '../../src/database/sql/template.ts';
import { describeStatement, RECORD, REPOSITORY, type RecordedStatement } from './statement-record.ts';

const { run } = StatementRunner.prototype;
const recorded = new Map<Statement<unknown>, RecordedStatement[]>();

StatementRunner.prototype.run = new Proxy(run, {
  apply(target, runner, parameters: Parameters<typeof run>) {
    const [statement, values] = parameters;
    if (!recorded.has(statement)) {
      const forms = statement.forms ? Object.entries(statement.forms) : [[undefined, statement] as const];
      recorded.set(
        statement,
        forms.map(([layout, form]) => ({ layout, ...describe(form, values) })),
      );
    }
    return Reflect.apply(target, runner, parameters);
  },
});

afterAll(async () => {
  StatementRunner.prototype.run = run;
  const test = relative(REPOSITORY, expect.getState().testPath ?? '');
  const lines = [...recorded.values()].flat().map((statement) => `${JSON.stringify(statement)}\n`);
  await mkdir(RECORD, { recursive: true });
  await writeFile(join(RECORD, encodeURIComponent(test)), lines.join(''));
});

function describe(statement: Statement<unknown>, parameters: PlaceholderValues): Omit<RecordedStatement, 'layout'> {
  const { name, sql, params } = describeStatement(statement);
  return {
    name,
    sql,
    columns: 'rowType' in statement && statement.rowType ? flatten(statement.rowType as RowType) : undefined,
    names: params.map((param) => {
      const value = is(param, Param) ? param.value : param;
      return is(value, Placeholder) ? value.name : null;
    }),
    values: fillPlaceholders(params, parameters).map((value) => {
      if (value === null) return null;
      return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
    }),
  };
}

/** Returns the names of a row's columns with their types. */
function flatten(rowType: RowType): Record<string, string> {
  const columns = Object.entries(rowType).map(([name, type]): Record<string, string> => {
    if (is(type, PgColumn)) return { [toSnakeCase(name)]: type.getSQLType().replace(/ ?\(\d\)/, '') };
    return 'sqlType' in type ? { [toSnakeCase(name)]: String(type.sqlType) } : flatten(type as RowType);
  });
  return Object.assign({}, ...columns);
}
