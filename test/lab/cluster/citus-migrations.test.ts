/** Versions of Usher one after the other on tables that are distributed. Needs CITUS_URL. */
import { describe, expect, test } from 'vitest';
import { distributeTables } from '../../../src/database/migrate/distribute.ts';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { createCitusDatabase } from '../../support/citus-database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { failuresOf } from '../../support/failover-load.ts';
import { longestOf, startLoad } from '../../support/load.ts';
import { migrateWith } from '../../support/migrations.ts';
import { readRolesSql } from '../../support/roles.ts';
import { startTestService, testConfig } from '../../support/service.ts';
import { runSmokeTest } from '../../support/smoke-test.ts';
import { report } from '../../support/soak.ts';
import { lacks } from '../../support/tools.ts';
import { configOfRelease, fillReleasedDatabase } from '../../support/version-1.0.0.ts';

const ROWS = 50;

/** As of a later version: new tables of each kind, a column and an index for a reference and a distributed table. */
const LATER = [
  'CREATE TABLE "notes" ("application_id" uuid NOT NULL REFERENCES "public"."applications"("id"), "id" uuid NOT NULL, PRIMARY KEY ("application_id", "id"))',
  `INSERT INTO "notes" SELECT "application_id", gen_random_uuid() FROM "events" WHERE "name" = 'old'`,
  'ALTER TABLE "users" ADD COLUMN "note" text',
  'ALTER TABLE "events" ADD COLUMN "note" text',
  'CREATE INDEX "users_note_idx" ON "users" ("note")',
  'CREATE INDEX CONCURRENTLY "users_notes_idx" ON "users" ("note", "id")',
  'CREATE INDEX CONCURRENTLY "events_note_idx" ON "events" ("application_id", "note")',
  'ALTER TABLE "sessions" ADD COLUMN "note" text; ALTER TABLE "users" ADD COLUMN "other" text; ALTER TABLE "events" ADD COLUMN "other" text',
];

describe.skipIf(lacks('CITUS'))('on Citus', () => {
  test('carries over the tables that version 1.0.0 has distributed, with their rows', async () => {
    await using database = await createCitusDatabase();
    const { url, sql } = database;
    await fillReleasedDatabase(database);
    await distributeTables(url);
    await fill(database);

    await using service = await startTestService({ database, like: configOfRelease(url) });
    expect(await distributeTables(url)).toEqual([]);
    const [counts] = await sql`
      select (select count(*) from applications where client_id like 'client %')::int as applications, (select count(*) from sessions where user_agent = '')::int as sessions,
        (select count(*) from events where name = 'old')::int as events`;
    expect(counts).toEqual({ applications: ROWS, sessions: ROWS, events: ROWS });
    await runSmokeTest(service);

    const columns = { sessions: 'browser_digest', remembered_sign_ins: 'token_digest', user_identities: 'subject' };
    for (const [table, column] of Object.entries(columns)) {
      const withStatistics = `
        select count(*) from pg_attribute
        where attrelid = '%s'::regclass and attname = '${column}' and attstattarget is distinct from 0`;
      const shards = await sql`
        select distinct result from run_command_on_placements(${table}::regclass, ${withStatistics})`;
      expect(shards, table).toEqual([{ result: '0' }]);
    }
  });

  test('one role migrates and distributes, and the service runs as another that may create nothing', async () => {
    await using database = await createCitusDatabase();
    const { sql } = database;
    const name = new URL(database.url).pathname.slice(1);
    const { ofServer, ofDatabase } = readRolesSql(name);
    for (const statement of ofServer.filter((text) => !text.includes('CREATE DATABASE'))) await sql.unsafe(statement);
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => {
      await sql.unsafe(`drop owned by ${name}, ${name}_owner cascade`);
      await sql.unsafe(`drop role ${name}, ${name}_owner`);
    });
    await sql.unsafe(`grant create on database ${name} to ${name}_owner`);
    await sql.unsafe(ofDatabase);
    const urlOf = (role: string) => Object.assign(new URL(database.url), { username: role }).href;

    await migrateDatabase(urlOf(`${name}_owner`));
    await distributeTables(urlOf(`${name}_owner`));
    const like = testConfig(urlOf(name), { MIGRATE_ON_START: 'false' });
    await using service = await startTestService({ database: { ...database, url: like.databaseUrl ?? '' }, like });
    await runSmokeTest(service);
    // Their numbers come from a sequence.
    expect(await sql`select type from webhook_messages`).toContainEqual({ type: 'check_in.created' });
  });

  test('no call fails while a later version migrates', async (context) => {
    await using service = await startTestService();
    const { url, sql } = service.database;
    await fill(service.database);
    const load = startLoad({ smokeTest: () => runSmokeTest(service).then(() => 'ok') }, { callers: 4 });
    await expect.poll(() => load.answers.length).toBeGreaterThan(4);
    await migrateWith(url, { later: LATER });
    const { length } = load.answers;
    await expect.poll(() => load.answers.length).toBeGreaterThan(length + 4);
    const answers = await load.stop();
    report(context, {
      tried: `${LATER.length} migrations on Citus during ${answers.length} logins and events`,
      lost: `${failuresOf(answers).length} of them failed`,
      figures: `the longest took ${Math.round(longestOf(answers))} ms`,
    });
    expect(failuresOf(answers)).toEqual([]);
    expect(await distributeTables(url)).toEqual([]);
    expect(await sql`select count(*)::int as count from notes`).toEqual([{ count: ROWS }]);
    const invalid = await sql`select from pg_index where not indisvalid`;
    expect(invalid).toHaveLength(0);
  });
});

/** Inserts rows that this version and version 1.0.0 may have. */
async function fill({ sql }: TestDatabase): Promise<void> {
  await sql.begin((transaction) =>
    transaction.unsafe(`
    insert into applications (id, name, client_id, redirect_uris, created_at)
      select gen_random_uuid(), 'App', 'client ' || n, array['https://app.test'], now() from generate_series(1, ${ROWS}) n;
    insert into users (id, email, wallet_address, created_at)
      select gen_random_uuid(), n || '@example.com', 'wallet ' || n, now() from generate_series(1, ${ROWS}) n;
    insert into events (application_id, id, name, created_at) select id, 'event', 'old', now() from applications
      where client_id like 'client %';
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
        authenticated_at, began_at, created_at, expires_at)
      select applications.id, users.id, gen_random_uuid(), email, '', '', '', 'page', now(), now(), now(),
        now() + interval '1 hour'
      from applications join users on wallet_address = replace(client_id, 'client', 'wallet')`),
  );
}
