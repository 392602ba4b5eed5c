/**
 * `npm run bench:growth`: what calls cost with ten million webhooks, events and expired login intents
 * each, beside what they cost with ten thousand. It takes 12 GB of disk and a quarter of an hour;
 * `--rows 1000000` takes less.
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
/** So many webhooks are asked for, at most. */
const ASKED = 100_000;

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: { rows: { type: 'string', default: '10000000' }, rounds: { type: 'string', default: '15' } },
  });
  const many = Number(values.rows);
  const directory = await makeDirectory(stack);
  const fixtures = createFixtures();
  const bulkOf = (rows: number) => ({ rows, stride: Math.ceil(rows / ASKED) });
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
