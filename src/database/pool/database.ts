import { Connection } from '../connection/connection.ts';
import { readTarget } from '../connection/open-client.ts';
import {
  IsolatedConnection,
  PipelinedConnection,
  ReconnectLimiter,
  TICK_MS,
} from '../connection/pipelined-connection.ts';
import { CommitMonitor } from '../primary/commit-monitor.ts';
import { PrimaryFinder } from '../primary/primary-finder.ts';
import { PrimaryLease } from '../primary/primary-lease.ts';
import { createLateError, isSerializationFailure } from '../sql/errors.ts';
import type { Caller, Deadline, Layout, PlaceholderValues, Receiver, Run, Statement } from '../sql/statement.ts';
import { statement, t } from '../sql/template.ts';
import { ConnectionPool } from './connection-pool.ts';
import { LOCK_TIMEOUT_MS, LockIsolation } from './lock-isolation.ts';
import { ReadDetector, StatementRunner, type StatementRunnerOptions } from './statement-runner.ts';
import { type TransactionOptions, TransactionPool } from './transaction-pool.ts';

export { DatabaseUnavailableError, DeadlinePassedError } from '../sql/errors.ts';
export {
  type Caller,
  type Deadline,
  type Layout,
  type PlaceholderValues,
  placeholdersOf,
  type RowOf,
  type Run,
  type Statement,
  whereEqual,
} from '../sql/statement.ts';
export type { RecordStatement } from './statement-runner.ts';

/** At least this many statements may wait for locks in Postgres at the same time. */
const MIN_ISOLATED_CONNECTIONS = 8;

/** Reads never wait for a commit, so two connections serve all reads that a Node process can send. */
const MIN_READ_CONNECTIONS = 2;

/** The longest pause before a statement that Postgres has rolled back is run again. */
const MAX_RETRY_PAUSE_MS = 40;

export interface DatabaseOptions extends Omit<StatementRunnerOptions, 'layout'> {
  /** The number of connections for statements that write. */
  readonly connections: number;
  readonly statementTimeoutMs: number;
  /** `whole` by default. */
  readonly layout?: Layout;
  /** The Postgres schema of the tables. */
  readonly schema?: string;
  /** Called once, with the error of Postgres, if the URL names several servers that have no leases. */
  readonly onNoLeases?: (reason: unknown) => void;
}

/** Runs statements. Reads have their own connections, so that no read waits behind a commit. */
export class Database {
  readonly layout: Layout;
  readonly #reads: ConnectionPool;
  readonly #writes: ConnectionPool;
  readonly #isolation: LockIsolation;
  readonly #transactions: TransactionPool;
  /** Serves only the monitor and the clock, so that no other statement delays them. */
  readonly #control: PipelinedConnection;
  readonly #monitor: CommitMonitor;
  readonly #primary: PrimaryFinder;
  /** Undefined if the URL names a single server. */
  readonly #lease: PrimaryLease | undefined;
  readonly #detector = new ReadDetector();
  readonly #timer: NodeJS.Timeout;
  readonly #reconnects = new ReconnectLimiter();
  readonly #runner: StatementRunner;

  constructor(url: string, settings: DatabaseOptions) {
    const { connections, statementTimeoutMs, onNoLeases, schema, layout = 'whole' } = settings;
    this.layout = layout;
    this.#runner = new StatementRunner({ ...settings, layout });
    const target = readTarget(url, schema);
    this.#primary = new PrimaryFinder(target);
    const options = {
      statementTimeoutMs,
      lockTimeoutMs: LOCK_TIMEOUT_MS,
      reconnects: this.#reconnects,
      primary: this.#primary,
      areCommitsWaiting: () => this.#monitor.areCommitsWaiting,
    };
    const isolated = { ...options, name: 'usher lock isolation', lockTimeoutMs: 0 };
    const capacity = Math.max(MIN_ISOLATED_CONNECTIONS, connections);
    this.#isolation = new LockIsolation(capacity, () => new IsolatedConnection(target, isolated));
    this.#transactions = new TransactionPool(() => new Connection(target, { ...isolated, name: 'usher transactions' }));
    const open = (name: string) => new PipelinedConnection(target, { ...options, name });
    const createPool = (size: number) =>
      new ConnectionPool(
        Array.from({ length: size }, () => open('usher pool')),
        this.#isolation,
      );
    this.#reads = createPool(Math.max(MIN_READ_CONNECTIONS, Math.ceil(connections / 2)));
    this.#writes = createPool(connections);
    this.#control = open('usher control');
    this.#monitor = new CommitMonitor(this.#control);
    if (target.servers.length > 1) this.#lease = new PrimaryLease(open('usher lease'), this.#primary, onNoLeases);
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** @throws DatabaseUnavailableError if there is no answer by the deadline, or the PostgresError of the statement. */
  run<Rows>(
    statement: Statement<Rows>,
    parameters: PlaceholderValues,
    deadline: Deadline,
    caller: Caller = {},
  ): Promise<Rows> {
    return this.#runner.run(statement, parameters, (form, values, receiver) =>
      this.#start(form, values, deadline, caller, receiver),
    );
  }

  /** Returns the `run` function of one call. */
  within(deadline: Deadline, caller: Caller = {}): Run {
    return (statement, parameters) => this.run(statement, parameters, deadline, caller);
  }

  /** Returns a `run` function that gives each statement this long. */
  eachWithin(timeoutMs: number): Run {
    return (statement, parameters) => this.run(statement, parameters, performance.now() + timeoutMs);
  }

  /** Runs `work` in one transaction: its statements take effect together, or not at all. @throws as `run` does */
  async transact<Result>(of: TransactionOptions, work: (run: Run) => Promise<Result>): Promise<Result> {
    const { deadline } = of;
    const result = this.#transactions.run(of, (run) =>
      work((given, values) =>
        this.#runner.run(given, values, (statement, parameters, { resolve, reject }) => {
          run({ statement, parameters, deadline }).then(resolve, reject);
        }),
      ),
    );
    const lease = this.#lease;
    if (!lease) return result;
    return new Promise((resolve, reject) => {
      const guarded = lease.guard<Result>({ resolve, reject }, { mayWrite: true, deadline });
      result.then(guarded.resolve, guarded.reject);
    });
  }

  #start<Rows>(
    statement: Statement<Rows>,
    parameters: PlaceholderValues,
    deadline: Deadline,
    caller: Caller,
    { resolve, reject }: Receiver<Rows>,
  ): void {
    const mayWrite = !this.#detector.isRead(statement);
    const pool = mayWrite ? this.#writes : this.#reads;
    const { onLockWait } = caller;
    const mayStart = () => {
      if (!caller.hasWritten && caller.isGone?.()) return false;
      caller.hasWritten ||= mayWrite;
      return true;
    };
    const start = () => {
      // A statement that nobody waits for must not take effect.
      if (performance.now() >= deadline) reject(createLateError());
      else pool.start({ statement, parameters, deadline, onLockWait, mayStart }, guarded);
    };
    const rejectOrRepeat = (error: unknown) => {
      if (isSerializationFailure(error)) setTimeout(start, Math.random() * MAX_RETRY_PAUSE_MS);
      else reject(error);
    };
    const receiver = { resolve, reject: rejectOrRepeat };
    const guarded = this.#lease?.guard(receiver, { mayWrite, deadline }) ?? receiver;
    start();
  }

  /** Resolves if Postgres answers by the deadline, accepts writes and commits them. Otherwise rejects. */
  async ping(deadline: Deadline): Promise<void> {
    await this.#monitor.requireWritable(deadline);
    await this.#lease?.require(deadline);
  }

  /** Returns the time of Postgres, in milliseconds since 1970. Never waits behind other statements. */
  async readTime(deadline: Deadline): Promise<number> {
    const [row] = await this.#control.run({ statement: selectTime, parameters: {}, deadline });
    return row?.time ?? Number.NaN;
  }

  /** The number of statements, or transactions, in each pool, and of connections that have been replaced since the start. */
  get load() {
    const pools = {
      read: this.#reads.load,
      write: this.#writes.load,
      lock_isolation: this.#isolation.load,
      transactions: this.#transactions.load,
    };
    return { pools, reconnects: this.#reconnects.replaced };
  }

  /** Gives statements in flight a moment to finish. */
  async close(): Promise<void> {
    this.#primary[Symbol.dispose]();
    await Promise.all(
      [this.#reads, this.#writes, this.#isolation, this.#transactions, this.#control].map((part) => part.close()),
    );
    await this.#lease?.close();
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    this.#primary.tick(now);
    this.#lease?.tick(now);
    for (const part of [this.#control, this.#reads, this.#writes, this.#isolation, this.#transactions]) part.tick(now);
    const leased = this.#lease ? [this.#lease.connection] : [];
    this.#monitor.tick(now, [...leased, ...this.#writes.connections, ...this.#isolation.connections]);
  }
}

/** Not `clock_timestamp`: it is volatile, and a test demands that statements that read call no volatile function. */
export const selectTime = statement('select_time', { time: t.float })`
  select (extract(epoch from statement_timestamp()) * 1000)::float8 as time`;
