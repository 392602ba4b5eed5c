/** A postgres.js client with a single connection whose socket is ours: given up, it is gone for good. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';

/** A statement, prepared once per connection: `(db) => db.select()....prepare('name')`. */
export type Statement<Row> = (db: PostgresJsDatabase) => { execute(parameters: Parameters): Promise<Row> };

/** Values for a statement's placeholders, by name. */
export type Parameters = Record<string, unknown>;

/** How long a host may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_SECONDS = 1;

/** There is no connection to Postgres. */
export class ConnectionFailedError extends Error {}

export class Connection {
  /** Statements that have not been answered. */
  pending = 0;
  /** When the last answer came, in milliseconds of `performance.now()`. */
  answeredAt = performance.now();
  readonly #client: postgres.Sql;
  readonly #db: PostgresJsDatabase;
  readonly #prepared = new Map<Statement<unknown>, { execute(parameters: Parameters): Promise<unknown> }>();
  #socket: Socket | undefined;
  #isGivenUp = false;

  constructor(url: string, statementTimeoutMs: number) {
    const options = {
      max: 1,
      fetch_types: false,
      onnotice: () => {},
      max_lifetime: null,
      // Not in its types: what makes the socket, connected, from the parsed options.
      socket: (target: Target) => this.#openSocket(target),
      connection: { application_name: 'usher', statement_timeout: statementTimeoutMs },
    };
    this.#client = postgres(url, options);
    this.#db = drizzle(this.#client);
  }

  prepare<Row>(statement: Statement<Row>): ReturnType<Statement<Row>> {
    // A map from a function to what that function returned: the types of the two ends agree.
    const known = this.#prepared.get(statement) as ReturnType<Statement<Row>> | undefined;
    if (known) return known;
    const prepared = statement(this.#db);
    this.#prepared.set(statement, prepared);
    return prepared;
  }

  /** Statements under way have a moment to finish. */
  async close(): Promise<void> {
    await this.#client.end({ timeout: CLOSE_TIMEOUT_SECONDS });
    this.giveUp();
  }

  /** Ends every statement under way; the client on its own would try to connect again. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#client.end({ timeout: 0 }).catch(() => {});
    this.#socket?.destroy();
  }

  async #openSocket({ host, port, path }: Target): Promise<Socket> {
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
