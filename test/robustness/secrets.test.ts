/** Secrets and personal data appear only where they belong, at the most verbose log level and through all faults. */
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import type { TestDatabase } from '../support/database.ts';
import { createSurroundings } from '../support/secret-process.ts';
import { SecretScanner } from '../support/secret-scanner.ts';
import { runScenario } from '../support/secret-scenario.ts';
import { quickOrLong, report } from '../support/soak.ts';

test('no reply, log line or table contains a secret that does not belong there', {
  timeout: 300_000,
}, async (context) => {
  const scanner = new SecretScanner();
  let dumped = 0;
  for (let round = 0; round < quickOrLong(1, 5); round++) {
    await using surroundings = await createSurroundings(scanner);
    const { usher, database } = surroundings;
    await runScenario(surroundings, scanner);
    await usher.end('SIGTERM');
    const { exitCode, stdout, stderr } = await usher.result;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n').length).toBeGreaterThan(100);
    scanner.look('the log', stdout);
    const dump = await dumpDatabase(database);
    dumped += dump.length;
    scanner.look('a dump of the database', dump, ['e-mail', 'name', 'wallet', 'state']);
    expect(dump).toContain('planted-name');
  }
  report(context, {
    tried: `${scanner.size} kinds of secrets looked for in ${scanner.texts} texts, ${Math.round(dumped / 1024)} KiB of dumps among them`,
    lost: scanner.leaks.join(', '),
  });
  expect(scanner.leaks).toEqual([]);
});

test.each([
  'AUTH_SIGNING_KEYS_FILE',
  'ENCRYPTION_KEY_FILE',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'DATABASE_URL',
  'SMTP_URL',
  'PUBLIC_URL',
  'AUTH_JWKS_URL',
  'ADMIN_KEY',
  'PORT',
  'LOG_LEVEL',
  'LOGIN_METHODS',
])('an invalid %s is refused with an error that does not repeat it', (name) => {
  const long = `a secret${'!'.repeat(5_000)}`;
  for (const secret of ['a secret ', '{"keys":[{"d":"a secret"}]}', 'a/secret', long, 'a\0secret']) {
    const env = { [name]: secret, DATABASE_URL: 'postgres://usher:a%20secret@127.0.0.1/usher' };
    expect(messageFor(env)).not.toMatch(/a.{1,3}secret/);
  }
});

/** Returns every table as text, as pg_dump writes it. */
async function dumpDatabase({ sql }: TestDatabase): Promise<string> {
  const tables = await sql`
    select schemaname || '.' || tablename as name from pg_tables where schemaname in ('public', 'drizzle')`;
  const dumps = await Promise.all(
    tables.map(async ({ name }) => text(await sql`copy ${sql(name)} to stdout`.readable())),
  );
  return dumps.join('\n');
}

function messageFor(env: Record<string, string>): string {
  try {
    readConfig(env, () => {
      throw Object.assign(new Error('no such file: a secret'), { code: 'ENOENT' });
    });
  } catch (error) {
    return String(error);
  }
  throw new Error('The settings were accepted');
}
