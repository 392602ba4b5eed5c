/** Versions of rows. An update is refused if the row has changed since the caller read it, as with `If-Match`. */
import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, p, statement, type TableRowType, t } from '../../database/sql/template.ts';
import type { Call } from './call.ts';
import { ServiceError } from './errors.ts';

/** Returns the version of a row: a hash of the columns. */
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
