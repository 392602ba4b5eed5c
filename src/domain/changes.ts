/** Updates that name what changes: an undefined field stays as it is, and null clears one. */
import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/** Sets the columns that change to the placeholders of their names. Takes the parameters of `changeParameters`. */
export function setChanges<Name extends string>(columns: Readonly<Record<Name, PgColumn>>): Record<Name, SQL> {
  const entries = Object.entries<PgColumn>(columns).map(([name, column]) => {
    const isChanged = sql`${name}::text = any(${sql.placeholder('changed')}::text[])`;
    const encoder = { mapToDriverValue: (value: unknown) => (value === null ? null : column.mapToDriverValue(value)) };
    const value = sql.param(sql.placeholder(name), encoder);
    return [name, sql`case when ${isChanged} then ${value} else ${column} end`];
  });
  // The entries have the names of the columns.
  return Object.fromEntries(entries) as Record<Name, SQL>;
}

/** Returns the values of the placeholders of `setChanges`. */
export function changeParameters(changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const changed = Object.keys(changes).filter((name) => changes[name] !== undefined);
  const values = Object.entries(changes).map(([name, value]) => [name, value ?? null]);
  return { ...Object.fromEntries(values), changed: `{${changed.join()}}` };
}
