import { type SQL, sql } from 'drizzle-orm';

/**
 * Returns `any` of a list parameter, for a statement that runs often with few values. With a bare parameter, Postgres
 * plans the statement at every execution, which takes at least as long as the execution itself: a custom plan knows how
 * many values the list has, the generic plan assumes ten, so the generic plan seems to cost more. Postgres cannot count
 * the rows of a subquery beforehand, so both plans cost the same, and the generic plan is reused.
 */
export function anyOf(list: SQL): SQL {
  return sql`any(array(select unnest(${list})))`;
}
