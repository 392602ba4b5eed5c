/**
 * Lists what has ended sessions and grants since an instant. A row has the time when its statement began, and becomes
 * visible at its commit, which may be much later: a commit may wait for a standby. So the cursor also has the start of
 * the oldest transaction that was open when the rows were read, and the next answer begins with the earlier of both.
 */
import { sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { BY_POSTGRES } from '../../database/sql/instants.ts';
import { nullable, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { BatchLoader } from '../cache/batch-loader.ts';
import { createLruCache } from '../cache/revalidating-cache.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, optional, type Unchecked } from '../core/validation.ts';
import { cursorRule, type PageTokens } from '../pages/list.ts';
import { ENDINGS } from './endings.ts';

// Equivalent: limit: nobody has so many applications
const MAX_APPLICATIONS = 10_000;
const MAX_AGE_MS = 20 * 60_000;
/** More rows become one that makes readers ask again. */
const MAX_ROWS = 10_000;
/** A statement that has just reached Postgres is not in the list of open transactions yet. */
const MARGIN_MS = 2_000;

const rules = { since: optional(cursorRule) };

const REVOCATION = { userId: nullable(t.uuid), grantId: nullable(t.uuid), cutoffAt: t.instant, changedAt: t.instant };

/** It is for every user if it has neither ID. */
export type Revocation = RowOfType<typeof REVOCATION>;

/** Up to where a caller knows what has ended. */
interface Known {
  readonly epoch: string;
  /** The time of Postgres, in milliseconds. */
  readonly at: number;
  /** When the oldest open transaction began. */
  readonly oldestAt: number;
}

interface Answer {
  readonly until: Known;
  /** Undefined if what the caller knows is of no use. */
  readonly rows: readonly Revocation[] | undefined;
}

/** Reads revocations. Callers of one application share a statement that begins after the call of each. */
export class Revocations {
  readonly #run: Run;
  readonly #windowMs: number;
  readonly #loaders = createLruCache<BatchLoader<Answer>>(MAX_APPLICATIONS);

  /** @param run reads without the deadline of a caller, and each statement within `timeoutMs` */
  constructor(run: Run, timeoutMs: number) {
    this.#run = run;
    this.#windowMs = timeoutMs + MARGIN_MS;
  }

  async find(applicationId: string, known: Known | undefined): Promise<Answer | undefined> {
    let loader = this.#loaders.get(applicationId);
    if (!loader) {
      loader = new BatchLoader((keys) => this.#readAll(applicationId, keys));
      this.#loaders.set(applicationId, loader);
    }
    return loader.load(JSON.stringify(known ?? null));
  }

  async #readAll(applicationId: string, keys: readonly string[]): Promise<ReadonlyMap<string, Answer>> {
    // First, and by itself: what has committed between the two is then in the rows.
    const [present] = await this.#run(selectPresent, {});
    // Equivalent: guard: there is always one row
    if (!present) throw new Error('Postgres does not tell its time');
    const until = { epoch: present.epoch, at: present.at.getTime(), oldestAt: present.oldestAt.getTime() };
    const starts = keys.map((key) => this.#startOf(JSON.parse(key), until));
    const from = Math.min(...starts.flatMap((start) => start ?? []));
    const rows = Number.isFinite(from)
      ? await this.#run(selectRevocations, { ...BY_POSTGRES, applicationId, from: new Date(from) })
      : [];
    return new Map(keys.map((key, at) => [key, { until, rows: rowsFrom(rows, starts[at]) }]));
  }

  /** Returns from when on the caller may have missed a row, null if it asks for none, undefined if that is too long ago. */
  #startOf(known: Known | null, { epoch, at }: Known): number | null | undefined {
    if (!known) return null;
    // A clock that was set back would hide rows.
    const isUsable = known.epoch === epoch && known.at <= at && known.at >= at - MAX_AGE_MS;
    return isUsable ? Math.min(known.at - this.#windowMs, known.oldestAt) : undefined;
  }
}

function rowsFrom(rows: readonly Revocation[], start: number | null | undefined): readonly Revocation[] | undefined {
  if (start === undefined) return undefined;
  if (start === null) return [];
  const own = rows.filter(({ changedAt }) => changedAt.getTime() >= start);
  if (own.length <= MAX_ROWS) return own;
  const latest = (column: 'cutoffAt' | 'changedAt') => new Date(Math.max(...own.map((row) => row[column].getTime())));
  return [{ userId: null, grantId: null, cutoffAt: latest('cutoffAt'), changedAt: latest('changedAt') }];
}

/**
 * Returns what has ended since `since`. Whatever was acknowledged before the call is in the answer, or in an earlier
 * one.
 *
 * @throws ServiceError `Cursor expired` if the caller must forget what it knows
 */
export async function listRevocations(
  { application: { id } }: ApplicationCall,
  { revocations, pageTokens }: { readonly revocations: Revocations; readonly pageTokens: PageTokens },
  request: Unchecked<keyof typeof rules>,
): Promise<{ readonly revocations: readonly Revocation[]; readonly until: string }> {
  const { since } = check(request, rules);
  const scope = ['revocations', id];
  const answer = await revocations.find(id, since ? open(pageTokens, since, scope) : undefined);
  if (!answer?.rows) throw new ServiceError('CURSOR_EXPIRED');
  const { epoch, at, oldestAt } = answer.until;
  return { revocations: answer.rows, until: pageTokens.seal({ at: new Date(at), id: `${oldestAt} ${epoch}` }, scope) };
}

function open(pageTokens: PageTokens, since: string, scope: readonly string[]): Known {
  const found = pageTokens.find(since, scope);
  if (!found) throw new ServiceError('CURSOR_EXPIRED');
  const [oldestAt, ...epoch] = found.id.split(' ');
  return { epoch: epoch.join(' '), at: found.at.getTime(), oldestAt: Number(oldestAt) };
}

/**
 * The epoch is another one on a server that has become the primary, and after a restore: rows of before may be missing
 * there, and its clock is another one.
 */
const selectPresent = statement('select_present', { at: t.instant, oldestAt: t.instant, epoch: t.text })`
  select statement_timestamp() as at, least(min(a.xact_start),
      -- Equivalent: argument: only without track_activities, no transaction has a start
      statement_timestamp()) as oldest_at,
    -- Equivalent: argument: all are the same
    concat_ws(' ', extract(epoch from pg_postmaster_start_time()), max(a.datid),
      pg_relation_filenode('session_cutoffs'::regclass)) as epoch
  from pg_stat_activity own join pg_stat_activity a on a.datid = own.datid and a.usesysid = own.usesysid
  where own.pid = pg_backend_pid()`;

/** The newest first, so that callers who ask for few get all of theirs. */
const selectRevocations = statement('select_revocations', REVOCATION)`
  select * from (${sql.join(
    ENDINGS.map(({ rows }) => rows),
    sql` union all `,
  )}) as ended order by changed_at desc
  -- Equivalent: limit: one row too many suffices
  limit ${sql.raw(String(MAX_ROWS + 1))}`;
