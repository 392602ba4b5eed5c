/** Updates that name what changes: an undefined field stays as it is, and null clears one. */
import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { p } from '../database/template.ts';
import { type Rule, rule } from './rule.ts';

type Changes<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends Rule<infer Value> ? Rule<Value | undefined> : never;
};

/** Returns the rules of an update: a missing field is undefined, and any other value must pass the given rule. */
export function changes<Rules extends Readonly<Record<string, Rule<unknown>>>>(rules: Rules): Changes<Rules> {
  return Object.fromEntries(Object.entries(rules).map(([name, inner]) => [name, change(inner)])) as Changes<Rules>;
}

function change<T>(inner: Rule<T>): Rule<T | undefined> {
  const { schema, isNullable } = inner;
  return rule(schema, (value) => (value === undefined ? undefined : inner(value)), { isOptional: true, isNullable });
}

/** Lists what a row has once it is changed: `case ... end as name`. Takes the parameters of `changeParameters`. */
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

/** Returns parameters: each value, and the names of the fields that change. */
export function changeParameters(changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const changed = Object.keys(changes).filter((name) => changes[name] !== undefined);
  const values = Object.entries(changes).map(([name, value]) => [name, value ?? null]);
  return { ...Object.fromEntries(values), changed };
}
