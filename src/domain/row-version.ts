/** Versions of rows, by which a change is refused that somebody made without seeing the latest one, as If-Match of HTTP. */
import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, p, statement, type TableRowType, t } from '../database/template.ts';
import type { Call } from './call.ts';
import { ServiceError } from './errors.ts';

/** The version of a row, which each change of these columns changes. */
function versionOf(columns: TableRowType): SQL {
  return sql`encode(sha256(convert_to(row(${columnsOf(columns)})::text, 'UTF8')), 'hex')`;
}

/** Whether the row has the version that the caller demands, if any. Its parameter is of `versionParameter`. */
export function hasExpectedVersion(columns: TableRowType): SQL {
  return sql`(${p.text('ifVersion')} is null or ${p.text('ifVersion')} = ${versionOf(columns)})`;
}

/**
 * Returns a function that reads the version of a row for an update, or undefined if there is none. Read it before the
 * values that are shown: they are not older then. `from` is what follows `from`, with the parameters of the function.
 */
export function createVersionReader(name: string, columns: TableRowType, from: SQL) {
  const selectVersion = statement(name, { version: t.text })`select ${versionOf(columns)} as version from ${from}`;
  return async ({ run }: Pick<Call, 'run'>, parameters: Readonly<Record<string, string>>) =>
    (await run(selectVersion, parameters))[0]?.version;
}

export function versionParameter({ ifVersion }: Call): { readonly ifVersion: string | null } {
  return { ifVersion: ifVersion ?? null };
}

/** @throws ServiceError `Changed meanwhile` if the row had another version than the caller demands */
export function requireExpected({ isExpected }: { readonly isExpected: boolean }): void {
  if (!isExpected) throw new ServiceError('CHANGED_MEANWHILE');
}
