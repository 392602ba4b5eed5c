/** Leases of queues and of slow deliveries. The process that holds a lease extends it until it has settled the batch. */
import { randomUUID } from 'node:crypto';
import type { Run } from '../database/pool/database.ts';
import { p, statement, t } from '../database/sql/template.ts';

/** After a crash, the queues of the process stay leased for up to this long. */
export const QUEUE_LEASE_MS = 9_000;
/** Most batches end earlier and need no extension. */
const EXTEND_MS = QUEUE_LEASE_MS / 3;
const CHECK_MS = 1_000;
/** The holder ends its attempts this long before the lease ends: one check interval, and as much for clock skew. */
const MARGIN_MS = 2 * CHECK_MS;

export class Lease {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly token = randomUUID();
  /** The end of the lease without extensions. It identifies the slow deliveries of the lease. */
  readonly firstEnd: Date;
  readonly #abort = new AbortController();
  /** The known end. The real one may be later: an extension may have succeeded although its answer was lost. */
  end: Date;
  /** When the lease began or was last extended, in milliseconds of `performance.now()`. */
  extendedAt = performance.now();

  constructor({ applicationId, webhookId }: Pick<Lease, 'applicationId' | 'webhookId'>, now: Date) {
    this.applicationId = applicationId;
    this.webhookId = webhookId;
    this.firstEnd = leaseEndAt(now);
    this.end = this.firstEnd;
  }

  /** Aborted when attempts must end: before another process may take the lease, or at the end of a shutdown. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether too little of the lease is left for attempts. */
  get isOver(): boolean {
    return performance.now() >= this.extendedAt + QUEUE_LEASE_MS - MARGIN_MS;
  }

  abort(): void {
    this.#abort.abort();
  }
}

export class Leases {
  readonly #clock: () => Date;
  readonly #run: Run;
  readonly #held = new Set<Lease>();
  readonly #extending = new Set<Lease>();
  #isAborted = false;

  constructor(clock: () => Date, run: Run) {
    this.#clock = clock;
    this.#run = run;
  }

  /** Creates a lease and extends it from now on. `claimQueue` stores it. */
  begin(queue: Pick<Lease, 'applicationId' | 'webhookId'>): Lease {
    const lease = new Lease(queue, this.#clock());
    if (this.#isAborted) lease.abort();
    this.#held.add(lease);
    return lease;
  }

  /** Stops extending the lease. */
  end(lease: Lease): void {
    this.#held.delete(lease);
  }

  /** Extends leases until the returned function is called. */
  keep(): () => void {
    const timer = setInterval(() => this.check(), CHECK_MS);
    return () => clearInterval(timer);
  }

  /** Extends leases that are due, with one statement per application: the rows of several may be on several servers. */
  check(): void {
    const due = new Map<string, Lease[]>();
    for (const lease of this.#held) {
      if (lease.isOver) lease.abort();
      else if (performance.now() >= lease.extendedAt + EXTEND_MS && !this.#extending.has(lease)) {
        due.set(lease.applicationId, [...(due.get(lease.applicationId) ?? []), lease]);
      }
    }
    for (const [applicationId, leases] of due) this.#extend(applicationId, leases);
  }

  /** Aborts every attempt, including those of leases that begin later. */
  abort(): void {
    this.#isAborted = true;
    for (const lease of this.#held) lease.abort();
  }

  async #extend(applicationId: string, leases: readonly Lease[]): Promise<void> {
    const now = this.#clock();
    const [until, extendedAt] = [leaseEndAt(now), performance.now()];
    const held = leases.map(({ webhookId, token, firstEnd, end }) => ({
      webhook_id: webhookId,
      lease: token,
      first_end: firstEnd,
      lease_end: end,
    }));
    for (const lease of leases) this.#extending.add(lease);
    try {
      const rows = await this.#run(extendLeases, { applicationId, now, until, leases: held });
      const extended = new Set(rows.map(({ lease }) => lease));
      for (const lease of leases) if (extended.has(lease.token)) Object.assign(lease, { extendedAt, end: until });
    } catch {
      // The next check tries again.
    } finally {
      for (const lease of leases) this.#extending.delete(lease);
    }
  }
}

function leaseEndAt(now: Date): Date {
  return new Date(now.getTime() + QUEUE_LEASE_MS);
}

/** Also postpones a released queue that has only slow deliveries, so that no process claims it in vain. */
const extendLeases = statement('extend_leases', { lease: t.uuid })`
  with held as (
    select * from json_to_recordset(${p.json('leases')})
      as held (webhook_id text, lease uuid, first_end timestamptz, lease_end timestamptz)
  ), leased as (
    update webhook_queues as queue set next_at = ${p.instant('until')} from held
    where queue.application_id = ${p.uuid('applicationId')} and queue.webhook_id = held.webhook_id
      and (queue.lease = held.lease or queue.lease is null and queue.next_at = held.lease_end)
    returning queue.lease
  ), slow as (
    update webhook_deliveries as delivery set due_at = ${p.instant('until')} from held
    where delivery.application_id = ${p.uuid('applicationId')} and delivery.webhook_id = held.webhook_id
      and delivery.due_at > ${p.instant('now')} and delivery.due_at <= ${p.instant('until')}
      and delivery.lease_end = held.first_end
    returning held.lease
  )
  select lease from leased where lease is not null union select lease from slow`;
