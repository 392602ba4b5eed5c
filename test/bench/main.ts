/** `npm run bench`: Usher beside a server written by hand and beside what a user would pick instead. */
import { availableParallelism, loadavg } from 'node:os';
import { createCalls } from './calls.ts';
import { chooseRows } from './lineup.ts';
import { measureAll } from './measure.ts';
import { readOptions } from './options.ts';
import { reportFigures } from './report/report-figures.ts';
import { startStage } from './start-stage.ts';

const options = readOptions(process.argv.slice(2));
const progress = (line: string) => void process.stderr.write(`${line}\n`);
const stage = new AsyncDisposableStack();

let isEnding = false;
const end = async (code: number) => {
  if (isEnding) return;
  isEnding = true;
  await stage.disposeAsync();
  process.exit(code);
};
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => end(130));

try {
  const rows = chooseRows(options);
  const [load = 0] = loadavg();
  if (load > 0.5) progress(`This machine is busy (load ${load.toFixed(1)}): the figures will be too high and uneven`);
  const { fixtures, servers } = await startStage(stage, rows, options, progress);
  const calls = createCalls(fixtures).filter(({ name }) => options.isWanted(name));
  progress(`${rows.length} rows, ${calls.length} calls, ${options.rounds} rounds on ${availableParallelism()} cores`);
  const cells = await measureAll({ servers, rows, calls, apiKey: fixtures.apiKey, options, progress });
  const isComplete = await reportFigures(cells, rows, calls, options);
  await end(isComplete ? 0 : 1);
} catch (error) {
  progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
  await end(1);
}
