/**
 * `npm run bench:growth`: the cost of calls with ten million webhooks, events and expired login intents each, and
 * with ten thousand. It needs 12 GB of disk and a quarter of an hour; `--rows 1000000` needs less.
 */
import { parseArgs } from 'node:util';
import { createFixtures } from '../fixtures.ts';
import { runBench } from '../run-bench.ts';
import { makeDirectory } from '../start-fixture.ts';
import { startUsher } from '../start-usher.ts';
import { compareSizes } from './compare-sizes.ts';
import { seedBulk } from './seed-bulk.ts';
import { seedDatabases } from './seed-databases.ts';

const FEW = 10_000;
/** How many of the webhooks the calls read at most. */
const READ_WEBHOOKS = 100_000;

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: { rows: { type: 'string', default: '10000000' }, rounds: { type: 'string', default: '15' } },
  });
  const many = Number(values.rows);
  const directory = await makeDirectory(stack);
  const fixtures = createFixtures();
  const bulkOf = (rows: number) => ({ rows, stride: Math.ceil(rows / READ_WEBHOOKS) });
  const urls = await seedDatabases(
    stack,
    { directory, fixtures, progress },
    {
      few: (url) => seedBulk(url, fixtures, bulkOf(FEW)),
      many: (url) => seedBulk(url, fixtures, bulkOf(many)),
    },
  );
  const sizes = [];
  for (const [name, rows] of [
    ['few', FEW],
    ['many', many],
  ] as const) {
    const databaseUrl = urls.get(name) ?? '';
    const server = await startUsher(stack, { directory, databaseUrl, fixtures });
    sizes.push({ ...bulkOf(rows), server, databaseUrl });
  }
  return compareSizes(sizes, { fixtures, rounds: Number(values.rounds), progress });
});
