/** The text of a template, as Postgres gets it. */
import { is, Param, Placeholder, type Query, type SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';

const dialect = new PgDialect();

/**
 * Gives each parameter one number and one cast, however often it occurs: each number costs the process and Postgres a
 * few microseconds per execution. Also removes comments and white space, because postgres.js hashes the text every
 * time.
 */
export function compile(template: SQL): Query {
  const { sql: text, params } = dialect.sqlToQuery(template);
  const shared: unknown[] = [];
  const renumbered = text.replace(/\$(\d+)/g, (_, number) => {
    const param = params[number - 1];
    const index = shared.findIndex((other) => isSame(param, other));
    return index < 0 ? `$${shared.push(param)}${castOf(param)}` : `$${index + 1}`;
  });
  return { sql: renumbered.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim(), params: shared };
}

function castOf(param: unknown): string {
  return is(param, Param) && 'sqlType' in param.encoder ? `::${param.encoder.sqlType}` : '';
}

function isSame(one: unknown, other: unknown): boolean {
  if (is(one, Placeholder)) return is(other, Placeholder) && one.name === other.name;
  if (!is(one, Param) || !is(other, Param)) return false;
  return is(one.value, Placeholder) && one.encoder === other.encoder && isSame(one.value, other.value);
}
