/** `npm run bench`: Usher compared with servers by hand, with common frameworks, and with a provider of OpenID Connect. */
import { availableParallelism, loadavg } from 'node:os';
import { createCalls } from '../calls.ts';
import { UsageError } from '../command-line.ts';
import { createFixtures } from '../fixtures.ts';
import { countFresh, createCells, measureAll } from '../measure.ts';
import { compareOpenId, countOpenIdUsers } from '../openid/compare-openid.ts';
import { readOptions } from '../options.ts';
import { reportFigures } from '../report/report-figures.ts';
import { runBench } from '../run-bench.ts';
import { type ServerName, selectRows } from '../servers.ts';
import { prepareDatabase } from '../set-up.ts';
import { type RunningServer, startServer } from '../start-server.ts';

await runBench(async (stack, progress) => {
  const options = readOptions(process.argv.slice(2));
  const rows = selectRows(options);
  const [load = 0] = loadavg();
  if (load > 0.5) progress(`machine is busy (load ${load.toFixed(1)}): figures will be too high and uneven`);
  const { rounds, isProfiling } = options;
  const fixtures = createFixtures();
  const calls = createCalls(fixtures).filter(({ name }) => options.isSelectedCall(name));
  const cells = createCells(rows, calls);
  if (calls.length > 0 && cells.length === 0)
    throw new UsageError('No selected server has a selected call: CheckSession is of usher and against');
  // Who has signed in with OpenID Connect is signed in: a first exchange needs other users.
  const openIdUsers = options.isOpenIdSelected ? countOpenIdUsers(options) : 0;
  const scene = await prepareDatabase(stack, openIdUsers + countFresh(cells, options), progress, fixtures);
  if (options.isOpenIdSelected) {
    await using ofOpenId = new AsyncDisposableStack();
    await compareOpenId(ofOpenId, scene, options, progress);
  }
  if (cells.length === 0) return true;
  const { environment, directory } = scene;
  const servers = new Map<ServerName, RunningServer>();
  for (const spec of new Set(rows.map(({ server }) => server))) {
    progress(spec.title);
    servers.set(spec.name, await startServer(stack, spec, { environment, directory, isProfiling }));
  }
  progress(`${rows.length} rows, ${calls.length} calls, ${rounds} rounds on ${availableParallelism()} cores`);
  const { apiKey } = fixtures;
  const warmUps = await measureAll({ servers, cells, firstNumber: openIdUsers, apiKey, options, progress });
  return reportFigures({ cells, rows, warmUps }, calls, options);
});
