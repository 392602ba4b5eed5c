import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DrizzleQueryError } from 'drizzle-orm';
import type { PostgresClient } from '../sql/driver.ts';
import { CallerGoneError, ConnectionFailedError, DeadlinePassedError, isConnectionFault } from '../sql/errors.ts';
import type { Receiver, Statement, StatementExecution, WrittenStatement } from '../sql/statement.ts';
import { ConnectionSettings, type Timeouts } from './connection-settings.ts';
import type { LibrarySocket } from './library-socket.ts';
import { type ClientTarget, connectSocket, type DatabaseServer, openClientOf, startSocket } from './open-client.ts';
import { type Answer, Wire } from './wire.ts';

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
  readonly receiver: Receiver<unknown>;
  /** Whether its receiver has its error already. */
  isAbandoned: boolean;
}

/** How long statements in flight may take to finish once the connection is closed. */
const CLOSE_TIMEOUT_MS = 1_000;

/** A connection that is opened once and never again: by postgres.js, after which its `Wire` alone sends and reads. */
export class Connection {
  /** How many statements have been answered. The first is the one that opens the connection. */
  answered = 0;
  /** Oldest first, the order in which Postgres runs them. */
  readonly #sent: Sent[] = [];
  readonly #target: ClientTarget;
  readonly #client: PostgresClient;
  readonly #settings: ConnectionSettings;
  #opening: Promise<void> | undefined;
  readonly #prepared = new Map<Statement<unknown>, ReturnType<Statement<unknown>>>();
  #socket: Socket | undefined;
  #wire: Wire | undefined;
  #onIdle = () => {};
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
    this.#target = target;
    this.#client = openClientOf(target, options);
    this.#settings = new ConnectionSettings(timeouts, target);
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

  run<Rows>(execution: StatementExecution<Rows>): Promise<Rows> {
    return new Promise((resolve, reject) => this.start(execution, { resolve, reject }));
  }

  /** Rejects with the error of Postgres, or with DeadlinePassedError once `abandonLate` is called. */
  start<Rows>(execution: StatementExecution<Rows>, receiver: Receiver<Rows>): void {
    // The cast is safe: the rows are those of the statement.
    const sent: Sent = { execution, receiver: receiver as Receiver<unknown>, isAbandoned: false };
    this.#sent.push(sent);
    if (this.#settings.isOpen) this.#send(sent);
    else
      this.#open().then(
        () => this.#send(sent),
        (error) => this.#reject(sent, error),
      );
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
      this.#abandon(sent, new DeadlinePassedError());
    }
  }

  /** Gives statements in flight a moment to finish. */
  async close(): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    if (this.#sent.length > 0) await Promise.race([idle, sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    this.giveUp();
  }

  /** Closes the connection at once and rejects every statement in flight. */
  giveUp(): void {
    this.#isGivenUp = true;
    if (!this.isOpen) this.#client.end({ timeout: 0 }).catch(() => {});
    this.#wire?.close();
    this.#socket?.destroy();
    // Some have not been sent, because the connection has not opened.
    for (const sent of [...this.#sent]) this.#abandon(sent, new ConnectionFailedError('The connection was given up'));
  }

  #open(): Promise<void> {
    this.#opening ??= this.#settings
      .open(this.#client, () => this.#takeOver())
      .then(
        () => void this.answered++,
        (error) => {
          // Any failure here, such as an expired certificate, means that there is no connection.
          throw isConnectionFault(error) ? error : new ConnectionFailedError(error.message, { cause: error });
        },
      );
    return this.#opening;
  }

  #send(sent: Sent): void {
    const { statement, parameters, mayStart } = sent.execution;
    try {
      // A statement that nobody waits for must not take effect.
      if (sent.isAbandoned) throw new DeadlinePassedError();
      if (mayStart?.() === false) throw new CallerGoneError();
      const prepared = this.#prepare(statement);
      if ('execute' in prepared) {
        // Drizzle sends it at once.
        prepared.execute(parameters).then(
          (rows) => this.#resolve(sent, rows),
          (error) => this.#reject(sent, toCause(error)),
        );
        return;
      }
      const { sql } = prepared.getQuery();
      this.#settings.execute(sql, prepared.encode(parameters), (answer) => this.#receive(sent, prepared, answer));
    } catch (error) {
      this.#reject(sent, error);
    }
  }

  #receive(sent: Sent, { decode }: WrittenStatement<unknown>, { error, rows, columns }: Answer): void {
    let problem: unknown = error;
    let decoded: unknown;
    try {
      if (!error) decoded = decode(rows, columns);
    } catch (cause) {
      problem = cause;
    }
    if (problem) this.#reject(sent, problem);
    else this.#resolve(sent, decoded);
  }

  #prepare(statement: Statement<unknown>): ReturnType<Statement<unknown>> {
    const known = this.#prepared.get(statement);
    if (known) return known;
    const prepared = statement(this.#settings.db);
    this.#prepared.set(statement, prepared);
    return prepared;
  }

  #resolve(sent: Sent, rows: unknown): void {
    this.#settle(sent);
    if (!sent.isAbandoned) sent.receiver.resolve(rows);
  }

  #reject(sent: Sent, error: unknown): void {
    this.#settle(sent);
    this.#abandon(sent, error);
  }

  #abandon(sent: Sent, error: unknown): void {
    if (sent.isAbandoned) return;
    sent.isAbandoned = true;
    sent.receiver.reject(error);
  }

  #settle(sent: Sent): void {
    this.answered++;
    if (this.#sent[0] === sent) this.#sent.shift();
    else this.#sent.splice(this.#sent.indexOf(sent), 1);
    if (this.#sent.length === 0) this.#onIdle();
  }

  #takeOver(): Wire {
    if (!this.#wire) throw new ConnectionFailedError('The connection was lost');
    return this.#wire.takeOver();
  }

  async #openSocket(): Promise<LibrarySocket> {
    if (this.#socket) throw new ConnectionFailedError('The connection was lost');
    this.#primary = await this.#primaries.find();
    const { server } = this.#primary;
    if (this.#isGivenUp) throw new ConnectionFailedError('The connection was given up');
    this.#socket = startSocket(server);
    this.#socket = await connectSocket(this.#socket, server, this.#target.tls);
    if (this.#isGivenUp) this.#socket.destroy();
    this.#wire = new Wire(this.#socket);
    return this.#wire.library;
  }
}

/** Returns the error of Postgres or of the connection: that of Drizzle has the parameters. */
function toCause(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error;
}
