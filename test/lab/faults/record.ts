/** Which tests may see which faults: recorded while they run without a fault, and kept until code or tests have changed. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readImports } from '../../../src/testing/read-imports.ts';
import { ANYWHERE, type FaultyFile, IN_HOOKS, type Outcome } from './fault.ts';
import type { FaultWorker } from './fault-worker.ts';

export const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/faults');
/** The hashes of the code that the records are right about. */
const SOURCES = join(CACHE, 'sources');

/** A test file, run without a fault. */
export interface TestFile extends Outcome {
  readonly file: string;
  readonly hash: string;
  /** The code that it reaches. */
  readonly sources: readonly string[];
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

/**
 * Returns the tests, and records those that have changed, or that reach a file of the chosen ones that has changed.
 * @param named the test files that are recorded in any case, and alone: the records of all stay as they are
 */
export async function recordTests(
  workers: readonly FaultWorker[],
  sources: ReadonlyMap<string, FaultyFile>,
  chosen: readonly string[],
  named?: readonly string[],
): Promise<readonly TestFile[]> {
  mkdirSync(CACHE, { recursive: true });
  const fileOf = new Map(
    [...sources.values()].flatMap(({ file, faults }) => faults.map(({ id }) => [id, file] as const)),
  );
  const old = (named ?? listTestFiles()).map((file) => {
    const path = join(CACHE, encodeURIComponent(file));
    const record: TestFile | undefined = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
    return { file, path, hash: hashFile(file), record };
  });
  const hashes: Record<string, string> = existsSync(SOURCES) ? JSON.parse(readFileSync(SOURCES, 'utf8')) : {};
  const changed = chosen.filter((file) => hashes[file] !== hashFile(file));
  const stale = new Set(changed.flatMap((file) => (file in hashes ? [file] : [file, ...listImporters(file, sources)])));
  const isValid = ({ hash, record }: (typeof old)[number]) =>
    !named && record?.hash === hash && !record.sources.some((file) => stale.has(file));
  const waiting = old.filter((each) => !isValid(each));
  const recorded = old.flatMap((each) => (each.record && isValid(each) ? [each.record] : []));
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
        const reached = [...new Set((outcome.reached[ANYWHERE] ?? []).map((id) => fileOf.get(id) ?? ''))];
        const entry: TestFile = { ...outcome, file, hash, sources: reached };
        if (!named) writeFileSync(path, JSON.stringify(entry));
        recorded.push(entry);
      }
    }),
  );
  if (named) return recorded;
  const isFirst = Object.keys(hashes).length === 0;
  for (const file of isFirst ? sources.keys() : changed) hashes[file] = hashFile(file);
  writeFileSync(SOURCES, JSON.stringify(hashes));
  return recorded;
}

function hashFile(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16);
}

/** Returns the files that import the file. */
function listImporters(file: string, sources: ReadonlyMap<string, FaultyFile>): string[] {
  return [...sources.keys()].filter((importer) => readImports(resolve(importer)).includes(resolve(file)));
}

/** Tests of a file that may see a fault. */
export interface Candidate {
  readonly file: string;
  readonly tests: readonly string[];
  /** With the hooks of their file. */
  readonly cpuMs: number;
  readonly slowestMs: number;
  readonly isByHooks: boolean;
}

/** @param reaching those of its tests that run: without it, all that have passed */
export function toCandidate(
  { file, tests, cpuMs }: TestFile,
  reaching: TestFile['tests'] = tests.filter(({ hasPassed }) => hasPassed),
  isByHooks = false,
): Candidate {
  const overheadMs = Math.max(0, cpuMs - tests.reduce((sum, test) => sum + test.cpuMs, 0));
  return {
    file,
    tests: reaching.map(({ id }) => id),
    cpuMs: reaching.reduce((sum, test) => sum + test.cpuMs, overheadMs),
    slowestMs: Math.max(...reaching.map(({ ms }) => ms)),
    isByHooks,
  };
}

/** Returns, for each fault, the tests that may see it. What a hook has done, any test may see. */
export function findCandidates(files: readonly TestFile[]): Map<string, Candidate[]> {
  const candidates = new Map<string, Candidate[]>();
  for (const file of files) {
    const passed = file.tests.filter(({ hasPassed }) => hasPassed);
    const add = (fault: string, isByHooks: boolean, reaching: TestFile['tests']) => {
      if (reaching.length === 0) return;
      candidates.set(fault, [...(candidates.get(fault) ?? []), toCandidate(file, reaching, isByHooks)]);
    };
    const direct = new Map<string, TestFile['tests'][number][]>();
    for (const test of passed)
      for (const fault of file.reached[test.id] ?? []) direct.set(fault, [...(direct.get(fault) ?? []), test]);
    for (const [fault, reaching] of direct) add(fault, false, reaching);
    for (const fault of file.reached[IN_HOOKS] ?? []) {
      const reaching = new Set(direct.get(fault));
      const others = passed.filter((test) => !reaching.has(test));
      add(fault, true, others);
    }
  }
  return candidates;
}
