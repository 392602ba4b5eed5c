import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './process.ts';

/** What creates the two roles of src/database/README.md: the SQL that stands there. */
export interface RolesSql {
  /** Creates the roles `name` and `name_owner`, and a database. */
  readonly ofServer: readonly string[];
  /** Grants, in the database. */
  readonly ofDatabase: string;
}

export function readRolesSql(name: string): RolesSql {
  const readme = readFileSync(join(REPOSITORY, 'src/database/README.md'), 'utf8');
  const [ofServer = '', ofDatabase = ''] = [...readme.matchAll(/```sql\n(.*?)```/gs)].map(([, sql = '']) =>
    sql.replaceAll(/\busher(_owner)?\b/g, `${name}$1`),
  );
  return { ofServer: ofServer.split(';').filter((statement) => statement.trim()), ofDatabase };
}
