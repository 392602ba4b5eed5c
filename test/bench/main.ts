/** `npm run bench`: Usher compared with servers by hand and with common frameworks. */
import { availableParallelism, loadavg } from 'node:os';
import { createCalls } from './calls.ts';
import { measureAll, WARM_UP_TOTAL } from './measure.ts';
import { readOptions } from './options.ts';
import { reportFigures } from './report/report-figures.ts';
import { runBench } from './run-bench.ts';
import { type ServerName, selectRows } from './servers.ts';
import { prepareDatabase } from './set-up.ts';
import { type RunningServer, startServer } from './start-server.ts';

await runBench(async (stack, progress) => {
  const options = readOptions(process.argv.slice(2));
  const rows = selectRows(options);
  const [load = 0] = loadavg();
  if (load > 0.5) progress(`machine is busy (load ${load.toFixed(1)}): figures will be too high and uneven`);
  const { rounds, requests, isProfiling } = options;
  const fresh = rows.length * (WARM_UP_TOTAL + rounds * requests);
  const { fixtures, environment, directory } = await prepareDatabase(stack, fresh, progress);
  const servers = new Map<ServerName, RunningServer>();
  for (const spec of new Set(rows.map(({ server }) => server))) {
    progress(spec.title);
    servers.set(spec.name, await startServer(stack, spec, { environment, directory, isProfiling }));
  }
  const calls = createCalls(fixtures).filter(({ name }) => options.isSelectedCall(name));
  progress(`${rows.length} rows, ${calls.length} calls, ${rounds} rounds on ${availableParallelism()} cores`);
  const cells = await measureAll({ servers, rows, calls, apiKey: fixtures.apiKey, options, progress });
  return reportFigures(cells, rows, calls, options);
});
