/** The service in a process of its own, on a test's database: to be ended by signals, and to be measured. */
import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { REPOSITORY } from './process.ts';
import { ADMIN_KEY, PUBLIC_URL } from './service.ts';

export interface ChildService extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Sends the signal and resolves when the process is gone, to its exit code; null where the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Nobody reads its log from now on. */
  neglectLog(): void;
  /** Memory that is resident now. */
  residentBytes(): number;
}

/** Rejects with what it wrote where it exits before it listens. */
export async function startChildService(databaseUrl: string, env: Record<string, string> = {}): Promise<ChildService> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-child-'));
  const child = spawn(process.execPath, [join(REPOSITORY, 'src/main.ts')], {
    cwd: directory,
    env: {
      ...(await writeSettings(directory, databaseUrl)),
      // Little garbage, so that what is seen of its memory is what it needs.
      NODE_OPTIONS: '--max-semi-space-size=2',
      // As under npm it ends when we do, however that comes.
      npm_lifecycle_event: 'start',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  const dispose = async () => {
    await end('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  };
  const url = await Promise.race([readUrl(child.stdout), exited.then(() => undefined)]);
  if (!url) {
    await dispose();
    throw new Error('The service has not started');
  }
  // The log goes on, and is not of interest.
  child.stdout.resume();
  return {
    url: url.replace('localhost', '127.0.0.1'),
    port: Number(new URL(url).port),
    end,
    neglectLog: () => void child.stdout.pause(),
    residentBytes: () => residentBytesOf(child.pid ?? 0),
    [Symbol.asyncDispose]: dispose,
  };
}

/** The same for all, so that one can read what another has written. */
const ENCRYPTION_KEY = randomBytes(32).toString('base64');

async function writeSettings(directory: string, databaseUrl: string): Promise<Record<string, string>> {
  const keys = join(directory, 'signing-keys.json');
  const encryptionKey = join(directory, 'encryption-key');
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(keys, JSON.stringify({ keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test-key' }] }));
  await writeFile(encryptionKey, ENCRYPTION_KEY);
  return {
    PORT: '0',
    PUBLIC_URL,
    DATABASE_URL: databaseUrl,
    ADMIN_KEY,
    AUTH_SIGNING_KEYS_FILE: keys,
    ENCRYPTION_KEY_FILE: encryptionKey,
  };
}

/** From the first line of its log that names it. */
async function readUrl(log: NodeJS.ReadableStream): Promise<string | undefined> {
  const lines = createInterface({ input: log });
  for await (const line of lines) {
    const { msg, url } = JSON.parse(line);
    if (msg === 'listening') return url;
  }
  return undefined;
}

function residentBytesOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
