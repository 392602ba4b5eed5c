/** Runs `work` at most once at a time. A trigger during a run causes one more run. */
export class Repeater {
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
