import { is, Param, Placeholder, type Query } from 'drizzle-orm';

/**
 * Returns the query with one parameter for each placeholder, however often its text has it. Drizzle makes one for each
 * time, and every parameter costs the process and Postgres a few microseconds per execution.
 */
export function shareParameters({ sql, params, ...query }: Query): Query {
  const shared: unknown[] = [];
  const numbers = params.map((param) => {
    const index = shared.findIndex((other) => isSame(param, other));
    return index < 0 ? shared.push(param) : index + 1;
  });
  return { ...query, sql: sql.replace(/\$(\d+)/g, (_, number) => `$${numbers[number - 1]}`), params: shared };
}

function isSame(one: unknown, other: unknown): boolean {
  if (is(one, Placeholder)) return is(other, Placeholder) && one.name === other.name;
  if (!is(one, Param) || !is(other, Param)) return false;
  return is(one.value, Placeholder) && one.encoder === other.encoder && isSame(one.value, other.value);
}
