/** `check-backup`: a dump of a running service is proved in one command, and a dump that cannot be used is refused. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSettingFile } from '../../src/config/files.ts';
import { readFullConfig } from '../../src/modules/modules.ts';
import { openDatabase } from '../support/database.ts';
import { DebianPostgres, SKIPS_DEBIAN_POSTGRES } from '../support/debian-postgres.ts';
import { createDirectory } from '../support/directory.ts';
import { runCommand } from '../support/run-command.ts';
import {
  createSecretFiles,
  createTenant,
  createTestUser,
  createTestWebhook,
  startTestService,
  TEST_ENV,
} from '../support/service.ts';
import { POSTGRES_BIN } from '../support/tools.ts';

const run = promisify(execFile);
const USERS = 10_000;
const LONG = { timeout: 120_000 };

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('check-backup', LONG, () => {
  const stack = new AsyncDisposableStack();
  let [directory, url, plain]: [string, string, string] = ['', '', ''];
  let env: Record<string, string> = {};

  beforeAll(async () => {
    const server = stack.use(await DebianPostgres.start());
    await server.sql('postgres', (sql) => sql`create database usher`);
    url = server.urlOf('usher');
    directory = await createDirectory();
    const [signingKeys, encryptionKey] = ['signing-keys', 'encryption-key'].map((name) => join(directory, name));
    const files = createSecretFiles();
    await writeFile(signingKeys ?? '', files['signing-keys']);
    await writeFile(encryptionKey ?? '', files['encryption-key']);
    env = {
      ...TEST_ENV,
      DATABASE_URL: url,
      AUTH_SIGNING_KEYS_FILE: signingKeys ?? '',
      ENCRYPTION_KEY_FILE: encryptionKey ?? '',
      PATH: process.env.PATH ?? '',
    };
    const database = stack.use(openDatabase(url));
    const config = { ...readFullConfig(env, readSettingFile), webhookDelivery: false };
    const service = stack.use(await startTestService({ database, like: config }));
    const tenant = await createTenant(service, { name: 'Größe \\ "quoted"' });
    for (let at = 0; at < 3; at++) await createTestWebhook(service, tenant);
    await database.sql`
      insert into users (id, email, wallet_address, name, created_at)
      select gen_random_uuid(), 'user' || n || '@example.com', '', E'Tab\\t, \\\\. and\\nline ' || n, now() from generate_series(1, ${USERS}) n`;
    plain = await dump('--format=plain');
    await createTestUser(service);
  }, LONG.timeout);

  afterAll(() => stack.disposeAsync());

  async function dump(...options: string[]): Promise<string> {
    const file = join(directory, `dump-${randomBytes(4).toString('hex')}`);
    await run(join(POSTGRES_BIN, 'pg_dump'), [...options, '--schema=usher', `--file=${file}`, url]);
    return file;
  }

  /** Also checks that it leaves nothing. */
  async function check(file: string, changed: Record<string, string> = {}) {
    const TMPDIR = await createDirectory();
    if (changed.PATH) changed = { PATH: await linkPrograms() };
    const result = await runCommand('check-backup', { ...env, TMPDIR, ...changed }, file);
    expect(await readdir(TMPDIR)).toEqual([]);
    return result;
  }

  /** Returns a directory with what the embedded Postgres needs, and without pg_restore. */
  async function linkPrograms(): Promise<string> {
    const programs = await createDirectory();
    for (const name of ['cat', 'chmod', 'cp', 'rm', 'setpriv', 'sleep']) {
      const { stdout } = await run('which', [name]);
      await symlink(stdout.trim(), join(programs, name));
    }
    return programs;
  }

  test.for([['plain'], ['custom'], ['directory']])(
    'proves a dump of a service that runs: %s',
    LONG,
    async ([format]) => {
      const file = format === 'plain' ? plain : await dump(`--format=${format}`);
      const { exitCode, stdout, stderr } = await check(file);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      const lines = stdout.split('\n');
      expect(lines).toEqual([
        expect.stringMatching(/^.* can be restored, in [\d.]+ s$/),
        expect.stringMatching(/^migration: \d{4}-\d\d-\d\d$/),
        expect.stringMatching(format === 'plain' ? /, 10003 users$|, 10003 users,/ : /, 10004 users$|, 10004 users,/),
        'secrets that were decrypted: 3 in webhooks, 0 in webhook_signing_keys, 0 in idempotency_keys, 0 in totp_secrets',
        expect.stringMatching(
          format === 'plain'
            ? /^newest audit event: \S+Z WebhookService\/CreateWebhook$/
            : /^newest audit event: \S+Z AdminService\/CreateUser$/,
        ),
        expect.stringMatching(
          format === 'plain'
            ? /^lost if it were restored now: 1 changes since \S+Z: 1 AdminService\/CreateUser$/
            : /^lost if it were restored now: 0 changes since \S+Z$/,
        ),
        '',
      ]);
    },
  );

  test('says that nothing was compared if the database of the service is away', LONG, async () => {
    const { exitCode, stdout } = await check(plain, { DATABASE_URL: 'postgres://usher@127.0.0.1:1/usher' });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /lost if it were restored now: everything since \S+Z\. The database cannot be read: .*ECONN/,
    );
  });

  test('says that a dump is not of the database of the service', LONG, async () => {
    const other = url.replace(/usher$/, 'other');
    await run(join(POSTGRES_BIN, 'createdb'), [`--maintenance-db=${url}`, '--template=template0', 'other']);
    await run(process.execPath, ['src/start.js', 'migrate'], { env: { DATABASE_URL: other } });
    const { stdout } = await check(plain, { DATABASE_URL: other });
    expect(stdout).toContain('lost if it were restored now: all that DATABASE_URL has.');
  });

  /** Changes the text of the plain dump. */
  async function changed(change: (text: string) => string): Promise<string> {
    const file = join(directory, `changed-${randomBytes(4).toString('hex')}`);
    await writeFile(file, change(await readFile(plain, 'latin1')), 'latin1');
    return file;
  }

  const half = async (file: string): Promise<string> => {
    const bytes = await readFile(file);
    await writeFile(`${file}.half`, bytes.subarray(0, bytes.length / 2));
    return `${file}.half`;
  };

  test.for<[string, RegExp, () => Promise<string>, Record<string, string>?]>([
    ['a file that is missing', /cannot be read \(ENOENT\)/, async () => '/nothing.dump'],
    ['an empty file', /is empty/, () => changed(() => '')],
    ['a text', /is truncated, or no dump/, () => changed(() => 'Good morning\n')],
    ['half of a plain dump', /is truncated, or no dump/, () => half(plain)],
    ['a plain dump without its last line', /is truncated, or no dump/, () => changed((text) => text.slice(0, -100))],
    [
      'half of a custom dump',
      /cannot be restored: pg_restore: error: .*end of file/,
      async () => half(await dump('-Fc')),
    ],
    ['a dump of tables without rows', /has no rows of Usher in the schema usher/, () => dump('--schema-only')],
    [
      'a dump of another schema',
      /has no rows of Usher in the schema other/,
      async () => plain,
      { DATABASE_SCHEMA: 'other' },
    ],
    ['a dump without a table', /lacks the tables passkeys/, () => dump('--exclude-table=usher.passkeys')],
    [
      'a dump of a later version',
      /is of a later version of Usher, with a migration of 2255-03-14/,
      () => changed((text) => text.replace(/(COPY usher\.usher_migrations .*\n)/, '$19999\tlater\t9000000000000\n')),
    ],
    [
      'a dump that breaks a rule',
      /cannot be restored: .*duplicate key|cannot be restored: .*could not create unique index/,
      () => changed((text) => text.replace(/(COPY usher\.users .*\n)(.*\n)/, '$1$2$2')),
    ],
    [
      'a dump with a row that is damaged',
      /cannot be restored: (?:invalid input syntax for type uuid|Postgres refuses the rows of COPY usher\.users )/,
      () => changed((text) => text.replace(/(COPY usher\.users .*\n)./, '$1x')),
    ],
    [
      'a large dump with a last row that is damaged',
      /cannot be restored: (?:missing data|Postgres refuses the rows of COPY usher\.users )/,
      () => changed((text) => text.replace(/(COPY usher\.users [\s\S]*?\n)\\\.\n/, '$1x\n\\.\n')),
    ],
    [
      'a dump that runs a program',
      /cannot be restored: permission denied to COPY to or from an external program/,
      () => changed((text) => text.replace('SET ', "COPY (SELECT 1) TO PROGRAM 'touch /tmp/usher-was-here';\nSET ")),
    ],
    [
      'a custom dump where there is no pg_restore',
      /cannot be run \(ENOENT\): install the client of Postgres/,
      () => dump('--format=custom'),
      { PATH: 'WITHOUT' },
    ],
  ])('refuses %s in one line, and leaves nothing', LONG, async ([_, reason, make, more]) => {
    const { exitCode, stdout, stderr } = await check(await make(), more);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^usher: [^\n]+\n$/);
    expect(stderr).toMatch(reason);
  });

  test('refuses a dump whose secrets need another key', LONG, async () => {
    const other = join(directory, 'other-key');
    await writeFile(other, randomBytes(32).toString('base64'));
    const { exitCode, stderr } = await check(plain, { ENCRYPTION_KEY_FILE: other });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(
        /cannot be used with this ENCRYPTION_KEY_FILE: 3 of 3 in webhooks cannot be decrypted: the key with ID [0-9a-f]{8} is missing\n$/,
      ),
    });
  });
});
