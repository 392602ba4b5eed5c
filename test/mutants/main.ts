/**
 * Plants one fault at a time in a copy of the checkout, and requires that the named test fails, while another passes:
 * noticed by what says so, not because the service does not start. Takes a regular expression to choose faults by.
 */
import { rm } from 'node:fs/promises';
import { layOutTable } from '../lab/bench/report/lay-out-table.ts';
import { startTemplateServer } from '../support/postgres.ts';
import { createTemporaryDirectory } from '../support/temporary-directory.ts';
import { type Fault, plantFault } from './fault.ts';
import { FAULTS } from './faults/faults.ts';
import type { RunTest } from './resident-vitest.ts';
import { ScratchCopy } from './scratch-copy.ts';

/** More than cores: a fault often makes its test wait. */
const WORKERS = 4;
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

await using stack = new AsyncDisposableStack();
const temporary = await createTemporaryDirectory();
stack.defer(() => rm(temporary, { recursive: true, force: true }));
process.env.TMPDIR = temporary;
const postgres = await startTemplateServer(temporary);
stack.defer(() => postgres.close());

// The largest come first, so that the workers end together.
const waiting = Object.values(Object.groupBy(faults, ({ test }) => test))
  .map((group = []) => group)
  .toSorted((a, b) => a.length - b.length);
await Promise.all(
  Array.from({ length: Math.min(WORKERS, waiting.length) }, async () => {
    const copy = stack.use(await ScratchCopy.make({ TEMPLATE_SERVER_URL: postgres.url }));
    for (let group = waiting.pop(); group; group = waiting.pop()) await tryGroup(copy, group);
  }),
);

const rows = faults.flatMap((fault) => [results.get(fault) ?? []]);
const noticed = rows.filter(([, , verdict]) => verdict === 'noticed').length;
const table = layOutTable(['Fault', 'Test', 'Result', 'Time'], rows);
process.stdout.write(`\n${table}\n${noticed} of ${rows.length} noticed, in ${secondsSince(startedAt)} s\n`);

/** Tries the faults, which have the same test file. */
async function tryGroup(copy: ScratchCopy, group: readonly Fault[]): Promise<void> {
  const tests = await copy.runTests(group[0]?.test ?? '', { timeoutMs: TIMEOUT_MS });
  for (const fault of group) {
    const startedAt = performance.now();
    const verdict = tests ? await tryFault(copy, fault, tests) : 'FAILS WITHOUT IT: its file does not end';
    results.set(fault, [fault.what, fault.test, verdict, `${secondsSince(startedAt)} s`]);
    if (verdict !== 'noticed') process.exitCode = 1;
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
async function tryFault(copy: ScratchCopy, fault: Fault, tests: readonly RunTest[]): Promise<string> {
  const { test, title } = fault;
  const planted = plantFault(fault);
  if (!planted) return 'STALE: src does not have its text once';
  const problem = findProblem(fault, tests);
  if (problem) return problem;
  // Tests of other subjects, one of which must pass: the service still works.
  const others = tests.filter((each) => each.hasPassed && !title.test(each.title)).map((each) => each.title);
  const controls = [others[0], others[Math.floor(others.length / 2)], others.at(-1)].map((each) =>
    toPattern(each ?? ''),
  );
  // Vitest puts > between the titles of a test and of what it is in.
  const titles = new RegExp(`${title.source}|^(${controls.join('|')})$`.replaceAll(' ', '( | > )'));
  const text = await copy.read(planted.file);
  await copy.write(planted.file, planted.text);
  const slowestMs = Math.max(...tests.map(({ durationMs }) => durationMs));
  const limitMs = Math.min(Math.max(PATIENCE * slowestMs, SHORTEST_LIMIT_MS), LONGEST_LIMIT_MS);
  const run = await copy.runTests(test, { timeoutMs: TIMEOUT_MS, titles, limitMs });
  await copy.write(planted.file, text);
  if (!run) return 'DOES NOT END';
  if (run.length === 0) return 'NOT LOADED';
  if (!run.some(({ hasPassed }) => hasPassed)) return 'NOTHING WORKS';
  return run.some((each) => !each.hasPassed && title.test(each.title)) ? 'noticed' : 'NOT NOTICED';
}

/** Returns a regular expression for the text. */
function toPattern(text: string): string {
  return text.replaceAll(/[^\w ]/g, '.');
}
