/** Usher as a process of its own, on a database of the test's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from './http.ts';
import { REPOSITORY } from './process.ts';
import { ADMIN_KEY, PUBLIC_URL } from './service.ts';

const PATIENCE_MS = 20_000;
const PAGE_BYTES = 4096;

export class UsherProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #directory: string;
  #output = '';

  private constructor(url: string, child: ChildProcess, directory: string) {
    this.url = url;
    this.#child = child;
    this.#directory = directory;
    const keep = (text: string) => {
      this.#output += text;
    };
    child.stdout?.setEncoding('utf8').on('data', keep);
    child.stderr?.setEncoding('utf8').on('data', keep);
  }

  /** Resolves when it answers. `env` is added to what it needs. */
  static async start(databaseUrl: string, env: Record<string, string> = {}): Promise<UsherProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'usher-process-'));
    const { privateKey } = generateKeyPairSync('ed25519');
    const keys = { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test-key' }] };
    await writeFile(join(directory, 'signing-keys'), JSON.stringify(keys));
    await writeFile(join(directory, 'encryption-key'), randomBytes(32).toString('base64'));
    const port = await findFreePort();
    const child = spawn(process.execPath, [join(REPOSITORY, 'src/main.ts')], {
      cwd: directory,
      env: {
        PORT: String(port),
        PUBLIC_URL,
        DATABASE_URL: databaseUrl,
        ADMIN_KEY,
        AUTH_SIGNING_KEYS_FILE: 'signing-keys',
        ENCRYPTION_KEY_FILE: 'encryption-key',
        LOG_LEVEL: 'error',
        // Little room for garbage, so that its size tells of what is kept, and too much of that ends it.
        NODE_OPTIONS: '--max-semi-space-size=2 --max-old-space-size=96',
        // As under npm it ends when we do, however that comes.
        npm_lifecycle_event: 'start',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const usher = new UsherProcess(`http://127.0.0.1:${port}`, child, directory);
    await usher.#untilReady();
    return usher;
  }

  /** What it has written so far: only errors are. */
  get output(): string {
    return this.#output;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** In MB. */
  async residentMemory(): Promise<number> {
    const statm = await readFile(`/proc/${this.#child.pid}/statm`, 'utf8');
    return (Number(statm.split(' ')[1]) * PAGE_BYTES) / 1e6;
  }

  async openFiles(): Promise<number> {
    return (await readdir(`/proc/${this.#child.pid}/fd`)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exited;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #untilReady(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const status = await request(this.url, { path: '/readyz' }).then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 200) return;
      if (!this.isRunning || performance.now() > deadline) throw new Error(`Usher has not started: ${this.#output}`);
      await sleep(20);
    }
  }
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port');
  return address.port;
}
