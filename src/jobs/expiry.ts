/** The expiry job, which deletes expired rows. */
import { getTableName, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Database, Run, Statement } from '../database/pool/database.ts';
import { expiryMarks } from '../database/schema/operations-schema.ts';
import { DAY_MS, type ExpiringRows, type LogDays } from '../database/schema/table-facts.ts';
import { p, statement, t } from '../database/sql/template.ts';
import { pause } from '../pause.ts';
import { BATCH_SIZES, EXPIRING, isInBatch, nextBatchSize, pauseAfterBatch } from './expiring-rows.ts';

const INTERVAL_MS = 60_000;
const BATCH_TIMEOUT_MS = 5_000;
const [FIRST_SIZE = 0] = BATCH_SIZES;

const TABLES = EXPIRING.map((rows) => ({
  ...rows,
  selectBatchEnd: new Map(BATCH_SIZES.map((size) => [size, createSelectBatchEnd(rows.expiresAt, size)])),
  deleteBatch: createDeleteBatch(rows),
}));

/** The defaults of `removeExpired`: a year and a month, for a yearly review. */
const AUDIT_LOG_DAYS = 400;
const SIGN_IN_LOG_DAYS = 90;

interface RemovalOptions extends Partial<Omit<LogDays, 'webhookLogDays'>>, Pick<LogDays, 'webhookLogDays'> {
  readonly now: Date;
  readonly signal?: AbortSignal;
  readonly onRemoved?: ((table: string, count: number) => void) | undefined;
}

export interface ExpiryOptions extends Omit<RemovalOptions, 'now'> {
  /** Throws if the clocks of this machine and Postgres differ too much, so that nothing is deleted. */
  readonly clock: () => Date;
  readonly signal: AbortSignal;
  onError(error: unknown): void;
}

/**
 * Removes expired rows about once a minute until the signal is aborted. Any number of replicas may run it: if two of
 * them delete the same batch, one waits for the other and then finds no rows.
 */
export async function runExpiryJob(
  database: Pick<Database, 'run'>,
  { clock, onError, ...options }: ExpiryOptions,
): Promise<void> {
  const { signal } = options;
  while (!signal.aborted) {
    // Jitter, so that replicas that started together do not delete together.
    const nextAt = performance.now() + INTERVAL_MS * (0.5 + Math.random());
    try {
      await removeExpired(database, { now: clock(), ...options });
    } catch (error) {
      onError(error);
    }
    await pause(Math.max(0, nextAt - performance.now()), signal);
  }
}

/** Removes expired rows in short batches with pauses. If one table fails, it continues, and rejects at the end. */
export async function removeExpired(database: Pick<Database, 'run'>, options: RemovalOptions): Promise<void> {
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  for (const table of TABLES) {
    if (!options.signal?.aborted) await removeFrom(database, table, options).catch(onFailure);
  }
  if (failures.length > 0) throw failures[0];
}

async function removeFrom(
  database: Pick<Database, 'run'>,
  {
    expiresAt,
    selectBatchEnd,
    deleteDependents,
    deleteBatch,
    handleRows,
    graceMs = 0,
    keptFor,
    mark,
  }: (typeof TABLES)[number],
  { now, signal, onRemoved, ...given }: RemovalOptions,
): Promise<void> {
  const days: LogDays = { auditLogDays: AUDIT_LOG_DAYS, signInLogDays: SIGN_IN_LOG_DAYS, ...given };
  // Columns have whole milliseconds, so this is the latest instant before the limit.
  const last = new Date(now.getTime() - graceMs - (keptFor ? days[keptFor] : 0) * DAY_MS - 1);
  const run: Run = (statement, parameters) => database.run(statement, parameters, performance.now() + BATCH_TIMEOUT_MS);
  let after = (mark && (await readExpiryMark(run, mark))) || new Date(-1);
  if (after >= last) return;
  let size = FIRST_SIZE;
  while (!signal?.aborted) {
    const startedAt = performance.now();
    const deadline = startedAt + BATCH_TIMEOUT_MS;
    const select = selectBatchEnd.get(size);
    if (!select) throw new Error(`No batch has ${size} rows`);
    const [{ end } = { end: last }] = await database.run(select, { after }, deadline);
    const isMore = end < last;
    const batch = { after, until: isMore ? end : last };
    if (deleteDependents) await database.run(deleteDependents, batch, deadline);
    if (handleRows) await handleRows(run, batch, signal);
    else {
      const { count } = await database.run(deleteBatch, batch, deadline);
      onRemoved?.(getTableName(expiresAt.table), count);
    }
    // It may have stopped within the batch.
    if (mark && !signal?.aborted) await moveExpiryMark(run, mark, batch.until);
    if (!isMore) return;
    // The next batch does not read the dead rows of this one, which are not vacuumed yet.
    after = batch.until;
    const elapsedMs = performance.now() - startedAt;
    await pause(pauseAfterBatch(size, elapsedMs), signal);
    size = nextBatchSize(size, elapsedMs);
  }
}

/**
 * The statement returns no row if less than a batch is left. The offset is a literal, so every plan reads only one
 * batch.
 */
function createSelectBatchEnd(expiresAt: PgColumn, size: number) {
  const column = sql`${expiresAt}`;
  return statement('select_batch_end', { end: t.instant })`
    select ${column} as end from ${sql`${expiresAt.table}`} where ${column} > ${p.instant('after')}
    order by ${column} offset ${sql.raw(String(size - 1))} limit 1`;
}

/** Deletes by range: that needs no locks on rows beforehand, also where the table is distributed. */
function createDeleteBatch(rows: Pick<ExpiringRows, 'expiresAt' | 'only'>): Statement<{ count: number }> {
  // A named function: metrics show its name.
  const deleteBatch: Statement<{ count: number }> = (db) =>
    db.delete(rows.expiresAt.table).where(isInBatch(rows)).prepare('delete_batch');
  return deleteBatch;
}

/** Returns up to which instant rows are deleted, or undefined if none has been. */
async function readExpiryMark(run: Run, name: string): Promise<Date | undefined> {
  const [mark] = await run(selectMark, { name });
  return mark?.reachedAt;
}

async function moveExpiryMark(run: Run, name: string, reachedAt: Date): Promise<void> {
  await run(setMark, { name, reachedAt });
}

const selectMark = statement('select_expiry_mark', { reachedAt: expiryMarks.reachedAt })`
  select reached_at from expiry_marks where name = ${p.text('name')}`;

/** Keeps the later instant, because another replica may have deleted more. */
const setMark = statement('set_expiry_mark')`
  insert into expiry_marks as m (name, reached_at) values (${p.text('name')}, ${p.instant('reachedAt')})
  on conflict (name) do update set reached_at = greatest(m.reached_at, excluded.reached_at)`;
