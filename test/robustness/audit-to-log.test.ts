/** AUDIT_LOG=log with real processes: what was acknowledged is in the log, whatever ends them. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { HttpPool } from '../support/http.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const CALLS = quickOrLong(400, 20_000);
const CALLERS = 16;
// A busy machine may be slow, and a call that is late is refused.
const env = { AUDIT_LOG: 'log', REQUEST_TIMEOUT_MS: '60000' };
const timeout = 300_000;

/**
 * Creates users until the process is gone, `count` at most, and returns the IDs of those that were acknowledged. Calls
 * `onSome` when these are half of `CALLS`.
 */
async function createUsers(url: string, onSome = () => {}, count = CALLS): Promise<string[]> {
  using pool = new HttpPool({ url }, { 'x-admin-key': ADMIN_KEY });
  const created: string[] = [];
  let left = count;
  const work = async () => {
    while (left-- > 0) {
      const user = { email: `${randomUUID()}@example.com` };
      const call = pool.call<{ user: { id: string } }>('POST', '/usher.v1.AdminService/CreateUser', user);
      const reply = await call.catch(() => undefined);
      if (!reply) return;
      // While it ends, it refuses calls.
      if (reply.status !== 200) continue;
      created.push(reply.body.user.id);
      if (created.length === CALLS / 2) onSome();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
  return created;
}

function resourcesIn(...processes: UsherProcess[]): string[] {
  const lines = processes.flatMap(({ stdout }) => stdout.split('\n'));
  // A kill may have cut a line off before its end.
  return lines
    .filter((line) => line.endsWith('"msg":"audit event"}'))
    .map((line) => JSON.parse(line).resource)
    .sort();
}

test.each([
  ['one process', '1'],
  ['workers', '2'],
])('SIGTERM under load: %s log each change once', async (_, WORKERS) => {
  await using database = await cloneDatabase();
  await using usher = await startUsher(database.url, { ...env, WORKERS }, { keepsLog: true });
  const created = await createUsers(usher.url, () => usher.kill('SIGTERM'));
  await usher.result;
  const logged = resourcesIn(usher);
  expect(created.length).toBeGreaterThan(0);
  expect(new Set(logged).size).toBe(logged.length);
  const stored = await database.sql<{ id: string }[]>`select id from users`;
  // Also those whose answer did not arrive.
  expect(logged.filter((id) => stored.some((user) => user.id === id)).sort()).toEqual(
    stored.map(({ id }) => id).sort(),
  );
  expect(await database.sql`select from audit_outbox`).toHaveLength(0);
  expect(await database.sql`select from audit_events`).toHaveLength(0);
});

/** Kills the process while it has events in the outbox. Returns how many these are. */
async function killWithEvents({ sql }: TestDatabase, usher: UsherProcess): Promise<number> {
  for (;;) {
    // While it is stopped, it sends no statement that removes events.
    usher.kill('SIGSTOP');
    const left = await sql`select from audit_outbox`;
    if (left.length > 0) {
      usher.kill('SIGKILL');
      return left.length;
    }
    usher.kill('SIGCONT');
    await sleep(5);
  }
}

test('kill -9 under load: what the process has not logged, the next one does', { timeout }, async () => {
  await using database = await cloneDatabase();
  await using killed = await startUsher(database.url, env, { keepsLog: true });
  let killing: Promise<number> | undefined;
  const onSome = () => {
    killing = killWithEvents(database, killed);
  };
  const created = await createUsers(killed.url, onSome, Number.POSITIVE_INFINITY);
  expect(await killing).toBeGreaterThan(0);
  await killed.result;
  // As if a minute had passed.
  await database.sql`update audit_outbox set occurred_at = occurred_at - interval '2 minutes'`;
  await using next = await startUsher(database.url, env, { keepsLog: true });
  const both = () => new Set(resourcesIn(killed, next));
  await expect.poll(() => created.filter((id) => !both().has(id)), { timeout: 120_000 }).toEqual([]);
  await expect.poll(async () => (await database.sql`select from audit_outbox`).length, { timeout: 120_000 }).toBe(0);
});

test('while nobody reads the log, events wait in Postgres, and are logged when somebody does', {
  timeout,
}, async () => {
  await using database = await cloneDatabase();
  await using usher = await startUsher(database.url, env, { keepsLog: true });
  usher.pauseLog();
  const created = await createUsers(usher.url);
  expect(created).toHaveLength(CALLS);
  const waiting = await database.sql`select from audit_outbox`;
  expect(waiting.length).toBeGreaterThan(0);
  usher.resumeLog();
  await expect.poll(() => resourcesIn(usher).length, { timeout: 120_000 }).toBe(CALLS);
  await expect.poll(async () => (await database.sql`select from audit_outbox`).length, { timeout: 120_000 }).toBe(0);
});
