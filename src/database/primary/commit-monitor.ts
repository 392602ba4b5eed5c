import type { PipelinedConnection } from '../connection/pipelined-connection.ts';
import { DatabaseUnavailableError, StandbyError } from '../sql/errors.ts';
import type { Deadline } from '../sql/statement.ts';
import { type RowOfType, statement, t } from '../sql/template.ts';

/** A connection that has been silent for this long makes the monitor ask Postgres whether commits wait. */
const SUSPICIOUS_MS = 200;
/** The least time between two questions to Postgres. */
const CHECK_INTERVAL_MS = 200;
const CHECK_TIMEOUT_MS = 1_000;

/** Once a commit has waited for a standby for longer than this, the database does not count as writable. */
const STALLED_MS = 1_000;

/** How long an answer that commits wait stays valid. */
const VALID_MS = 1_500;

/**
 * Distinguishes connections that no longer answer from connections whose commit waits for a synchronous standby. A
 * waiting commit succeeds when the standby returns. Replacing its connection would not end the wait: the backend in
 * Postgres would stay until the standby returns.
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

  /** If one of the connections has been silent for a while, asks Postgres whether commits wait. */
  tick(now: number, connections: Iterable<PipelinedConnection>): void {
    if (now < this.#nextCheckAt) return;
    for (const { silentMs } of connections) {
      if (silentMs < SUSPICIOUS_MS) continue;
      this.#nextCheckAt = now + CHECK_INTERVAL_MS;
      // If Postgres does not answer, the previous answer expires, and silent connections are replaced.
      this.#check(now + CHECK_TIMEOUT_MS).catch(() => {});
      return;
    }
  }

  /** Rejects unless Postgres answers by the deadline, accepts writes, and commits them. */
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
  /** Whether transactions are read-only, by the choice of an operator or because the disk is nearly full. */
  isReadOnly: t.boolean,
  commitWaitMs: t.float,
};

const selectState = statement('select_state', STATE)`
  select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only')::boolean as is_read_only, coalesce((
    select max(extract(epoch from clock_timestamp() - state_change) * 1000) from pg_stat_activity
    where wait_event = 'SyncRep' and datname = current_database()
  ), 0)::float8 as commit_wait_ms`;
