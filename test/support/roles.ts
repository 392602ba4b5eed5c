import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './process.ts';

/**
 * Returns the SQL of src/database/README.md, for other roles: `ofServer` creates the roles `name` and `name_owner`, and a
 * database, and `ofDatabase` grants, in the database.
 */
export function readRolesSql(name: string) {
  const readme = readFileSync(join(REPOSITORY, 'src/database/README.md'), 'utf8');
  const section = readme.slice(readme.indexOf('### Two roles'));
  const [ofServer = '', ofDatabase = ''] = [...section.matchAll(/```sql\n(.*?)```/gs)].map(([, sql = '']) =>
    sql.replaceAll(/\busher(_owner)?\b/g, `${name}$1`),
  );
  return { ofServer: ofServer.split(';').filter((statement) => statement.trim()), ofDatabase };
}
