import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A test that has run. */
export interface RunTest {
  readonly file: string;
  /** With the titles around it. */
  readonly title: string;
  readonly hasPassed: boolean;
}

/** A copy of the checkout, so that a run that is interrupted leaves no fault behind. */
export class ScratchCopy {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async make(): Promise<ScratchCopy> {
    const directory = await mkdtemp(join(tmpdir(), 'usher-mutants-'));
    const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
    const files = stdout.split('\0').filter((name) => name !== '');
    for (const file of files) await cp(file, join(directory, file)).catch(ignoreDeleted);
    await symlink(resolve('node_modules'), join(directory, 'node_modules'));
    return new ScratchCopy(directory);
  }

  async read(file: string): Promise<string> {
    return readFile(join(this.#directory, file), 'utf8');
  }

  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.#directory, file), text);
  }

  /**
   * Runs the tests of files of one tier whose titles match. Returns them: none if the files could not be loaded.
   */
  async runTests(
    files: readonly string[],
    { timeoutMs, titles = /(?:)/ }: { timeoutMs: number; titles?: RegExp },
  ): Promise<readonly RunTest[]> {
    const report = join(this.#directory, 'report.json');
    await rm(report, { force: true });
    const tier = files.some((file) => file.startsWith('test/robustness/')) ? ['--mode', 'robustness'] : [];
    const options = [...tier, '--reporter=json', `--outputFile=${report}`, `--testNamePattern=${titles.source}`];
    const vitest = join('node_modules', 'vitest', 'vitest.mjs');
    const settings = { cwd: this.#directory, timeout: timeoutMs, maxBuffer: 2 ** 26 };
    // It exits with an error when a test has failed; without a report, it has run none.
    await run(process.execPath, [vitest, 'run', ...files, ...options], settings).catch(() => {});
    return readReport(report, this.#directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

async function readReport(path: string, root: string): Promise<readonly RunTest[]> {
  const text = await readFile(path, 'utf8').catch(() => '{"testResults":[]}');
  const { testResults }: Report = JSON.parse(text);
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status }) => ({
        file: relative(root, name),
        title: fullName,
        hasPassed: status === 'passed',
      })),
  );
}

function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
