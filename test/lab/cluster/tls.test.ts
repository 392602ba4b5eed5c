/** Usher on a Postgres with TLS and with passwords. Needs the Postgres of Debian, or PG_BIN. */
import { chmod, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openClient } from '../../../src/database/connection/open-client.ts';
import { Database } from '../../../src/database/pool/database.ts';
import { createCertificate } from '../../support/certificate.ts';
import { createUnprivilegedDirectory, DebianPostgres, SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';

const NOBODY = 65_534;

/** By the name of a role, how Postgres asks for its password. */
const PASSWORDS = { scram: 'scram-sha-256', hashed: 'md5', plain: 'password' };
const HBA = [
  'local all all trust',
  ...Object.entries(PASSWORDS).map(([role, method]) => `host all ${role} 127.0.0.0/8 ${method}`),
  'host all all 127.0.0.0/8 trust',
  'host all all ::1/128 trust',
];

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('with the certificate of localhost and 127.0.0.1', () => {
  const stack = new AsyncDisposableStack();
  let server: DebianPostgres;
  let ca: string;

  beforeAll(async () => {
    const directory = await createUnprivilegedDirectory();
    const { cert, key } = await createCertificate('rsa');
    const files = {
      ssl_cert_file: join(directory, 'cert.pem'),
      ssl_key_file: join(directory, 'key.pem'),
      hba_file: join(directory, 'hba.conf'),
    };
    await writeFile(files.hba_file, `${HBA.join('\n')}\n`);
    await chmod(files.hba_file, 0o644);
    await writeFile(files.ssl_cert_file, cert);
    await writeFile(files.ssl_key_file, key, { mode: 0o600 });
    if (process.getuid?.() === 0) await chown(files.ssl_key_file, NOBODY, NOBODY);
    await chmod(files.ssl_cert_file, 0o644);
    ca = files.ssl_cert_file;
    server = stack.use(await DebianPostgres.start({ ssl: 'on', listen_addresses: '127.0.0.1,127.0.0.2', ...files }));
    await server.sql('postgres', async (sql) => {
      for (const role of Object.keys(PASSWORDS)) {
        const encryption = role === 'hashed' ? 'md5' : 'scram-sha-256';
        await sql.unsafe(`set password_encryption = '${encryption}'; create role ${role} login password 'secret'`);
      }
    });
  });
  afterAll(() => stack.disposeAsync());

  test.each([
    ['127.0.0.1', '', false],
    ['127.0.0.1', 'sslmode=prefer', true],
    ['127.0.0.1', 'sslmode=require', true],
    ['127.0.0.2', 'sslmode=verify-ca&sslrootcert=CA', true],
    ['localhost', 'sslmode=verify-full&sslrootcert=CA', true],
    ['127.0.0.1', 'sslmode=verify-full&sslrootcert=CA', true],
    ['127.0.0.2', 'sslmode=verify-full&sslrootcert=CA', /does not match certificate/],
    ['127.0.0.2', 'sslmode=require&channel_binding=require&sslrootcert=CA', /does not match certificate/],
    ['localhost', 'sslmode=verify-full', /self-signed certificate/],
  ])('%s with ?%s', async (host, query, expected) => {
    const url = `postgres://usher@${host}:${server.port}/postgres?${query.replace('CA', ca)}`;
    const sql = openClient(url, { max: 1, fetch_types: false });
    const database = new Database(url, { connections: 1, statementTimeoutMs: 60_000 });
    const usesTls = sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.then(([row]) => row?.ssl);
    const ping = database.ping(performance.now() + 5_000);
    if (typeof expected === 'boolean') {
      expect(await usesTls).toBe(expected);
      await ping;
    } else {
      const failures = await Promise.allSettled([usesTls, ping.catch((error) => Promise.reject(error.cause))]);
      expect(failures).toEqual([1, 2].map(() => ({ status: 'rejected', reason: expect.any(Error) })));
      for (const failure of failures) expect('reason' in failure && failure.reason.message).toMatch(expected);
    }
    await Promise.all([sql.end({ timeout: 0 }), database.close()]);
  });

  const roles = Object.keys(PASSWORDS).flatMap((role) =>
    ['', 'sslmode=require'].map((query) => [role, query] as const),
  );
  test.each(roles)('the role %s with ?%s is authenticated by its password, and by no other', async (role, query) => {
    const ping = async (password: string) => {
      const url = `postgres://${role}:${password}@127.0.0.1:${server.port}/postgres?${query}`;
      const database = new Database(url, { connections: 1, statementTimeoutMs: 60_000 });
      await database.ping(performance.now() + 20_000).finally(() => database.close());
    };
    await ping('secret');
    await expect(ping('wrong')).rejects.toMatchObject({ cause: { code: '28P01' } });
  });
});
