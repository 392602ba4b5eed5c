/**
 * `npm run bench:console`: what every page of the console costs Postgres on a site of ten million users, in each
 * combination of its filters. It needs 25 GB of disk and half an hour; `--users 100000 --events 1000000` needs less.
 * `--show /users/:u` shows the statements of the pages whose names begin so.
 */
import { parseArgs } from 'node:util';
import { readCount } from '../command-line.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { runBench } from '../run-bench.ts';
import { measureConsole } from './measure-pages.ts';

/**
 * Pages of 8 KiB that Postgres may read for a page of the console: 50 rows, each found by an index of four levels, and
 * what every page reads, such as the operator.
 */
const LIMIT_BUFFERS = 300;
const LIMIT_MS = 100;
/** So many of the costliest are shown. */
const SHOWN = 20;

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: {
      users: { type: 'string', default: '10000000' },
      events: { type: 'string', default: '20000000' },
      show: { type: 'string' },
    },
  });
  const counts = { users: readCount('users', values.users), auditEvents: readCount('events', values.events) };
  const costs = await measureConsole(stack, counts, progress);
  const rows = costs
    .toSorted((one, other) => other.buffers - one.buffers)
    .slice(0, SHOWN)
    .map(({ name, buffers, postgresMs }) => [name, String(buffers), postgresMs.toFixed(1)]);
  const shown = values.show === undefined ? [] : costs.filter(({ name }) => name.startsWith(values.show ?? ''));
  for (const { name, statements } of shown) {
    const parts = statements.map(({ buffers, query }) => [query.replace(/\s+/g, ' ').slice(0, 120), String(buffers)]);
    process.stdout.write(`${layOutTable([name, ''], parts)}\n`);
  }
  const slowest = Math.max(...costs.map(({ postgresMs }) => postgresMs));
  process.stdout.write(`${layOutTable(['', 'pages of memory', 'ms'], rows)}
${costs.length} pages of the console; the slowest takes ${slowest.toFixed(1)} ms of Postgres
`);
  return slowest <= LIMIT_MS && costs.every(({ status, buffers }) => status < 500 && buffers <= LIMIT_BUFFERS);
});
