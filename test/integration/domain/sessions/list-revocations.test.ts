/** Each condition of the lists of revocations, a row each. What their cursor guarantees: test/domain/sessions/list-revocations.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Run } from '../../../../src/database/pool/database.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { listRevocations, Revocations } from '../../../../src/domain/sessions/list-revocations.ts';
import { pause } from '../../../../src/pause.ts';
import { cloneDatabase, openDatabase } from '../../../support/database.ts';
import { DAY, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, insert, callOf, database, clone, createUser, createApplication } = await openDomain();
const run = database.eachWithin(60_000);
const MINUTE = 60_000;
/** Of this file: a cursor is good for 20 minutes, and the files before may take longer. */
const NOW = new Date();
const at = (ms: number) => new Date(NOW.getTime() + ms);
const FROM = at(-MINUTE);
const [EVERY_USER, EVERY_REFUSED, EVERY_RULE] = [0, 1, 2].map((last) => `00000000-0000-0000-0000-00000000000${last}`);

let here: string;
let other: string;
let userId: string;
beforeEach(async () => {
  [here, other, userId] = [await createApplication(), await createApplication(), await createUser()];
});

/** Reads without the window for late statements. */
const open = (through = run) => new Revocations(through, -2_000);

/** Returns the cursor of now. */
async function begin(revocations = open()) {
  const answer = await revocations.find(here, undefined);
  if (!answer) throw new Error('No answer');
  return answer.until;
}

const since = async (instant: Date) => ({ ...(await begin()), at: instant.getTime(), oldestAt: instant.getTime() });

/** Lists what has changed from the instant on. */
async function listFrom(instant = FROM) {
  const answer = await open().find(here, await since(instant));
  return answer?.rows?.map((row) => row.userId ?? row.grantId ?? 'everybody');
}

type Columns = Readonly<Record<string, unknown>>;

test.each<[string, columns: () => Columns, isTold: boolean]>([
  ['then', () => ({ changed_at: FROM }), true],
  ['before', () => ({ changed_at: at(-MINUTE - 1) }), false],
  ['elsewhere', () => ({ application_id: other }), false],
  ['of a browser', () => ({ user_id: randomUUID() }), false],
])('a cut-off in the application: %s', async (_, columns, isTold) => {
  await insert('session_cutoffs', { application_id: here, user_id: userId, ...columns() });
  expect(await listFrom()).toEqual(isTold ? [userId] : []);
});

test.each<[string, columns: () => Columns, member: () => Columns | undefined, isTold: boolean]>([
  ['then', () => ({ changed_at: FROM }), () => ({}), true],
  ['before', () => ({ changed_at: at(-MINUTE - 1) }), () => ({}), false],
  ['of nobody who was here', () => ({}), () => undefined, false],
  ['of one who was elsewhere', () => ({}), () => ({ application_id: other }), false],
  ['of another one', () => ({}), () => ({ user_id: randomUUID() }), false],
])('a cut-off everywhere: %s', async (_, columns, member, isTold) => {
  await insert('user_cutoffs', { user_id: userId, ...columns() });
  const joined = member();
  if (joined) await insert('application_users', { application_id: here, user_id: userId, ...joined });
  expect(await listFrom()).toEqual(isTold ? [userId] : []);
});

test.each<[string, columns: () => Columns, isTold: boolean]>([
  ['then', () => ({ ended_at: FROM }), true],
  ['before', () => ({ ended_at: at(-MINUTE - 1) }), false],
  ['never', () => ({}), false],
  ['elsewhere', () => ({ ended_at: NOW, application_id: other }), false],
])('a grant that was ended: %s', async (_, columns, isTold) => {
  const { id } = await insert('oidc_grants', {
    application_id: here,
    user_id: userId,
    sid: randomUUID(),
    ...columns(),
  });
  expect(await listFrom()).toEqual(isTold ? [id] : []);
});

test.each<[string, columns: () => Columns, isTold: boolean]>([
  ['all', () => ({ user_id: EVERY_USER, changed_at: FROM }), true],
  ['all before', () => ({ user_id: EVERY_USER, changed_at: at(-MINUTE - 1) }), false],
  ['all elsewhere', () => ({ user_id: EVERY_USER, application_id: other }), false],
  ['a rule', () => ({ user_id: EVERY_RULE, changed_at: FROM }), true],
  ['a rule before', () => ({ user_id: EVERY_RULE, changed_at: at(-MINUTE - 1) }), false],
  ['those who are refused, still', () => ({ user_id: EVERY_REFUSED, changed_at: at(-MINUTE - 1) }), true],
  ['those who are refused elsewhere', () => ({ user_id: EVERY_REFUSED, application_id: other }), false],
])('what ends many: %s', async (_, columns, isTold) => {
  await insert('session_cutoffs', { application_id: here, ...columns() });
  expect(await listFrom()).toEqual(isTold ? ['everybody'] : []);
});

test('no earlier row is read', async () => {
  const before = { user_id: userId, changed_at: at(-MINUTE - 1) };
  await insert('session_cutoffs', { application_id: here, ...before });
  await insert('user_cutoffs', before);
  await insert('application_users', { application_id: here, user_id: userId });
  await insert('oidc_grants', { application_id: here, user_id: userId, ended_at: before.changed_at });
  const read: unknown[] = [];
  const reading: Run = async (select, parameters) => {
    const rows = await run(select, parameters);
    if (select.name === 'selectRevocations') read.push(rows);
    return rows;
  };
  await open(reading).find(here, await since(FROM));
  expect(read).toEqual([[]]);
});

test.each([
  ['of now', 0, true],
  ['of the next instant', 1, false],
  ['of 20 minutes ago', -20 * MINUTE, true],
  ['of just before', -20 * MINUTE - 1, false],
])('a cursor %s', async (_, ms, isUsable) => {
  const stopped: Run = async (statement, parameters) => {
    const rows = await run(statement, parameters);
    if (statement.name === 'selectPresent') for (const row of rows as { at: Date }[]) Object.assign(row, { at: NOW });
    return rows;
  };
  const revocations = open(stopped);
  const known = await begin(revocations);
  const answer = await revocations.find(here, { ...known, at: NOW.getTime() + ms });
  expect(answer?.rows !== undefined).toBe(isUsable);
});

test('a caller whose cursor is too old has to forget what it knows', async () => {
  const pageTokens = new PageTokens([randomBytes(32)]);
  const list = (request: object) => listRevocations(callOf(here), { revocations: open(), pageTokens }, request);
  const { until } = await list({});
  expect((await list({ since: until })).revocations).toEqual([]);
  const { epoch } = await begin();
  const since = pageTokens.seal({ at: at(-21 * MINUTE), id: `0 ${epoch}` }, ['revocations', here]);
  expect(await reason(list({ since }))).toBe('CURSOR_EXPIRED');
});

test('a caller who asks for little gets all of it, although another one asks for too much', async () => {
  const insertEnded = (from: number, to: number) => sql`
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent,
      authenticated_at, rotation, created_at, expires_at, ended_at)
    select ${here}, gen_random_uuid(), ${userId}, gen_random_uuid(), 1, '', '', '', ${FROM}, 0, ${FROM}, ${at(-DAY)},
      ${FROM}::timestamptz + n * interval '1 ms' from generate_series(${from}::int, ${to}::int) n`;
  const revocations = open();
  const all = await since(FROM);
  await insertEnded(0, 9_999);
  expect((await revocations.find(here, all))?.rows).toHaveLength(10_000);
  await insertEnded(10_000, 10_000);
  const latest = at(-MINUTE + 10_000);
  const everybody = { userId: null, grantId: null, cutoffAt: latest, changedAt: latest };
  expect((await revocations.find(here, all))?.rows).toEqual([everybody]);
  await insertEnded(10_001, 10_001);
  const last = await since(at(-MINUTE + 10_001));
  const [, many, few] = await Promise.all([all, all, last].map((known) => revocations.find(here, known)));
  expect([many?.rows?.length, few?.rows?.length]).toEqual([1, 1]);
  expect(few?.rows?.[0]?.grantId).not.toBeNull();
});

describe('a cursor waits for no transaction', () => {
  /** Returns whether a transaction by that URL, which stays open, is the oldest of the cursor. */
  async function isWaitedFor(through: string): Promise<boolean> {
    await using client = openDatabase(through);
    return client.sql.begin(async (transaction) => {
      await transaction`select 1`;
      await pause(5);
      const [row] = await sql`select date_trunc('milliseconds', clock_timestamp()) as present`;
      return (await begin()).oldestAt < row?.present.getTime();
    }) as Promise<boolean>;
  }

  test('but those of its own', async () => {
    expect(await isWaitedFor(clone.url)).toBe(true);
  });

  test('of another database', async () => {
    await using elsewhere = await cloneDatabase();
    expect(await isWaitedFor(elsewhere.url)).toBe(false);
  });

  test('of another role', async () => {
    const role = `role_${randomUUID().replaceAll('-', '')}`;
    await sql.unsafe(`create role ${role} login password '${role}'`);
    const own = Object.assign(new URL(clone.url), { username: role, password: role });
    expect(await isWaitedFor(own.href)).toBe(false);
    await sql.unsafe(`drop role ${role}`);
  });
});
