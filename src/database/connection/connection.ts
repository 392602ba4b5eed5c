import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { DrizzleQueryError } from 'drizzle-orm';
import { type PostgresClient, PostgresError } from '../sql/driver.ts';
import { CallerGoneError, ConnectionFailedError, DeadlinePassedError, isConnectionFault } from '../sql/errors.ts';
import type { PlaceholderValues, Statement, StatementExecution } from '../sql/statement.ts';
import { ConnectionSettings, type Timeouts } from './connection-settings.ts';
import {
  awaitConnected,
  type ClientTarget,
  type DatabaseServer,
  openClientOf,
  startSocket,
  verifyHost,
} from './open-client.ts';

/** A server that is not a standby. */
export interface Primary {
  readonly server: DatabaseServer;
  /** The system identifier of Postgres, which standbys share with their primary. Empty if the database has none. */
  readonly systemId: string;
  /** Each promotion begins a higher timeline. 0 if the database has none. */
  readonly timeline: number;
}

/** Tells which server is the primary. */
export interface Primaries {
  find(): Promise<Primary>;
  /** Discards what it has found, so that the next `find` searches again. */
  forget(): void;
  /** Returns whether a newer primary has been seen. */
  isOld(primary: Primary): boolean;
}

export interface ConnectionOptions extends Timeouts {
  /** The name that `pg_stat_activity` shows. */
  readonly name: string;
  readonly primary: Primaries;
}

/** A statement that Postgres has not answered yet. */
interface Sent {
  readonly execution: StatementExecution<unknown>;
  reject(error: Error): void;
  isAbandoned: boolean;
}

const CLOSE_TIMEOUT_SECONDS = 1;

/**
 * A postgres.js client with a single connection, which is opened once and never again. By default postgres.js
 * reconnects on its own schedule and leaves statements pending (porsager/postgres#1089, #1193).
 */
export class Connection {
  /** How many statements have been answered. The first is the one that opens the connection. */
  answered = 0;
  /** Oldest first, the order in which Postgres runs them. */
  readonly #sent: Sent[] = [];
  readonly #client: PostgresClient;
  readonly #settings: ConnectionSettings;
  #opening: Promise<void> | undefined;
  readonly #prepared = new Map<Statement<unknown>, { execute(parameters: PlaceholderValues): Promise<unknown> }>();
  #socket: Socket | undefined;
  #primary: Primary | undefined;
  readonly #primaries: Primaries;
  #isGivenUp = false;

  constructor(target: ClientTarget, { name, primary, ...timeouts }: ConnectionOptions) {
    const options = {
      max: 1,
      fetch_types: false,
      onnotice: () => {},
      // The types of postgres.js lack this option.
      socket: () => this.#openSocket(),
      connection: { application_name: name },
    };
    this.#primaries = primary;
    this.#client = openClientOf(target, options);
    this.#settings = new ConnectionSettings(this.#client, timeouts, target);
  }

  /** How many statements have not been answered, including those whose deadline has passed. */
  get pending(): number {
    return this.#sent.length;
  }

  /** The statement that Postgres runs. */
  get running(): StatementExecution<unknown> | undefined {
    return this.#sent[0]?.execution;
  }

  get isOpen(): boolean {
    return this.#settings.isOpen;
  }

  /** Whether the other side has closed the connection. */
  get isLost(): boolean {
    return this.#socket?.destroyed ?? false;
  }

  /** Whether another server has replaced this connection's server as the primary. */
  get isOutdated(): boolean {
    return this.#primary !== undefined && this.#primaries.isOld(this.#primary);
  }

  /** Rejects with the error of postgres.js, or with DeadlinePassedError once `abandonLate` is called. */
  run<Rows>(execution: StatementExecution<Rows>): Promise<Rows> {
    return new Promise((resolve, reject) => {
      const { statement, parameters, mayStart } = execution;
      const sent = { execution, reject, isAbandoned: false };
      this.#sent.push(sent);
      // A statement that nobody waits for must not take effect.
      const execute = () => {
        if (sent.isAbandoned) return Promise.reject(new DeadlinePassedError());
        if (mayStart?.() === false) return Promise.reject(new CallerGoneError());
        return this.#prepare(statement).execute(parameters);
      };
      const rows = this.#settings.isOpen ? execute() : this.#open().then(execute);
      rows.then(
        (rows) => {
          this.#settle(sent);
          resolve(rows);
        },
        (error) => {
          this.#settle(sent);
          reject(toCause(error));
        },
      );
    });
  }

  /** Runs `work` in a transaction: its statements take effect together, or not at all. Nothing else may run meanwhile. */
  async transact<Result>(timeoutMs: number, work: () => Promise<Result>): Promise<Result> {
    await this.#open();
    try {
      await this.#settings.begin(timeoutMs);
      const result = await work();
      await this.#settings.end('commit');
      return result;
    } catch (error) {
      await this.#settings.end('rollback').catch(() => this.giveUp());
      throw error;
    }
  }

  /** Applies to statements that are sent afterwards. */
  setStatementTimeout(timeoutMs: number): void {
    this.#settings.setStatementTimeout(timeoutMs);
  }

  /** Rejects statements whose deadline has passed. Postgres may still run them. */
  abandonLate(now: number): void {
    for (const sent of this.#sent) {
      if (sent.execution.deadline > now || sent.isAbandoned) continue;
      sent.isAbandoned = true;
      sent.reject(new DeadlinePassedError());
    }
  }

  /** Gives statements in flight a moment to finish. */
  async close(): Promise<void> {
    await this.#client.end({ timeout: CLOSE_TIMEOUT_SECONDS });
    // Lets the rows that were read last reach their callers.
    await setImmediate();
    this.giveUp();
  }

  /** Closes the connection at once and rejects every statement in flight. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#client.end({ timeout: 0 }).catch(() => {});
    this.#socket?.destroy();
    // postgres.js would leave some statements pending.
    for (const sent of this.#sent) sent.reject(new ConnectionFailedError('The connection was given up'));
  }

  #open(): Promise<void> {
    this.#opening ??= this.#settings.open().then(
      () => void this.answered++,
      (error) => {
        // Any failure here, such as an expired certificate, means that there is no connection.
        throw isConnectionFault(error) ? error : new ConnectionFailedError(error.message, { cause: error });
      },
    );
    return this.#opening;
  }

  #prepare<Rows>(statement: Statement<Rows>): ReturnType<Statement<Rows>> {
    // The cast is safe: the value for a statement is what this statement returned.
    const known = this.#prepared.get(statement) as ReturnType<Statement<Rows>> | undefined;
    if (known) return known;
    const prepared = statement(this.#settings.db);
    this.#prepared.set(statement, prepared);
    return prepared;
  }

  #settle(sent: Sent): void {
    this.answered++;
    if (this.#sent[0] === sent) this.#sent.shift();
    else this.#sent.splice(this.#sent.indexOf(sent), 1);
  }

  async #openSocket(): Promise<Socket> {
    if (this.#socket) throw new ConnectionFailedError('The connection was lost');
    this.#primary = await this.#primaries.find();
    const { server } = this.#primary;
    if (this.#isGivenUp) throw new ConnectionFailedError('The connection was given up');
    verifyHost(this.#client, server);
    this.#socket = startSocket(server);
    return awaitConnected(this.#socket);
  }
}

/**
 * Returns the error of Postgres or of the connection. If postgres.js itself refuses a statement, such as one with an
 * undefined parameter, it still expects an answer from Postgres, and would give later answers to the wrong statements.
 * So the connection counts as failed, and its statements are rejected before anything more is read from it.
 */
function toCause(error: unknown): unknown {
  if (!(error instanceof DrizzleQueryError)) return error;
  const { cause } = error;
  if (cause instanceof PostgresError || isConnectionFault(cause)) return cause;
  return new ConnectionFailedError('The driver refused a statement', { cause });
}
