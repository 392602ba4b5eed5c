import { DatabaseUnavailableError, StandbyError } from './errors.ts';
import type { PipelinedConnection } from './pipelined-connection.ts';
import type { Deadline } from './statement.ts';
import { type RowOfType, statement, t } from './template.ts';

/** After this much silence of a connection, Postgres is asked whether commits wait. */
const SUSPICIOUS_MS = 200;
/** The least time between two such questions. */
const CHECK_INTERVAL_MS = 200;
const CHECK_TIMEOUT_MS = 1_000;

/** How long a commit waits for a standby until nothing counts as writable. */
const STALLED_MS = 1_000;

/** How long the last finding holds. */
const VALID_MS = 1_500;

/**
 * Distinguishes connections that have fallen silent from those whose commit waits for a synchronous standby. Such a
 * commit still happens when the standby returns. A connection that is given up leaves its backend behind until then.
 */
export class CommitMonitor {
  readonly #control: PipelinedConnection;
  #waitingUntil = 0;
  #nextCheckAt = 0;

  constructor(control: PipelinedConnection) {
    this.#control = control;
  }

  /** Whether commits of this role wait for a standby. */
  get areCommitsWaiting(): boolean {
    return performance.now() < this.#waitingUntil;
  }

  /** Asks Postgres if one of the connections has been silent for a while. */
  tick(now: number, connections: Iterable<PipelinedConnection>): void {
    if (now < this.#nextCheckAt) return;
    for (const { silentMs } of connections) {
      if (silentMs < SUSPICIOUS_MS) continue;
      this.#nextCheckAt = now + CHECK_INTERVAL_MS;
      // If Postgres does not answer, the connections count as silent.
      this.#check(now + CHECK_TIMEOUT_MS).catch(() => {});
      return;
    }
  }

  /** Rejects unless Postgres answers by the deadline, and can be written to. */
  async requireWritable(deadline: Deadline): Promise<void> {
    const { isReadOnly, commitWaitMs } = await this.#check(deadline);
    if (isReadOnly) throw new DatabaseUnavailableError('Postgres is read-only');
    if (commitWaitMs > STALLED_MS) throw new DatabaseUnavailableError('Commits wait for a standby');
  }

  async #check(deadline: Deadline): Promise<RowOfType<typeof STATE>> {
    const [row] = await this.#control.run({ statement: selectState, parameters: {}, deadline });
    if (!row || row.isStandby) throw new DatabaseUnavailableError(new StandbyError());
    if (row.commitWaitMs > 0) this.#waitingUntil = performance.now() + VALID_MS;
    else this.#waitingUntil = 0;
    return row;
  }
}

const STATE = {
  isStandby: t.boolean,
  /** Whether an operator, or a disk that is nearly full, has made transactions read-only. */
  isReadOnly: t.boolean,
  commitWaitMs: t.float,
};

const selectState = statement('select_state', STATE)`
  select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only')::boolean as is_read_only, coalesce((
    select max(extract(epoch from clock_timestamp() - state_change) * 1000) from pg_stat_activity
    where wait_event = 'SyncRep' and datname = current_database()
  ), 0)::float8 as commit_wait_ms`;
