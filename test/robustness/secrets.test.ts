/** Secrets, and what people tell of themselves, through every path and fault at the most talkative log level. */
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import type { TestDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { runMain } from '../support/process.ts';
import { createSurroundings } from '../support/secret-process.ts';
import { SecretScanner } from '../support/secret-scanner.ts';
import { runScenario } from '../support/secret-scenario.ts';
import { quickOrLong, report } from '../support/soak.ts';

test('no secret is in a reply, in the log or in the database that should not be there, whatever happens', {
  timeout: 300_000,
  // The port may be taken by another test in between.
  retry: 1,
}, async (context) => {
  const scanner = new SecretScanner();
  let dumped = 0;
  for (let round = 0; round < quickOrLong(1, 5); round++) {
    await using around = await createSurroundings(scanner);
    const { exitCode, stdout, stderr } = await runMain({
      env: around.env,
      patienceMs: 60_000,
      whileRunning: async (kill) => {
        await expect.poll(() => isReady(around.url), { timeout: 30_000 }).toBe(true);
        await runScenario(around, scanner).finally(() => kill('SIGTERM'));
      },
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n').length).toBeGreaterThan(100);
    scanner.look('the log', stdout);
    const dump = await dumpDatabase(around.database);
    dumped += dump.length;
    scanner.look('a dump of the database', dump, ['e-mail', 'name', 'wallet', 'state']);
    expect(dump).toContain('planted-name');
  }
  report(context, {
    tried: `${scanner.size} kinds of secrets looked for in ${scanner.texts} texts, ${Math.round(dumped / 1024)} KiB of dumps among them`,
    lost: scanner.leaks.join(', ') || 'nothing',
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
])('a secret in the place of %s is not repeated by the error', (name) => {
  for (const secret of [
    'a secret ',
    '{"keys":[{"d":"a secret"}]}',
    'a/secret',
    `a secret${'!'.repeat(5_000)}`,
    'a\0secret',
  ]) {
    const problem = catchProblem({ [name]: secret, DATABASE_URL: 'postgres://usher:a%20secret@127.0.0.1/usher' });
    expect(problem).not.toMatch(/a.{1,3}secret/);
  }
});

test('a scanner sees a secret, however it is spelled', () => {
  for (const spell of [
    (s: string) => s,
    encodeURIComponent,
    (s: string) => Buffer.from(s).toString('base64'),
    (s: string) => Buffer.from(s).toString('hex'),
  ]) {
    const scanner = new SecretScanner();
    scanner.keep('secret', 'a planted value, long enough: ü?&/');
    scanner.look('a text', `<<${spell('a planted value, long enough: ü?&/')}>>`);
    scanner.look('another', 'nothing');
    expect(scanner.leaks).toEqual(['secret in a text']);
  }
});

/** Every table as text, as pg_dump has it. */
async function dumpDatabase({ sql }: TestDatabase): Promise<string> {
  const tables = await sql`
    select schemaname || '.' || tablename as name from pg_tables where schemaname in ('public', 'drizzle')`;
  const dumps = await Promise.all(
    tables.map(async ({ name }) => text(await sql`copy ${sql(name)} to stdout`.readable())),
  );
  return dumps.join('\n');
}

async function isReady(url: string): Promise<boolean> {
  return request(url, { path: '/readyz' }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

function catchProblem(env: Record<string, string>): string {
  try {
    readConfig(env, () => {
      throw Object.assign(new Error('no such file: a secret'), { code: 'ENOENT' });
    });
  } catch (error) {
    return String(error);
  }
  throw new Error('There was no problem');
}
