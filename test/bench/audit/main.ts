/**
 * `npm run bench:audit`: the CPU time of calls with `AUDIT_LOG=log`, compared with the table. Each setting has a Postgres
 * of its own, and they take turns.
 */
import { parseArgs } from 'node:util';
import type postgres from 'postgres';
import { openClient } from '../../../src/database/open-client.ts';
import { findCall } from '../calls.ts';
import { readCount } from '../command-line.ts';
import { createFixtures } from '../fixtures.ts';
import { measureCall } from '../measure-load.ts';
import { measureRounds } from '../measure-rounds.ts';
import { rest } from '../protocols.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { runBench } from '../run-bench.ts';
import { USHER } from '../servers.ts';
import { prepareDatabase } from '../set-up.ts';
import { type RunningServer, startServer } from '../start-server.ts';
import { medianOf, ratiosOf, spreadOf } from '../statistics.ts';

/** A sign-in, and an event that the indexes of operators have, too. */
const CALLS = ['ExchangeToken first', 'CheckIn', 'DeleteEvent'];
const SETTINGS = ['table', 'log'] as const;
/** V8 compiles, and Postgres plans. */
const WARM_UP_ROUNDS = 3;

interface Subject {
  readonly sql: postgres.Sql;
  readonly server: RunningServer;
}

const CONCURRENCY = 16;

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '7' }, requests: { type: 'string', default: '3000' } },
  });
  const [rounds, count] = [readCount('rounds', values.rounds), readCount('requests', values.requests)];
  const fixtures = createFixtures();
  const servers: Subject[] = [];
  for (const auditLog of SETTINGS) {
    const scene = await prepareDatabase(stack, (WARM_UP_ROUNDS + 1 + rounds) * count, progress, fixtures);
    const environment = { ...scene.environment, AUDIT_LOG: auditLog };
    const sql = openClient(scene.environment.DATABASE_URL ?? '', { max: 1 });
    stack.defer(() => sql.end());
    servers.push({ sql, server: await startServer(stack, USHER, { ...scene, environment }) });
  }
  const subjects = CALLS.flatMap((name) => servers.map((server) => ({ ...server, call: findCall(fixtures, name) })));
  const measure = ({ call, ...server }: (typeof subjects)[number], round: number) =>
    measureCall(server, rest, call, { concurrency: CONCURRENCY, apiKey: fixtures.apiKey, round, count });
  for (let round = 0; round < WARM_UP_ROUNDS; round++) for (const subject of subjects) await measure(subject, round);
  const costs = await measureRounds(subjects, { rounds, progress }, (subject, round) =>
    measure(subject, WARM_UP_ROUNDS + round),
  );
  const rows = CALLS.map((name, index) => {
    const [table = [], log = []] = [costs[index * 2], costs[index * 2 + 1]];
    const compare = (costOf: (cost: (typeof table)[number]) => number) => {
      const ratios = ratiosOf(log.map(costOf), table.map(costOf));
      const spread = Math.round(spreadOf(ratios) * 100);
      return `${medianOf(log.map(costOf)).toFixed(0)} : ${medianOf(table.map(costOf)).toFixed(0)}, ${medianOf(ratios).toFixed(2)}x ±${spread} %`;
    };
    return [name, compare(({ cpuMicros }) => cpuMicros), compare(({ postgresMicros }) => postgresMicros)];
  });
  process.stdout.write(`${layOutTable(['us, log : table', 'Usher', 'Postgres'], rows)}\n`);
  return true;
});
