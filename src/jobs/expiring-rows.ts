/** The rows that the expiry job removes, as the schema of each table says. */
import { and, gt, lte, type SQL, sql } from 'drizzle-orm';
import type { Run, Statement } from '../database/pool/database.ts';
import { events } from '../database/schema/event-schema.ts';
import { loginIntents } from '../database/schema/intent-schema.ts';
import { sessionIds } from '../database/schema/session-schema.ts';
import type { ExpiringRows } from '../database/schema/table-facts.ts';
import { TABLES } from '../database/schema/tables.ts';
import { p, statement } from '../database/sql/template.ts';
import { OWN_APPLICATION_IDS } from '../domain/core/own-applications.ts';
import { DELETED_LISTS } from './deleted-lists.ts';

/**
 * Deletes the sessions of a batch of `session_ids`, but not their successors. `sessions` has no index on the expiry.
 */
const deleteSessions = statement('delete_sessions')`
  delete from sessions where (application_id, user_id, id) in (
    select application_id, user_id, id from session_ids
    where kept_until > ${p.instant('after')} and kept_until <= ${p.instant('until')})`;

/** Anybody can begin a login of OpenID Connect or of the account page, and fill its row. So the row goes with the login. */
const isAbandoned = sql`${loginIntents.completedAt} is null and (${loginIntents.responseMode} <> '' or
    ${loginIntents.applicationId} in (${sql.raw(OWN_APPLICATION_IDS.map((id) => `'${id}'`).join(', '))}))`;

const ABANDONED: ExpiringRows = { expiresAt: loginIntents.expiresAt, only: isAbandoned, mark: 'abandoned-logins' };

interface RemovedRows extends ExpiringRows {
  /** Deletes the rows of other tables that belong to the rows of a batch. */
  readonly deleteDependents?: Statement<unknown>;
  /** Replaces the deletion of the rows of a batch, which stay. */
  readonly handleRows?: (run: Run, batch: Batch, signal: AbortSignal | undefined) => Promise<void>;
}

/** Excludes the first instant, and includes the last. */
interface Batch {
  readonly after: Date;
  readonly until: Date;
}

export const EXPIRING: readonly RemovedRows[] = TABLES.flatMap(({ table, expires }): readonly RemovedRows[] => {
  if (table === loginIntents) return [ABANDONED, ...expires];
  if (table === sessionIds) return expires.map((rows) => ({ ...rows, deleteDependents: deleteSessions }));
  return table === events ? [DELETED_LISTS, ...expires] : expires;
});

/** Selects rows that expire after the parameter `after`, up to and including `until`. */
export function isInBatch({ expiresAt, only }: Pick<ExpiringRows, 'expiresAt' | 'only'>): SQL | undefined {
  return and(gt(expiresAt, p.instant('after')), lte(expiresAt, p.instant('until')), only);
}
