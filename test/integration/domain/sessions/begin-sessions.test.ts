/** Each condition of exchanges and renewals, a row each. What people see: test/contract/renew-session.test.ts, exchange-token.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Application } from '../../../../src/domain/core/call.ts';
import { exchangeToken } from '../../../../src/domain/sessions/exchange-token.ts';
import { renewSession } from '../../../../src/domain/sessions/renew-session.ts';
import { UNKNOWN_ORIGIN, updateSignIn } from '../../../../src/domain/sessions/session-origin.ts';
import type { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import type { LoginClaims } from '../../../../src/domain/tokens/verify-token.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';
import { holdLock, waitForLockWaiters } from '../../../support/lock.ts';

const { sql, insert, callAt, callOf, readTold, clone, createUser, createApplication } = await openDomain();
const MINUTE = 60_000;

let here: string;
let other: string;
let userId: string;
beforeEach(async () => {
  [here, other, userId] = [await createApplication(), await createApplication(), await createUser()];
  readTold();
});

type Columns = Readonly<Record<string, unknown>>;
const own = () => ({ application_id: here, user_id: userId });
const cutOff = (ms: number) => insert('session_cutoffs', { ...own(), cutoff_at: at(ms) });
const sessionsHere = () => sql`select * from sessions where application_id = ${here} and user_id = ${userId}`;

describe('a renewal', () => {
  const [ID, NEWEST] = [randomUUID(), randomUUID()];
  const renew = (settings: Partial<Application> = {}, sessionId = ID) =>
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
    ['beside another one', {}, { id: NEWEST }, {}, 'the newest'],
    ['beside one that has ended', {}, { id: NEWEST, ...GONE }, {}, 'a successor'],
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
  ])('%s', async (_, session, newest, settings, answer) => {
    const base = { id: ID, ...BEGUN, ...LEFT, authenticated_at: at(-HOUR) };
    await insert('session_ids', { ...own(), ...base, ...session });
    if (newest) await insert('sessions', { ...own(), ...base, ...newest });
    // A session elsewhere stands for nothing here.
    const elsewhere = { ...own(), application_id: other, expires_at: at(-MINUTE), began_at: at(-DAY) };
    const { id } = await insert('sessions', { ...elsewhere, cutoff_at: at(-DAY) });
    const before = await sessionsHere();
    expect(await renew(settings)).toBe(answer);
    if (answer !== 'a successor') expect(await sessionsHere()).toEqual(before);
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
  ])('is none once %s', async (_, change) => {
    const id = await insertOwn();
    await insert('sessions', { ...own(), application_id: other });
    await change();
    expect(await renew({}, id)).toBe(EXPIRED);
  });

  test('of a session that is not due writes no row', async () => {
    const id = await insertOwn();
    const version = () => sql`select xmin::text from sessions where id = ${id}`;
    const before = await version();
    await renew({}, id);
    expect(await version()).toEqual(before);
  });

  // On Citus the lock of a row is its worker's.
  test.skipIf(LAYOUT === 'distributed')('begins one successor, however many begin together', async () => {
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
});

describe('an exchange', () => {
  const BROWSER = randomBytes(32);
  const subscribed = new Set<string>();
  beforeEach(() => subscribed.clear());

  async function exchange(claims: Partial<LoginClaims> = {}, settings: Partial<Application> = {}, call = callAt()) {
    const login = {
      ...{
        userId,
        loginIntentId: randomUUID(),
        clientId: '',
        authenticatedAt: at(-MINUTE),
        method: 'page',
        assurance: 1,
      },
      ...claims,
    };
    const tokens = { verify: () => login } as unknown as AuthTokens;
    const peer = { ipAddress: '192.0.2.9', userAgent: 'Server' };
    const parts = { tokens, sessionMaxAgeSeconds: 86_400, subscribed };
    const { id } = await exchangeToken(callOf(here, settings, call), parts, peer, { authToken: 'any' });
    return id;
  }

  const insertIntent = async (columns: Columns = {}) => {
    const row = {
      ...{ ...own(), id: randomUUID(), redirect_uri: '', state: '', created_at: at(-MINUTE), expires_at: at(HOUR) },
      ...{ ip_address: '192.0.2.1', user_agent: 'Browser', browser_digest: BROWSER, on_behalf_by: 'operator' },
      ...columns,
    };
    await sql`insert into login_intents ${sql(row as never)}`;
    return { loginIntentId: row.id };
  };
  const KNOWN = { ip_address: '192.0.2.1', user_agent: 'Browser', browser_digest: BROWSER, on_behalf_by: 'operator' };
  const UNKNOWN = { ip_address: '192.0.2.9', user_agent: 'Server', browser_digest: null, on_behalf_by: null };

  test.each<[string, session: Columns | undefined, isKept: boolean]>([
    ['finds a session', {}, true],
    ['finds one that ends next', { expires_at: at(1) }, true],
    ['begins one at its end', { expires_at: NOW }, false],
    ['begins one where there is none', undefined, false],
    ['begins one after a cut-off', { authenticated_at: at(-2 * HOUR) }, false],
    ['finds one from after it', { authenticated_at: at(1 - 2 * HOUR) }, true],
  ])('%s', async (_, session, isKept) => {
    await cutOff(-2 * HOUR);
    const before = session && (await insert('sessions', { ...own(), ...session }));
    await insert('sessions', { ...own(), application_id: other });
    await insert('sessions', { ...own(), user_id: await createUser() });
    const id = await exchange();
    expect((await sessionsHere()).map((row) => row.id)).toEqual([id]);
    expect(id === before?.id).toBe(isKept);
  });

  test.each<[string, ms: number, isAccepted: boolean]>([
    ['at a cut-off', -MINUTE, false],
    ['after it', -MINUTE - 1, true],
  ])('%s', async (_, ms, isAccepted) => {
    await cutOff(ms);
    const answer = await exchange().catch((error) => error.reason);
    expect(await sessionsHere()).toHaveLength(isAccepted ? 1 : 0);
    if (!isAccepted) expect(answer).toBe('INVALID_TOKEN');
  });

  test('at a cut-off of all, after one of the user, is refused', async () => {
    await cutOff(-HOUR);
    await insert('session_cutoffs', { ...own(), user_id: '00000000-0000-0000-0000-000000000000', cutoff_at: NOW });
    expect(await exchange().catch((error) => error.reason)).toBe('INVALID_TOKEN');
  });

  test.each<[string, change: () => PromiseLike<unknown>]>([
    ['deleted', () => sql`update users set deleted_at = ${NOW} where id = ${userId}`],
    ['deactivated', () => sql`update users set deactivated_at = ${NOW} where id = ${userId}`],
  ])('finds nobody who is %s', async (_, change) => {
    await change();
    expect(await exchange().catch((error) => error.reason)).toBe('USER_NOT_FOUND');
  });

  test.each<[string, columns: () => Columns, isFound: boolean]>([
    ['of its intent', () => ({}), true],
    ['of none that is of another application', () => ({ application_id: other }), false],
    ['of none that is of another user', () => ({ user_id: null }), false],
  ])('stores and updates the origin %s', async (_, columns, isFound) => {
    await insertIntent();
    const intent = await insertIntent(columns());
    await exchange(intent);
    expect(await sessionsHere()).toMatchObject([isFound ? KNOWN : UNKNOWN]);
    const before = { ip_address: '192.0.2.5', user_agent: 'Before' };
    const changed = { ...before, browser_digest: randomBytes(32), on_behalf_by: 'before', authenticated_at: at(-HOUR) };
    await sql`update sessions set ${sql(changed)} where user_id = ${userId}`;
    await exchange({ ...intent, method: 'wallet', assurance: 2 });
    const origin = isFound ? KNOWN : { ...UNKNOWN, ...before };
    const sign = { method: 'wallet', assurance: 2, authenticated_at: at(-HOUR), last_authenticated_at: at(-MINUTE) };
    expect(await sessionsHere()).toMatchObject([{ ...origin, ...sign }]);
  });

  describe('a later sign-in', () => {
    const note = (sessionId: string) => {
      const login = { loginIntentId: randomUUID(), authenticatedAt: at(-MINUTE), method: 'wallet', assurance: 1 };
      return callAt().run(updateSignIn, { ...UNKNOWN_ORIGIN, ...login, applicationId: here, userId, sessionId });
    };
    const readMethod = async (id: string) =>
      (await sql`select method from sessions where id = ${id}`).map((row) => row.method);

    test.each<[string, first: number, last: number | null, isNoted: boolean]>([
      ['after the first', -MINUTE - 1, null, true],
      ['after the last', -HOUR, -MINUTE - 1, true],
      ['at the first', -MINUTE, null, false],
      ['at the last', -HOUR, -MINUTE, false],
    ])('is noted %s', async (_, first, last, isNoted) => {
      const instants = { authenticated_at: at(first), last_authenticated_at: last === null ? null : at(last) };
      const { id } = await insert('sessions', { ...own(), ...instants });
      await note(id);
      expect(await readMethod(id)).toEqual([isNoted ? 'wallet' : 'page']);
    });

    test('is noted in no other session', async () => {
      const { id } = await insert('sessions', { ...own(), application_id: other });
      await insert('sessions', { ...own(), id, user_id: await createUser() });
      await note(id);
      expect(await readMethod(id)).toEqual(['page', 'page']);
      const { id: next } = await insert('sessions', own());
      await note(id);
      expect(await readMethod(next)).toEqual(['page']);
    });
  });

  test.each<[string, seen: () => Columns | undefined, first: Date, last: Date]>([
    ['the first time', () => undefined, NOW, NOW],
    ['a day later', () => ({ last_signed_in_at: at(-DAY) }), at(-DAY), NOW],
    ['within a day', () => ({ last_signed_in_at: at(1 - DAY) }), at(-DAY), at(1 - DAY)],
  ])('counts a user of the application %s', async (_, seen, first, last) => {
    const columns = seen();
    if (columns) await insert('application_users', { ...own(), ...columns });
    const recent = { last_signed_in_at: at(-1) };
    await insert('application_users', { ...own(), application_id: other, ...recent });
    await insert('application_users', { ...own(), user_id: await createUser(), ...recent });
    await exchange();
    expect(
      await sql`select first_signed_in_at, last_signed_in_at from application_users
        where application_id = ${here} and user_id = ${userId}`,
    ).toEqual([{ first_signed_in_at: first, last_signed_in_at: last }]);
  });

  test.each<[string, browser: Buffer, isRefused: boolean]>([
    ['its browser', BROWSER, true],
    ['the browser of another login', randomBytes(32), false],
  ])('by a token from before the sign-out in %s', async (_, browser, isRefused) => {
    const intent = await insertIntent();
    await insertIntent({ browser_digest: browser });
    await sql`insert into browser_cutoffs values (${userId}, ${browser}, ${NOW}, ${at(DAY)})`;
    const answer = await exchange(intent).catch((error) => error.reason);
    expect(answer === 'INVALID_TOKEN').toBe(isRefused);
  });

  test('refuses less than the application demands', async () => {
    const answer = await exchange({ assurance: 1 }, { requiredAssurance: 2 }).catch((error) => error.reason);
    expect(answer).toBe('INVALID_TOKEN');
    expect(await exchange({ assurance: 2 }, { requiredAssurance: 2 })).toEqual(expect.any(String));
  });

  test('tells webhooks, and asks for them first where there was one', async () => {
    const sent: string[] = [];
    const recording = () => {
      sent.length = 0;
      const { run, ...call } = callAt();
      const record: typeof run = (statement, parameters) => {
        sent.push(statement.name);
        return run(statement, parameters);
      };
      return { ...call, run: record };
    };
    const next = async () => {
      const id = await createUser();
      await exchange({ userId: id }, {}, recording());
      return sent.filter((name) => /FindOrBegin|findOrBegin/.test(name));
    };
    const [plain, telling] = ['findOrBeginSession', 'findOrBeginSessionAndNotify'];
    expect(await next()).toEqual([plain]);
    const { id } = await insert('webhooks', { application_id: here });
    expect(await next()).toEqual([plain, telling]);
    expect(new Set(readTold())).toEqual(new Set([here]));
    expect(await next()).toEqual([telling]);
    // One who has a session says nothing about webhooks, and the session is not late.
    await exchange();
    await exchange({}, {}, recording());
    expect(sent.filter((name) => /Late/.test(name))).toEqual([]);
    expect(await next()).toEqual([telling]);
    await sql`delete from webhooks where id = ${id}`;
    expect([await next(), await next()]).toEqual([[telling], [plain]]);
    expect(await next()).toEqual([plain]);
  });

  test.each<[string, columns: Columns, isErased: boolean]>([
    ['deleted', { deleted_at: NOW }, false],
    ['erased', { deleted_at: NOW, email: '', wallet_address: '' }, true],
  ])('that a user survives who is %s meanwhile leaves nothing', async (_, columns, isErased) => {
    const intent = await insertIntent({ on_behalf_by: null });
    const { run, ...call } = callAt();
    const ending: typeof run = async (statement, parameters) => {
      const rows = await run(statement, parameters);
      if (/^findOrBegin/.test(statement.name))
        await sql`update users set ${sql(columns as never)} where id = ${userId}`;
      return rows;
    };
    const answer = await exchange(intent, {}, { ...call, run: ending }).catch((error) => error.reason);
    expect([answer, await sessionsHere()]).toEqual(['USER_NOT_FOUND', []]);
    const [stored] = await sql`select ip_address from login_intents where id = ${intent.loginIntentId}`;
    expect(stored?.ip_address === null).toBe(isErased);
  });
});
