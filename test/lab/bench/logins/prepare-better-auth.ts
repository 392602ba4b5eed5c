/** Sets up Usher and better-auth on one Postgres, each with a database of its own and the same users. */
import { getMigrations } from 'better-auth/db/migration';
import { onServer, withDatabase } from '../../../support/on-server.ts';
import { toOptions } from '../baselines/better-auth.ts';
import { type Fixtures, userAt } from '../fixtures.ts';

const DATABASE = 'better_auth';
const BATCH = 1_000;

/** Returns the URL of the database. */
export async function prepareBetterAuth(postgresUrl: string, { createdAt }: Fixtures, users: number): Promise<string> {
  const databaseUrl = withDatabase(postgresUrl, DATABASE);
  await onServer(postgresUrl, (sql) => sql`create database ${sql(DATABASE)}`);
  const options = toOptions({ databaseUrl, smtpUrl: '' });
  const { runMigrations } = await getMigrations(options);
  await runMigrations();
  await options.database.end();
  await onServer(databaseUrl, async (sql) => {
    for (let first = 0; first < users; first += BATCH) {
      const rows = Array.from({ length: Math.min(BATCH, users - first) }, (_, index) => {
        const { id, name, email, profileImage: image } = userAt(first + index);
        return { id, name, email, image, emailVerified: true, createdAt, updatedAt: createdAt };
      });
      await sql`insert into public.user ${sql(rows)}`;
    }
    await sql`vacuum analyze`;
  });
  return databaseUrl;
}
