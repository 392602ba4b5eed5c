import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { RunTest } from './resident-vitest.ts';
import { VitestProcess } from './vitest-process.ts';

const run = promisify(execFile);

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

/** Copies the checkout to a temporary directory, and returns it. The packages are those of the checkout. */
async function copyCheckout(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-copy-'));
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  const files = stdout.split('\0').filter((name) => name !== '');
  for (const file of files) await cp(file, join(directory, file)).catch(ignoreDeleted);
  for (const packages of ['node_modules', 'test/node_modules'].filter((path) => existsSync(path)))
    await symlink(resolve(packages), join(directory, packages));
  return directory;
}

function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
