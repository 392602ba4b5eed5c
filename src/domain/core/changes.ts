/** Partial updates: an undefined field keeps its value, and null clears a field. */
import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { columnsOf, p, statement, type TableRowType, t } from '../../database/sql/template.ts';
import type { Call } from './call.ts';
import { ServiceError } from './errors.ts';
import { type Rule, rule } from './rule.ts';

type Changes<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends Rule<infer Value> ? Rule<Value | undefined> : never;
};

/** Returns the rules of an update: a field may be missing, but its value must pass the given rule. */
export function changes<Rules extends Readonly<Record<string, Rule<unknown>>>>(rules: Rules): Changes<Rules> {
  return Object.fromEntries(Object.entries(rules).map(([name, inner]) => [name, change(inner)])) as Changes<Rules>;
}

function change<T>(inner: Rule<T>): Rule<T | undefined> {
  const { schema, isNullable } = inner;
  return rule(schema, (value) => (value === undefined ? undefined : inner(value)), { isOptional: true, isNullable });
}

/** Lists the values of a row after the update, as `case ... end as name`. Parameters: all of `changeParameters`. */
export function changedValues(columns: Readonly<Record<string, PgColumn>>): SQL {
  const values = Object.entries(columns).map(([name, column]) => {
    const own = sql.raw(column.name);
    return sql`case when ${isChanged(name)} then ${p.of(column, name)} else ${own} end as ${own}`;
  });
  return sql.join(values, sql`, `);
}

/** Returns the condition that the request names the field. Parameter: `changed` of `changeParameters`. */
export function isChanged(name: string): SQL {
  return sql`'${sql.raw(name)}' = any(${p.texts('changed')})`;
}

/** Returns the value of each field, and as `changed` the names of the fields that the request names. */
export function changeParameters(changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const changed = Object.keys(changes).filter((name) => changes[name] !== undefined);
  const values = Object.entries(changes).map(([name, value]) => [name, value ?? null]);
  return { ...Object.fromEntries(values), changed };
}

/** Returns the version of a row: a hash of the columns. An update is refused if the row has changed since the caller read it. */
function versionOf(columns: TableRowType): SQL {
  return sql`encode(sha256(convert_to(row(${columnsOf(columns)})::text, 'UTF8')), 'hex')`;
}

/**
 * Returns the condition that the row has the version that the caller expects, if any. Parameter: `versionParameter`.
 */
export function hasExpectedVersion(columns: TableRowType): SQL {
  return sql`(${p.text('ifVersion')} is null or ${p.text('ifVersion')} = ${versionOf(columns)})`;
}

/**
 * Returns a function that reads the version of a row, or undefined if there is no such row. Read the version before the
 * values that a form shows: a change in between then causes a refusal instead of a lost update.
 *
 * @param from the SQL after the word `from`, with the parameters of the function
 */
export function createVersionReader(name: string, columns: TableRowType, from: SQL) {
  const selectVersion = statement(name, { version: t.text })`select ${versionOf(columns)} as version from ${from}`;
  return async ({ run }: Pick<Call, 'run'>, parameters: Readonly<Record<string, string>>) =>
    (await run(selectVersion, parameters))[0]?.version;
}

export function versionParameter({ ifVersion }: Call): { readonly ifVersion: string | null } {
  return { ifVersion: ifVersion ?? null };
}

/** @throws ServiceError `Changed meanwhile` if the row had another version than the caller expects */
export function requireExpected({ isExpected }: { readonly isExpected: boolean }): void {
  if (!isExpected) throw new ServiceError('CHANGED_MEANWHILE');
}
