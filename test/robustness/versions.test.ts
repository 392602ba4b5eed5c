/** Replicas that start together, and versions of Usher side by side on one database. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { longestOf, startLoad } from '../support/load.ts';
import { migrateWith } from '../support/migrations.ts';
import { REPOSITORY } from '../support/process.ts';
import { startTestService, testConfig } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MIGRATIONS = join(REPOSITORY, 'drizzle');
/** The last migration of version 1.0.0. No version before it was released. */
const LAST_OF_RELEASE = 28;
const BREAKPOINT = '--> statement-breakpoint';
/** Version 1.0.0 writes the column. */
const ALWAYS_WRITTEN = 'ALTER TABLE "session_ids" ALTER COLUMN "kept_until" DROP DEFAULT;';

/** Starts replicas at the same time on the database. */
async function startTogether(count: number, database: TestDatabase, like = testConfig(database.url)) {
  const services = await Promise.all(Array.from({ length: count }, () => startTestService({ database, like })));
  return {
    services,
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service.close()));
    },
  };
}

describe('beside a newer version', () => {
  /** Adds columns and tables in migrations of one table each, as so many newer versions would. */
  async function migrateBeyond({ url, sql }: TestDatabase, versions: number): Promise<void> {
    const tables = await sql`
      select table_name from information_schema.tables
      where table_schema = 'usher' and table_name not like all (array['later_%', 'usher_%']) order by table_name`;
    const later = Array.from({ length: versions }, (_, index) => [
      ...tables.map(({ table_name }) => `ALTER TABLE "${table_name}" ADD COLUMN "later_${index}" text`),
      `CREATE TABLE "later_${index}" ("id" uuid PRIMARY KEY)`,
    ]).flat();
    await migrateWith(url, { later });
  }

  it('a replica under load loses no call while the newer version migrates the database', async (context) => {
    await using service = await startTestService();
    const load = startLoad({ smokeTest: () => runSmokeTest(service).then(() => 'ok') }, { callers: 6 });
    const versions = quickOrLong(1, 30);
    for (let version = 1; version <= versions; version++) {
      const before = load.answers.length;
      await migrateBeyond(service.database, version);
      await expect.poll(() => load.answers.length, { timeout: 60_000 }).toBeGreaterThan(before + 10);
    }
    const answers = await load.stop();
    const lost = answers.filter(({ outcome }) => outcome !== 'ok');
    report(context, {
      tried: `${versions} migrations by newer versions during ${answers.length} calls`,
      lost: `${lost.length} calls`,
      figures: `longest call ${Math.round(longestOf(answers))} ms`,
    });
    expect(lost).toEqual([]);
  });

  it('statements do not queue behind a migration that waits for a locked table', async () => {
    await using database = await cloneDatabase();
    const { sql } = database;
    const readUsers = () =>
      sql.begin(async (transaction) => {
        await transaction`set local statement_timeout = 30000`;
        await transaction`select 1 from users`;
      });
    const isWaiting = async () => {
      const waiting = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.length > 0;
    };
    const { migrating } = await sql.begin(async (transaction) => {
      await transaction`lock table users in access share mode`;
      const migrating = migrateBeyond(database, 1);
      // The migration waits for the table, gives up so that others can have it, and tries again.
      for (let tries = 0; tries < 2; tries++) {
        while (!(await isWaiting())) await readUsers();
        while (await isWaiting()) await readUsers();
      }
      return { migrating };
    });
    await migrating;
    expect(await describeColumns(database)).toContainEqual(expect.objectContaining({ column_name: 'later_0' }));
  });

  it('a replica starts on the newer database, changes nothing in it, and serves', async () => {
    await using database = await cloneDatabase();
    await migrateBeyond(database, 1);
    const before = await describeColumns(database);
    await using started = await startTogether(2, database);
    await Promise.all(started.services.map(runSmokeTest));
    expect(await describeColumns(database)).toEqual(before);
  });
});

it('no migration after version 1.0.0 removes what a running version uses, or requires what it does not write', async () => {
  const files = (await readdir(MIGRATIONS)).filter(
    (name) => name.endsWith('.sql') && Number.parseInt(name, 10) > LAST_OF_RELEASE,
  );
  for (const file of files) {
    const statements = (await readFile(join(MIGRATIONS, file), 'utf8')).split(BREAKPOINT);
    const created = statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/.exec(statement.trim())?.[1] ?? []);
    const withoutComments = statements.map((statement) => statement.replace(/^--.*$/gm, '').trim());
    const incompatible = withoutComments.filter((statement) => !isCompatible(statement, created));
    expect(incompatible.filter((statement) => !IMPLIED.test(statement))).toEqual([]);
  }
});

/**
 * Addresses that differ under `lower` also differ when only ASCII is folded, and `users_email_key` keeps those apart. No
 * earlier version writes external IDs or URIs of resources.
 */
const IMPLIED =
  /^CREATE UNIQUE INDEX CONCURRENTLY ("users_folded_email_key" ON "users" USING btree \(lower\("email" collate "C"\)\)|"users_external_id_key"|"applications_resource_uri_key")/;

it.each([
  [true, 'ALTER TABLE "users" ADD COLUMN "note" text;'],
  [true, 'ALTER TABLE "users" ADD COLUMN "is_new" boolean DEFAULT false NOT NULL;'],
  [true, 'CREATE INDEX CONCURRENTLY "users_note_idx" ON "users" USING btree ("note");'],
  [true, 'ALTER TABLE "notes" ADD COLUMN "note" text NOT NULL;'],
  [false, 'ALTER TABLE "users" ADD COLUMN "note" text NOT NULL;'],
  [false, 'CREATE UNIQUE INDEX CONCURRENTLY "users_note_key" ON "users" USING btree ("note");'],
  [false, 'ALTER TABLE "users" DROP COLUMN "name";'],
  [false, 'ALTER TABLE "users" ALTER COLUMN "name" SET NOT NULL;'],
  [false, 'ALTER TABLE "users" ALTER COLUMN "cutoff_count" DROP DEFAULT;'],
  [false, 'ALTER TABLE "events" ALTER COLUMN "application_id" DROP NOT NULL;'],
  [false, 'DROP TABLE "rate_limits";'],
  [false, 'CREATE OR REPLACE FUNCTION "has_access"(of_application uuid, of_user uuid) RETURNS boolean'],
  [false, 'UPDATE "users" SET "name" = null;'],
])('the test above answers %s for %s', (isAccepted, statement) => {
  expect(isCompatible(statement, ['notes'])).toBe(isAccepted);
});

/** Returns whether versions without the migration go on; `created` are tables that they do not know. */
function isCompatible(statement: string, created: readonly string[]): boolean {
  const table = /^(?:ALTER TABLE|CREATE(?: UNIQUE)? INDEX "\w+" ON|INSERT INTO) "(\w+)"/.exec(statement)?.[1] ?? '';
  if (/^(CREATE (TABLE|INDEX|TYPE|FUNCTION)|GRANT) /.test(statement) || created.includes(table)) return true;
  // They change how Postgres stores and finds rows, not which.
  const storage = /^ALTER (TABLE|INDEX) "\w+" (SET \(fillfactor = \d+\)|(ALTER "?\w+"? SET STATISTICS \d+(, )?)+);$/;
  if (storage.test(statement) || statement === ALWAYS_WRITTEN) return true;
  // A row of Usher's own.
  if (/^INSERT INTO "\w+" .*\sON CONFLICT DO NOTHING;$/s.test(statement)) return true;
  // Statements do not name indexes and foreign keys.
  if (/^(DROP INDEX|ALTER TABLE "\w+" DROP CONSTRAINT) "\w+_(idx|fk)";$/.test(statement)) return true;
  if (/^ALTER TABLE "\w+" ALTER COLUMN "\w+" SET DEFAULT /.test(statement)) return true;
  const isWritable = !/ NOT NULL/.test(statement) || / DEFAULT /.test(statement);
  return /^ALTER TABLE "\w+" ADD COLUMN "/.test(statement) && isWritable && !/GENERATED/.test(statement);
}

async function describeColumns({ sql }: TestDatabase): Promise<readonly unknown[]> {
  return sql`
    select table_name, column_name, data_type, is_nullable from information_schema.columns
    where table_schema = 'usher' order by table_name, column_name`;
}
