/** Versions of rows, by which a change is refused that somebody made without seeing the latest one, as If-Match of HTTP. */
import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, p, type TableRowType } from '../database/template.ts';
import type { Call } from './call.ts';
import { ServiceError } from './errors.ts';

/** The version of a row, which each change of these columns changes. */
export function versionOf(columns: TableRowType): SQL {
  return sql`encode(sha256(convert_to(row(${columnsOf(columns)})::text, 'UTF8')), 'hex')`;
}

/** Whether the row has the version that the caller demands, if any. Parameter: that of `versionParameter`. */
export function hasExpectedVersion(columns: TableRowType): SQL {
  return sql`(${p.text('ifVersion')} is null or ${p.text('ifVersion')} = ${versionOf(columns)})`;
}

export function versionParameter({ ifVersion }: Call): { readonly ifVersion: string | null } {
  return { ifVersion: ifVersion ?? null };
}

/** @throws ServiceError `Changed meanwhile` if the row had another version than the caller demands */
export function requireExpected({ isExpected }: { readonly isExpected: boolean }): void {
  if (!isExpected) throw new ServiceError('CHANGED_MEANWHILE');
}
