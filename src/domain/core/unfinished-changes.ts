/**
 * A change that concerns many rows stores what is left to do: the statement stays small, however many there are. The
 * call goes on with it, and a job does what the call has left, on any replica.
 */
import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { unfinishedChanges } from '../../database/schema/operations-schema.ts';
import { columnsOf, p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from './call.ts';

/** How long a process may be silent before another one goes on. */
const LEASE_MS = 5_000;

const { id, kind, subjectId, losingIds, isRemoval, step, after, createdAt, dueAt } = unfinishedChanges;
const columns = { id, kind, subjectId, losingIds, isRemoval, step, after, createdAt, dueAt };

export type UnfinishedChange = RowOfType<typeof columns>;

export const leaseUntil = (now: Date): Date => new Date(now.getTime() + LEASE_MS);

/** Returns the parameters of `leaveUnfinished`, beside `now`. */
export function unfinishedParameters(now: Date) {
  return { changeId: randomUUID(), dueAt: leaseUntil(now) };
}

/**
 * Returns the CTE `unfinished`, which inserts the change.
 *
 * @param from has one row at most
 */
export function leaveUnfinished(
  kind: UnfinishedChange['kind'],
  {
    from,
    subjectId,
    losing = sql`'{}'`,
    seeing = sql`'{}'`,
    isRemoval = sql`false`,
  }: {
    readonly from: SQL;
    readonly subjectId: SQL;
    /** An array of the applications that users may have lost. */
    readonly losing?: SQL;
    /** An array of the applications that learn of a change of the members of a group. */
    readonly seeing?: SQL;
    readonly isRemoval?: SQL;
  },
): SQL {
  return sql`unfinished as (
    insert into unfinished_changes (id, kind, subject_id, losing_ids, seeing_ids, is_removal, created_at, due_at)
    select ${p.uuid('changeId')}, '${sql.raw(kind)}', ${subjectId}, ${losing}, ${seeing}, ${isRemoval},
      ${p.instant('now')}, ${p.instant('dueAt')}
    from ${from}
  )`;
}

/**
 * The CTE `claimed`, which stores how far the change has come. It has no row if another process has gone on meanwhile.
 * So each part is done once. Parameters: id, step, after, nextStep, nextAfter, dueAt.
 */
export const claimed = sql`claimed as (
    update unfinished_changes set step = ${p.integer('nextStep')}, after = ${p.uuid('nextAfter')},
      due_at = ${p.instant('dueAt')}
    where ${isAt()} returning *
  )`;

/** Returns the condition that a change has come no further. */
export function isAt(): SQL {
  return sql`id = ${p.uuid('id')} and step = ${p.integer('step')} and after = ${p.uuid('after')}`;
}

export async function findUnfinished({ run }: Pick<Call, 'run'>, id: string): Promise<UnfinishedChange | undefined> {
  const [found] = await run(selectChange, { id });
  return found;
}

/** Returns changes with which no process goes on. */
export function listUnfinished({ run, now }: Pick<Call, 'run' | 'now'>, limit: number): Promise<UnfinishedChange[]> {
  return run(selectDue, { now, limit });
}

const selectChange = statement('select_unfinished_change', columns)`
  select ${columnsOf(columns)} from unfinished_changes where id = ${p.uuid('id')}`;

const selectDue = statement('select_unfinished_changes', columns)`
  select ${columnsOf(columns)} from unfinished_changes where due_at <= ${p.instant('now')}
  order by due_at limit ${p.integer('limit')}`;
