/** The delivery worker of a process: fans out messages, and starts a batch for each due queue within the limits. */
import { pause } from '../pause.ts';
import { Batch, type DeliveryParts } from './batch.ts';
import { FIRST_APPLICATION, fanOut, findApplications } from './fan-out.ts';
import { Leases } from './leases.ts';
import { type DueQueue, selectDueQueues } from './queue.ts';
import { type BatchSlots, ENDPOINT_KINDS, Slots } from './slots.ts';

/** How often the worker looks for due retries, and for messages of other processes. */
const POLL_MS = 500;
/** How many applications are fanned out at a time. */
const FAN_OUTS = 8;

export interface WorkerOptions extends DeliveryParts {
  /** The limit of quick attempts in flight. */
  readonly concurrency: number;
  /** Called when messages of an application have got their deliveries, and their places in its feed. */
  readonly onFannedOut?: ((applicationId: string) => void) | undefined;
}

export class DeliveryWorker {
  readonly #options: WorkerOptions;
  readonly #slots: Slots;
  readonly #leases: Leases;
  /** IDs of webhooks whose queue this process holds or is about to claim. */
  readonly #held = new Set<string>();
  readonly #batches = new Set<Promise<void>>();
  /** IDs of applications with new messages to fan out. */
  readonly #woken = new Set<string>();
  /** IDs of applications that have more messages than one statement fans out. */
  readonly #unfinished = new Set<string>();
  readonly #fanOuts = new Repeater(() => this.#logFailureOf(() => this.#fanOut()));
  /** Apart, so that new messages of an application do not wait for the many of another. */
  readonly #continuations = new Repeater(() => this.#logFailureOf(() => this.#continueOne()));
  readonly #starts = new Repeater(() => this.#logFailureOf(() => this.#startBatches()));
  /** Aborted when attempts in flight must end. */
  readonly #abort = new AbortController();
  /** The ID after which the next poll searches for applications. */
  #after = FIRST_APPLICATION;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#slots = new Slots(options.concurrency);
    this.#leases = new Leases(options.clock, options.run);
  }

  /** Fans out new messages of an application, and delivers its due queues. */
  wake(applicationId: string): void {
    if (!this.#unfinished.has(applicationId)) this.#woken.add(applicationId);
    this.#fanOuts.trigger();
  }

  /** Delivers until the signal is aborted; then waits for attempts in flight, up to `shutdownTimeoutMs`. */
  async run(signal: AbortSignal, shutdownTimeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const stopping = Promise.withResolvers<unknown>();
    const stop = () => {
      timer = setTimeout(() => this.#abortAttempts(), shutdownTimeoutMs);
      stopping.resolve(
        Promise.all([this.#fanOuts, this.#continuations, this.#starts].map((repeater) => repeater.stop())),
      );
    };
    // A listener acts at once, also while the loop below waits for a slow statement.
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    const stopKeeping = this.#leases.keep();
    while (!signal.aborted) {
      await this.#logFailureOf(() => this.#poll());
      // The jitter keeps replicas that started together from polling at the same instant.
      await pause(POLL_MS * (0.75 + Math.random() / 2), signal);
    }
    await stopping.promise;
    await Promise.all(this.#batches);
    clearTimeout(timer);
    stopKeeping();
  }

  #abortAttempts(): void {
    this.#abort.abort();
    this.#leases.abort();
  }

  async #poll(): Promise<void> {
    this.#starts.trigger();
    const { applicationIds, next } = await findApplications(this.#options.run, this.#after);
    this.#after = next ?? FIRST_APPLICATION;
    for (const applicationId of applicationIds) this.wake(applicationId);
  }

  async #fanOut(): Promise<void> {
    const woken = [...this.#woken].slice(0, FAN_OUTS);
    for (const applicationId of woken) this.#woken.delete(applicationId);
    await Promise.all(woken.map((applicationId) => this.#logFailureOf(() => this.#fanOutOne(applicationId))));
    if (this.#woken.size > 0) this.#fanOuts.trigger();
  }

  /** Continues one unfinished application per run, in turns. */
  async #continueOne(): Promise<void> {
    const [unfinished] = this.#unfinished;
    if (unfinished === undefined) return;
    this.#unfinished.delete(unfinished);
    await this.#logFailureOf(() => this.#fanOutOne(unfinished));
    if (this.#unfinished.size > 0) this.#continuations.trigger();
  }

  async #fanOutOne(applicationId: string): Promise<void> {
    const { clock, run } = this.#options;
    if (await fanOut(run, applicationId, clock())) {
      this.#unfinished.add(applicationId);
      this.#continuations.trigger();
    }
    this.#starts.trigger();
    this.#options.onFannedOut?.(applicationId);
  }

  async #startBatches(): Promise<void> {
    if (await this.#startDue(false)) return;
    // No other application has a due queue: one may have more slow attempts.
    const mayHaveMore = ENDPOINT_KINDS.some(
      (kind) => this.#slots.listWaiting(kind, true).length < this.#slots.listWaiting(kind, false).length,
    );
    if (mayHaveMore) await this.#startDue(true);
  }

  /** Starts batches of due queues. Returns whether there are any. */
  async #startDue(isAlone: boolean): Promise<boolean> {
    const slots = this.#slots;
    const [quick, unproven, failing] = [
      slots.countFree('quick'),
      slots.countFree('unproven'),
      slots.countFree('failing'),
    ];
    if (!quick && !unproven && !failing) return true;
    const { clock, run } = this.#options;
    const queues = await run(selectDueQueues, {
      now: clock(),
      ...{ quick, unproven, failing },
      quickWaiting: slots.listWaiting('quick', isAlone),
      unprovenWaiting: slots.listWaiting('unproven', isAlone),
      failingWaiting: slots.listWaiting('failing', isAlone),
    });
    let hasSkipped = false;
    let hasStarted = false;
    for (const queue of queues) {
      // A queue looks due until its claim has committed.
      if (this.#held.has(queue.webhookId) || slots.countFree(queue.kind) === 0) continue;
      if (!slots.hasTurn(queue, isAlone)) {
        hasSkipped = true;
        continue;
      }
      hasStarted = true;
      const batch = this.#runBatch(queue, slots.take(queue, isAlone)).finally(() => this.#batches.delete(batch));
      this.#batches.add(batch);
    }
    // The next search finds queues of other applications.
    if (hasSkipped) this.#starts.trigger();
    return hasSkipped || hasStarted;
  }

  async #runBatch(queue: DueQueue, slots: BatchSlots): Promise<void> {
    const lease = this.#leases.begin(queue);
    const batch = new Batch(this.#options, lease, this.#abort.signal);
    this.#held.add(queue.webhookId);
    await this.#logFailureOf(() => batch.run(slots));
    this.#held.delete(queue.webhookId);
    this.#starts.trigger();
    await this.#logFailureOf(() => batch.settleSlow(() => this.#starts.trigger()));
    this.#leases.end(lease);
  }

  /** Runs `work`. A failure ends neither the worker nor other work: the next poll tries again. */
  async #logFailureOf(work: () => Promise<void>): Promise<void> {
    await work().catch((error) => this.#options.logger.warn({ err: error }, 'webhook delivery failed'));
  }
}

/** Runs `work` at most once at a time. A trigger during a run causes one more run. */
class Repeater {
  readonly #work: () => Promise<void>;
  #running: Promise<void> | undefined;
  #isWorkLeft = false;
  #isStopped = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  trigger(): void {
    this.#isWorkLeft = true;
    this.#running ??= this.#run();
  }

  /** Starts no further run. Resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isWorkLeft && !this.#isStopped) {
      this.#isWorkLeft = false;
      await this.#work();
    }
    this.#running = undefined;
  }
}
