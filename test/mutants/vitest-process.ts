import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Order, RunTest } from './resident-vitest.ts';

/** A resident Vitest in a process group of its own. It is killed with all that its tests have started. */
export class VitestProcess implements Disposable {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static async start(directory: string, env: Readonly<Record<string, string>>): Promise<VitestProcess> {
    const child = fork(join(directory, 'test', 'mutants', 'resident-vitest.ts'), {
      cwd: directory,
      detached: true,
      env: { ...process.env, ...env },
      // Only its errors are of interest: it ends with them.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [started] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (started !== 'ready') throw new Error('Vitest does not start');
    return new VitestProcess(child);
  }

  /** Returns the tests that have run, or undefined if they have not ended in time: then it is dead. */
  async run(order: Order, timeoutMs: number): Promise<readonly RunTest[] | undefined> {
    const heard = new AbortController();
    const signal = AbortSignal.any([heard.signal, AbortSignal.timeout(timeoutMs)]);
    const ended = Promise.race([once(this.#process, 'message', { signal }), once(this.#process, 'exit', { signal })]);
    this.#process.send(order);
    const [tests] = await ended.catch(() => []);
    heard.abort();
    if (Array.isArray(tests)) return tests;
    this[Symbol.dispose]();
    return undefined;
  }

  [Symbol.dispose](): void {
    const { pid } = this.#process;
    if (!pid) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}
