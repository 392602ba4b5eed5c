/** `npm run bench:start`: how long Usher takes from its start to the first answer, and what it needs when idle. */
import { medianOf } from '../median.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { runBench } from '../run-bench.ts';
import { makeDirectory } from '../start-fixture.ts';
import { measureBareStart, measureStart } from './measure-start.ts';

const STARTS = 10;
const LIMIT_MS = 1_000;
const LIMIT_MB = 120;

await runBench(async (stack, progress) => {
  const directory = await makeDirectory(stack);
  progress('the first start, which makes the data');
  await measureStart(directory);
  const [bare, calls, memory]: [number[], number[], number[]] = [[], [], []];
  for (let start = 1; start <= STARTS; start++) {
    progress(`start ${start} of ${STARTS}`);
    bare.push(await measureBareStart());
    const { firstCallMs, residentBytes } = await measureStart(directory);
    calls.push(firstCallMs);
    memory.push(residentBytes / 2 ** 20);
  }
  const row = (name: string, values: readonly number[]) => [
    name,
    ...[Math.min(...values), medianOf(values), Math.max(...values)].map((value) => value.toFixed(0)),
  ];
  process.stdout.write(
    layOutTable(
      ['', 'best', 'median', 'worst'],
      [row('node -e 0, ms', bare), row('first call, ms', calls), row('idle, MB', memory)],
    ),
  );
  // On a busy machine all of this takes long; the best is what Usher is to blame for.
  return Math.min(...calls) <= LIMIT_MS && medianOf(memory) <= LIMIT_MB;
});
