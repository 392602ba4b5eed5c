/**
 * Plants one fault of the list at a time, and requires that the named test fails, while another passes: noticed by what
 * says so, not because the service does not start. Takes a regular expression to choose faults by.
 */
import { layOutTable } from '../lab/bench/report/lay-out-table.ts';
import type { RunTest } from '../lab/faults/fault.ts';
import { type FaultWorker, openFaultWorkers } from '../lab/faults/fault-worker.ts';
import { type Fault, plantFault } from './fault.ts';
import { FAULTS } from './faults/faults.ts';

/** A test that hangs ends by its own limit before. */
const TIMEOUT_MS = 300_000;
/** With a fault, a test may take so many times as long as the slowest test of its file without one. */
const PATIENCE = 20;
const SHORTEST_LIMIT_MS = 20_000;
const LONGEST_LIMIT_MS = 120_000;

const wanted = new RegExp(process.argv[2] ?? '');
const isWanted = (fault: Fault) => Object.values(fault).some((text) => wanted.test(String(text)));
const faults = FAULTS.filter(isWanted);

const startedAt = performance.now();
const secondsSince = (instant: number) => ((performance.now() - instant) / 1_000).toFixed(0);
const results = new Map<Fault, readonly string[]>();
let hasMissed = false;

// The largest come first, so that the workers end together.
const waiting = Object.values(Object.groupBy(faults, ({ test }) => test))
  .map((group = []) => group)
  .toSorted((a, b) => a.length - b.length);
await using opened = await openFaultWorkers([], waiting.length);
await Promise.all(
  opened.workers.map(async (worker) => {
    for (let group = waiting.pop(); group; group = waiting.pop()) await tryGroup(worker, group);
  }),
);

const rows = faults.flatMap((fault) => [results.get(fault) ?? []]);
const noticed = rows.filter(([, , verdict]) => verdict === 'noticed').length;
const table = layOutTable(['Fault', 'Test', 'Result', 'Time'], rows);
process.stdout.write(`\n${table}\n${noticed} of ${rows.length} noticed, in ${secondsSince(startedAt)} s\n`);
process.exitCode = hasMissed ? 1 : 0;

/** Tries the faults, which have the same test file. */
async function tryGroup(worker: FaultWorker, group: readonly Fault[]): Promise<void> {
  const file = group[0]?.test ?? '';
  const outcome = await worker.run({ file, limitMs: LONGEST_LIMIT_MS, mustReload: true }, TIMEOUT_MS);
  for (const fault of group) {
    const startedAt = performance.now();
    const verdict = outcome ? await tryFault(worker, fault, outcome.tests) : 'FAILS WITHOUT IT: its file does not end';
    results.set(fault, [fault.what, fault.test, verdict, `${secondsSince(startedAt)} s`]);
    hasMissed ||= verdict !== 'noticed';
    process.stdout.write(`${verdict === 'noticed' ? 'ok  ' : 'FAIL'} ${fault.what}: ${verdict}\n`);
  }
}

/** Returns what is wrong with the tests of the row: there is none of its title, or one fails without a fault. */
function findProblem({ title }: Fault, tests: readonly RunTest[]): string | undefined {
  const ofTitle = tests.filter((each) => title.test(each.title));
  if (ofTitle.length === 0) return `STALE: no test ${title}`;
  const broken = ofTitle.find(({ hasPassed }) => !hasPassed);
  return broken && `FAILS WITHOUT IT: ${broken.title}`;
}

/** Returns the verdict on the fault. `tests` are those of its test file, without it. */
async function tryFault(worker: FaultWorker, fault: Fault, tests: readonly RunTest[]): Promise<string> {
  const { test: file, title } = fault;
  const planted = plantFault(fault);
  if (!planted) return 'STALE: src does not have its text once';
  const problem = findProblem(fault, tests);
  if (problem) return problem;
  // Tests of other subjects, one of which must pass: the service still works.
  const others = tests.filter((each) => each.hasPassed && !title.test(each.title));
  const controls = [others[0], others[Math.floor(others.length / 2)], others.at(-1)];
  const chosen = tests.filter((each) => title.test(each.title) || controls.includes(each)).map(({ id }) => id);
  const slowestMs = Math.max(...tests.map(({ ms }) => ms));
  const limitMs = Math.min(Math.max(PATIENCE * slowestMs, SHORTEST_LIMIT_MS), LONGEST_LIMIT_MS);
  worker.change(planted.file, planted.text);
  const outcome = await worker.run({ file, tests: chosen, limitMs, mustReload: true }, TIMEOUT_MS);
  worker.change(planted.file, undefined);
  if (!outcome) return 'DOES NOT END';
  if (outcome.tests.length === 0) return 'NOT LOADED';
  if (!outcome.tests.some(({ hasPassed }) => hasPassed)) return 'NOTHING WORKS';
  return outcome.tests.some((each) => !each.hasPassed && title.test(each.title)) ? 'noticed' : 'NOT NOTICED';
}
