/** Sets up Usher and `oidc-provider` on one Postgres, each with a database of its own, the same users and the same key. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onServer, withDatabase } from '../../../../src/testing/on-server.ts';
import { STORED_MODELS, tableOf } from '../baselines/oidc-adapter.ts';
import { type Fixtures, userAt } from '../fixtures.ts';

const DATABASE = 'oidc_provider';
const BATCH = 5_000;

/** Returns a private key, and the file that providers read it from. */
export async function createRsaKey(directory: string): Promise<{ privateKey: KeyObject; file: string }> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' };
  const file = join(directory, 'oidc-signing-keys.json');
  await writeFile(file, JSON.stringify({ keys: [jwk] }), { mode: 0o600 });
  return { privateKey, file };
}

/** Lets the application use OpenID Connect. */
export async function allowOpenId(databaseUrl: string, { application }: Fixtures): Promise<void> {
  await onServer(databaseUrl, async (sql) => {
    await sql`update usher.applications set open_id_connect = true where id = ${application.id}`;
    await sql`update usher.users set email_verified_at = created_at`;
    await sql`vacuum analyze`;
  });
}

/** Returns the URL of the database of `oidc-provider`. */
export async function prepareOidcProvider(postgresUrl: string, users: number): Promise<string> {
  const databaseUrl = withDatabase(postgresUrl, DATABASE);
  await onServer(postgresUrl, (sql) => sql`create database ${sql(DATABASE)}`);
  await onServer(databaseUrl, async (sql) => {
    await sql`set search_path = public`;
    for (const model of STORED_MODELS) {
      const table = tableOf(model);
      await sql`
        create table ${sql(table)} (id text primary key, payload jsonb not null, grant_id text, uid text,
          expires_at timestamptz, consumed_at timestamptz)`;
      for (const column of ['grant_id', 'uid']) await sql`create index on ${sql(table)} (${sql(column)})`;
    }
    await sql`create table users (id text primary key, email text not null, name text, image text)`;
    for (let first = 0; first < users; first += BATCH) {
      const rows = Array.from({ length: Math.min(BATCH, users - first) }, (_, index) => {
        const { id, email, name, profileImage: image } = userAt(first + index);
        return { id, email, name, image };
      });
      await sql`insert into users ${sql(rows)}`;
    }
    await sql`vacuum analyze`;
  });
  return databaseUrl;
}
