/**
 * Plants the faults that a machine finds, one at a time, and reports those that no test notices:
 * `npm run test:lab -- faults src/modules/passkeys`. With `--survivors` it tries again those that have survived. With
 * `--test FILE` it runs the tests of that file alone: what they notice counts, what they do not is left as it was.
 */
import { appendFileSync, existsSync, globSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ANYWHERE, AT_LOAD, type Fault, type FaultyFile } from './fault.ts';
import { type FaultWorker, openFaultWorkers } from './fault-worker.ts';
import { findFaults } from './find-faults.ts';
import { CACHE, type Candidate, findCandidates, recordTests, toCandidate } from './record.ts';
import { formatReport, type Verdict } from './report.ts';

/** With a fault, a test may take so many times as long as without it. */
const PATIENCE = 20;
/** What it takes to run one test of a file, Postgres included. */
const RUN_CPU_MS = 300;
/** A worker takes as much CPU time to start as for so many faults. */
const FAULTS_OF_WORKER = 15;
/** CPU time of the tests that are the likeliest to notice a fault. Those that all of them pass come last, with the others. */
const FIRST_TESTS_MS = 3_000;
/** On a machine that does nothing else. */
const SHORTEST_LIMIT_MS = 5_000;
const LONGEST_LIMIT_MS = 30_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { survivors: { type: 'boolean' }, test: { type: 'string', multiple: true } },
});
const wanted = positionals.length > 0 ? positionals.map((path) => path.replace(/\/$/, '')) : ['src'];
const files = globSync('src/{domain,modules}/**/*.ts').sort();
const sources = new Map<string, FaultyFile>(files.map((file) => [file, findFaults(file, readFileSync(file, 'utf8'))]));

await using opened = await openFaultWorkers([...sources.values()], values.test && 1);
const { workers } = opened;

const chosenFiles = files.filter((file) => wanted.some((path) => `${file}/`.startsWith(`${path}/`)));
const tests = await recordTests(workers, sources, chosenFiles, values.test);
const reachedAnywhere = new Set(tests.flatMap(({ reached }) => reached[ANYWHERE] ?? []));
const loaded = new Set(tests.flatMap(({ reached }) => reached[AT_LOAD] ?? []));
const hashes = new Map(tests.map(({ file, hash }) => [file, hash]));
const candidates = findCandidates(tests);

/** A line for each fault that was tried, the last one of which counts. */
const results = readLines<Verdict>('results');
/** Tests that pass when they run alone, by the hash of their file. */
const independent = readLines<string>('independent');
const score = learn();
const chosen = chosenFiles.flatMap((file) => sources.get(file)?.faults ?? []);
const tried = chosen.filter(
  ({ id, answer }) => !answer && !(values.survivors && results.get(id)?.result === 'noticed'),
);

const needsReload = new Set<FaultWorker>();
const waiting = tried.map((fault) => ({ fault, left: findTests(fault), mostMs: FIRST_TESTS_MS }));
await Promise.all(
  workers.slice(0, Math.ceil(tried.length / FAULTS_OF_WORKER)).map(async (worker) => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { fault, left } = next;
      const verdict = await tryFault(worker, next);
      if (!values.test || verdict.result === 'noticed') keep('results', results, fault.id, verdict);
      else if (!results.has(fault.id)) results.set(fault.id, verdict);
      if (verdict.result === 'survived' && left.length > 0) waiting.push({ fault, left, mostMs: Infinity });
      process.stderr.write(`\rleft ${waiting.length} of ${tried.length} faults `);
    }
  }),
);
process.stdout.write(`\n${formatReport(chosen.map((fault) => ({ fault, verdict: results.get(fault.id) })))}\n`);
process.exitCode = 0;

function readLines<Value>(name: string): Map<string, Value> {
  const path = join(CACHE, name);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  return new Map(lines.map((line): [string, Value] => JSON.parse(line)));
}

function keep<Value>(name: string, values: Map<string, Value>, key: string, value: Value): void {
  values.set(key, value);
  appendFileSync(join(CACHE, name), `${JSON.stringify([key, value])}\n`);
}

/** Returns what sorts test files: those that have noticed faults of the same file, that speak of it, and that are cheap. */
function learn() {
  const counts = new Map<string, { noticed: number; tried: number }>();
  const countOf = (file: string, test: string) => {
    const key = `${file} ${test}`;
    const count = counts.get(key) ?? { noticed: 0, tried: 0 };
    counts.set(key, count);
    return count;
  };
  const note = (file: string, test: string, hasNoticed: boolean) => {
    const count = countOf(file, test);
    count.tried++;
    if (hasNoticed) count.noticed++;
  };
  for (const { file, faults } of sources.values())
    for (const { id } of faults) {
      const [test] = results.get(id)?.by?.split(' ') ?? [];
      if (test) note(file, test, true);
    }
  const order = (file: string, candidate: Candidate) => {
    const { noticed, tried } = countOf(file, candidate.file);
    const shared = countShared(candidate.file, file);
    const chance = (noticed + 0.05 + 0.3 * shared) / (tried + 1 + shared);
    return (chance * (candidate.isByHooks ? 0.1 : 1)) / (candidate.cpuMs + RUN_CPU_MS);
  };
  return { note, order };
}

function countShared(test: string, file: string): number {
  const words = new Set(readWords(file));
  return readWords(test).filter((word) => words.has(word)).length;
}

function readWords(path: string): string[] {
  const words = path.split(/\W/).filter((word) => word.length > 3);
  return words.filter((word) => !/^(test|domain|modules|integration|contract)$/.test(word));
}

interface Attempt {
  readonly fault: Fault;
  /** The tests that have not run with it. */
  readonly left: Candidate[];
  readonly mostMs: number;
}

/** Runs tests of `left`, and takes them from it, until one notices the fault or they have taken so much CPU time. */
async function tryFault(worker: FaultWorker, { fault, left, mostMs }: Attempt): Promise<Verdict> {
  if (!left.length) return { result: reachedAnywhere.has(fault.id) ? 'same' : 'unreachable' };
  for (let spentMs = 0; left.length > 0 && spentMs < mostMs; ) {
    // Other workers have learned meanwhile.
    const scores = left.map((candidate) => score.order(fault.file, candidate));
    const [candidate] = left.splice(scores.indexOf(Math.max(...scores)), 1);
    const failed = candidate && (await runTests(worker, candidate, fault));
    if (candidate) spentMs += candidate.cpuMs + RUN_CPU_MS;
    if (candidate) score.note(fault.file, candidate.file, failed !== undefined);
    if (failed) return { result: 'noticed', by: failed };
  }
  return { result: 'survived' };
}

/** Returns what has noticed the fault. */
async function runTests(worker: FaultWorker, candidate: Candidate, fault: Fault): Promise<string | undefined> {
  const { file } = candidate;
  const mustReload = fault.isStatic || loaded.has(fault.id);
  const run = async (tests: readonly string[] | undefined, planted?: Fault) => {
    const load = Math.max(1, (loadavg()[0] ?? 1) / availableParallelism());
    const limitMs = load * Math.min(Math.max(PATIENCE * candidate.slowestMs, SHORTEST_LIMIT_MS), LONGEST_LIMIT_MS);
    const isPlanted = planted !== undefined;
    const order = {
      file,
      limitMs,
      ...(tests && { tests }),
      ...(planted && { fault: planted }),
      bail: true,
      mustReload: (isPlanted && mustReload) || needsReload.has(worker),
    };
    const outcome = await worker.run(order, 3 * limitMs + PATIENCE * load * candidate.cpuMs);
    needsReload.delete(worker);
    if (isPlanted && mustReload && outcome) needsReload.add(worker);
    return {
      outcome,
      limitMs,
      hasPassed: outcome?.isBroken === false && outcome.tests.every((each) => each.hasPassed),
    };
  };
  const { outcome, limitMs, hasPassed } = await run(candidate.tests, fault);
  if (hasPassed) return undefined;
  const failed = outcome?.tests.find((test) => !test.hasPassed);
  const key = `${hashes.get(file)} ${failed?.id}`;
  // A busy machine may be why it has not ended in time, and a test may need those before it: is it right without the fault?
  if (!failed || failed.ms > limitMs / 3 || !independent.has(key)) {
    const alone = await run(failed ? [failed.id] : candidate.tests);
    if (alone.hasPassed && failed) keep('independent', independent, key, failed.title);
    if (!alone.hasPassed && (!failed || (await run(undefined, fault)).hasPassed)) return undefined;
  }
  return `${file} ${failed?.title ?? (outcome ? 'hooks' : 'does not end')}`;
}

/**
 * Returns the tests that may see the fault. That of code that runs when it is loaded, any may that reaches its file or
 * has its name. A statement of Drizzle is built once for a connection, for all tests of a file.
 */
function findTests(fault: Fault): Candidate[] {
  const own = candidates.get(fault.id) ?? [];
  const isStatic = fault.isStatic || loaded.has(fault.id);
  if (!isStatic && (fault.kind !== 'conjunct' || fault.sql)) return [...own];
  const ofFile = sources.get(fault.file)?.faults.flatMap(({ id }) => candidates.get(id) ?? []) ?? [];
  const files = new Set((isStatic ? ofFile : own).map(({ file }) => file));
  const isFound = (file: string) => files.has(file) || (isStatic && countShared(file, fault.file) > 0);
  return tests.filter(({ file }) => isFound(file)).map((file) => toCandidate(file));
}
