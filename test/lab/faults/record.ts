/** Which tests reach which faults: recorded while they run without a fault, and kept until a file has changed. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FaultyFile, IN_HOOKS, type Outcome } from './fault.ts';
import type { FaultWorker } from './fault-worker.ts';

export const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/faults');

/** A test file, run without a fault. */
export interface TestFile extends Outcome {
  readonly file: string;
  readonly hash: string;
}

/** What `npm test` and the integration tier run. */
function listTestFiles(): string[] {
  return globSync('test/**/*.test.ts', {
    exclude: [
      'test/{plans,robustness,lab,mutants,preview,reference,packages}/**',
      'test/*.test.ts',
      '**/node_modules/**',
    ],
  }).sort();
}

/** Returns the test files, and records those that have changed, or that have reached a file that has changed. */
export async function recordTests(
  workers: readonly FaultWorker[],
  sources: ReadonlyMap<string, FaultyFile>,
): Promise<readonly TestFile[]> {
  mkdirSync(CACHE, { recursive: true });
  const known = new Set([...sources.values()].flatMap(({ faults }) => faults.map(({ id }) => id)));
  const recorded: TestFile[] = [];
  const waiting: { file: string; hash: string; path: string }[] = [];
  for (const file of listTestFiles()) {
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    const path = join(CACHE, encodeURIComponent(file));
    const before: TestFile | undefined = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
    const isValid =
      before?.hash === hash && Object.values(before.reached).every((ids) => ids.every((id) => known.has(id)));
    if (before && isValid) recorded.push(before);
    else waiting.push({ file, hash, path });
  }
  const total = waiting.length;
  await Promise.all(
    workers.map(async (worker) => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const { file, hash, path } = next;
        const outcome = await worker.run({ file, limitMs: 120_000, isRecording: true, mustReload: false }, 600_000);
        process.stderr.write(`\rrecorded ${total - waiting.length} of ${total} test files `);
        if (!outcome || outcome.isBroken || outcome.tests.some(({ hasPassed }) => !hasPassed))
          process.stderr.write(`\n${file} fails without a fault\n`);
        if (!outcome) continue;
        const entry: TestFile = { ...outcome, file, hash };
        writeFileSync(path, JSON.stringify(entry));
        recorded.push(entry);
      }
    }),
  );
  return recorded;
}

/** Tests of a file that reach a fault. */
export interface Candidate {
  readonly file: string;
  readonly tests: readonly string[];
  /** With the hooks of their file. */
  readonly cpuMs: number;
  readonly slowestMs: number;
  readonly isByHooks: boolean;
}

/** Returns, for each fault, the tests that reach it. What a hook has done, any test may see. */
export function findCandidates(files: readonly TestFile[]): Map<string, Candidate[]> {
  const candidates = new Map<string, Candidate[]>();
  for (const { file, tests, reached, cpuMs } of files) {
    const passed = tests.filter(({ hasPassed }) => hasPassed);
    const overheadMs = cpuMs - tests.reduce((sum, test) => sum + test.cpuMs, 0);
    const add = (fault: string, isByHooks: boolean, reaching: TestFile['tests']) => {
      const candidate = {
        file,
        tests: reaching.map(({ id }) => id),
        cpuMs: reaching.reduce((sum, test) => sum + test.cpuMs, overheadMs),
        slowestMs: Math.max(...reaching.map(({ ms }) => ms)),
        isByHooks,
      };
      if (reaching.length > 0) candidates.set(fault, [...(candidates.get(fault) ?? []), candidate]);
    };
    const direct = new Map<string, TestFile['tests'][number][]>();
    for (const test of passed)
      for (const fault of reached[test.id] ?? []) {
        const reaching = direct.get(fault) ?? [];
        reaching.push(test);
        direct.set(fault, reaching);
      }
    for (const [fault, reaching] of direct) add(fault, false, reaching);
    for (const fault of reached[IN_HOOKS] ?? []) add(fault, true, passed);
  }
  return candidates;
}

/** Those whose path has a word of the path of the code come first, and then the cheapest. */
export function sortCandidates(candidates: readonly Candidate[], file: string): Candidate[] {
  const words = readWords(file);
  const rank = (candidate: Candidate) =>
    Number(candidate.isByHooks) - (readWords(candidate.file).some((word) => words.includes(word)) ? 2 : 0);
  return candidates.toSorted((a, b) => rank(a) - rank(b) || a.cpuMs - b.cpuMs);
}

function readWords(path: string): string[] {
  return path
    .split(/\W/)
    .filter((word) => word.length > 3 && !/^(test|domain|modules|integration|contract)$/.test(word));
}
