/** Each condition of exchanges, a row each. What people see: test/contract/exchange-token.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Application } from '../../../../src/domain/core/call.ts';
import { exchangeToken } from '../../../../src/domain/sessions/exchange-token.ts';
import { UNKNOWN_ORIGIN, updateSignIn } from '../../../../src/domain/sessions/session-origin.ts';
import type { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import type { LoginClaims } from '../../../../src/domain/tokens/verify-token.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, readTold, createUser, createApplication } = await openDomain();
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

  test.each<[string, settings: Partial<Application>, ms: number]>([
    ['15 minutes', {}, 15 * MINUTE],
    ['until the sign-in is too old', { sessionMaxAgeSeconds: 600 }, 9 * MINUTE],
  ])('begins a session for %s', async (_, settings, ms) => {
    await exchange({}, settings);
    expect(await sessionsHere()).toMatchObject([{ expires_at: at(ms) }]);
  });

  test.each<[string, attributeClaims: string[], attributes: object | null]>([
    ['that the application lists', ['plan'], { plan: 'pro' }],
    ['of which it lists none', [], null],
  ])('begins a session with the attributes %s', async (_, attributeClaims, attributes) => {
    await sql`update users set attributes = ${sql.json({ plan: 'pro', secret: 'churn risk' })} where id = ${userId}`;
    await exchange({}, { attributeClaims });
    expect((await sessionsHere()).map((row) => row.attributes)).toEqual([attributes]);
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
