/** What the cursor of revocations guarantees. The calls: test/contract/list-revocations.test.ts. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Database, type Run } from '../../../src/database/pool/database.ts';
import { ENDINGS } from '../../../src/domain/sessions/endings.ts';
import { Revocations } from '../../../src/domain/sessions/list-revocations.ts';
import { pause } from '../../../src/pause.ts';
import { adminClient, beginSession, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const MINUTE = 60_000;
const service = await startTestService();
const { sql, url } = service.database;
const database = new Database(url, { connections: 2, statementTimeoutMs: 5_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const tenant = await createTenant(service);
const { id: applicationId } = tenant;
const run = database.eachWithin(5_000);

/** A reader without the window for late statements, which would hide what the cursor itself misses. */
const open = (through: Run = run) => new Revocations(through, -2_000);

async function insertCutoff(through = sql): Promise<string> {
  const { id } = await createTestUser(service);
  await through`insert into session_cutoffs (application_id, user_id, cutoff_at, expires_at)
    values (${applicationId}, ${id}, now(), 'infinity')`;
  return id;
}

/** Inserts a cut-off whose transaction stays open until `commit` is called. */
async function holdCutoff() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { promise: inserted, resolve: onInserted } = Promise.withResolvers<string>();
  const held = sql.begin(async (transaction) => {
    onInserted(await insertCutoff(transaction as unknown as typeof sql));
    await promise;
  });
  const commit = async () => {
    resolve();
    await held;
  };
  return { id: await inserted, commit };
}

async function read(revocations: Revocations, since?: Awaited<ReturnType<typeof begin>>) {
  const answer = await revocations.find(applicationId, since);
  if (!answer?.rows) throw new Error('The cursor has expired');
  return { until: answer.until, userIds: answer.rows.map(({ userId }) => userId) };
}

/** Waits until no other transaction is open, such as those of Citus itself: an answer begins with the oldest. */
async function begin(revocations: Revocations) {
  for (;;) {
    const answer = await revocations.find(applicationId, undefined);
    if (!answer) throw new Error('No answer');
    if (answer.until.oldestAt === answer.until.at) return answer.until;
    await pause(5);
  }
}

test('the API page has each door of the endings once, and no other', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../src/api/README.md'), 'utf8');
  const [, table = ''] = /\| Revocation \| Ends \|\n.*\n((?:\|.*\n)+)/.exec(page) ?? [];
  const doors = ENDINGS.flatMap((ending) => ending.doors).sort((one, other) => other.length - one.length);
  const left = table.split('\n').map((row) => (row.split(' | ')[0] ?? '').replace(/`|\]\(.*?\)|\[/g, ''));
  for (const door of doors) {
    const at = left.findIndex((text) => text.includes(door));
    expect(at, door).toBeGreaterThanOrEqual(0);
    left[at] = (left[at] ?? '').replace(door, '');
  }
  expect(left.join('').replace(/[|, ]/g, '')).toBe('');
});

test('a cut-off that commits after ten answers is in the next one', async () => {
  const revocations = open();
  let since = await begin(revocations);
  const { id, commit } = await holdCutoff();
  for (let call = 0; call < 10; call++) {
    // Later rows commit before.
    const later = await insertCutoff();
    const { until, userIds } = await read(revocations, since);
    expect(userIds).toContain(later);
    expect(userIds).not.toContain(id);
    since = until;
    await pause(20);
  }
  const [seen] = await sql`select max(cutoff_at) as cutoff_at, max(changed_at) as changed_at from session_cutoffs
    where application_id = ${applicationId}`;
  await commit();
  expect((await read(revocations, since)).userIds).toContain(id);
  // Readers that go by a window, or by the last row that they have seen, miss it for ever.
  expect((await read(revocations, { ...since, oldestAt: since.at })).userIds).not.toContain(id);
  for (const column of ['cutoff_at', 'changed_at']) {
    const later = await sql`select user_id from session_cutoffs
      where application_id = ${applicationId} and ${sql(column)} > ${seen?.[column]}`;
    expect(later.map(({ user_id: userId }) => userId)).not.toContain(id);
  }
});

test.each([0, 1])('an erasure before statement %i of a call is in its answer or in the next', async (at) => {
  const user = await createTestUser(service);
  await beginSession(service, tenant, user);
  const since = await begin(open());
  let statements = 0;
  const revocations = open(async (statement, parameters) => {
    if (statements++ === at) await adminClient(service).eraseUser({ userId: user.id });
    return run(statement, parameters);
  });
  const first = await read(revocations, since);
  const second = await read(open(), first.until);
  expect([...first.userIds, ...second.userIds]).toContain(user.id);
});

test('a cut-off that commits between the two statements of a call is in its answer or in the next', async () => {
  const since = await begin(open());
  const { id, commit } = await holdCutoff();
  let statements = 0;
  const revocations = open(async (statement, parameters) => {
    if (statements++ === 1) await commit();
    return run(statement, parameters);
  });
  const first = await read(revocations, since);
  const second = await read(open(), first.until);
  expect([...first.userIds, ...second.userIds]).toContain(id);
});

test('a row that is written again is told again, although its cut-off stays', async () => {
  const revocations = open();
  const id = await insertCutoff();
  await pause(5);
  const since = await begin(revocations);
  await pause(5);
  expect((await read(revocations, since)).userIds).not.toContain(id);
  const hourAgo = new Date(Date.now() - 60 * MINUTE);
  await sql`update session_cutoffs set cutoff_at = ${hourAgo}, changed_at = statement_timestamp() where user_id = ${id}`;
  expect((await read(revocations, since)).userIds).toContain(id);
});

test('what a slow statement has just begun to write is within the window', async () => {
  const revocations = new Revocations(run, 5_000);
  const since = await begin(revocations);
  const id = await insertCutoff();
  const change = (ms: number) =>
    sql`update session_cutoffs set changed_at = ${new Date(since.at + ms)} where user_id = ${id}`;
  await change(-6_900);
  expect((await read(revocations, since)).userIds).toContain(id);
  await change(-MINUTE);
  expect((await read(revocations, since)).userIds).not.toContain(id);
});

test.each([
  ['of 19 minutes ago', { at: -19 * MINUTE }, true],
  ['of 20 minutes ago', { at: -20 * MINUTE - 100 }, false],
  ['of a clock that was set back since', { at: 1_000 }, false],
  ['of another server or before a restore', { epoch: 'another' }, false],
])('a cursor %s', async (_, { at = 0, ...changes }: { at?: number; epoch?: string }, isUsable) => {
  const revocations = open();
  const known = await begin(revocations);
  const answer = await revocations.find(applicationId, { ...known, at: known.at + at, ...changes });
  expect(answer?.rows !== undefined).toBe(isUsable);
});

test('a restored table has another epoch', async () => {
  const known = await begin(open());
  await sql`create table copied (like session_cutoffs including all)`;
  await sql.begin(async (transaction) => {
    await transaction`alter table session_cutoffs rename to kept`;
    await transaction`alter table copied rename to session_cutoffs`;
  });
  const { epoch } = await begin(open());
  await sql.begin(async (transaction) => {
    await transaction`alter table session_cutoffs rename to copied`;
    await transaction`alter table kept rename to session_cutoffs`;
  });
  expect(epoch).not.toBe(known.epoch);
});

test('callers share statements that began after each of them, and each gets its own rows', async () => {
  let statements = 0;
  const revocations = open((statement, parameters) => {
    statements++;
    return run(statement, parameters);
  });
  const early = await begin(revocations);
  const id = await insertCutoff();
  await pause(10);
  const late = await begin(revocations);
  await pause(10);
  statements = 0;
  const answers = await Promise.all([
    ...[early, late, early, undefined].map((known) => revocations.find(applicationId, known)),
    revocations.find(randomUUID(), early),
  ]);
  // The first call after a pause is sent at once, and the others of the application together.
  expect(statements).toBe(6);
  const told = answers.map((answer) => answer?.rows?.some(({ userId }) => userId === id));
  expect(told).toEqual([true, false, true, false, false]);
});

test('a caller does not share the answer of a call whose statement has begun before', async () => {
  const known = await begin(open());
  const { promise: isWritten, resolve } = Promise.withResolvers<void>();
  let statements = 0;
  const revocations = open(async (statement, parameters) => {
    const rows = await run(statement, parameters);
    // That of the first caller has read what was there.
    if (statements++ === 1) await isWritten;
    return rows;
  });
  const first = read(revocations, known);
  await expect.poll(() => statements).toBe(2);
  const id = await insertCutoff();
  const second = read(revocations, known);
  resolve();
  expect((await first).userIds).not.toContain(id);
  expect((await second).userIds).toContain(id);
});
