/**
 * Plants the faults that a machine finds, one at a time, and reports those that no test notices:
 * `npm run test:lab -- faults src/modules/passkeys`. With `--survivors` it tries again those that have survived.
 */
import { appendFileSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_SCHEMA } from '../../../src/config/database-url.ts';
import { onServer, withDatabase } from '../../support/on-server.ts';
import { readImports } from '../../support/read-imports.ts';
import { TEMPLATE } from '../../support/ready-directory.ts';
import { AT_LOAD, type Fault, type FaultyFile, marksOf, plantInStatement } from './fault.ts';
import { type FaultWorker, openFaultWorkers } from './fault-worker.ts';
import { findFaults } from './find-faults.ts';
import { CACHE, type Candidate, findCandidates, recordTests, sortCandidates, type TestFile } from './record.ts';
import { formatReport, type Verdict } from './report.ts';

/** Of the tests that reach a fault, so many run as take this CPU time without it: those of its subject, then the cheapest. */
const BUDGET_CPU_MS = 30_000;
const PATIENCE = 20;
/** On a machine that does nothing else. */
const SHORTEST_LIMIT_MS = 10_000;
const LONGEST_LIMIT_MS = 30_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { survivors: { type: 'boolean' } } });
const wanted = (positionals.length > 0 ? positionals : ['src/domain', 'src/modules']).map((path) =>
  path.replace(/\/$/, ''),
);
const files = globSync('src/{domain,modules}/**/*.ts').sort();
const sources = new Map<string, FaultyFile>(files.map((file) => [file, findFaults(file, readFileSync(file, 'utf8'))]));

await using opened = await openFaultWorkers([...sources.values()]);
const { postgresUrl, workers } = opened;

const tests = await recordTests(workers, sources);
const candidates = findCandidates(tests);
const loaded = new Set(tests.flatMap(({ reached }) => reached[AT_LOAD] ?? []));
const invalid = await findInvalid(tests);

/** A line for each fault that was tried, the last one of which counts. */
const RESULTS = join(CACHE, 'results');
const lines = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8').split('\n').filter(Boolean) : [];
const results = new Map(lines.map((line): [string, Verdict] => JSON.parse(line)));
const inOrder = wanted.flatMap((path) => files.filter((file) => file === path || file.startsWith(`${path}/`)));
const chosen = [...new Set(inOrder)]
  .flatMap((file) => sources.get(file)?.faults ?? [])
  .filter((fault) => !invalid.has(fault.id));
const tried = chosen.filter((fault) => !values.survivors || results.get(keyOf(fault))?.result !== 'noticed');

/** Tests that pass when they run alone. */
const independent = new Set<string>();
const needsReload = new Set<FaultWorker>();
const waiting = [...tried];
await Promise.all(
  workers.map(async (worker) => {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
      const verdict = await tryFault(worker, fault);
      results.set(keyOf(fault), verdict);
      appendFileSync(RESULTS, `${JSON.stringify([keyOf(fault), verdict])}\n`);
      process.stderr.write(`\rtried ${tried.length - waiting.length} of ${tried.length} faults `);
    }
  }),
);
process.stdout.write(`\n${formatReport(chosen.map((fault) => ({ fault, verdict: results.get(keyOf(fault)) })))}\n`);
// Vitest sets it for a worker that was ended.
process.exitCode = 0;

/** Names the fault as long as its code is the same, wherever that stands. */
function keyOf({ file, kind, before, after, id }: Fault): string {
  const same = sources
    .get(file)
    ?.faults.filter((each) => each.kind === kind && each.before === before && each.after === after);
  return `${file} ${kind} ${before} ${after} ${same?.findIndex((each) => each.id === id)}`;
}

async function tryFault(worker: FaultWorker, fault: Fault): Promise<Verdict> {
  const all = sortCandidates(findTests(fault), fault.file);
  if (all.length === 0) return { result: 'unreachable', ms: 0 };
  const startedAt = performance.now();
  const elapsed = () => Math.round(performance.now() - startedAt);
  let spentMs = 0;
  for (const [index, candidate] of all.entries()) {
    if (index > 0 && spentMs + candidate.cpuMs > BUDGET_CPU_MS)
      return { result: 'survived', ms: elapsed(), left: all.length - index };
    spentMs += candidate.cpuMs;
    const failed = await runTests(worker, candidate, fault);
    if (failed) return { result: 'noticed', ms: elapsed(), by: failed };
  }
  return { result: 'survived', ms: elapsed() };
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
    return outcome;
  };
  const outcome = await run(candidate.tests, fault);
  if (!outcome) return 'it does not end';
  const failed = outcome.tests.find(({ hasPassed }) => !hasPassed);
  if (!failed) return outcome.isBroken ? `${file} hooks` : undefined;
  // A test that needs those before it would fail without the fault, too.
  if (!independent.has(failed.id)) {
    const alone = await run([failed.id]);
    if (alone?.tests.every(({ hasPassed }) => hasPassed)) independent.add(failed.id);
    else {
      const whole = await run(undefined, fault);
      if (whole?.tests.every(({ hasPassed }) => hasPassed)) return undefined;
    }
  }
  return `${file} ${failed.title}`;
}

/** Returns the tests that reach the fault. One of code that only runs when it is loaded is seen where the file is used. */
function findTests(fault: Fault): Candidate[] {
  const own = candidates.get(fault.id) ?? [];
  if (!fault.isStatic && !loaded.has(fault.id)) return own;
  const ofFile = findTestsOf(fault.file);
  if (ofFile.length > 0) return ofFile;
  const path = resolve(fault.file);
  return files.filter((file) => readImports(resolve(file)).includes(path)).flatMap(findTestsOf);
}

/** Returns the tests that reach any code of the file. */
function findTestsOf(file: string): Candidate[] {
  const merged = new Map<string, Candidate>();
  for (const { id } of sources.get(file)?.faults ?? [])
    for (const candidate of candidates.get(id) ?? []) {
      const known = merged.get(candidate.file);
      if (candidate.isByHooks || (known && known.tests.length >= candidate.tests.length)) continue;
      merged.set(candidate.file, candidate);
    }
  return [...merged.values()];
}

/** Returns the faults with which no statement can be planned: the message of Postgres would be what a test notices. */
async function findInvalid(tests: readonly TestFile[]): Promise<Set<string>> {
  const byId = new Map(
    [...sources.values()].flatMap(({ faults }) => faults.map((fault) => [fault.id, fault] as const)),
  );
  const path = join(CACHE, 'planned');
  const known: [string, boolean][] = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : [];
  const canPlan = new Map(known);
  await onServer(postgresUrl, (sql) => sql.unsafe(`create database faults template ${TEMPLATE}`));
  const texts = new Set(tests.flatMap(({ statements }) => statements));
  await onServer(
    withDatabase(postgresUrl, 'faults'),
    async (sql) => {
      for (const text of texts)
        for (const id of marksOf(text)) {
          const fault = byId.get(id);
          if (!fault || canPlan.get(id)) continue;
          const explained = sql.unsafe(`explain (generic_plan) ${plantInStatement(text, fault)}`);
          canPlan.set(
            id,
            await explained.then(
              () => true,
              () => false,
            ),
          );
        }
    },
    { connection: { search_path: DEFAULT_SCHEMA } },
  );
  writeFileSync(path, JSON.stringify([...canPlan]));
  return new Set([...canPlan].flatMap(([id, isValid]) => (isValid ? [] : [id])));
}
