/** Updates that name what changes: an undefined field stays as it is, and null clears one. */
import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { p } from '../database/template.ts';

/**
 * Sets the columns that change to the placeholders of their names. Takes the parameters of `changeParameters`.
 *
 * @param names the columns that may change
 */
export function setChanges(table: PgTable, names: readonly string[]): Record<string, SQL> {
  const columns: Readonly<Record<string, PgColumn>> = getTableColumns(table);
  const entries = names.map((name) => {
    const column = columns[name];
    if (!column) throw new Error(`There is no column ${name}`);
    const encoder = { mapToDriverValue: (value: unknown) => (value === null ? null : column.mapToDriverValue(value)) };
    const value = sql.param(sql.placeholder(name), encoder);
    return [name, sql`case when ${isChanged(name)} then ${value} else ${column} end`];
  });
  return Object.fromEntries(entries);
}

/**
 * Lists what a row has in the columns once they are changed: `case ... end as name`. Takes the parameters of
 * `changeParameters`.
 */
export function changedValues(columns: Readonly<Record<string, PgColumn>>): SQL {
  const values = Object.entries(columns).map(([name, column]) => {
    const own = sql.raw(column.name);
    return sql`case when ${isChanged(name)} then ${p.of(column, name)} else ${own} end as ${own}`;
  });
  return sql.join(values, sql`, `);
}

/** Whether the field changes. Takes the parameters of `changeParameters`. */
export function isChanged(name: string): SQL {
  return sql`'${sql.raw(name)}' = any(${p.texts('changed')})`;
}

/** Returns whether one of the values is another than its column has. */
export function differ(table: PgTable, values: Readonly<Record<string, SQL>>): SQL {
  const columns: Readonly<Record<string, PgColumn>> = getTableColumns(table);
  const differences = Object.entries(values).map(([name, value]) => sql`${value} is distinct from ${columns[name]}`);
  return sql`(${sql.join(differences, sql` or `)})`;
}

/** Returns the values of the placeholders of `setChanges`. */
export function changeParameters(changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const changed = Object.keys(changes).filter((name) => changes[name] !== undefined);
  const values = Object.entries(changes).map(([name, value]) => [name, value ?? null]);
  return { ...Object.fromEntries(values), changed };
}
