/** Services that answer from their memory, each with a bound of its own, in a process and behind a network of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TcpProxy } from '../../../../src/testing/tcp-proxy.ts';
import { CHECK_IN_MEMORY } from '../checker/invariants/bounded-checks.ts';
import type { Begun, Told } from '../workload/reader.ts';
import type { Recorder } from '../workload/recorder.ts';
import { CLOCK_PRELOAD } from './clock-preload.ts';

const PROGRAM = fileURLToPath(new URL('../workload/reader.ts', import.meta.url));
/** From the least to the most that the client takes. */
const BOUNDS_MS = [500, 1_000, 2_000, 3_000, 5_000];
const POLL_MS = 50;

interface Reader {
  readonly process: ChildProcess;
  readonly network: TcpProxy;
  totals: Pick<Told, 'checks' | 'kept' | 'calls'>;
}

export interface ReaderOptions {
  readonly ports: readonly number[];
  readonly apiKey: string;
  readonly recorder: Recorder;
  /** A session that nobody ends. */
  readonly endless: Begun;
  /** How far the clocks of the first and the last are from that of the machine. */
  readonly clocksApartMs?: number | undefined;
}

export class Readers implements AsyncDisposable {
  readonly #readers: Reader[] = [];
  readonly #stack = new AsyncDisposableStack();

  /** Each asks one replica. Resolves when each has answered from its memory: on a busy machine, they start slowly. */
  static async start({ ports, apiKey, recorder, endless, clocksApartMs = 0 }: ReaderOptions): Promise<Readers> {
    const readers = new Readers();
    await using stack = new AsyncDisposableStack();
    stack.use(readers);
    for (const [at, boundMs] of BOUNDS_MS.entries()) {
      const replica = at % ports.length;
      const network = readers.#stack.use(await TcpProxy.open(`postgres://127.0.0.1:${ports[replica]}/`));
      const offset = clocksApartMs * (at / (BOUNDS_MS.length - 1) - 0.5);
      const child = fork(PROGRAM, [network.through('http://127.0.0.1'), apiKey, String(boundMs)], {
        execArgv: ['--import', CLOCK_PRELOAD],
        env: { CLOCK_OFFSET_MS: String(offset) },
      });
      readers.#stack.defer(() => void child.kill('SIGKILL'));
      const reader: Reader = { process: child, network, totals: { checks: 0, kept: 0, calls: 0 } };
      child.on('message', (told: Told) => {
        reader.totals = told;
        keep(told, { recorder, replica, boundMs });
      });
      readers.#readers.push(reader);
    }
    readers.tell(endless);
    await Promise.all(readers.#readers.map(waitForMemory));
    stack.move();
    return readers;
  }

  /** How many checks they have made, how many from memory, and how many calls of CheckSession these have cost. */
  get totals(): Reader['totals'] {
    const sum = (of: keyof Reader['totals']) => this.#readers.reduce((total, { totals }) => total + totals[of], 0);
    return { checks: sum('checks'), kept: sum('kept'), calls: sum('calls') };
  }

  /** Tells each of a session that has begun. */
  tell(begun: Begun): void {
    for (const { process } of this.#readers) process.send(begun);
  }

  /** Stops each for as long as the function says, in whatever it does. */
  async pause(readMilliseconds: () => number): Promise<void> {
    const pauses = this.#readers.map(async ({ process }) => {
      process.kill('SIGSTOP');
      await sleep(readMilliseconds());
      process.kill('SIGCONT');
    });
    await Promise.all(pauses);
  }

  /** From now on, answers to each are held back for as long as the function says. */
  hold(readMilliseconds: () => number): void {
    for (const { network } of this.#readers) network.holdMs = readMilliseconds();
  }

  /** Resolves when they have told everything. */
  async stop(): Promise<void> {
    const exits = this.#readers.map(({ process }) => once(process, 'exit'));
    for (const { process } of this.#readers) process.send('stop');
    await Promise.all(exits);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

async function waitForMemory(reader: Reader): Promise<void> {
  while (reader.totals.kept === 0) {
    if (reader.process.exitCode !== null) throw new Error('A reader has ended');
    await sleep(POLL_MS);
  }
}

function keep(
  { checked, unexpected }: Told,
  { recorder, replica, boundMs }: { recorder: Recorder; replica: number; boundMs: number },
): void {
  const behind = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  for (const { userId, sessionId, isActive, calledAt, returnedAt } of checked) {
    recorder.observe({
      ...{ rpc: CHECK_IN_MEMORY, subject: `session ${userId}`, replica },
      ...{ input: { sessionId, maxStalenessMs: boundMs }, outcome: { answer: isActive ? { active: true } : {} } },
      ...{ calledAt: calledAt - behind, returnedAt: returnedAt - behind },
    });
  }
  for (const message of unexpected) recorder.unexpected.push(`${CHECK_IN_MEMORY} at ${replica}: ${message}`);
}
