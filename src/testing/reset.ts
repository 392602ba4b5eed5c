/** Empties the database of a server in a test. */
import { getTableName } from 'drizzle-orm';
import { TABLES } from '../database/schema/tables.ts';
import type { PostgresClient } from '../database/sql/driver.ts';

/** Tables of which rows stay, with the condition of those that go. */
const KEPT: Readonly<Record<string, string>> = {
  applications: 'false',
  application_logos: 'false',
  api_keys: 'false',
  message_feeds: 'false',
  declared_files: 'false',
  expiry_marks: 'false',
  groups: 'not declared_by_file',
  application_groups: 'group_id in (select id from groups where not declared_by_file)',
  // Those of the receivers of webhooks that are open.
  users: 'not id = any($1)',
  application_users: 'not user_id = any($1)',
  added_users: 'not user_id = any($1)',
  webhooks: 'not owner_id = any($1)',
};

/** Deletes everything but applications, in one statement. @param ownerIds the users whose webhooks stay */
export async function emptyTables(sql: PostgresClient, ownerIds: readonly string[]): Promise<void> {
  const parts = TABLES.map(({ table }) => getTableName(table)).map(
    (name) => `${name}_gone as (delete from ${name} where ${KEPT[name] ?? 'true'})`,
  );
  await sql.unsafe(`with ${parts.join(', ')} select`, [[...ownerIds]]);
}
