/** What statements store about changes of a user's e-mail address, which the links of undo-address-change.ts undo. */
import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';

/**
 * The instant of a change, from the locked row of the user. Two changes in one millisecond, or on replicas whose clocks
 * differ, keep their order. Not for the expression after `set`, which must not depend on a time zone. Parameter: now.
 */
export const nextEmailChange = sql`greatest(${p.instant('now')}, email_changed_at + interval '1 millisecond')`;

/** Returns the range of instants from one to the other, both included. An open end is null. */
export function rangeOf(from: SQL, until: SQL): SQL {
  return sql`tstzmultirange(tstzrange(${from}, ${until}, '[]'))`;
}
