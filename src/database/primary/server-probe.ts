import type { Primary } from '../connection/connection.ts';
import { type ClientTarget, type DatabaseServer, describeServer } from '../connection/open-client.ts';
import { openSingleConnection } from '../connection/open-single-connection.ts';
import { type PostgresClient, PostgresError } from '../sql/driver.ts';
import { ConnectionFailedError, StandbyError } from '../sql/errors.ts';

/** How long a server may take to say whether it is the primary. */
const TIMEOUT_MS = 2_000;

/** Asks one server whether it is a primary. The connection stays open for later questions. */
export class ServerProbe {
  readonly server: DatabaseServer;
  readonly #target: ClientTarget;
  #client: PostgresClient | undefined;
  #answer: Promise<Primary> | undefined;

  constructor(target: ClientTarget, server: DatabaseServer) {
    this.#target = target;
    this.server = server;
  }

  /** Concurrent calls share one answer. @throws StandbyError, or the error of the connection */
  ask(): Promise<Primary> {
    this.#answer ??= this.#ask().finally(() => {
      this.#answer = undefined;
    });
    return this.#answer;
  }

  close(): void {
    this.#client?.end({ timeout: 0 }).catch(() => {});
    this.#client = undefined;
  }

  async #ask(): Promise<Primary> {
    const late = Promise.withResolvers<never>();
    let mayRepeat = this.#client !== undefined;
    const giveUp = () => {
      mayRepeat = false;
      late.reject(new ConnectionFailedError('No connection in time'));
    };
    const timer = setTimeout(giveUp, TIMEOUT_MS);
    this.#client ??= this.#open();
    const { server } = this;
    try {
      const row = await Promise.race([selectRole(this.#client), late.promise]);
      if (!row || row.isStandby) throw new StandbyError(describeServer(server));
      const { systemId = '', walFile = '0' } = row;
      return { server, systemId, timeline: Number.parseInt(walFile.slice(0, TIMELINE_DIGITS), 16) };
    } catch (error) {
      if (error instanceof StandbyError) throw error;
      this.close();
      // The connection of an earlier question may have been lost since.
      if (mayRepeat) return await this.#ask();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Not with a client that reconnects: where a server, such as a proxy, ends each connection, it tries without pause. */
  #open(): PostgresClient {
    const options = {
      max: 1,
      fetch_types: false,
      prepare: false,
      onnotice: () => {},
      connect_timeout: TIMEOUT_MS / 1_000,
      connection: { application_name: 'usher search' },
    };
    return openSingleConnection(this.#target, options, this.server);
  }
}

interface Role {
  readonly isStandby: boolean;
  readonly systemId?: string;
  readonly walFile?: string;
}

/**
 * The name of a WAL file begins with its timeline. The timeline of the last checkpoint would be out of date after a
 * promotion.
 */
const TIMELINE_DIGITS = 8;

async function selectRole(client: PostgresClient): Promise<Role | undefined> {
  try {
    const [role] = await client<Role[]>`
      select pg_is_in_recovery() as "isStandby",
        (select system_identifier::text from pg_control_system()) as "systemId",
        case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) else '0' end as "walFile"`;
    return role;
  } catch (error) {
    // Forks of Postgres may lack these functions, or deny their use.
    if (!(error instanceof PostgresError) || error.severity !== 'ERROR') throw error;
    const [role] = await client<Role[]>`select pg_is_in_recovery() as "isStandby"`;
    return role;
  }
}
