import { setTimeout as sleep } from 'node:timers/promises';
import type { Primary } from '../connection/connection.ts';
import { type ClientTarget, type DatabaseServer, describeServer } from '../connection/open-client.ts';
import { PostgresError } from '../sql/driver.ts';
import { ConnectionFailedError, StandbyError } from '../sql/errors.ts';
import { ServerProbe } from './server-probe.ts';

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
