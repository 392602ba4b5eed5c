/** `npm run bench`: Usher compared with servers by hand and with common frameworks. */
import { availableParallelism, loadavg } from 'node:os';
import { createCalls } from './calls.ts';
import { measureAll } from './measure.ts';
import { readOptions } from './options.ts';
import { reportFigures } from './report/report-figures.ts';
import { runBench } from './run-bench.ts';
import { selectRows } from './servers.ts';
import { startFixture } from './start-fixture.ts';

await runBench(async (fixture, progress) => {
  const options = readOptions(process.argv.slice(2));
  const rows = selectRows(options);
  const [load = 0] = loadavg();
  if (load > 0.5) progress(`machine is busy (load ${load.toFixed(1)}): figures will be too high and uneven`);
  const { fixtures, servers } = await startFixture(fixture, rows, options, progress);
  const calls = createCalls(fixtures).filter(({ name }) => options.isSelectedCall(name));
  progress(`${rows.length} rows, ${calls.length} calls, ${options.rounds} rounds on ${availableParallelism()} cores`);
  const cells = await measureAll({ servers, rows, calls, apiKey: fixtures.apiKey, options, progress });
  return reportFigures(cells, rows, calls, options);
});
