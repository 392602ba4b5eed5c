/** The two roles of src/database/README.md, created by the SQL that stands there. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { onServer } from '../../src/testing/on-server.ts';
import { cloneDatabase, openDatabase, withServer } from '../support/database.ts';
import { runShell } from '../support/process.ts';
import { readRolesSql } from '../support/roles.ts';
import {
  beginSession,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  startTestService,
  testConfig,
} from '../support/service.ts';

test('one role migrates, and the service runs as another that may create nothing', async () => {
  const name = `roles_${randomBytes(6).toString('hex')}`;
  const { ofServer, ofDatabase } = readRolesSql(name);
  await using disposables = new AsyncDisposableStack();
  disposables.defer(() =>
    withServer(async (server) => {
      await server.unsafe(`drop database if exists ${name} with (force)`);
      await server.unsafe(`drop role if exists ${name}; drop role if exists ${name}_owner`);
    }),
  );
  const urls = await withServer(async (server) => {
    for (const statement of ofServer) await server.unsafe(statement);
    const { host, port } = server.options;
    return (role: string) => `postgres://${role}@${encodeURIComponent(String(host[0]))}:${port[0]}/${name}`;
  });
  // Some operators take from everybody what every role may do by default.
  const hardening = `alter default privileges for role ${name}_owner revoke execute on functions from public`;
  await onServer(urls('usher'), (sql) => sql.unsafe(`${ofDatabase}; ${hardening}`));

  const config = testConfig(urls(name), { MIGRATE_ON_START: 'false' });
  const database = disposables.use(openDatabase(urls(name)));
  await expect(startTestService({ database, like: config })).rejects.toThrow(
    /migrations are pending\. Apply them with npm run migrate$/,
  );
  const line = `DATABASE_URL='${urls(`${name}_owner`)}' npm run --silent migrate`;
  expect(await runShell(line)).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(/^Migrations applied: \d+\n$/),
    stderr: '',
  });
  await using service = await startTestService({ database, like: config });
  const tenant = await createTenant(service);
  const eventId = await createTestEvent(service, tenant);
  await clientsOf(service, tenant).events.deleteEvent({ eventId });
  await beginSession(service, tenant, await createTestUser(service));

  for (const schema of ['public', 'usher']) {
    const creation = database.sql`create table ${database.sql(schema)}.other (id int)`;
    await expect(creation).rejects.toThrow(`permission denied for schema ${schema}`);
  }
});

test('npm run migrate without DATABASE_URL says what is missing', async () => {
  expect(await runShell('env -u DATABASE_URL npm run --silent migrate')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'usher: DATABASE_URL is required\n',
  });
});

test('the command distribute says in one line that a plain Postgres has nothing to distribute to', async () => {
  await using database = await cloneDatabase();
  expect(await runShell(`DATABASE_URL='${database.url}' node src/start.js distribute`)).toEqual({
    exitCode: 1,
    stdout: 'No migration is pending\n',
    stderr: 'usher: The tables cannot be distributed: the database is not on Citus: it has no extension citus\n',
  });
});
