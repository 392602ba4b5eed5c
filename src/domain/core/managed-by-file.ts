/** What `APPLICATIONS_FILE` names, only that file writes: a second writer would lose the changes of one of the two. */
import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import { ServiceError } from './errors.ts';

/**
 * Returns the condition that the file has declared a row, and that the call is not the file's. Parameter: auditActorType.
 *
 * @param declared the column `declared_by_file`
 */
export function isManagedByFile(declared: SQL = sql`declared_by_file`): SQL {
  return sql`(coalesce(${declared}, false) and ${p.text('auditActorType')} <> 'file')`;
}

/** @throws ServiceError `Managed by file` */
export function requireUnmanaged({ isManaged }: { readonly isManaged: boolean }): void {
  if (isManaged) throw new ServiceError('MANAGED_BY_FILE');
}
