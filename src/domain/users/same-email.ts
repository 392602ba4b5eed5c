/** How statements compare e-mail addresses: by letters of ASCII alone, so that no locale of Postgres can change it. */
import { type SQL, sql } from 'drizzle-orm';
import { listSpellings } from '../../config/email-address.ts';
import { anyOf } from '../../database/sql/any-of.ts';
import { p } from '../../database/sql/template.ts';

export const foldedEmail = (email: SQL): SQL => sql`lower(${email} collate "C")`;

/** Whether the column has the address in one of its spellings. `parameter` names the list of them. */
export function isSameEmail(column: SQL, parameter = 'emails'): SQL {
  return sql`${foldedEmail(column)} = ${anyOf(p.texts(parameter))}`;
}

/**
 * Orders users by how their address is spelled. Rows from before Usher stored A-labels may have several spellings of
 * one address, of which the canonical one wins.
 */
export function canonicalFirst(parameter = 'emails'): SQL {
  return sql`array_position(${p.texts(parameter)}, ${foldedEmail(sql`email`)})`;
}

/** Whether a user has the address. The unique index covers the canonical spelling only. Parameter: emails. */
export const isEmailTaken = sql`exists (select 1 from users where ${isSameEmail(sql`email`)} and deleted_at is null)`;

/** The parameter of `isSameEmail`. */
export function spellingsOf<Email extends string | null | undefined>(email: Email) {
  return { emails: email === null || email === undefined ? null : listSpellings(email) };
}
