import { setTimeout as sleep } from 'node:timers/promises';
import type { Primary } from '../connection/connection.ts';
import {
  type ClientTarget,
  type DatabaseServer,
  describeServer,
  openSingleConnection,
} from '../connection/open-client.ts';
import { describeFailure } from '../connection/start-failure.ts';
import { type PostgresClient, PostgresError } from '../sql/driver.ts';
import { ConnectionFailedError, StandbyError } from '../sql/errors.ts';

/** How long a search waits for the other servers once a first primary has answered. */
const GRACE_MS = 50;

/** How often Usher asks the servers whether one of them is a newer primary. */
const LOOK_INTERVAL_MS = 1_000;

/** For this long from its beginning, a commit proves that no other process uses a newer primary: see `PrimaryLease`. */
export const LEASE_MS = 1_000;

/** How long no statement is sent to a new primary. By then all leases on the old one have ended. */
const HANDOVER_MS = LEASE_MS * 1.1;

/**
 * Finds the newest primary among the servers. All connections share this finder, so after a failover one search serves
 * them all. An old primary may still accept connections: its lower timeline reveals it.
 */
export class PrimaryFinder {
  readonly #probes: readonly ServerProbe[];
  /** The highest timeline of each system identifier, and the instant of `performance.now()` when it was first seen. */
  readonly #newest = new Map<string, { readonly timeline: number; readonly seenAt: number }>();
  #found: Promise<Primary> | undefined;
  #nextLookAt = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(target: ClientTarget) {
    this.#probes = target.servers.map((server) => new ServerProbe(target, server));
  }

  /**
   * Returns the server to connect to. A single server is not asked, because each connection checks its role itself.
   *
   * @throws ConnectionFailedError if the database is closed, so that late statements open no connections
   */
  async find(): Promise<Primary> {
    if (this.#isClosed) throw new ConnectionFailedError('The database is closed');
    const [first, ...others] = this.#probes;
    if (first && others.length === 0) return { server: first.server, systemId: '', timeline: 0 };
    this.#nextLookAt = Math.min(this.#nextLookAt, performance.now() + LOOK_INTERVAL_MS);
    this.#found ??= this.#findAfterHandover();
    const found = this.#found;
    try {
      return await found;
    } catch (error) {
      if (this.#found === found) this.forget();
      throw error;
    }
  }

  /** Discards the result, so that the next `find` searches again. */
  forget(): void {
    this.#found = undefined;
  }

  /** Returns whether a newer primary has been seen. */
  isOld({ systemId, timeline }: Primary): boolean {
    return timeline < (this.#newest.get(systemId)?.timeline ?? 0);
  }

  /** Asks the servers once a second, beginning a second after the first `find`. */
  tick(now: number): void {
    if (now < this.#nextLookAt) return;
    this.#nextLookAt = now + LOOK_INTERVAL_MS;
    for (const probe of this.#probes) this.#ask(probe).catch(() => {});
  }

  /**
   * Asks all servers at the same time, so that a server that does not answer delays the search by 50 ms at most.
   *
   * @throws StandbyError if no server is a primary but one is a standby, or else the error of a server
   */
  async search(): Promise<DatabaseServer> {
    return (await this.#search()).server;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const probe of this.#probes) probe.close();
  }

  async #findAfterHandover(): Promise<Primary> {
    const primary = await this.#search();
    const seenAt = this.#newest.get(primary.systemId)?.seenAt ?? 0;
    await sleep(Math.max(0, seenAt + HANDOVER_MS - performance.now()));
    return primary;
  }

  async #search(): Promise<Primary> {
    const answers = this.#probes.map((probe) => this.#ask(probe));
    const primaries: Primary[] = [];
    for (const answer of answers)
      answer.then(
        (primary) => primaries.push(primary),
        () => {},
      );
    try {
      await Promise.any(answers);
    } catch (error) {
      throw findMostInformative(error);
    }
    await Promise.race([Promise.allSettled(answers), sleep(GRACE_MS)]);
    return primaries.reduce((newest, primary) => (primary.timeline > newest.timeline ? primary : newest));
  }

  async #ask(probe: ServerProbe): Promise<Primary> {
    const primary = await probe.ask();
    if (this.isOld(primary)) throw new StandbyError(describeServer(probe.server), 'an old primary');
    const { systemId, timeline } = primary;
    if (timeline === this.#newest.get(systemId)?.timeline) return primary;
    this.#newest.set(systemId, { timeline, seenAt: performance.now() });
    this.forget();
    return primary;
  }
}

/** Returns the one of an AggregateError's errors that tells an operator most. */
function findMostInformative(error: unknown): unknown {
  const failures: readonly Error[] = error instanceof AggregateError ? error.errors : [];
  return (
    failures.find((failure) => failure instanceof StandbyError) ??
    failures.find((failure) => failure instanceof PostgresError) ??
    failures[0] ??
    error
  );
}

/** How long a server may take to say whether it is the primary. */
const TIMEOUT_MS = 2_000;

/** Asks one server whether it is a primary. The connection stays open for later questions. */
class ServerProbe {
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

export interface WaitOptions {
  readonly timeoutMs: number;
  /** Called with each new reason to wait. */
  readonly onWait: ((reason: string) => void) | undefined;
  /** Called often with what is done now, in a sentence without its full stop. */
  readonly onProgress?: ((step: string) => void) | undefined;
}

const PAUSE_MS = 200;

/** Waits until there is a primary: a server may be starting, or about to become the primary. */
export async function waitForPrimary(
  target: ClientTarget,
  { timeoutMs, onWait, onProgress }: WaitOptions,
): Promise<DatabaseServer> {
  const waitUntil = performance.now() + timeoutMs;
  using finder = new PrimaryFinder(target);
  for (const reported = new Set<string>(); ; await sleep(PAUSE_MS)) {
    try {
      return await finder.search();
    } catch (error) {
      if (!mayRecover(error)) throw error;
      const reason =
        error instanceof StandbyError ? `${error.message}, and there is no primary` : describeFailure(error);
      if (!reported.has(reason)) onWait?.(reason);
      reported.add(reason);
      const place = target.servers.map(describeServer).join(', ');
      onProgress?.(`Waiting for Postgres at ${place}, and trying again: ${reason}`);
      if (performance.now() > waitUntil) throw error;
    }
  }
}

/** Returns whether there may soon be a primary. A wrong password, database or certificate needs an operator. */
function mayRecover(error: unknown): boolean {
  if (error instanceof ConnectionFailedError) return true;
  if (error instanceof PostgresError) return error.code.startsWith('57P');
  return isNetworkError(error) && /^(CONNECT|E(?!RR_|ACCES|PERM))/.test(String(error.code));
}

/** Returns whether the server could not be reached. */
export function isNetworkError(error: unknown): error is Error & { code: unknown } {
  return error instanceof Error && !(error instanceof PostgresError) && 'code' in error;
}
