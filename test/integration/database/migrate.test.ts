import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { openClient } from '../../../src/database/connection/open-client.ts';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { type ProxyMode, TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import {
  cloneDatabase,
  createDatabase,
  describeTables,
  type TestDatabase,
  withServer,
} from '../../support/database.ts';
import { dumpTables } from '../../support/dump.ts';
import { holdLock } from '../../support/lock.ts';
import { migrateWith } from '../../support/migrations.ts';
import { createUnreleasedTables } from '../../support/unreleased-tables.ts';

/** The key of the advisory lock of every version of Usher. */
const KEY = 7_580_447;

test('a migration leaves no connection and no lock behind', async () => {
  await using database = await createDatabase('');
  const readSessions = async () =>
    (await database.sql`select pid from pg_stat_activity where datname = current_database()`).map(({ pid }) => pid);
  const before = await readSessions();
  await migrateDatabase(database.url);
  await expect.poll(readSessions).toEqual(before);
  const locks = await database.sql`
    select pid from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where locktype = 'advisory' and datname = current_database()`;
  expect(locks).toEqual([]);
});

test('four migrations at the same time apply each step once', async () => {
  await using database = await createDatabase('');
  await Promise.all([1, 2, 3, 4].map(() => migrateDatabase(database.url)));
  const [steps] = await database.sql`
    select count(*)::int as all, count(distinct created_at)::int as distinct from usher_migrations`;
  expect(steps?.all).toBeGreaterThan(0);
  expect(steps?.distinct).toBe(steps?.all);
});

test('a migration that has to wait says for whom, and gives up at its deadline', async () => {
  await using database = await createDatabase('');
  const reasons: string[] = [];
  const onWait = (reason: string) => reasons.push(reason);
  await using held = await holdLock(database, `select pg_advisory_xact_lock(${KEY})`);
  const [holder] = await database.sql`select pid from pg_locks where locktype = 'advisory' and objid = ${KEY}`;
  const reason = `another process migrates the database (Postgres process ${holder?.pid})`;
  await expect(migrateDatabase(database.url, { timeoutMs: 500, onWait })).rejects.toThrow(
    `cannot be used: It is not migrated after 0.5 s: ${reason}`,
  );
  expect(reasons).toEqual([reason]);

  const migrated = migrateDatabase(database.url, { onWait });
  await expect.poll(() => reasons).toHaveLength(2);
  await held.release();
  await migrated;
});

/** Takes long enough for its connection to be lost meanwhile. */
const SLOW = 'create table later (id int);--> statement-breakpoint\nselect pg_sleep(2)';

test('a migration that is slower than the lifetime of connections is applied and recorded, or neither', async () => {
  await using database = await cloneDatabase();
  // The default of postgres.js, which is half an hour at least.
  process.env.PGMAX_LIFETIME = '1';
  try {
    await migrateWith(database.url, { later: [SLOW] });
  } finally {
    delete process.env.PGMAX_LIFETIME;
  }
  await database.sql`insert into later values (1)`;
});

test('a migration whose connection is lost fails with one line, and leaves nothing', async () => {
  await using database = await cloneDatabase();
  const migrated = migrateWith(database.url, { later: [SLOW] }).catch((error: Error) => error.message);
  const kill = () => database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'usher migration' and query like '%pg_sleep%'`;
  await expect.poll(async () => (await kill()).length).toBe(1);
  expect(await migrated).toMatch(/^The database at [^\n]* cannot be reached: the connection was lost$/);
  await migrateWith(database.url, { later: ['create table later (id int)'] });
});

test('where nothing is pending, needs no right but to read, and waits for nobody', async () => {
  await using database = await cloneDatabase();
  await using role = await createRole(database);
  await database.sql.unsafe(`grant usage on schema usher to ${role.name}`);
  await database.sql.unsafe(`grant select on usher.usher_migrations to ${role.name}`);
  await using _held = await holdLock(database, `select pg_advisory_xact_lock(${KEY})`);
  await migrateDatabase(role.url);
});

test('names the host but not the password of a database that cannot be reached', async () => {
  await expect(migrateDatabase('postgres://usher:secret@127.0.0.1:1/usher', { timeoutMs: 0 })).rejects.toThrow(
    /^The database at 127\.0\.0\.1:1 cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1$/,
  );
});

test.each<[string, { mode: ProxyMode; reason: string }]>([
  ['refuses connections', { mode: 'refuse', reason: 'connect ECONNREFUSED 127.0.0.1:' }],
  ['does not answer', { mode: 'freeze', reason: 'No connection in time' }],
])('waits for a server that %s, tells the reason once, and goes on when it is back', async (_, { mode, reason }) => {
  await using database = await cloneDatabase();
  await using proxy = await TcpProxy.open(database.url);
  await proxy.setMode(mode);
  const reasons: string[] = [];
  const steps: string[] = [];
  const url = proxy.through(database.url);
  const migrated = migrateDatabase(url, {
    onWait: (reason) => reasons.push(reason),
    onProgress: (step) => steps.push(step),
  });
  await expect.poll(() => reasons).toEqual([expect.stringContaining(reason)]);
  await expect.poll(() => steps.length).toBeGreaterThan(1);
  expect(steps[0]).toContain(`Waiting for Postgres at ${new URL(url).host}, and trying again: ${reason}`);
  await proxy.setMode('pass');
  await migrated;
  expect(reasons).toHaveLength(1);
});

test('waits for a host whose name does not resolve', async () => {
  const reasons: string[] = [];
  const options = { timeoutMs: 0, onWait: (reason: string) => reasons.push(reason) };
  await expect(migrateDatabase('postgres://usher@db.invalid/usher', options)).rejects.toThrow('db.invalid');
  expect(reasons).toEqual([expect.stringMatching(/^getaddrinfo (ENOTFOUND|EAI_AGAIN) db\.invalid$/)]);
});

interface Unusable {
  readonly options?: string;
  /** Statements of an administrator. `<role>` stands for the role that migrates. */
  readonly setup?: string;
  readonly url?: (url: URL) => void;
  readonly message: string;
}

test.each<[string, Unusable]>([
  [
    'its role may create nothing',
    { message: 'permission denied for database <database>. Grant what is missing: GRANT CREATE ON DATABASE … TO …;' },
  ],
  [
    'another role migrated it',
    {
      options: 'template usher_template',
      message: 'permission denied for schema usher. Grant what is missing:',
    },
  ],
  [
    'its encoding is not UTF8',
    {
      options: "encoding 'LATIN1' template template0",
      message:
        "its encoding is LATIN1, and Usher needs UTF8. Create another one: CREATE DATABASE … ENCODING 'UTF8' TEMP",
    },
  ],
  [
    'it is read-only',
    {
      setup: 'grant create on database <database> to <role>; alter role <role> set default_transaction_read_only = on',
      message: 'cannot execute CREATE SCHEMA in a read-only transaction. Name the primary in DATABASE_URL',
    },
  ],
  [
    'it has tables of the same name',
    {
      setup: 'create schema usher; grant create, usage on schema usher to <role>; create table usher.users (id int)',
      message:
        'relation "users" already exists. Tables of the same name exist. Name another schema in DATABASE_SCHEMA.',
    },
  ],
  [
    'it does not exist',
    {
      url: (url) => Object.assign(url, { pathname: '/missing' }),
      message: 'database "missing" does not exist. Create it: CREATE DATABASE',
    },
  ],
  [
    'the role does not exist',
    {
      url: (url) => Object.assign(url, { username: 'nobody' }),
      message: 'role "nobody" does not exist. Check user and password in DATABASE_URL',
    },
  ],
])('says why a database cannot be used, and what to do: %s', async (_, { options = '', setup = '', url, message }) => {
  await using database = await createDatabase(options);
  await using role = await createRole(database);
  const insert = (text: string) => text.replaceAll('<role>', role.name).replaceAll('<database>', role.database);
  await database.sql.unsafe(insert(setup));
  const target = new URL(role.url);
  url?.(target);
  const error = await migrateDatabase(target.href).then(
    () => undefined,
    (error: Error) => error,
  );
  const said = String(error?.message);
  expect(said).toContain(` cannot be used: ${insert(message)}`);
  expect(said).not.toContain('\n');
  expect(said).not.toContain('Failed query');
});

test.each([
  ['usher', 'usher'],
  ['public', 'drizzle'],
])(
  'refuses tables from before 1.0.0 in the schema %s, with their journal in %s, and changes nothing',
  async (...schemas) => {
    await using database = await createDatabase('');
    await createUnreleasedTables(database, ...schemas);
    const read = async () => [
      await describeTables(database, ['usher', 'public', 'drizzle']),
      await dumpTables(database),
    ];
    const before = await read();
    const name = new URL(database.url).pathname.slice(1);
    for (const applies of [true, false]) {
      await expect(migrateDatabase(database.url, { applies })).rejects.toThrow(
        ` cannot be used: The tables in ${name} are from before 1.0.0. There was no release before 1.0.0, so no version ` +
          'carries them over. They were left untouched. To start beside them, set DATABASE_URL to another database',
      );
    }
    expect(await read()).toEqual(before);
  },
);

/** Creates a role that may connect and nothing else. */
async function createRole(database: TestDatabase) {
  const name = `role_${randomBytes(6).toString('hex')}`;
  const url = Object.assign(new URL(database.url), { username: name });
  await withServer((server) => server.unsafe(`create role ${name} login`));
  return {
    name,
    url: url.href,
    database: url.pathname.slice(1),
    async [Symbol.asyncDispose]() {
      const sql = openClient(database.url, { max: 1, onnotice: () => {} });
      await sql.unsafe(`reassign owned by ${name} to current_user; drop owned by ${name}`);
      await sql.end();
      await withServer((server) => server.unsafe(`drop role ${name}`));
    },
  };
}
