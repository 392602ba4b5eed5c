/**
 * A postgres.js client with a single connection whose socket is ours. It connects once: lost or given
 * up, it is gone for good, where the client on its own would try again and again.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { DrizzleQueryError } from 'drizzle-orm';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';

/** What Drizzle builds statements with. */
export type Db = PostgresJsDatabase;

/** A statement, prepared once per connection: `(db) => db.select()....prepare('name')`. */
export type Statement<Rows> = (db: Db) => { execute(parameters: PlaceholderValues): Promise<Rows> };

/** Values for a statement's placeholders, by name. */
export type PlaceholderValues = Record<string, unknown>;

/** The instant, in milliseconds of `performance.now()`, after which nobody waits for an answer. */
export type Deadline = number;

/** A statement that has not been answered. */
interface Sent {
  readonly statement: Statement<unknown>;
  readonly deadline: Deadline;
  reject(error: Error): void;
  isAbandoned: boolean;
}

/** How long a host may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_SECONDS = 1;

/** Postgres' code for a statement that was cancelled, by another connection or by its own timeout. */
const QUERY_CANCELED = '57014';

/** There is no connection to Postgres. */
export class ConnectionFailedError extends Error {}

/** The statement was not answered by its deadline. */
export class DeadlinePassedError extends Error {}

export class Connection {
  /** What Postgres knows it by. */
  readonly name = `usher ${randomUUID()}`;
  /** Oldest first, as Postgres works on them: the first is under way, the others wait for it. */
  readonly sent: Sent[] = [];
  /** How many of them nobody waits for any more. */
  abandoned = 0;
  /** How many statements have been answered. */
  answered = 0;
  readonly #client: postgres.Sql;
  readonly #db: Db;
  readonly #prepared = new Map<Statement<unknown>, { execute(parameters: PlaceholderValues): Promise<unknown> }>();
  #socket: Socket | undefined;
  #cancelled: Sent | undefined;
  #isGivenUp = false;

  constructor(url: string, statementTimeoutMs: number) {
    const options = {
      max: 1,
      fetch_types: false,
      onnotice: () => {},
      max_lifetime: null,
      // Not in its types: what makes the socket, connected, from the parsed options.
      socket: (target: Target) => this.#openSocket(target),
      connection: { application_name: this.name, statement_timeout: statementTimeoutMs },
    };
    this.#client = postgres(url, options);
    this.#db = drizzle(this.#client);
  }

  /** Whether the connection has been closed from the other side. */
  get isLost(): boolean {
    return this.#socket?.destroyed ?? false;
  }

  /** Rejects with DeadlinePassedError by way of `abandonLate`, or with the error of postgres.js. */
  run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues, deadline: Deadline): Promise<Rows> {
    const rows = this.#prepare(statement).execute(parameters);
    return new Promise((resolve, reject) => {
      const sent = { statement, deadline, reject, isAbandoned: false };
      this.sent.push(sent);
      rows.then(
        (rows) => {
          this.#settle(sent);
          resolve(rows);
        },
        (error) => {
          this.#settle(sent);
          const cause = error instanceof DrizzleQueryError ? error.cause : error;
          if (this.#isCancelledByMistake(sent, cause)) this.run(statement, parameters, deadline).then(resolve, reject);
          else reject(cause);
        },
      );
    });
  }

  /** Nobody waits any more for statements whose deadline has passed; Postgres may still be at them. */
  abandonLate(now: number): void {
    for (const sent of this.sent) {
      if (sent.deadline > now || sent.isAbandoned) continue;
      sent.isAbandoned = true;
      this.abandoned++;
      sent.reject(new DeadlinePassedError('No answer before the deadline'));
    }
  }

  /**
   * The statement under way is about to be cancelled. Postgres cancels what it finds on the connection,
   * which may be the next statement by then: that one has had no effect, and is sent once more.
   */
  markCancelling(): void {
    this.#cancelled = this.sent[0];
  }

  /** Statements under way have a moment to finish. */
  async close(): Promise<void> {
    await this.#client.end({ timeout: CLOSE_TIMEOUT_SECONDS });
    // The last rows are still on their way to those who wait for them.
    await setImmediate();
    this.giveUp();
  }

  /** Ends every statement under way. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#client.end({ timeout: 0 }).catch(() => {});
    this.#socket?.destroy();
    // The client leaves some of them pending.
    for (const sent of this.sent) sent.reject(new ConnectionFailedError('The connection has been given up'));
  }

  #prepare<Rows>(statement: Statement<Rows>): ReturnType<Statement<Rows>> {
    // A map from a function to what that function returned: the types of the two ends agree.
    const known = this.#prepared.get(statement) as ReturnType<Statement<Rows>> | undefined;
    if (known) return known;
    const prepared = statement(this.#db);
    this.#prepared.set(statement, prepared);
    return prepared;
  }

  #isCancelledByMistake(sent: Sent, cause: unknown): boolean {
    const isCancelled = cause instanceof postgres.PostgresError && cause.code === QUERY_CANCELED;
    if (!isCancelled || !this.#cancelled || this.#cancelled === sent) return false;
    this.#cancelled = undefined;
    return !this.#isGivenUp && sent.deadline > performance.now();
  }

  #settle(sent: Sent): void {
    this.answered++;
    if (sent.isAbandoned) this.abandoned--;
    if (this.sent[0] === sent) this.sent.shift();
    else this.sent.splice(this.sent.indexOf(sent), 1);
  }

  async #openSocket({ host, port, path }: Target): Promise<Socket> {
    if (this.#socket) throw new ConnectionFailedError('The connection has been lost');
    let failure: unknown = new ConnectionFailedError('The connection has been given up');
    for (let at = 0; at < host.length && !this.#isGivenUp; at++) {
      const socket = path ? connect(path) : connect({ host: host[at] ?? '', port: port[at] ?? 5432 });
      this.#socket = socket;
      // For TLS, where postgres.js looks for the name of the server.
      Object.assign(socket, { host: host[at], port: port[at] });
      try {
        await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
        return socket;
      } catch (error) {
        socket.destroy();
        const isLate = error instanceof Error && error.name === 'AbortError';
        failure = isLate ? new ConnectionFailedError('No connection in time') : error;
      }
    }
    throw failure;
  }
}

/** Where the URL says that Postgres is: several hosts are tried in turn; a path is that of a Unix socket. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false | undefined;
}
