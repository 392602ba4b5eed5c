/** Takes over the database of the last version 0.1: its tables become the tables of the first migration. */
import { readFile } from 'node:fs/promises';
import type postgres from 'postgres';
import { hasTable } from './journal.ts';

const FORMER_JOURNAL = '__drizzle_migrations';

/** The hashes of the first and the last migration of version 0.1. */
const FIRST = '6b59fa5b741d183be2cefff578b2f14c9d2a3d8a1c1d5a67e0fcc8a93a4a6c32';
const LAST = 'd325bb114d4f6c00e20e0f11ec4c1c7ec63794e9dca247819e80151bb98bb19d';

const TAKE_OVER = new URL('../../drizzle/from-0.1.sql', import.meta.url);

/**
 * Returns the statements that replace the first migration. They are separate, because Citus accepts only one at a time.
 */
export async function readTakeOver(): Promise<string[]> {
  return (await readFile(TAKE_OVER, 'utf8')).split('--> statement-breakpoint');
}

/**
 * Returns whether the tables are of the last version 0.1.
 *
 * @throws Error if they are of an earlier version
 */
export async function isOfVersion01(client: postgres.Sql, schema: string): Promise<boolean> {
  const hashes = await readFormerJournal(client, schema);
  if (hashes.at(-1) === LAST) return true;
  // The first versions had their tables in `public`. Without these tables, a journal in `drizzle` is another
  // application's.
  const isInPublic = await hasTable(client, 'public', 'login_intents');
  const earlier = isInPublic ? await readFormerJournal(client, 'drizzle') : [];
  if (![...hashes, ...earlier].includes(FIRST)) return false;
  throw new Error(
    'Its tables are older than the last version 0.1 left them. Start that version on it once, then this one',
  );
}

async function readFormerJournal(client: postgres.Sql, schema: string): Promise<readonly string[]> {
  if (!(await hasTable(client, schema, FORMER_JOURNAL))) return [];
  const rows = await client`
    select hash from ${client(schema)}.${client(FORMER_JOURNAL)} order by created_at`;
  return rows.map(({ hash }) => hash);
}

/**
 * Returns whether Usher runs on the database. Each process reads the time once a second, so a connection that is idle
 * for longer is one that a pooler has kept after the process ended. A role cannot see how long other roles' connections
 * have been idle, so these count as in use.
 */
export async function isInUse(client: postgres.Sql): Promise<boolean> {
  const rows = await client`
    select from pg_stat_activity
    where datname = current_database() and application_name in ('usher pool', 'usher control')
      and coalesce(state_change, now()) > now() - interval '10 seconds'`;
  return rows.length > 0;
}
