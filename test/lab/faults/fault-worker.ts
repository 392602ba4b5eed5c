/** A process that runs test files with faults, one after the other. It is started anew when it hangs. */
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { relative, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { json } from 'node:stream/consumers';
import type { ProvidedContext } from 'vitest';
import { createVitest, type Vitest } from 'vitest/node';
import { generateOidcSigningKeys } from '../../../src/config/signing-keys.ts';
import { startTemplateServer } from '../../../src/testing/postgres-server.ts';
import { TEMPLATE } from '../../../src/testing/ready-directory.ts';
import { createTemporaryDirectory } from '../../../src/testing/temporary-directory.ts';
import { publishRun } from '../../../src/testing/test-environment.ts';
import type { FaultyFile, Order, Outcome } from './fault.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a worker asks for what it runs. */
    faultsUrl: string;
  }
}

const RUNNER = resolve(import.meta.dirname, 'fault-runner.ts');

/** Where all statements are sent: each gets the text that is planted. */
export const SENDER = {
  file: 'src/database/connection/connection-settings.ts',
  find: '#execute(text: string, values: string, onAnswer: (answer: Answer) => void): void {',
  replace: '$&\n    text = globalThis.$statement(text);',
};

/** More than cores: a fault often makes its test wait. */
const WORKERS = 4;

const MOST_STARTS = 3;

/** Starts the Postgres of their tests and at most so many workers. Disposal ends all, and removes their files. */
export async function openFaultWorkers(files: Parameters<typeof FaultWorker.create>[0] = [], most = WORKERS) {
  await using stack = new AsyncDisposableStack();
  const temporary = await createTemporaryDirectory();
  stack.defer(() => rm(temporary, { recursive: true, force: true }));
  process.env.TMPDIR = temporary;
  // Postgres runs as another user than its owner.
  await chmod(temporary, 0o755);
  const postgres = await startTemplateServer(temporary);
  stack.defer(() => postgres.close());
  publishRun({ postgresUrl: postgres.url, template: TEMPLATE, oidcSigningKeys: generateOidcSigningKeys() });
  const workers: FaultWorker[] = [];
  while (workers.length < Math.min(WORKERS, most))
    workers.push(stack.use(await FaultWorker.create(files, postgres.url)));
  const opened = stack.move();
  return {
    workers,
    async [Symbol.asyncDispose]() {
      const { exitCode } = process;
      await opened.disposeAsync();
      // Vitest sets it for a worker that was ended.
      process.exitCode = exitCode;
    },
  };
}

export class FaultWorker implements AsyncDisposable {
  readonly #texts: Map<string, string>;
  readonly #server: Server;
  readonly #provided: Partial<ProvidedContext>;
  readonly #changed: string[] = [];
  #vitest: Vitest | undefined;
  #running: Promise<unknown> | undefined;
  #pid = 0;
  /** How often it may still fail to start, one time after the other. */
  #starts = MOST_STARTS;
  #response: ServerResponse | undefined;

  private constructor(texts: Map<string, string>, server: Server, provided: Partial<ProvidedContext>) {
    this.#texts = texts;
    this.#server = server;
    this.#provided = provided;
    server.on('request', (request, response) => this.#hear(request, response));
  }

  /** @param files code that the tests run instead of what stands in the files */
  static async create(files: readonly Pick<FaultyFile, 'file' | 'text'>[], postgresUrl: string): Promise<FaultWorker> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const provided = { faultsUrl: `http://127.0.0.1:${port}`, postgresUrl, workerUrls: [] };
    return new FaultWorker(new Map(files.map(({ file, text }) => [file, text])), server, provided);
  }

  /** Gives a file another text, or its own again, for orders that load all modules anew. */
  change(file: string, text: string | undefined): void {
    if (text === undefined) this.#texts.delete(file);
    else this.#texts.set(file, text);
    this.#vitest?.invalidateFile(resolve(file));
    this.#changed.push(resolve(file));
  }

  /** Returns undefined if it has not ended in time, or has ended the process. */
  async run(order: Order, timeoutMs: number): Promise<Outcome | undefined> {
    if (!this.#running) {
      const started = once(this.#server, 'asked');
      this.#vitest = await startVitest(this.#texts, this.#provided);
      const specification = this.#vitest.getRootProject().createSpecification(RUNNER);
      const ended = this.#vitest.runTestSpecifications([specification]).catch(() => {});
      this.#running = ended.then(() => this.#server.emit('asked', undefined));
      await started;
    }
    if (!this.#response) {
      // Vitest gives a worker up that a busy machine has not started within a minute.
      await this.#end();
      if (--this.#starts < 0) throw new Error('The worker does not start');
      return this.run(order, timeoutMs);
    }
    this.#starts = MOST_STARTS;
    const asked = once(this.#server, 'asked', { signal: AbortSignal.timeout(Math.ceil(timeoutMs)) });
    this.#response?.end(JSON.stringify({ ...order, changed: this.#changed.splice(0) }));
    this.#response = undefined;
    const [outcome] = await asked.catch(() => []);
    if (!outcome) await this.#end();
    return outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    this.#server.close();
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pid, outcome } = (await json(request)) as { pid: number; outcome?: Outcome };
    this.#pid = pid;
    this.#response = response;
    this.#server.emit('asked', outcome);
  }

  /** Its process may be in an endless loop. */
  async #end(): Promise<void> {
    if (!this.#running) return;
    try {
      if (this.#pid > 0) process.kill(this.#pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
    this.#pid = 0;
    await this.#running;
    await this.#vitest?.close();
    this.#running = undefined;
    this.#response = undefined;
  }
}

/** Each worker gets another one, because it keeps what an earlier worker has loaded. */
async function startVitest(texts: ReadonlyMap<string, string>, provided: Partial<ProvidedContext>): Promise<Vitest> {
  const plugin = {
    name: 'faults',
    enforce: 'pre' as const,
    transform(text: string, path: string) {
      const file = relative(process.cwd(), path);
      if (!/^src\/.*\.ts$/.test(file)) return undefined;
      const own = texts.get(file) ?? text;
      const sent = file === SENDER.file ? own.replace(SENDER.find, SENDER.replace) : own;
      // The process that starts the worker loads some, too.
      return `globalThis.$loading?.(1);${sent}\nglobalThis.$loading?.(-1);`;
    },
  };
  const silent = new Writable({ write: (_text, _encoding, done) => done() });
  const options = {
    watch: false,
    maxWorkers: 1,
    isolate: false,
    passWithNoTests: true,
    fsModuleCache: false,
    reporters: [{}],
    runner: RUNNER,
    // All have one Postgres. No test of theirs needs packages of its own, or records statements.
    globalSetup: [],
    setupFiles: ['test/support/end-of-file.ts'],
  };
  const vitest = await createVitest(options, { plugins: [plugin] }, { stdout: silent, stderr: silent });
  for (const [key, value] of Object.entries(provided))
    vitest.getRootProject().provide(key as keyof ProvidedContext, value);
  return vitest;
}
