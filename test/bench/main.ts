/** `npm run bench`: Usher compared with servers by hand, with common frameworks, and with a provider of OpenID Connect. */
import { availableParallelism, loadavg } from 'node:os';
import { createCalls } from './calls.ts';
import { createFixtures } from './fixtures.ts';
import { measureAll, WARM_UP_PASSES } from './measure.ts';
import { compareOpenId, countOpenIdUsers } from './openid/compare-openid.ts';
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
  const { rounds, requests, warmUp, isProfiling } = options;
  const fixtures = createFixtures();
  const calls = createCalls(fixtures).filter(({ name }) => options.isSelectedCall(name));
  const isOpenIdSelected = options.isSelectedCall('OpenID') && options.isSelectedRow('usher', 'REST');
  const fresh = [
    calls.length > 0 ? rows.length * (WARM_UP_PASSES * warmUp + rounds * requests) : 0,
    isOpenIdSelected ? countOpenIdUsers(options) : 0,
  ];
  const scene = await prepareDatabase(stack, Math.max(...fresh), progress, fixtures);
  if (isOpenIdSelected) {
    await using ofOpenId = new AsyncDisposableStack();
    await compareOpenId(ofOpenId, scene, options, progress);
  }
  if (calls.length === 0) return true;
  const { environment, directory } = scene;
  const servers = new Map<ServerName, RunningServer>();
  for (const spec of new Set(rows.map(({ server }) => server))) {
    progress(spec.title);
    servers.set(spec.name, await startServer(stack, spec, { environment, directory, isProfiling }));
  }
  progress(`${rows.length} rows, ${calls.length} calls, ${rounds} rounds on ${availableParallelism()} cores`);
  const cells = await measureAll({ servers, rows, calls, apiKey: fixtures.apiKey, options, progress });
  return reportFigures(cells, rows, calls, options);
});
