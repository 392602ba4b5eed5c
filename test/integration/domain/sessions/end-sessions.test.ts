/** Each condition of the statements that end and list sessions, a row each. What people see: test/contract/revocations.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { sql as sqlText } from 'drizzle-orm';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { p, statement } from '../../../../src/database/sql/template.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { checkSession } from '../../../../src/domain/sessions/check-session.ts';
import { removeCutoffOfRefused } from '../../../../src/domain/sessions/cutoffs.ts';
import { endLateSession, endLateSessions } from '../../../../src/domain/sessions/late-sessions.ts';
import { listSessions } from '../../../../src/domain/sessions/list-sessions.ts';
import { listUserSessions } from '../../../../src/domain/sessions/list-user-sessions.ts';
import { LiveSessions, MAX_STALENESS_MS } from '../../../../src/domain/sessions/live-sessions.ts';
import { revokeSession } from '../../../../src/domain/sessions/revoke-session.ts';
import { endOwnSessions, revokeUserSessions } from '../../../../src/domain/sessions/revoke-user-sessions.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';
import { holdLock, waitForLockWaiters } from '../../../support/lock.ts';

const { sql, insert, callAt, callOf, clone, database, readTold, createUser, createApplication } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);
const settings = { sessionMaxAgeSeconds: 86_400 };
const EVERY_REFUSED = '00000000-0000-0000-0000-000000000001';

let here: string;
let other: string;
let userId: string;
beforeEach(async () => {
  [here, other, userId] = [await createApplication(), await createApplication(), await createUser()];
  await insert('webhooks', { application_id: here });
  readTold();
});

type Columns = Readonly<Record<string, unknown>>;
const reopen = statement('reopen')`with ${removeCutoffOfRefused(sqlText`select ${p.uuid('applicationId')}`)} select`;

/** Inserts a session of the user with its ID, and returns the ID. */
async function insertSession(columns: Columns = {}): Promise<string> {
  const own = { application_id: here, user_id: userId, ...columns };
  const { id, authenticated_at, created_at, expires_at } = await insert('sessions', own);
  const { application_id, user_id } = own;
  const ids = { application_id, user_id, id, authenticated_at, created_at, expires_at, kept_until: expires_at };
  await insert('session_ids', ids);
  return id;
}

const remember = async (columns: Columns = {}): Promise<Buffer> =>
  (await insert('remembered_sign_ins', { user_id: userId, ...columns })).token_digest;
const countRemembered = async (...digests: Buffer[]) =>
  (await sql`select from remembered_sign_ins where token_digest in ${sql(digests)}`).length;
const countSessions = async (...ids: string[]) => (await sql`select from sessions where id in ${sql(ids)}`).length;
const readCutoff = async () =>
  (await sql`select * from session_cutoffs where application_id = ${here} and user_id = ${userId}`)[0];

/** What ends the sessions of a user in an application. */
const ENDINGS: readonly [string, (call: ReturnType<typeof callOf>, id: string) => Promise<unknown>][] = [
  ['RevokeUserSessions', (call) => revokeUserSessions(call, { userId })],
  ['RevokeSession', (call, sessionId) => revokeSession(call, settings, { sessionId })],
  ['the user', (call) => endOwnSessions(call, { applicationId: here, userId })],
];

describe.each(ENDINGS)('by %s', (_, end) => {
  test('a session ends, and no other does', async () => {
    const stranger = await createUser();
    const own = await insertSession();
    const others = [await insertSession({ application_id: other }), await insertSession({ user_id: stranger })];
    await end(callOf(here), own);
    expect([await countSessions(own), await countSessions(...others)]).toEqual([0, 2]);
    expect(readTold()).toContain(here);
  });

  test('a session of a clock that is ahead ends', async () => {
    const own = await insertSession({ authenticated_at: at(HOUR) });
    await end(callOf(here), own);
    expect(await countSessions(own)).toBe(0);
    expect(await readCutoff()).toMatchObject({ cutoff_at: at(HOUR) });
  });

  test('a cut-off only moves forward', async () => {
    const own = await insertSession({ authenticated_at: at(HOUR) });
    const row = { application_id: here, user_id: userId };
    const early = { cutoff_at: at(-2 * HOUR), expires_at: at(-HOUR), changed_at: at(-HOUR) };
    await insert('session_cutoffs', { ...row, ...early });
    await end(callOf(here), own);
    const moved = await readCutoff();
    expect(moved?.cutoff_at).toEqual(at(HOUR));
    for (const column of ['expires_at', 'changed_at'])
      expect(moved?.[column].getTime()).toBeGreaterThanOrEqual(NOW.getTime());
    const late = { expires_at: at(1_000 * DAY), changed_at: at(DAY) };
    await sql`update session_cutoffs set ${sql(late)} where user_id = ${userId}`;
    await sql`delete from session_ids where user_id = ${userId}`;
    await end(callOf(here), await insertSession({ authenticated_at: at(2 * HOUR) }));
    expect(await readCutoff()).toMatchObject({ cutoff_at: at(2 * HOUR), ...late });
    await sql`update session_cutoffs set cutoff_at = ${at(3 * HOUR)} where user_id = ${userId}`;
    await revokeUserSessions(callOf(here), { userId });
    expect(await readCutoff()).toMatchObject({ cutoff_at: at(3 * HOUR), ...late });
  });

  test('remembered sign-ins go with it, also one that is stored meanwhile, where sign-ins are shared', async () => {
    const own = await insertSession();
    const before = await remember();
    const stranger = await remember({ user_id: randomUUID() });
    let late = before;
    const meanwhile = async () => {
      late = await remember();
    };
    await end(callOf(here, { singleSignOn: true }, callAt(NOW, meanwhile)), own);
    expect([await countRemembered(before, late), await countRemembered(stranger)]).toEqual([0, 1]);
  });

  test('a session that is stored meanwhile ends', async () => {
    const own = await insertSession();
    let late = own;
    const meanwhile = async () => {
      late = await insertSession();
    };
    const stranger = await createUser();
    await insert('user_cutoffs', { user_id: stranger });
    const theirs = await insertSession({ user_id: stranger });
    await end(callOf(here, {}, callAt(NOW, meanwhile)), own);
    expect([await countSessions(late), await countSessions(theirs), readTold()]).toEqual([0, 1, [here, here]]);
  });

  test('remembered sign-ins go with it at once', async () => {
    const [own, token] = [await insertSession(), await remember()];
    const dying = callAt(NOW, () => Promise.reject(new Error('The process has ended')));
    await expect(end(callOf(here, { singleSignOn: true }, dying), own)).rejects.toThrow('The process has ended');
    expect(await countRemembered(token)).toBe(0);
  });
});

test.each(ENDINGS.slice(0, 2))('by %s, no remembered sign-in goes where sign-ins are not shared', async (_, end) => {
  const own = await insertSession();
  const before = await remember();
  let late = before;
  const meanwhile = async () => {
    late = await remember();
  };
  await end(callOf(here, {}, callAt(NOW, meanwhile)), own);
  expect(await countRemembered(before, late)).toBe(2);
});

describe('RevokeSession', () => {
  const revoke = (sessionId: string, shares = false) =>
    revokeSession(callOf(here, { singleSignOn: shares }), settings, { sessionId });

  test('forgets the sign-ins of its session alone', async () => {
    const own = await insertSession({ last_authenticated_at: at(-HOUR / 2) });
    const instants = [-HOUR - 1, -HOUR, -HOUR / 2, 1 - HOUR / 2];
    const digests = await Promise.all(instants.map((ms) => remember({ authenticated_at: at(ms) })));
    await revoke(own, true);
    const left =
      await sql`select token_digest from remembered_sign_ins where user_id = ${userId} order by authenticated_at`;
    expect(left.map((row) => row.token_digest)).toEqual([digests[0], digests[3]]);
  });

  test('forgets that of a session whose row has gone', async () => {
    const [own, token] = [await insertSession(), await remember()];
    await sql`delete from sessions where id = ${own}`;
    await revoke(own, true);
    expect(await countRemembered(token)).toBe(0);
  });

  test('ends nothing by a session that has expired, and that no row can renew', async () => {
    const own = await insertSession({ expires_at: at(-1) });
    await sql`delete from sessions where id = ${own}`;
    await revokeSession(callOf(here, { sessionIdleSeconds: 3_600 }), settings, { sessionId: own });
    expect(await readCutoff()).toBeUndefined();
  });

  test('leaves a later session of a clock that is ahead, whose sign-in is later', async () => {
    const first = await insertSession();
    await sql`delete from sessions where id = ${first}`;
    const next = await insertSession({ authenticated_at: at(DAY) });
    await revoke(first);
    expect(await countSessions(next)).toBe(1);
  });

  test('says whose session it was, and changes nothing the second time', async () => {
    const id = randomUUID();
    await insert('session_ids', { application_id: other, id, user_id: await createUser() });
    await insert('session_ids', { application_id: here, user_id: await createUser() });
    const own = await insertSession({ id });
    expect([await revoke(own, true), await revoke(own, true)]).toEqual([userId, userId]);
    expect([await revoke(randomUUID()), await revoke('none')]).toEqual([undefined, undefined]);
    expect(await sql`select from session_cutoffs where application_id = ${here}`).toHaveLength(1);
    const events = await sql`select from audit_events where resource = ${userId}`;
    expect(events).toHaveLength(1);
  });
});

test.each<[string, cutoff: () => Columns, isRemoved: boolean]>([
  ['of then', () => ({}), true],
  ['from before', () => ({ expires_at: at(DAY - 1) }), true],
  ['that was written once more', () => ({ expires_at: at(DAY + 1) }), false],
  ['of another application', () => ({ application_id: other }), false],
  ['of a user', () => ({ user_id: userId }), false],
])('the cut-off of all who are refused goes: one %s', async (_, cutoff, isRemoved) => {
  const row = { application_id: here, user_id: EVERY_REFUSED, expires_at: at(DAY), ...cutoff() };
  await insert('session_cutoffs', row);
  await callAt().run(reopen, { applicationId: here, cutoffExpiresAt: at(DAY) });
  const { application_id, user_id } = row;
  const left = await sql`select from session_cutoffs where application_id = ${application_id} and user_id = ${user_id}`;
  expect(left).toHaveLength(isRemoved ? 0 : 1);
});

describe('a late session', () => {
  const late = async (columns: Columns = {}) => {
    await insert('user_cutoffs', { user_id: columns.user_id ?? userId });
    return insertSession(columns);
  };
  const end = (meanwhile?: () => PromiseLike<unknown>) =>
    endLateSession(callAt(NOW, meanwhile), { applicationId: here, userId, mayRemoveUser: false });

  test('is not one that has begun since', async () => {
    const id = await late();
    await end(() => sql`update sessions set authenticated_at = ${NOW} where id = ${id}`);
    expect(await countSessions(id)).toBe(1);
  });

  test('is not one that begins while the look waits', async () => {
    const id = await late();
    await using lock = await holdLock(
      clone,
      `update sessions set id = '${here}', authenticated_at = now() where id = '${id}'`,
    );
    const ended = end();
    await waitForLockWaiters(clone);
    await lock.release();
    await ended;
    expect(await countSessions(here)).toBe(1);
  });

  test('is none elsewhere, and none of somebody else', async () => {
    await insertSession();
    await insert('session_cutoffs', { application_id: here, user_id: userId, cutoff_at: at(-2 * HOUR) });
    const early = { authenticated_at: at(-3 * HOUR) };
    await insertSession({ ...early, application_id: other });
    await insertSession({ ...early, user_id: await createUser() });
    expect(await end()).toBeUndefined();
  });

  test('is ended of its user alone', async () => {
    const [own, theirs] = [await late(), await late({ user_id: await createUser() })];
    await endLateSessions(callAt(), userId);
    expect([await countSessions(own), await countSessions(theirs)]).toEqual([0, 1]);
  });
});

describe('the user', () => {
  const grant = () => ({ application_id: here, user_id: userId });
  test.each<[string, prepare: () => Promise<unknown>, hasEnded: boolean]>([
    ['of a session', () => insertSession(), true],
    ['of a grant', () => insert('oidc_grants', grant()), true],
    ['of nothing', async () => undefined, false],
    ['of a session elsewhere', () => insertSession({ application_id: other }), false],
    ['of a grant elsewhere', () => insert('oidc_grants', { ...grant(), application_id: other }), false],
    ["of somebody else's grant", () => insert('oidc_grants', { ...grant(), user_id: randomUUID() }), false],
    [
      'of a grant that was cut off',
      async () => {
        await insert('oidc_grants', grant());
        await insert('user_cutoffs', { user_id: userId });
      },
      false,
    ],
  ])('is cut off once, if it is the end %s', async (_, prepare, hasEnded) => {
    await prepare();
    await endOwnSessions(callAt(), { applicationId: here, userId });
    await endOwnSessions(callAt(), { applicationId: here, userId });
    const events = await sql`select from audit_events where resource = ${userId}`;
    expect([await readCutoff(), events.length]).toEqual(hasEnded ? [expect.anything(), 1] : [undefined, 0]);
  });
});

type Ended = [string, Columns, (() => PromiseLike<unknown>)?];
const gone = (column: string) => sql`update users set ${sql({ [column]: NOW })} where id = ${userId}`;

/** What no list and no check finds. */
const ENDED: Ended[] = [
  ['of a user who is deactivated', {}, () => gone('deactivated_at')],
  ['of a user who is deleted', {}, () => gone('deleted_at')],
  ['at a cut-off', {}, () => insert('session_cutoffs', { application_id: here, user_id: userId })],
];

describe('a check', () => {
  const check = (sessionId: string) => new LiveSessions(database.eachWithin(60_000)).find(here, sessionId, 0);

  test.each<Ended>([
    ...ENDED,
    [
      'of another application',
      {},
      async () => {
        const [row] = await sql`delete from session_ids where user_id = ${userId} returning *`;
        await insert('session_ids', { ...row, application_id: other });
      },
    ],
    ['whose row has gone', {}, () => sql`delete from sessions where application_id = ${here} and user_id = ${userId}`],
  ])('finds no session %s', async (_, columns, change) => {
    const sessionId = await insertSession(columns);
    await insertSession({ user_id: await createUser() });
    await insert('sessions', { application_id: other, user_id: userId });
    expect(await check(sessionId)).toMatchObject({ userId });
    await change?.();
    expect(await check(sessionId)).toBeUndefined();
  });

  test('finds one who is refused until all those are cut off', async () => {
    const sessionId = await insertSession();
    await sql`update applications set restrict_access = true where id = ${here}`;
    await insert('session_cutoffs', { application_id: here, user_id: randomUUID() });
    expect(await check(sessionId)).toMatchObject({ userId });
    await insert('session_cutoffs', { application_id: here, user_id: EVERY_REFUSED });
    expect(await check(sessionId)).toBeUndefined();
  });

  test.each<[string, expiresAt: Date | undefined, isFound: boolean]>([
    ['that ends next', at(1), true],
    ['that ends now', NOW, false],
    ['that nobody finds', undefined, false],
  ])('by an ID in capitals is of a session %s', async (_, expiresAt, isFound) => {
    const find = vi.fn(async () => expiresAt && { expiresAt });
    const checkWith = (sessionId: string) =>
      checkSession(callOf(here), { find } as unknown as LiveSessions, { sessionId });
    expect([await checkWith('none'), await checkWith(here.toUpperCase())]).toEqual([
      undefined,
      isFound ? { expiresAt } : undefined,
    ]);
    expect(find.mock.calls).toEqual([[here, here, MAX_STALENESS_MS]]);
  });

  test('is answered by an answer of before, unless the caller asks for a fresh one', async () => {
    const sessionId = await insertSession();
    let reads = 0;
    const run = database.eachWithin(60_000);
    const live = new LiveSessions((statement, parameters) => {
      reads++;
      return run(statement, parameters);
    });
    for (const maxStalenessMs of [undefined, undefined, 0])
      await checkSession(callOf(here), live, { sessionId, ...(maxStalenessMs === 0 && { maxStalenessMs }) });
    expect(reads).toBe(2);
    live.clear();
    await checkSession(callOf(here), live, { sessionId });
    expect(reads).toBe(3);
  });

  test('knows what was read after this replica has ended the sessions of the user', () => {
    const live = new LiveSessions(database.eachWithin(60_000));
    const clock = vi.spyOn(performance, 'now').mockReturnValue(5);
    live.forgetUser(userId);
    expect([5, 5.1].map((readAt) => live.isCurrent(userId, readAt))).toEqual([false, true]);
    expect(live.isCurrent(randomUUID(), 5)).toBe(true);
    clock.mockRestore();
  });
});

describe('a list', () => {
  const ofHere = async (filter: { userId?: string } = {}) =>
    (await listSessions(callOf(here), tokens, { ...filter })).rows.map((row) => row.userId);
  const ofUser = async () =>
    (await listUserSessions(callAt(), tokens, { userId })).rows.map((row) => row.applicationId);

  test('has the sessions of the application, of its user, and of the user everywhere', async () => {
    const somebody = await createUser();
    await insertSession();
    await insertSession({ user_id: somebody, began_at: at(-1) });
    await insertSession({ application_id: other, began_at: at(-1) });
    expect([await ofHere(), await ofHere({ userId }), await ofUser()]).toEqual([
      [somebody, userId],
      [userId],
      [other, here],
    ]);
  });

  test.each<Ended>([...ENDED, ['that ends now', { expires_at: NOW }]])(
    'has no session %s',
    async (_, columns, change) => {
      await insertSession(columns);
      await change?.();
      expect([...(await ofHere()), ...(await ofHere({ userId }))]).toEqual([]);
    },
  );

  const refuse = async () => {
    await sql`update applications set restrict_access = true where id = ${here}`;
    await insert('session_cutoffs', { application_id: here, user_id: EVERY_REFUSED });
  };
  test.each<Ended>([
    ['that ends now', { expires_at: NOW }],
    ['of a restricted application', {}, refuse],
    ['of a deleted application', {}, () => sql`update applications set deleted_at = ${NOW} where id = ${here}`],
  ])('of a user has no session %s', async (_, columns, change) => {
    await insertSession(columns);
    await change?.();
    expect(await ofUser()).toEqual([]);
  });
});
