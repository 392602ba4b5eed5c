/** `npm run bench`: Usher beside a server written by hand and beside what a user would pick instead. */
import { availableParallelism, loadavg } from 'node:os';
import { createCalls } from './calls.ts';
import { chooseRows } from './lineup.ts';
import { measureAll } from './measure.ts';
import { readOptions } from './options.ts';
import { reportFigures } from './report/report-figures.ts';
import { runBench } from './run-bench.ts';
import { startFixture } from './start-fixture.ts';

await runBench(async (fixture, progress) => {
  const options = readOptions(process.argv.slice(2));
  const rows = chooseRows(options);
  const [load = 0] = loadavg();
  if (load > 0.5) progress(`This machine is busy (load ${load.toFixed(1)}): the figures will be too high and uneven`);
  const { fixtures, servers } = await startFixture(fixture, rows, options, progress);
  const calls = createCalls(fixtures).filter(({ name }) => options.isWanted(name));
  progress(`${rows.length} rows, ${calls.length} calls, ${options.rounds} rounds on ${availableParallelism()} cores`);
  const cells = await measureAll({ servers, rows, calls, apiKey: fixtures.apiKey, options, progress });
  return reportFigures(cells, rows, calls, options);
});
