/**
 * Plants one fault at a time in a copy of the checkout, and requires that the named test fails, while another passes:
 * noticed by what says so, not because the service does not start. Takes a regular expression to choose faults by.
 */
import { layOutTable } from '../bench/report/lay-out-table.ts';
import type { Fault } from './fault.ts';
import { FAULTS } from './faults/faults.ts';
import { type RunTest, ScratchCopy } from './scratch-copy.ts';

const WORKERS = 2;
/** A test that hangs ends by its own timeout before. */
const TIMEOUT_MS = 300_000;

const wanted = new RegExp(process.argv[2] ?? '');
const isWanted = (fault: Fault) => Object.values(fault).some((text) => wanted.test(String(text)));
const faults = FAULTS.filter(isWanted);

await using copies = new AsyncDisposableStack();
const [first, ...more] = await Promise.all(
  Array.from({ length: WORKERS }, async () => copies.use(await ScratchCopy.make())),
);
if (!first) throw new Error('There is no worker');

const tests = await runWithoutFaults(first, faults);
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

/** Returns every test of the files. */
async function runWithoutFaults(copy: ScratchCopy, faults: readonly Fault[]): Promise<readonly RunTest[]> {
  const files = [...new Set(faults.map(({ test }) => test))];
  const tiers = Object.values(Object.groupBy(files, (file) => String(file.startsWith('test/robustness/'))));
  const ofTiers: RunTest[] = [];
  for (const tier of tiers) ofTiers.push(...(await copy.runTests(tier ?? [], { timeoutMs: 4 * TIMEOUT_MS })));
  return ofTiers;
}

/** Returns what is wrong with the row itself: a text that is not there once, or a test that fails without a fault. */
function findProblem({ file, find, test, title }: Fault, text: string): string | undefined {
  const count = text.split(find).length - 1;
  if (count !== 1) return `STALE: ${file} has the text ${count} times`;
  if (title.flags !== '') return `STALE: ${title} has flags, which Vitest does not take`;
  const ofTitle = tests.filter((each) => each.file === test && title.test(each.title));
  if (ofTitle.length === 0) return `STALE: no test ${title}`;
  const broken = ofTitle.find(({ hasPassed }) => !hasPassed);
  return broken && `FAILS WITHOUT IT: ${broken.title}`;
}

async function tryFault(copy: ScratchCopy, fault: Fault): Promise<string> {
  const { file, find, replace, test, title } = fault;
  const text = await copy.read(file);
  const problem = findProblem(fault, text);
  if (problem) return problem;
  // Tests of other subjects, one of which must pass: the service still works.
  const others = tests
    .filter((each) => each.file === test && each.hasPassed && !title.test(each.title))
    .map((each) => each.title);
  const controls = [others[0], others[Math.floor(others.length / 2)], others.at(-1)].map((each) =>
    toPattern(each ?? ''),
  );
  // Vitest puts > between the titles of a test and of what it is in, and its report does not.
  const titles = new RegExp(`${title.source}|^(${controls.join('|')})$`.replaceAll(' ', '( | > )'));
  await copy.write(
    file,
    text.replace(find, () => replace),
  );
  const run = await copy.runTests([test], { timeoutMs: TIMEOUT_MS, titles });
  await copy.write(file, text);
  if (run.length === 0) return 'NOT LOADED';
  if (!run.some(({ hasPassed }) => hasPassed)) return 'NOTHING WORKS';
  return run.some((each) => !each.hasPassed && title.test(each.title)) ? 'noticed' : 'NOT NOTICED';
}

/** Returns a regular expression for the text. */
function toPattern(text: string): string {
  return text.replaceAll(/[^\w ]/g, '.');
}
