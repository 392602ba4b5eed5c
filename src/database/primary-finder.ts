import postgres from 'postgres';
import { ConnectionFailedError, StandbyError } from './errors.ts';
import { type ClientTarget, type DatabaseServer, describeServer, openClientOf } from './open-client.ts';

/** How long a server may take to say whether it is the primary. */
const TIMEOUT_MS = 2_000;

/**
 * Knows which of several servers is the primary. All connections share it, so that after a failover one search serves
 * them all.
 */
export class PrimaryFinder {
  readonly #target: ClientTarget;
  #found: Promise<DatabaseServer> | undefined;

  constructor(target: ClientTarget) {
    this.#target = target;
  }

  /** Returns the server to connect to. A single one is not asked: its connections find out by themselves. */
  async find(): Promise<DatabaseServer> {
    const [first, ...others] = this.#target.servers;
    if (first && others.length === 0) return first;
    this.#found ??= this.search();
    return this.#found;
  }

  /** Makes the next `find` search again. */
  forget(): void {
    this.#found = undefined;
  }

  /**
   * Asks all servers at once, so that one that does not answer delays nobody.
   *
   * @throws StandbyError if there are standbys only, or else what went wrong
   */
  async search(): Promise<DatabaseServer> {
    try {
      return await Promise.any(this.#target.servers.map((server) => this.#requirePrimary(server)));
    } catch (error) {
      const failures: readonly Error[] = error instanceof AggregateError ? error.errors : [];
      const telling =
        failures.find((failure) => failure instanceof StandbyError) ??
        failures.find((failure) => failure instanceof postgres.PostgresError) ??
        failures[0];
      throw telling ?? error;
    }
  }

  async #requirePrimary(server: DatabaseServer): Promise<DatabaseServer> {
    const options = {
      max: 1,
      fetch_types: false,
      prepare: false,
      onnotice: () => {},
      connect_timeout: TIMEOUT_MS / 1_000,
    };
    const client = openClientOf(this.#target, { ...options, connection: { application_name: 'usher search' } }, server);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new ConnectionFailedError('No connection in time')), TIMEOUT_MS);
    try {
      const answer = client`select pg_is_in_recovery() as "isStandby"`;
      const [row] = await Promise.race([answer, late.promise]);
      if (row?.isStandby) throw new StandbyError(describeServer(server));
      return server;
    } finally {
      clearTimeout(timer);
      client.end({ timeout: 0 }).catch(() => {});
    }
  }
}
