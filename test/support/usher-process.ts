/** Usher as a process of its own, on a database of the test's: to be ended by signals, and to be measured. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { REPOSITORY } from './process.ts';
import { ADMIN_KEY, PUBLIC_URL } from './service.ts';

/** The same for all, so that one can read what another has written. */
const ENCRYPTION_KEY = randomBytes(32).toString('base64');

export class UsherProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #exited: Promise<unknown>;
  readonly #directory: string;
  readonly #listening = Promise.withResolvers<string>();
  #url = '';
  #complaints = '';

  private constructor(directory: string, env: Record<string, string>) {
    this.#directory = directory;
    this.#child = spawn(process.execPath, [join(REPOSITORY, 'src/main.ts')], {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.#child, 'exit');
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#read(line));
    this.#child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#complaints += text;
    });
  }

  /** Resolves when it listens; rejects with its complaints where it exits before. `env` is added to what it needs. */
  static async start(databaseUrl: string, env: Record<string, string> = {}): Promise<UsherProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'usher-process-'));
    const usher = new UsherProcess(directory, {
      ...(await writeSettings(directory)),
      DATABASE_URL: databaseUrl,
      // Little room for garbage, so that its size tells of what is kept.
      NODE_OPTIONS: '--max-semi-space-size=2',
      // As under npm it ends when we do, however that comes.
      npm_lifecycle_event: 'start',
      ...env,
    });
    const url = await Promise.race([usher.#listening.promise, usher.#exited.then(() => undefined)]);
    if (!url) {
      await usher[Symbol.asyncDispose]();
      throw new Error(`Usher has not started: ${usher.complaints}`);
    }
    usher.#url = url.replace('localhost', '127.0.0.1');
    return usher;
  }

  get url(): string {
    return this.#url;
  }

  get port(): number {
    return Number(new URL(this.#url).port);
  }

  /** The errors it has logged so far, and what it has written to standard error. */
  get complaints(): string {
    return this.#complaints;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Memory that is resident now. */
  residentBytes(): number {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  }

  openFiles(): number {
    return readdirSync(`/proc/${this.#child.pid}/fd`).length;
  }

  /** Nobody reads its log from now on. */
  neglectLog(): void {
    this.#child.stdout.pause();
  }

  /** Whoever reads its log is gone from now on. */
  dropLog(): void {
    this.#child.stdout.destroy();
  }

  /** Sends the signal and resolves when the process is gone, to its exit code; null where the signal ended it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    await this.#exited;
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.#directory, { recursive: true, force: true });
  }

  #read(line: string): void {
    if (/^\{"level":[56]0,/.test(line)) this.#complaints += `${line}\n`;
    if (this.#url) return;
    const { msg, url } = JSON.parse(line);
    if (msg === 'listening') this.#listening.resolve(url);
  }
}

async function writeSettings(directory: string): Promise<Record<string, string>> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const keys = { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test-key' }] };
  await writeFile(join(directory, 'signing-keys'), JSON.stringify(keys));
  await writeFile(join(directory, 'encryption-key'), ENCRYPTION_KEY);
  return {
    PORT: '0',
    PUBLIC_URL,
    ADMIN_KEY,
    AUTH_SIGNING_KEYS_FILE: 'signing-keys',
    ENCRYPTION_KEY_FILE: 'encryption-key',
  };
}
