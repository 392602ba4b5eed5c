/** Databases of version 0.1. */
import { readFile } from 'node:fs/promises';
import { createDatabase, type TestDatabase } from './database.ts';

const TABLES = new URL('version-0.1.sql', import.meta.url);

/** Creates an empty database as the last version 0.1 left it. */
export async function createFormerDatabase(schema = 'usher'): Promise<TestDatabase> {
  const database = await createDatabase('');
  await createFormerTables(database, schema);
  return database;
}

/** Creates the tables of the last version 0.1. */
export async function createFormerTables({ sql }: TestDatabase, schema = 'usher'): Promise<void> {
  const tables = await readFile(TABLES, 'utf8');
  await sql.begin(async (transaction) => {
    await transaction.unsafe(`create schema if not exists "${schema}"; set local search_path = "${schema}"; ${tables}`);
  });
}
