/** Work that is done again when it comes up while it is done. */
export class Repeater {
  readonly #work: () => Promise<void>;
  #running: Promise<void> | undefined;
  #isWorkLeft = false;
  #isStopped = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  start(): void {
    this.#isWorkLeft = true;
    this.#running ??= this.#run();
  }

  /** Resolves when the work that has begun has ended. No other begins. */
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
