import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { copyCheckout } from '../support/copy-checkout.ts';
import type { RunTest } from './resident-vitest.ts';
import { VitestProcess } from './vitest-process.ts';

/** A copy of the checkout, so that a run that is interrupted leaves no fault behind. */
export class ScratchCopy {
  readonly #directory: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #changed = new Set<string>();
  #vitest: VitestProcess | undefined;

  private constructor(directory: string, env: Readonly<Record<string, string>>) {
    this.#directory = directory;
    this.#env = env;
  }

  /** Its tests see the environment variables. */
  static async make(env: Readonly<Record<string, string>>): Promise<ScratchCopy> {
    return new ScratchCopy(await copyCheckout(), env);
  }

  async read(file: string): Promise<string> {
    return readFile(join(this.#directory, file), 'utf8');
  }

  async write(file: string, text: string): Promise<void> {
    this.#changed.add(file);
    await writeFile(join(this.#directory, file), text);
  }

  /**
   * Runs the tests of the file whose titles match, each no longer than `limitMs`. Returns them: none if the file could
   * not be loaded, and undefined if it has not ended in time.
   */
  async runTests(
    file: string,
    { timeoutMs, titles = /(?:)/, limitMs }: { timeoutMs: number; titles?: RegExp; limitMs?: number },
  ): Promise<readonly RunTest[] | undefined> {
    this.#vitest ??= await VitestProcess.start(this.#directory, this.#env);
    const changed = [...this.#changed];
    this.#changed.clear();
    const tests = await this.#vitest.run({ file, titles: titles.source, limitMs, changed }, timeoutMs);
    if (!tests) this.#vitest = undefined;
    return tests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#vitest?.[Symbol.dispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
