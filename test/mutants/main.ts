/**
 * Plants one fault at a time in a copy of the checkout, and requires that the named test fails, while another passes:
 * noticed by what says so, not because the service does not start. Takes a word to choose faults by.
 */
import { layOutTable } from '../bench/report/lay-out-table.ts';
import type { Fault } from './fault.ts';
import { FAULTS } from './faults/faults.ts';
import { type RunTest, ScratchCopy } from './scratch-copy.ts';

const WORKERS = 2;
/** A test that hangs ends by its own timeout before. */
const TIMEOUT_MS = 300_000;

const [, , word = ''] = process.argv;
const isWanted = (fault: Fault) => Object.values(fault).some((text) => String(text).includes(word));
const faults = FAULTS.filter(isWanted);

await using copies = new AsyncDisposableStack();
const [first, ...more] = await Promise.all(
  Array.from({ length: WORKERS }, async () => copies.use(await ScratchCopy.make())),
);
if (!first) throw new Error('There is no worker');

const problems = await findProblems(first, faults);
if (problems.length > 0) throw new Error(`The table is stale:\n${problems.join('\n')}`);

const results = new Map<Fault, readonly string[]>();
const waiting = [...faults];
await Promise.all(
  [first, ...more].map(async (copy) => {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
      const startedAt = performance.now();
      const verdict = await tryFault(copy, fault);
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
      results.set(fault, [fault.what, fault.test, verdict, `${seconds} s`]);
      if (verdict !== 'noticed') process.exitCode = 1;
      process.stdout.write(`${verdict === 'noticed' ? 'ok  ' : 'FAIL'} ${fault.what}: ${verdict}\n`);
    }
  }),
);
const rows = faults.flatMap((fault) => [results.get(fault) ?? []]);
const noticed = rows.filter(([, , verdict]) => verdict === 'noticed').length;
process.stdout.write(
  `\n${layOutTable(['Fault', 'Test', 'Result', 'Time'], rows)}\n${noticed} of ${rows.length} noticed\n`,
);

/** Returns what is wrong with the table itself: texts that are not there once, and tests that fail without a fault. */
async function findProblems(copy: ScratchCopy, faults: readonly Fault[]): Promise<string[]> {
  const files = [...new Set(faults.map(({ test }) => test))];
  const isRobustness = (file: string) => file.startsWith('test/robustness/');
  const tests = [
    ...(await runAll(copy, files.filter(isRobustness))),
    ...(await runAll(
      copy,
      files.filter((file) => !isRobustness(file)),
    )),
  ];
  const problems = tests.filter(({ hasPassed }) => !hasPassed).map(({ title }) => `fails without a fault: ${title}`);
  for (const { what, file, find, title } of faults) {
    const count = (await copy.read(file)).split(find).length - 1;
    if (count !== 1) problems.push(`${what}: ${file} has the text ${count} times`);
    if (!tests.some((test) => title.test(test.title))) problems.push(`${what}: no test has the title ${title}`);
  }
  return problems;
}

async function runAll(copy: ScratchCopy, files: readonly string[]): Promise<readonly RunTest[]> {
  return files.length === 0 ? [] : copy.runTests(files, 4 * TIMEOUT_MS);
}

async function tryFault(copy: ScratchCopy, { file, find, replace, test, title }: Fault): Promise<string> {
  const text = await copy.read(file);
  await copy.write(
    file,
    text.replace(find, () => replace),
  );
  const tests = await copy.runTests([test], TIMEOUT_MS);
  await copy.write(file, text);
  const failed = tests.filter(({ hasPassed }) => !hasPassed);
  if (failed.length === 0) return tests.length === 0 ? 'not loaded' : 'NOT NOTICED';
  if (failed.length === tests.length) return 'nothing works';
  if (!failed.some((each) => title.test(each.title))) return `noticed by accident: ${failed[0]?.title}`;
  return 'noticed';
}
