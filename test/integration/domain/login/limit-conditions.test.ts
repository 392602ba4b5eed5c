/** Each condition of limits and of refused sign-ins, a row each. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import { CONSOLE_APPLICATION_ID } from '../../../../src/domain/core/own-applications.ts';
import { insertNewCode } from '../../../../src/domain/login/create-login-code.ts';
import { findToLink, toLinkBy } from '../../../../src/domain/login/find-to-link.ts';
import type { Familiarity } from '../../../../src/domain/login/known-origins.ts';
import { listSignInAttempts, selectOwnAttempts } from '../../../../src/domain/login/list-sign-in-attempts.ts';
import { deriveLoginCodeKeys, isLoginCode } from '../../../../src/domain/login/login-code.ts';
import { admitRepetition } from '../../../../src/domain/login/login-code-limits.ts';
import { noteSignIn } from '../../../../src/domain/login/note-sign-in.ts';
import {
  attemptReasonOf,
  provingUser,
  recordAttempt,
  UnknownAddresses,
} from '../../../../src/domain/login/record-attempt.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { at, DAY, HOUR, NOW } from '../../../support/domain-scene.ts';
import { holdLock } from '../../../support/lock.ts';
import { type Columns, type LoginScene, MINUTE, openLoginScenes } from '../../../support/login-scene.ts';

let { here, loginIntentId, userId, stranger } = {} as LoginScene;
const { sql, insert, callAt, clone, createUser, createApplication, watch, setUser } = await openLoginScenes((begun) => {
  ({ here, loginIntentId, userId, stranger } = begun);
});
const newKeys = () => deriveLoginCodeKeys([randomBytes(32)]);
const digest = createHash('sha256').update('browser').digest();

const reasonOf = (error: ServiceError) => ({ reason: error.reason, ...error.figures });

describe('new codes', () => {
  type Who = { email?: string; address?: string; digest?: Buffer };
  const emailOf = (n: number): Who => ({ email: `user${n}@example.com` });
  const siteOf = (n: number): Who => ({ address: `10.0.${n}.1` });
  const networkOf = (n: number): Who => ({ address: `10.0.0.${n}` });

  /** Asks for codes until one is refused, or until there are so many. Returns their lengths, and the refusal. */
  async function ask(
    familiarity: Familiarity,
    of: (n: number) => Who,
    most: number,
    { applicationId = here, keys = newKeys() } = {},
  ) {
    const settings = { keys, limitFactor: 1 };
    const lengths: number[] = [];
    for (let n = 0; n < most; n++) {
      const { email = 'ada@example.com', address = '192.0.2.1', digest: of_ = digest } = of(n);
      const browser = { digest: of_, address, userAgent: '', answerDigest: digest, knownAnswers: [] };
      const login = {
        applicationId,
        loginIntentId,
        browserDigest: of_,
        email,
        userId,
        walletAddress: null,
        identityId: null,
      };
      const code = insertNewCode(callAt(), settings, login, { familiarity, browser, email });
      const made = await code.catch(reasonOf);
      if ('reason' in made) return { lengths, refusal: made };
      lengths.push(made.code.length);
      const [stored] = await sql`select code_digest from login_codes where id = ${made.id}`;
      expect(isLoginCode(settings.keys, made.id, made.code, stored?.code_digest)).toBe(true);
    }
    return { lengths, refusal: undefined };
  }

  test.each<[string, Familiarity, of: (n: number) => Who, count: number, minutes: number]>([
    ['a known browser', 'browser', () => ({}), 10, 6],
    ['a known network', 'network', () => ({}), 10, 6],
    ['a known network for all addresses', 'network', emailOf, 100, 1],
    ['a site for an address', 'stranger', networkOf, 5, 20],
    ['all strangers for an address', 'stranger', siteOf, 10, 20],
    ['a network', 'stranger', emailOf, 20, 3],
    ['a site', 'stranger', (n) => ({ ...emailOf(n), ...networkOf(n) }), 100, 1],
  ])('%s', async (_, familiarity, of, count, minutes) => {
    const { lengths, refusal } = await ask(familiarity, of, count + 1);
    expect(lengths).toEqual(Array(count).fill(6));
    expect(refusal).toEqual({ reason: 'TOO_MANY_CODES', minutes });
    expect(await sql`select from login_codes where application_id = ${here}`).toHaveLength(count);
  });

  test('have more digits once there were many, and then wait for nobody', async () => {
    const keys = newKeys();
    const { lengths } = await ask('stranger', (n) => ({ ...emailOf(n), ...siteOf(n) }), 102, { keys });
    expect(lengths).toEqual([...Array(100).fill(6), 8, 8]);
    await using _ = await holdLock(clone, 'update rate_limits set empty_ms = empty_ms');
    const another = await ask('stranger', () => ({ ...emailOf(200), ...siteOf(200) }), 1, { keys });
    expect(another.lengths).toEqual([8]);
  });

  test('of a known browser are short, and of the console long', async () => {
    const many = await ask('browser', (n) => ({ digest: createHash('sha256').update(`${n}`).digest() }), 102);
    expect(new Set(many.lengths)).toEqual(new Set([6]));
    expect((await ask('browser', () => ({}), 1, { applicationId: CONSOLE_APPLICATION_ID })).lengths).toEqual([8]);
    expect((await ask('stranger', () => ({}), 1, { applicationId: CONSOLE_APPLICATION_ID })).lengths).toEqual([8]);
  });

  test.each<[Familiarity, count: number]>([
    ['stranger', 10],
    ['network', 12],
    ['browser', 12],
  ])('again, to a %s', async (familiarity, count) => {
    const settings = { keys: newKeys(), limitFactor: 1 };
    const browser = { digest, address: '192.0.2.1', userAgent: '', answerDigest: digest, knownAnswers: [] };
    const send = () => admitRepetition(callAt(), settings, { familiarity, browser, email: 'ada@example.com' });
    for (let n = 0; n < count; n++) await send();
    if (count === 10) expect(await send().catch(reasonOf)).toEqual({ reason: 'TOO_MANY_CODES', minutes: 20 });
  });
});

describe('an attempt', () => {
  const readAttempts = () => sql`
    select resource, action, method, network, user_agent, attempts from audit_events where application_id = ${here}`;
  const record = (keys = newKeys(), fields: Columns = {}) =>
    recordAttempt(callAt(), { keys }, {
      ...{ loginIntentId, reason: 'USER_NOT_FOUND', userId, method: 'page' },
      ...{ ipAddress: '192.0.2.7', userAgent: 'Browser', ...fields },
    } as never);
  const stored = { action: expect.stringMatching(/USER_NOT_FOUND$/), method: 'page', attempts: 1 };

  test.each<[string, fields: Columns, after: object[]]>([
    ['of a user', {}, [{ network: '192.0.2.0/24', user_agent: 'Browser', resource: 'user' }]],
    ['of nobody', { userId: null }, [{ network: '192.0.2.0/24', resource: '' }]],
    ['from nowhere', { ipAddress: null }, [{ network: null, resource: 'user' }]],
    ['at no login', { loginIntentId: randomUUID() }, []],
    ['at what is no login', { loginIntentId: 'x' }, []],
  ])('%s', async (_, fields, after) => {
    await record(newKeys(), fields);
    expect(await readAttempts()).toMatchObject(
      after.map((row) => ({ ...stored, ...row, ...('resource' in row && row.resource ? { resource: userId } : {}) })),
    );
  });

  test.each<[string, fields: (n: number) => Columns, count: number]>([
    ['of a user', (n) => ({ ipAddress: `10.0.${n}.1` }), 30],
    ['of a network', () => ({ userId: randomUUID() }), 30],
    ['of a site', (n) => ({ userId: randomUUID(), ipAddress: `10.0.0.${n}` }), 100],
    ['at an application', () => ({ userId: null, ipAddress: null }), 500],
  ])('%s is recorded until there are many', async (_, fields, count) => {
    const keys = newKeys();
    for (let n = 0; n < count + 2; n++) await record(keys, fields(n));
    expect(await readAttempts()).toHaveLength(count);
    const elsewhere = await createApplication();
    const { id } = await insert('login_intents', { application_id: elsewhere });
    await record(keys, { loginIntentId: id, userId: null, ipAddress: null });
    expect(await sql`select from audit_events where application_id = ${elsewhere}`).toHaveLength(1);
  });

  test('of a user who is erased is not kept, and takes as many statements without a user', async () => {
    await setUser({ deleted_at: NOW, email: '', wallet_address: '' });
    await record();
    expect(await readAttempts()).toEqual([]);
    const attempt = {
      loginIntentId,
      reason: 'USER_NOT_FOUND',
      method: 'page',
      ipAddress: null,
      userAgent: null,
    } as const;
    const [ofNobody, ofUser] = [watch(), watch()];
    await recordAttempt(ofNobody, { keys: newKeys() }, { ...attempt, userId: null });
    await recordAttempt(ofUser, { keys: newKeys() }, { ...attempt, userId: stranger });
    expect(ofNobody.names).toEqual(ofUser.names);
  });

  test('with an address that nobody has is counted by network and application, of 100 at most', async () => {
    const elsewhere = await createApplication();
    const unknown = new UnknownAddresses(newKeys());
    for (const address of ['192.0.2.1', '192.0.2.9', '192.0.3.1']) unknown.add(here, address);
    unknown.add(elsewhere, '192.0.2.1');
    for (let n = 0; n < 100; n++) unknown.add(here, `10.0.${n}.1`);
    unknown.add(here, '192.0.2.1');
    await unknown.save(callAt().run, NOW);
    const counted = await readAttempts();
    expect(counted).toHaveLength(99);
    expect(counted.filter(({ attempts }) => attempts > 1)).toMatchObject([{ network: '192.0.2.0/24', attempts: 3 }]);
    await unknown.save(callAt().run, NOW);
    expect(await readAttempts()).toHaveLength(99);
    unknown.add(here, '192.0.2.1');
    await unknown.save(callAt().run, NOW);
    expect(await readAttempts()).toHaveLength(100);
    for (let n = 0; n < 405; n++) {
      unknown.add(here, '192.0.2.1');
      await unknown.save(callAt().run, NOW);
    }
    expect(await readAttempts()).toHaveLength(500);
  });

  test('is one only if the error says so, and belongs to the user who was proved first', async () => {
    const reasons = (['USER_NOT_FOUND', 'VALIDATION_FAILED'] as const).map((reason) =>
      attemptReasonOf(new ServiceError(reason)),
    );
    expect(reasons).toEqual(['USER_NOT_FOUND', undefined]);
    const cause = new ServiceError('CODE_NOT_VALID', { attempt: { userId: null, cause: 'CODE_EXPIRED' } });
    expect(attemptReasonOf(cause)).toBe('CODE_EXPIRED');
    const refuse = (error: Error) => provingUser(userId, () => Promise.reject(error)).catch((thrown) => thrown);
    expect((await refuse(cause)).attempt.userId).toBeNull();
    expect((await refuse(new ServiceError('USER_NOT_FOUND'))).attempt).toEqual({ userId });
    expect(await refuse(new Error('other'))).not.toHaveProperty('attempt');
  });

  test('is listed for its user and its application, the newest first', async () => {
    const [elsewhere, somebody] = [await createApplication(), await createUser()];
    const add = (application_id: string, resource: string, ms: number, action = 'SignIn.USER_NOT_FOUND') => sql`
      insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
      values (${application_id}, ${at(ms)}, ${randomUUID()}, 'login_page', '', ${action}, ${resource}, '', '')`;
    await record();
    const [{ action } = { action: '' }] = await readAttempts();
    for (const [application, resource, ms] of [
      [here, userId, 2],
      [here, somebody, 3],
      [elsewhere, userId, 4],
      [elsewhere, '', 5],
    ] as const)
      await add(application, resource, ms, action);
    await add(here, userId, 6, 'CompleteLogin');
    const tokens = new PageTokens([randomBytes(32)]);
    const list = async (fields: Columns) =>
      (await listSignInAttempts(callAt(), tokens, fields)).rows.map(
        ({ occurredAt }) => occurredAt.getTime() - NOW.getTime(),
      );
    const [owner] = await sql`select email from users where id = ${userId}`;
    expect(await list({ userId })).toEqual([4, 2, 0]);
    expect(await list({ email: owner?.email })).toEqual([4, 2, 0]);
    expect(await list({ email: 'nobody@example.com' })).toEqual([]);
    expect(await list({ applicationId: here })).toEqual([3, 2, 0]);
    expect(await list({ applicationId: here, userId })).toEqual([2, 0]);
    expect((await list({})).slice(0, 5)).toEqual([5, 4, 3, 2, 0]);
    expect(await list({ email: owner?.email, userId }).catch(reasonOf)).toEqual({ reason: 'VALIDATION_FAILED' });
    const own = await callAt().run(selectOwnAttempts, { userId });
    expect(own.map(({ occurredAt }) => occurredAt.getTime() - NOW.getTime())).toEqual([4, 2, 0]);
    // The last thousand, and in one instant by their ID.
    await sql`
      insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id, method)
      select ${here}, ${at(9)}, lpad(n::text, 32, '0')::uuid, 'login_page', '', ${action}, ${userId}, '', '', n::text
      from generate_series(1, 1001) as n`;
    const last = await callAt().run(selectOwnAttempts, { userId });
    expect(last.map(({ method }) => Number(method))).toEqual(Array.from({ length: 1_000 }, (_, n) => 1_001 - n));
  });
});

describe('a sign-in without a code', () => {
  const notices = { toLanguage: () => 'en', wake: () => {} };
  const browserAt = (address: string) => ({
    digest: createHash('sha256').update(address).digest(),
    address,
    userAgent: '',
    answerDigest: digest,
    knownAnswers: [],
  });
  const readNotices = () => sql`select kind from notices where user_id = ${userId}`;

  test('tells of a new place once a day, and remembers it', async () => {
    const keys = newKeys();
    let woken = 0;
    const note = (address: string, ms = 0, more: object = { notices: { ...notices, wake: () => void woken++ } }) =>
      noteSignIn({ ...callAt(at(ms)), ...more }, keys, browserAt(address), {
        userId,
        applicationId: here,
        locale: null,
      });
    await note('192.0.2.1');
    expect([await readNotices(), woken]).toEqual([[{ kind: 'newDevice' }], 1]);
    expect(await sql`select from known_origins where user_id = ${userId}`).toHaveLength(2);
    await note('198.51.100.1', 1);
    await note('192.0.2.1', DAY + MINUTE);
    expect(woken).toBe(1);
    await note('203.0.113.1', DAY + MINUTE, {});
    expect(woken).toBe(1);
    await note('203.0.113.77', DAY + MINUTE);
    expect(woken).toBe(2);
  });

  test('of a user who is gone leaves nothing', async () => {
    await sql`update users set deleted_at = ${NOW} where id = ${userId}`;
    await noteSignIn({ ...callAt(), notices }, newKeys(), browserAt('192.0.2.1'), {
      userId,
      applicationId: here,
      locale: null,
    });
    expect([...(await readNotices()), ...(await sql`select from known_origins where user_id = ${userId}`)]).toEqual([]);
  });
});

describe('what a login links', () => {
  const where = () => ({ applicationId: here, loginIntentId, browserDigest: digest });
  const prove = (address: string, columns: Columns = {}) =>
    insert('wallet_challenges', {
      ...{ application_id: here, login_intent_id: loginIntentId, browser_digest: digest },
      address,
      is_proved: true,
      ...columns,
    });

  test.each<[string, columns: Columns, found: string | null]>([
    ['the wallet', {}, '0xnew'],
    ['a wallet until its end', { expires_at: at(1) }, '0xnew'],
    ['no wallet at its end', { expires_at: NOW }, '0xold'],
    ['no wallet that has not signed', { is_proved: false }, '0xold'],
    ['no wallet of another browser', { browser_digest: randomBytes(32) }, '0xold'],
    ['no wallet of another login', { login_intent_id: randomUUID() }, '0xold'],
    ['no older wallet', { created_at: at(-DAY) }, '0xold'],
  ])('%s', async (_, columns, found) => {
    await prove('0xold', { created_at: at(-2 * HOUR) });
    await prove('0xnew', columns);
    expect(await findToLink(callAt(), where(), '1')).toEqual({ walletAddress: found, identityId: null });
    const silent = { ...callAt(), run: () => Promise.reject(new Error('asked')) };
    expect(await findToLink(silent, where(), '')).toEqual({ walletAddress: null, identityId: null });
  });

  test('the identity at the provider', async () => {
    const { id } = await insert('proved_identities', {
      application_id: here,
      login_intent_id: loginIntentId,
      browser_digest: digest,
      provider: 'test',
    });
    for (const [link, identityId] of [
      ['test', id],
      ['other', null],
      ['1', null],
      ['', null],
    ] as const)
      expect(await findToLink(callAt(), where(), link)).toEqual({ walletAddress: null, identityId });
  });

  test.each<[string | null, identity: string | null, link: string, isLinked: boolean]>([
    ['0x1', null, '1', true],
    ['0x1', null, '', false],
    ['0x1', null, 'test', false],
    [null, 'identity', 'test', true],
    [null, 'identity', '1', false],
    [null, 'identity', '', false],
  ])('of the wallet %s and the %s by %j: %s', (walletAddress, identityId, link, isLinked) => {
    const code = { walletAddress, identityId };
    expect(toLinkBy(code, link)).toEqual(isLinked ? code : { walletAddress: null, identityId: null });
  });
});
