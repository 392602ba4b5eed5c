/** Each condition of what completes a login, a row each. What people see: test/contract/login.test.ts and test/login-page. */
import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { noteEntryOnBehalf } from '../../../../src/domain/login/accept-invitation.ts';
import { completeLogin, completeLoginElsewhere } from '../../../../src/domain/login/complete-login.ts';
import { at, HOUR, NOW, reason } from '../../../support/domain-scene.ts';
import { address, type Columns, type LoginScene, MINUTE, openLoginScenes } from '../../../support/login-scene.ts';

let { here, elsewhere, loginIntentId, untouched, userId, stranger, email, wallet, browser, origin } = {} as LoginScene;
const { sql, insert, callAt, tokens, keys, watch, ...scene } = await openLoginScenes((begun) => {
  ({ here, elsewhere, loginIntentId, untouched, userId, stranger, email, wallet, browser, origin } = begun);
});
const { setIntent, setApplication, setUser, restrict, identify, identity, readIntent } = scene;
const invite = (columns: Columns) =>
  insert('invitations', { application_id: here, user_id: userId, added_user: true, ...columns });
const letIn = (application_id = here, user_id = userId) => insert('added_users', { application_id, user_id });
async function letGroupIn(columns: Columns = {}, member = userId, application_id = here) {
  const { id } = await insert('groups', {});
  await insert('group_members', { group_id: id, user_id: member });
  await insert('application_groups', { application_id, group_id: id, ...columns });
}

/** On the login page if something is proved, and otherwise on another page. */
const complete = ({ proved, ...fields }: Columns = {}, call = callAt()) => {
  const page = proved ? { how: { method: 'email', ...origin }, proved } : {};
  return completeLogin(call, tokens, { loginIntentId, userId, ...fields }, page);
};

test.each<[string, prepare: () => Promise<unknown>, fields: () => Columns, answer: string]>([
  ['an open login', async () => {}, () => ({}), 'done'],
  ['one until its end', () => setIntent({ expires_at: at(1) }), () => ({}), 'done'],
  ['one at its end', () => setIntent({ expires_at: NOW }), () => ({}), 'LOGIN_INTENT_EXPIRED'],
  ['a completed one', () => setIntent({ completed_at: at(-1) }), () => ({}), 'LOGIN_INTENT_COMPLETED'],
  [
    'one that leads nowhere',
    () => setApplication({ redirect_uris: ['https://new.test/'] }),
    () => ({}),
    'LOGIN_INTENT_EXPIRED',
  ],
  [
    'one of an application that is gone',
    () => setApplication({ deleted_at: NOW }),
    () => ({}),
    'LOGIN_INTENT_NOT_FOUND',
  ],
  ['by a user who is gone', () => setUser({ deleted_at: NOW }), () => ({}), 'USER_NOT_FOUND'],
  ['by one who is deactivated', () => setUser({ deactivated_at: NOW }), () => ({}), 'USER_NOT_FOUND'],
  ['by nobody', async () => {}, () => ({ userId: randomUUID() }), 'USER_NOT_FOUND'],
  ['by the address', async () => {}, () => ({ proved: { email: email.toUpperCase() } }), 'done'],
  ['by another address', async () => {}, () => ({ proved: { email: address() } }), 'CODE_NOT_VALID'],
  ['by the wallet', async () => {}, () => ({ proved: { walletAddress: wallet } }), 'done'],
  ['by another wallet', async () => {}, () => ({ proved: { walletAddress: randomUUID() } }), 'USER_NOT_FOUND'],
  ['by the identity', identify, () => ({ proved: identity() }), 'done'],
  ['by no identity', async () => {}, () => ({ proved: identity() }), 'USER_NOT_FOUND'],
  [
    'by the identity of somebody else',
    () => identify({ user_id: stranger }),
    () => ({ proved: identity() }),
    'USER_NOT_FOUND',
  ],
  ['by another subject', () => identify({ subject: stranger }), () => ({ proved: identity() }), 'USER_NOT_FOUND'],
  ['by another issuer', () => identify({ issuer: 'https://b.test' }), () => ({ proved: identity() }), 'USER_NOT_FOUND'],
  ['on behalf', async () => {}, () => ({ onBehalfBy: 'desk' }), 'done'],
  [
    'on behalf, where it must be fresh',
    () => setIntent({ prompt: 'LOGIN' }),
    () => ({ onBehalfBy: 'desk' }),
    'SIGN_IN_NOT_FRESH',
  ],
  [
    'on behalf, where it has an age',
    () => setIntent({ max_age_seconds: 0 }),
    () => ({ onBehalfBy: 'desk' }),
    'SIGN_IN_NOT_FRESH',
  ],
  ['fresh', () => setIntent({ prompt: 'LOGIN', max_age_seconds: 0 }), () => ({}), 'done'],
  ['of two factors by one', () => setIntent({ required_assurance: 2 }), () => ({}), 'ASSURANCE_NOT_MET'],
  ['of two factors by two', () => setIntent({ required_assurance: 2 }), () => ({ assurance: 2 }), 'done'],
  ['of two factors by three', () => setIntent({ required_assurance: 2 }), () => ({ assurance: 3 }), 'done'],
  [
    'of two factors on behalf',
    () => setIntent({ required_assurance: 2 }),
    () => ({ assurance: 2, onBehalfBy: 'desk' }),
    'ASSURANCE_NOT_MET',
  ],
  [
    'where the application has two factors',
    () => setApplication({ required_assurance: 2 }),
    () => ({}),
    'ASSURANCE_NOT_MET',
  ],
  [
    'where it has fewer than the login',
    async () => [await setApplication({ required_assurance: 2 }), await setIntent({ required_assurance: 3 })],
    () => ({ assurance: 2 }),
    'ASSURANCE_NOT_MET',
  ],
  ['to a restricted application', restrict, () => ({}), 'ACCESS_NOT_ALLOWED'],
  ['there by an address', restrict, () => ({ proved: { email } }), 'ACCESS_NOT_ALLOWED'],
  ['there by nobody', restrict, () => ({ proved: { email: address() } }), 'CODE_NOT_VALID'],
  ['there by who was let in', async () => [await restrict(), await letIn()], () => ({}), 'done'],
  [
    'there by who was let in, proved',
    async () => [await restrict(), await letIn()],
    () => ({ proved: { email } }),
    'done',
  ],
  [
    'there by who was let in elsewhere',
    async () => [await restrict(), await letIn(elsewhere)],
    () => ({}),
    'ACCESS_NOT_ALLOWED',
  ],
  [
    'there beside who was let in',
    async () => [await restrict(), await letIn(here, stranger)],
    () => ({}),
    'ACCESS_NOT_ALLOWED',
  ],
  ['there by a group', async () => [await restrict(), await letGroupIn()], () => ({}), 'done'],
  [
    'there by a group without access',
    async () => [await restrict(), await letGroupIn({ allows_access: false })],
    () => ({}),
    'ACCESS_NOT_ALLOWED',
  ],
  [
    'there by a group of others',
    async () => [await restrict(), await letGroupIn({}, stranger)],
    () => ({}),
    'ACCESS_NOT_ALLOWED',
  ],
  [
    'there by a group elsewhere',
    async () => [await restrict(), await letGroupIn({}, userId, elsewhere)],
    () => ({}),
    'ACCESS_NOT_ALLOWED',
  ],
  [
    'there by an invitation',
    async () => [await restrict(), await letIn(), await invite({ expires_at: at(1) })],
    () => ({}),
    'done',
  ],
  [
    'there by one that has expired',
    async () => [await restrict(), await letIn(), await invite({ expires_at: NOW })],
    () => ({}),
    'ACCESS_NOT_ALLOWED',
  ],
  [
    'there by one that was accepted',
    async () => [await restrict(), await letIn(), await invite({ expires_at: NOW, accepted_at: at(-HOUR) })],
    () => ({}),
    'done',
  ],
  [
    'there, fresh',
    async () => [await restrict(), await letIn(), await setIntent({ prompt: 'LOGIN' })],
    () => ({}),
    'done',
  ],
  [
    'there, of two factors by one',
    async () => [await restrict(), await setIntent({ required_assurance: 2 })],
    () => ({}),
    'ASSURANCE_NOT_MET',
  ],
  ['on another page with a second factor', () => setUser({ has_second_factor: true }), () => ({}), 'done'],
])('completes %s', async (_, prepare, fields, answer) => {
  await prepare();
  const given = fields();
  expect(await reason(complete(given))).toBe(answer);
  const isDone = answer === 'done';
  const {
    assurance = 1,
    onBehalfBy = null,
    proved,
  } = given as { assurance?: number; onBehalfBy?: string; proved?: object };
  expect(await readIntent()).toMatchObject(
    isDone
      ? {
          ...{ user_id: userId, assurance, on_behalf_by: onBehalfBy, authenticated_at: null },
          ...{ method: proved ? 'email' : onBehalfBy ? 'impersonation' : 'page' },
          ...{ browser_digest: proved ? browser.digest : null, ip_address: proved ? browser.address : null },
        }
      : { user_id: null, method: null, assurance: null },
  );
  expect(await readIntent(untouched)).toMatchObject({ completed_at: null, user_id: null });
  expect(
    await sql`select resource, on_behalf_by from audit_events where application_id = ${here} and action = 'test'`,
  ).toEqual(isDone ? [{ resource: userId, on_behalf_by: onBehalfBy }] : []);
});

describe('an invitation', () => {
  test.each<[string, columns: () => Columns, isTried: boolean, ms?: number]>([
    ['that is open', () => ({}), true],
    ['until its end', () => ({ expires_at: at(1) }), true],
    ['at its end', () => ({ expires_at: NOW }), false],
    ['that was accepted', () => ({ accepted_at: at(-HOUR) }), false],
    ['of somebody else', () => ({ user_id: stranger }), false],
    ['to another application', () => ({ application_id: elsewhere }), false],
  ])('%s is accepted by a sign-in, which costs others no statement', async (_, columns, isTried) => {
    const given = columns();
    const { id } = await invite(given);
    const read = async () => (await sql`select accepted_at, on_behalf_at from invitations where id = ${id}`)[0];
    const before = await read();
    const call = watch();
    await complete({ onBehalfBy: 'desk' }, { ...call });
    expect(await read()).toEqual({ ...before, on_behalf_at: isTried ? NOW : null });
    await setIntent({ completed_at: null });
    await complete({}, call);
    expect((await read())?.accepted_at).toEqual(isTried ? NOW : before?.accepted_at);
    expect(call.names.filter((name) => /invitation|onBehalf/i.test(name))).toEqual(
      isTried ? ['markEnteredOnBehalf', 'acceptInvitation'] : [],
    );
  });

  test('keeps the first entry on behalf of its user', async () => {
    await invite({});
    await insert('invitations', { application_id: here, user_id: stranger });
    await invite({ accepted_at: at(-HOUR), expires_at: at(1) });
    for (const ms of [0, HOUR]) await noteEntryOnBehalf(callAt(at(ms)), { applicationId: here, userId });
    const kept = await sql`
      select on_behalf_at from invitations where application_id = ${here}
      order by user_id = ${stranger}, accepted_at nulls first`;
    expect(kept).toEqual([{ on_behalf_at: NOW }, { on_behalf_at: null }, { on_behalf_at: null }]);
  });
});

test('another page costs no statement for what it does not pass, and holds no sign-in', async () => {
  const call = watch();
  await complete({}, call);
  expect(call.names).toEqual(['completeLoginIntent']);
  expect(await reason(complete({ loginIntentId: untouched, userId: randomUUID() }, call))).toBe('USER_NOT_FOUND');
  expect(call.names.slice(1)).toEqual(['completeLoginIntent', 'selectIntent']);
});

test.each<[string, of: () => string, isLater: boolean]>([
  ['of the user', () => userId, true],
  ['of somebody else', () => stranger, false],
])('a sign-in is later than the cut-off %s', async (_, of, isLater) => {
  await insert('user_cutoffs', { user_id: of(), cutoff_at: at(HOUR) });
  await complete();
  const completedAt = (await readIntent())?.completed_at.getTime();
  if (isLater) expect(completedAt).toBe(at(HOUR).getTime() + 1);
  else expect(Math.abs(completedAt - Date.now())).toBeLessThan(MINUTE);
});

describe('the answer', () => {
  test.each<[string, application: Columns, authenticatedAt: Date | null, isShared: boolean]>([
    ['is for one application', { single_sign_on: false }, null, false],
    ['is shared', { single_sign_on: true }, null, true],
    ['is not shared if the sign-in was before', { single_sign_on: true }, at(-HOUR), false],
  ])('%s', async (_, application, authenticatedAt, isShared) => {
    await setApplication(application);
    await setIntent({ prompt: 'PASSKEYS' });
    const counts: string[] = [];
    const call = { ...callAt(), count: (name: string) => void counts.push(name) };
    const how = { method: 'acme', ...origin, authenticatedAt };
    const answer = await completeLogin(
      call,
      tokens,
      { loginIntentId, userId, assurance: 2 },
      { how, proved: { email } },
    );
    const intent = await readIntent();
    expect(answer.prompt).toBe('PASSKEYS');
    expect(answer.signIn).toEqual(
      isShared
        ? { applicationId: here, userId, method: 'acme', assurance: 2, authenticatedAt: intent?.completed_at }
        : undefined,
    );
    const claims = decodeJwt(answer.authToken);
    const shown = authenticatedAt ?? intent?.completed_at;
    expect(claims).toMatchObject({
      auth_time: shown.getTime(),
      amr: ['acme'],
      acr: '2',
      iat: Math.floor(intent?.completed_at / 1_000),
    });
    expect(intent?.authenticated_at).toEqual(authenticatedAt);
    expect(counts).toEqual(['sign_ins']);
    expect(Object.fromEntries(new URL(answer.redirectUrl).searchParams)).toEqual({
      authToken: answer.authToken,
      state: 'state',
      iss: 'https://usher.test',
    });
  });

  test('is the code of a protocol', async () => {
    await setIntent({ response_mode: 'query' });
    expect(await complete()).toMatchObject({ authToken: '', redirectUrl: `https://app.test/?code=${loginIntentId}` });
  });

  test.each<[given: Columns, stored: Columns]>([
    [{}, { ip_address: null, user_agent: null }],
    [{ ipAddress: '::1' }, { ip_address: '::1', user_agent: '' }],
    [{ userAgent: 'x'.repeat(513) }, { ip_address: '', user_agent: 'x'.repeat(512) }],
  ])('of another page keeps its origin: case %#', async (given, stored) => {
    await complete(given);
    expect(await readIntent()).toMatchObject(stored);
  });

  test.each([
    ['ipAddress', 'nowhere', '::1'],
    ['ipAddress', '', '::1'],
    ['ipAddress', `fe80::1%${'x'.repeat(57)}`, `fe80::1%${'x'.repeat(56)}`],
    ['userAgent', 'x'.repeat(8_193), 'x'.repeat(8_192)],
    ['userAgent', 1, ''],
    ['assurance', 0, 1],
    ['assurance', 4, 3],
  ])('needs a valid %s: case %#', async (name, value, last) => {
    expect(await reason(complete({ [name]: value }))).toBe('VALIDATION_FAILED');
    expect(await reason(complete({ [name]: last }))).toBe('done');
  });
});

test.each<[string, fields: Columns, attempt: Columns | undefined]>([
  [
    'of a user',
    { userAgent: 'Agent', ipAddress: '192.0.2.7' },
    { network: '192.0.2.0/24', user_agent: 'Agent', isOfUser: true },
  ],
  ['without an origin', {}, { network: null, user_agent: null, isOfUser: true }],
  [
    'of nobody',
    { userId: randomUUID(), assurance: 3, userAgent: 'Agent', ipAddress: '192.0.2.7' },
    { network: '192.0.2.0/24', user_agent: null, isOfUser: false },
  ],
  ['on behalf', { onBehalfBy: 'desk' }, undefined],
  ['that is no request', { assurance: 9 }, undefined],
])('a refusal on another page %s', async (_, fields, attempt) => {
  await setIntent({ required_assurance: 3 });
  const done = completeLoginElsewhere(callAt(), { codes: { keys }, tokens }, { loginIntentId, userId, ...fields });
  expect(await reason(done)).not.toBe('done');
  const { isOfUser, ...columns } = attempt ?? {};
  const found =
    await sql`select method, resource, network, user_agent from audit_events where application_id = ${here}`;
  expect(found).toEqual(attempt ? [{ ...columns, method: 'page', resource: isOfUser ? userId : '' }] : []);
});

test('a refusal on another page at no login costs one statement more', async () => {
  const call = watch();
  const request = { loginIntentId: randomUUID(), userId, ipAddress: '192.0.2.7' };
  const done = completeLoginElsewhere(call, { codes: { keys }, tokens }, request);
  expect(await reason(done)).toBe('LOGIN_INTENT_NOT_FOUND');
  expect(call.names).toEqual(['completeLoginIntent', 'selectIntent']);
});

test('a sign-in of a user who is erased meanwhile keeps no origin', async () => {
  const call = watch({ completeLoginIntent: () => setUser({ deleted_at: NOW, email: '', wallet_address: '' }) });
  await complete({ ipAddress: '192.0.2.7' }, call);
  expect(await readIntent()).toMatchObject({ user_id: userId, ip_address: null });
});
