/** Migrations of tables that an autovacuum has at the same time. */
import { expect, it } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.ts';
import { longestOf, startLoad } from '../support/load.ts';
import { migrateWith } from '../support/migrations.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { startTestService } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';
import { quickOrLong, report } from '../support/soak.ts';

const TIMEOUT_MS = 120_000;

it('a migration ends the autovacuum of its table, and calls go on meanwhile', { timeout: 600_000 }, async (context) => {
  await using server = await OwnPostgres.start();
  const database = openDatabase(server.url);
  await using stack = new AsyncDisposableStack();
  stack.use(database);
  const service = stack.use(await startTestService({ database }));
  const { sql } = database;
  await sql`alter system set autovacuum_naptime = '1s'`;
  await sql`select pg_reload_conf()`;
  const load = startLoad({ smokeTest: () => runSmokeTest(service).then(() => 'ok') }, { callers: 2 });
  const rounds = quickOrLong(1, 10);
  for (let round = 0; round < rounds; round++) {
    await occupy(database);
    const reasons: string[] = [];
    const later = [...Array(round + 1).keys()].map((index) => `ALTER TABLE "events" ADD COLUMN "later_${index}" text`);
    await migrateWith(server.url, { later, timeoutMs: TIMEOUT_MS, onWait: (reason) => reasons.push(reason) });
    expect(reasons).toEqual(['a table is in use']);
  }
  const answers = await load.stop();
  const failures = answers.filter(({ outcome }) => outcome !== 'ok');
  report(context, {
    tried: `${rounds} migrations of a table under autovacuum, during ${answers.length} logins and events`,
    lost: `${failures.length} of them failed`,
    figures: `the longest took ${Math.round(longestOf(answers))} ms`,
  });
  expect(failures).toEqual([]);
});

/** Resolves when an autovacuum of the events is under way that takes hours. */
async function occupy({ sql }: TestDatabase): Promise<void> {
  // A page every 100 ms.
  await sql.unsafe(`
    alter table events set (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0,
      autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1);
    with application as (
      insert into applications (id, name, client_id, redirect_uris, created_at)
        values (gen_random_uuid(), 'App', gen_random_uuid()::text, '{}', now()) returning id
    ) insert into events (application_id, id, name, created_at)
      select application.id, 'dead ' || n, repeat('x', 255), now() from application, generate_series(1, 20000) n`);
  // Of a transaction of its own: a vacuum keeps what its transaction has not made dead for everybody.
  await sql`delete from events where id like 'dead %'`;
  // An earlier one, of the few events before, has few pages.
  const vacuums = () => sql`
    select from pg_stat_progress_vacuum where relid = 'usher.events'::regclass and heap_blks_total > 500`;
  await expect.poll(async () => (await vacuums()).length, { timeout: TIMEOUT_MS }).toBe(1);
}
