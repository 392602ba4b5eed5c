import { type SQL, sql } from 'drizzle-orm';

/**
 * Returns `any` of a parameter with a list, for a statement that is run often with few values. Postgres counts the values
 * of a parameter, and takes a list of unknown length for one of ten. So a plan for all lists seems to cost more than one
 * for each, and it would plan the statement at every execution, which takes as long as to run it, or longer. What a
 * subquery returns, it cannot count beforehand.
 */
export function anyOf(list: SQL): SQL {
  return sql`any(array(select unnest(${list})))`;
}
