/** The delivery worker of a process: finds messages and queues that are due, and delivers as many as it may at a time. */
import type { Logger } from 'pino';
import type { Database, Run } from '../database/database.ts';
import { pause } from '../domain/pause.ts';
import { Batch, type DeliveryParts, STATEMENT_TIMEOUT_MS } from './batch.ts';
import { FIRST_APPLICATION, fanOut, findApplications } from './fan-out.ts';
import { type DueQueue, selectDueQueues } from './queue.ts';

/** How often other processes' messages and due retries are looked for. */
const POLL_MS = 500;
/** Failing endpoints may take one of so many slots. They hold theirs for long. */
const FAILING_SHARE = 4;

export interface WorkerOptions extends DeliveryParts {
  /** How many attempts are in flight at most. */
  readonly concurrency: number;
}

type Line = keyof typeof selectDueQueues;

export class DeliveryWorker {
  readonly #options: WorkerOptions;
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #inFlight: Record<Line, number> = { healthy: 0, failing: 0 };
  /** Those that run, by the ID of their webhook. */
  readonly #batches = new Map<string, Promise<void>>();
  /** Applications of this process with messages to fan out. */
  readonly #woken = new Set<string>();
  /** Aborted when no new batch may begin, and when those in flight must end. */
  readonly #stop = new AbortController();
  readonly #abort = new AbortController();
  #work: Promise<void> | undefined;
  #isWorkLeft = false;
  #after = FIRST_APPLICATION;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#logger = options.logger;
  }

  /** Tells that an application has a new message, or that one of its queues may be due. */
  wake(applicationId: string): void {
    this.#woken.add(applicationId);
    this.#startWork();
  }

  /** Delivers until the signal is aborted; then waits for attempts in flight, up to `shutdownTimeoutMs`. */
  async run(signal: AbortSignal, shutdownTimeoutMs: number): Promise<void> {
    while (!signal.aborted) {
      await this.#poll().catch((error) => this.#logger.warn({ err: error }, 'webhook delivery failed'));
      // Jitter, so that replicas started together do not look at the same instant.
      await pause(POLL_MS * (0.75 + Math.random() / 2), signal);
    }
    this.#stop.abort();
    const timer = setTimeout(() => this.#abort.abort(), shutdownTimeoutMs);
    await this.#work;
    await Promise.all(this.#batches.values());
    clearTimeout(timer);
  }

  async #poll(): Promise<void> {
    const { applicationIds, next } = await findApplications(this.#run, this.#after);
    this.#after = next ?? FIRST_APPLICATION;
    for (const applicationId of applicationIds) this.#woken.add(applicationId);
    this.#startWork();
  }

  /** Work that comes up while it is done is done once more. */
  #startWork(): void {
    this.#isWorkLeft = true;
    this.#work ??= this.#doWork()
      .catch((error) => this.#logger.warn({ err: error }, 'webhook delivery failed'))
      .finally(() => {
        this.#work = undefined;
        if (this.#isWorkLeft && !this.#stop.signal.aborted) this.#startWork();
      });
  }

  async #doWork(): Promise<void> {
    while (this.#isWorkLeft && !this.#stop.signal.aborted) {
      this.#isWorkLeft = false;
      const applicationIds = [...this.#woken];
      this.#woken.clear();
      await Promise.all(applicationIds.map((applicationId) => this.#fanOut(applicationId)));
      await Promise.all([this.#startBatches('healthy'), this.#startBatches('failing')]);
    }
  }

  async #fanOut(applicationId: string): Promise<void> {
    if (await fanOut(this.#run, applicationId, this.#options.clock())) this.wake(applicationId);
  }

  async #startBatches(line: Line): Promise<void> {
    const free = this.#free(line);
    if (free <= 0) return;
    const now = this.#options.clock();
    const queues = await this.#run(selectDueQueues[line], { now, limit: free });
    for (const queue of queues) {
      // A queue is due until its claim has committed.
      if (this.#batches.has(queue.webhookId)) continue;
      const limit = Math.min(line === 'failing' ? 1 : queue.batchSize, this.#free(line));
      if (limit > 0 && !this.#stop.signal.aborted) this.#startBatch(queue, line, limit);
    }
  }

  /** Takes the slots at once and gives each back when its attempt has ended. */
  #startBatch(queue: DueQueue, line: Line, limit: number): void {
    let held = limit;
    const release = (count: number) => {
      held -= count;
      this.#inFlight[line] -= count;
    };
    this.#inFlight[line] += limit;
    const batch = new Batch(this.#options, queue, this.#abort.signal)
      .run(limit, () => release(1))
      .catch((error) => this.#logger.warn({ err: error }, 'webhook delivery failed'))
      .finally(() => {
        release(held);
        this.#batches.delete(queue.webhookId);
        this.#startWork();
      });
    this.#batches.set(queue.webhookId, batch);
  }

  #free(line: Line): number {
    const { concurrency } = this.#options;
    const free = concurrency - this.#inFlight.healthy - this.#inFlight.failing;
    if (line === 'healthy') return free;
    return Math.min(free, Math.max(1, Math.floor(concurrency / FAILING_SHARE)) - this.#inFlight.failing);
  }

  get #run(): Run {
    return this.#database.within(performance.now() + STATEMENT_TIMEOUT_MS);
  }
}
