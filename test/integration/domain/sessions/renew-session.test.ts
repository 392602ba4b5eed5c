/** Each condition of renewals, a row each. What people see: test/contract/renew-session.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { Application } from '../../../../src/domain/core/call.ts';
import { renewSession } from '../../../../src/domain/sessions/renew-session.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';
import { holdLock, waitForLockWaiters } from '../../../support/lock.ts';

const { sql, insert, callOf, clone, createUser, createApplication } = await openDomain();
const MINUTE = 60_000;

let here: string;
let other: string;
let userId: string;
beforeEach(async () => {
  [here, other, userId] = [await createApplication(), await createApplication(), await createUser()];
});

type Columns = Readonly<Record<string, unknown>>;
const own = () => ({ application_id: here, user_id: userId });
const cutOff = (ms: number) => insert('session_cutoffs', { ...own(), cutoff_at: at(ms) });
const sessionsHere = () => sql`select * from sessions where application_id = ${here} and user_id = ${userId}`;

const [ID, NEWEST] = [randomUUID(), randomUUID()];
const renew = (settings: Partial<Application> = {}, sessionId: string = ID) =>
  renewSession(callOf(here, settings), { sessionMaxAgeSeconds: 86_400 }, { sessionId }).then(
    ({ id }) => ({ [ID]: 'itself', [NEWEST]: 'the newest' })[id] ?? 'a successor',
    (error) => error.reason as string,
  );
const EXPIRED = 'SESSION_EXPIRED';
/** The session itself is 20 minutes old, with 40 left. */
const [BEGUN, LEFT] = [{ created_at: at(-20 * MINUTE) }, { expires_at: at(40 * MINUTE) }];
const GONE = { expires_at: at(-MINUTE) };
const IDLE = { sessionIdleSeconds: 3_600 };
const AN_HOUR = { sessionMaxAgeSeconds: 3_600 };

test.each<[string, session: Columns, newest: Columns | undefined, settings: Partial<Application>, answer: string]>([
  ['before half of its life', {}, {}, {}, 'itself'],
  ['of one that is due', {}, { created_at: at(-40 * MINUTE) }, {}, 'a successor'],
  ['of enough assurance', {}, { assurance: 2 }, { requiredAssurance: 2 }, 'itself'],
  ['of too little', {}, { assurance: 1 }, { requiredAssurance: 2 }, EXPIRED],
  ['without a row', {}, undefined, {}, EXPIRED],
  ['after the age at which it may be renewed', {}, {}, { sessionMaxAgeSeconds: 1 }, 'itself'],
  [
    'that a successor would not outlive',
    {},
    { created_at: at(-HOUR), expires_at: at(20 * MINUTE) },
    { sessionMaxAgeSeconds: 4_800 },
    'itself',
  ],
  ['beside another one', {}, { id: NEWEST }, {}, 'the newest'],
  ['beside one that has ended', {}, { id: NEWEST, ...GONE }, {}, 'a successor'],
  ['beside one that ends now', {}, { id: NEWEST, expires_at: NOW }, {}, 'a successor'],
  ['beside one that has been cut off then', {}, { id: NEWEST, ...GONE, cutoff_at: at(-HOUR) }, {}, EXPIRED],
  ['beside one that was cut off before', {}, { id: NEWEST, ...GONE, cutoff_at: at(-HOUR - 1) }, {}, 'a successor'],
  [
    'of a successor that would be dead',
    {},
    { id: NEWEST, expires_at: at(-HOUR / 2), authenticated_at: at(-HOUR - 1) },
    AN_HOUR,
    EXPIRED,
  ],
  [
    'of one that would be dead now',
    {},
    { id: NEWEST, expires_at: at(-HOUR / 2), authenticated_at: at(-HOUR) },
    AN_HOUR,
    EXPIRED,
  ],
  [
    'of one that would live a moment',
    {},
    { id: NEWEST, expires_at: at(-HOUR / 2), authenticated_at: at(1 - HOUR) },
    AN_HOUR,
    'a successor',
  ],
  [
    'beside one that ends now at its age',
    {},
    { id: NEWEST, expires_at: NOW, authenticated_at: at(-HOUR) },
    AN_HOUR,
    EXPIRED,
  ],
  [
    'beside one that has ended after its age',
    {},
    { id: NEWEST, expires_at: at(-1), authenticated_at: at(-DAY) },
    AN_HOUR,
    EXPIRED,
  ],
  ['of an expired one', GONE, GONE, {}, EXPIRED],
  ['of an expired one in time', GONE, GONE, IDLE, 'a successor'],
  ['of an expired one after its time', { expires_at: at(-HOUR) }, { expires_at: at(-HOUR) }, IDLE, EXPIRED],
  ['of an expired one where it is idle for its lifetime alone', GONE, GONE, { sessionIdleSeconds: 900 }, EXPIRED],
  ['of one that expires now', { expires_at: NOW }, { expires_at: NOW }, {}, EXPIRED],
  ['of an expired one without a row', GONE, undefined, IDLE, EXPIRED],
  ['of an expired one beside another', GONE, { id: NEWEST }, IDLE, 'the newest'],
  ['of an expired one that the other has cut off', GONE, { id: NEWEST, cutoff_at: at(-HOUR) }, IDLE, EXPIRED],
  ['of an expired one from after that', GONE, { id: NEWEST, cutoff_at: at(-HOUR - 1) }, IDLE, 'the newest'],
  [
    'of an expired one of that age',
    GONE,
    { id: NEWEST, authenticated_at: at(-MINUTE) },
    { ...IDLE, ...AN_HOUR },
    EXPIRED,
  ],
  [
    'of an expired one whose later chain is young',
    { ...GONE, authenticated_at: at(-2 * HOUR) },
    { id: NEWEST, last_authenticated_at: at(-1) },
    { ...IDLE, ...AN_HOUR },
    EXPIRED,
  ],
  [
    'of an expired one that was signed in to again',
    GONE,
    { id: NEWEST, last_authenticated_at: at(-1) },
    { ...IDLE, ...AN_HOUR },
    'the newest',
  ],
])('a renewal %s', async (_, session, newest, settings, answer) => {
  const base = { id: ID, ...BEGUN, ...LEFT, authenticated_at: at(-HOUR) };
  await insert('session_ids', { ...own(), ...base, ...session });
  if (newest) await insert('sessions', { ...own(), ...base, ...newest });
  // A session elsewhere stands for nothing here.
  const elsewhere = { ...own(), application_id: other, expires_at: at(-MINUTE), began_at: at(-DAY) };
  const { id } = await insert('sessions', { ...elsewhere, cutoff_at: at(-DAY) });
  await insert('sessions', { ...own(), application_id: await createApplication() });
  const neighbor = await insert('sessions', { ...own(), user_id: await createUser(), ...GONE });
  const before = await sessionsHere();
  expect(await renew(settings)).toBe(answer);
  if (answer !== 'a successor') expect(await sessionsHere()).toEqual(before);
  expect(await sql`select user_id from sessions where id = ${neighbor.id}`).toEqual([{ user_id: neighbor.user_id }]);
  expect(
    await sql`select id, expires_at from sessions where application_id = ${other} and user_id = ${userId}`,
  ).toEqual([{ id, expires_at: at(-MINUTE) }]);
});

const insertOwn = async (columns: Columns = {}) => {
  const base = { ...own(), ...BEGUN, ...LEFT, ...columns };
  const { id, created_at, expires_at } = await insert('sessions', base);
  await insert('session_ids', { ...own(), id, created_at, expires_at });
  return id;
};

test.each<[string, change: () => PromiseLike<unknown>]>([
  ['the user is deleted', () => sql`update users set deleted_at = ${NOW} where id = ${userId}`],
  ['the user is deactivated', () => sql`update users set deactivated_at = ${NOW} where id = ${userId}`],
  ['its sign-in is cut off', () => cutOff(-HOUR)],
  [
    'it is of another application',
    async () => {
      const [row] = await sql`delete from session_ids where user_id = ${userId} returning *`;
      await insert('session_ids', { ...row, application_id: other });
    },
  ],
])('a renewal is none once %s', async (_, change) => {
  const id = await insertOwn();
  await insert('sessions', { ...own(), application_id: other });
  await change();
  expect(await renew({}, id)).toBe(EXPIRED);
});

test.each<[string, session: Columns, settings: Partial<Application>, ms: number]>([
  ['15 minutes', {}, {}, 15 * MINUTE],
  ['until the sign-in is too old', {}, AN_HOUR, 2],
  ['longer after a later sign-in', { last_authenticated_at: at(-HOUR / 2) }, AN_HOUR, 15 * MINUTE],
])('a renewal begins a session for %s', async (_, session, settings, ms) => {
  const signedIn = { authenticated_at: at(2 - HOUR) };
  const id = await insertOwn({ created_at: at(-HOUR), expires_at: at(1), ...signedIn, ...session });
  await sql`update session_ids set ${sql(signedIn)} where user_id = ${userId}`;
  await renew(settings, id);
  expect(await sessionsHere()).toMatchObject([{ created_at: NOW, expires_at: at(ms) }]);
});

test('a renewal is none of an ID that nobody has given', async () => {
  expect([await renew({}, 'none'), await renew({}, randomUUID())]).toEqual([EXPIRED, EXPIRED]);
});

test('a renewal of a session that is not due writes no row', async () => {
  const id = await insertOwn();
  const version = () => sql`select xmin::text from sessions where id = ${id}`;
  const before = await version();
  await renew({}, id);
  expect(await version()).toEqual(before);
});

// On Citus the lock of a row is its worker's.
test.skipIf(LAYOUT === 'distributed')('a renewal begins one successor, however many begin together', async () => {
  const id = await insertOwn({ created_at: at(-HOUR), began_at: at(-HOUR) });
  await using lock = await holdLock(clone, `select from sessions where id = '${id}' for update`);
  const call = () => renewSession(callOf(here), { sessionMaxAgeSeconds: 86_400 }, { sessionId: id });
  const renewed = Promise.all([call(), call()]);
  await waitForLockWaiters(clone, 2);
  await lock.release();
  const [first, second] = await renewed;
  expect(second).toEqual(first);
  expect(first.id).not.toBe(id);
  expect(await sql`select from session_ids where user_id = ${userId}`).toHaveLength(2);
});
