/** Each condition of the statements that redeem a code, a row each. What clients see: tokens.test.ts and its siblings. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { Application } from '../../../../src/domain/core/call.ts';
import { GROUPS_BIT } from '../../../../src/domain/grants/scope.ts';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { beginGrant, requireEntryToClient } from '../../../../src/modules/oidc/domain/grants/begin-grant.ts';
import { readCodeRequest, redeemCode } from '../../../../src/modules/oidc/domain/grants/redeem-code.ts';
import { createCode } from '../../../../src/modules/oidc/domain/tokens/code.ts';
import {
  at,
  type CallOptions,
  CLIENT,
  type ConditionRow,
  DAY,
  type GrantScene,
  HOUR,
  MINUTE,
  NOW,
  ofClient,
  ofDocument,
  openGrantScenes,
  outcomeOf,
  PEER,
  SECOND,
  SIGNED_IN,
} from '../../../support/grant-scene.ts';
import { adminClient, createTenant, REDIRECT_URI } from '../../../support/service.ts';

const scenes = await openGrantScenes();
afterAll(scenes.close);
const { service, sql, keys, callOf, createScene, repeat, grantOf, requestOf, begin, beginInSteps, beginWith } = scenes;
const { setIntent, setUser, cutOff, cutOffBrowser, consent } = scenes;

const VERIFIER = 'v'.repeat(43);
const challenge = hash('sha256', VERIFIER, 'buffer');

/** What makes a code worthless by itself. */
const ofCode: readonly ConditionRow[] = [
  ['as it stands', () => undefined, true],
  ['it is nearly too old', (s) => setIntent(s, { completed_at: at(1 - MINUTE) }), true],
  ['it is too old', (s) => setIntent(s, { completed_at: at(-MINUTE) }), false],
  ['it was redeemed', (s) => setIntent(s, { redeemed_at: at(-1) }), false],
  ['its login was none of OpenID Connect', (s) => setIntent(s, { response_mode: '' }), false],
  ['its login is one of the client of a resource', (s) => setIntent(s, ofClient), false],
  ['the client of a resource redeems it', (s) => setIntent(s, ofClient), true, { forClient: CLIENT }],
  ['another client of the resource redeems it', (s) => setIntent(s, ofClient), false, { forClient: 'another' }],
  ['a client redeems it whose login is one of the application', () => undefined, false, { forClient: CLIENT }],
  [
    'the user has consented a moment ago, long after the sign-in',
    async (s) => {
      await setIntent(s, { ...ofDocument, completed_at: at(-MINUTE), consented_at: at(1 - MINUTE) });
      await consent(s);
    },
    true,
    { forClient: CLIENT },
  ],
  [
    'the user has consented long ago',
    (s) => setIntent(s, { ...ofDocument, consented_at: at(-MINUTE) }),
    false,
    { forClient: CLIENT },
  ],
  ['the user has not consented', (s) => setIntent(s, ofDocument), false, { forClient: CLIENT }],
  ['its redirect URI comes with it', () => undefined, true, {}, { redirectUri: REDIRECT_URI }],
  ['another redirect URI comes with it', () => undefined, false, {}, { redirectUri: `${REDIRECT_URI}/` }],
  [
    'its verifier comes with it',
    (s) => setIntent(s, { code_challenge: challenge }),
    true,
    {},
    { codeVerifier: VERIFIER },
  ],
  [
    'another verifier comes with it',
    (s) => setIntent(s, { code_challenge: challenge }),
    false,
    {},
    { codeVerifier: 'w'.repeat(43) },
  ],
  ['its verifier is missing', (s) => setIntent(s, { code_challenge: challenge }), false],
  ['it has no verifier, and one comes', () => undefined, false, {}, { codeVerifier: VERIFIER }],
];

/** The same where the application demands more than one factor. */
const ofLevel: readonly ConditionRow[] = [
  ['the sign-in is of that level', () => undefined, true],
  ['the sign-in is of a higher level', (s) => setIntent(s, { assurance: 3 }), true],
  ['the sign-in is of a lower level', (s) => setIntent(s, { assurance: 1 }), false],
  ['an earlier version has completed the login', (s) => setIntent(s, { assurance: null }), false],
];

/** What keeps a good code from beginning a grant. */
const ofSignIn: readonly ConditionRow[] = [
  ['the user is deactivated', (s) => setUser(s, { deactivated_at: NOW }), false],
  ['the user is deleted', (s) => setUser(s, { deleted_at: NOW }), false],
  ['a cut-off came with the sign-in', (s) => cutOff(s, SIGNED_IN), false],
  ['a cut-off came before the sign-in', (s) => cutOff(s, at(-2 * SECOND - 1)), true],
  ['the browser was signed out with the sign-in', (s) => cutOffBrowser(s, SIGNED_IN), false],
  ['the browser was signed out before', (s) => cutOffBrowser(s, at(-2 * SECOND - 1)), true],
];

describe.each([
  ['at once', begin],
  ['in steps', beginInSteps],
])('a grant that begins %s', (_, beginBy) => {
  test.each<ConditionRow>([...ofCode, ...ofSignIn])('%s', async (_what, change, isGood, options, request) => {
    const scene = await createScene();
    await change(scene);
    expect(await outcomeOf(beginBy(scene, options, request))).toBe(isGood ? 'ok' : 'invalid_grant');
    expect((await grantOf(scene)) !== undefined).toBe(isGood);
  });

  test.each<ConditionRow>(ofLevel)('two factors are demanded: %s', async (_what, change, isGood) => {
    const scene = await createScene();
    await change(scene);
    const demanding = { ...scene, app: { ...scene.app, requiredAssurance: 2 } };
    expect(await outcomeOf(beginBy(demanding))).toBe(isGood ? 'ok' : 'invalid_grant');
  });

  test('has what the login has', async () => {
    const scene = await createScene();
    const origin = { ip_address: '192.0.2.1', user_agent: 'a browser', on_behalf_by: 'support' };
    await setIntent(scene, { ...origin, nonce: 'n', scope: 3 });
    const { grant, nonce, session } = await beginBy(scene);
    const sid = sidOf(scene.app.id, scene.user, scene.browser);
    expect({ ...grant, nonce }).toMatchObject({
      method: 'email',
      assurance: 2,
      authenticatedAt: SIGNED_IN,
      sid,
      nonce: 'n',
    });
    expect(grant.endsAt).toEqual(at(DAY - 2 * SECOND));
    expect(session).toMatchObject({ sid, grantAssurance: 2, expiresAt: at(15 * MINUTE) });
    expect(await grantOf(scene)).toMatchObject({
      ...{ ...origin, sid, scope: 3, assurance: 2, authenticated_at: SIGNED_IN, created_at: NOW, rotation: 0 },
      ...{ expires_at: at(DAY - 2 * SECOND), browser_digest: scene.browser, needs_consent: false, client_id: null },
    });
  });

  test('has the origin of the caller, and one factor at the completion, where the login says nothing', async () => {
    const scene = await createScene();
    await setIntent(scene, { assurance: null, authenticated_at: null, browser_digest: null });
    const { session } = await beginBy(scene);
    expect(session).toMatchObject({ sid: scene.intent, grantAssurance: 1, authTime: at(-SECOND) });
    expect(await grantOf(scene)).toMatchObject({
      ...{ sid: scene.intent, assurance: 1, authenticated_at: at(-SECOND) },
      ...{ ip_address: PEER.ipAddress, user_agent: PEER.userAgent, browser_digest: null },
    });
  });

  test.each([
    [true, 1],
    [false, 0],
  ])('of a client without a secret (%s) has the refresh token %i', async (isPublic, rotation) => {
    const scene = await createScene();
    const { grant } = await beginBy(scene, { isPublic });
    expect(grant.rotation).toBe(rotation);
    expect(await grantOf(scene)).toMatchObject({ rotation });
  });

  test('is recorded, also where the user has a session already', async () => {
    const scene = await createScene();
    const session = {
      ...{ application_id: scene.app.id, user_id: scene.user, id: randomUUID(), email: '', wallet_address: '' },
      ...{ ip_address: '', user_agent: '', method: 'email', authenticated_at: SIGNED_IN, began_at: SIGNED_IN },
      ...{ created_at: SIGNED_IN, expires_at: at(HOUR) },
    };
    await sql`insert into sessions ${sql(session)}`;
    await beginBy(scene);
    expect(await sql`select id from sessions where user_id = ${scene.user}`).toEqual([{ id: session.id }]);
    const recorded = await sql`select from audit_events where resource = ${scene.user} and action = 'test'`;
    expect(recorded.length).toBeGreaterThan(0);
  });

  test('has a session that ends with it', async () => {
    const scene = await createScene();
    const call = callOf(scene);
    const subscribed = new Set(beginBy === begin ? [] : [scene.app.id]);
    const short = { codeKeys: keys.code, maxAgeSeconds: 60, subscribed };
    const { session } = await beginGrant(call, short, requestOf(scene));
    expect(session.expiresAt).toEqual(at(MINUTE - 2 * SECOND));
  });

  test.each([
    ['https://app.test/callback', true],
    ['http://127.0.0.1:7/callback', false],
    ['app:/callback', false],
  ])('of a client that nobody has registered, at %s, needs a stored consent: %s', async (redirectUri, needsConsent) => {
    const scene = await createScene();
    await setIntent(scene, { ...ofDocument, consented_at: at(-1), redirect_uri: redirectUri });
    await consent(scene);
    await beginBy(scene, { forClient: CLIENT });
    expect(await grantOf(scene)).toMatchObject({
      needs_consent: needsConsent,
      client_id: CLIENT,
      scope_names: ['read'],
    });
  });

  test('of a registered client of a resource needs none', async () => {
    const scene = await createScene();
    await setIntent(scene, ofClient);
    await beginBy(scene, { forClient: CLIENT });
    expect(await grantOf(scene)).toMatchObject({ needs_consent: false, client_name: null });
  });
});
test('a grant of a user who is erased while it begins is removed again', async () => {
  const scene = await createScene();
  const erased = new Set<string>();
  const erase = async (): Promise<void> => {
    if (erased.has(scene.user)) return;
    erased.add(scene.user);
    await adminClient(service).eraseUser({ userId: scene.user });
  };
  const meanwhile = { redeemCodeAndBeginSession: erase, beginGrantedSession: erase };
  expect(await outcomeOf(begin(scene, { meanwhile }))).toBe('invalid_grant');
  expect(await grantOf(scene)).toBeUndefined();
});

test.each<[string, (scene: GrantScene) => PromiseLike<unknown>, boolean]>([
  ['its browser is signed out with the sign-in', (s) => cutOffBrowser(s, SIGNED_IN), false],
  ['its browser is signed out of another sign-in', (s) => cutOffBrowser(s, at(-2 * SECOND - 1)), true],
  ['another browser is signed out', (s) => cutOffBrowser({ ...s, browser: randomBytes(32) }, NOW), true],
])('while a grant begins, %s', async (_, change, isGood) => {
  const scene = await createScene();
  const meanwhile = { redeemCodeAndBeginSession: () => change(scene), beginGrantedSession: () => change(scene) };
  // Another grant of the browser, which nothing ends here.
  const other = await repeat(scene);
  await begin(other);
  expect(await outcomeOf(begin(scene, { meanwhile }))).toBe(isGood ? 'ok' : 'invalid_grant');
  expect((await grantOf(scene))?.ended_at === null).toBe(isGood);
  expect(await grantOf(other)).toMatchObject({ ended_at: null });
});

test('an application is known to have webhooks for sessions from the first until one of which none learns', async () => {
  const [subscribed, told] = [new Set<string>(), new Set<string>()];
  const first = await createScene();
  const beginNext = async (scene: GrantScene) => {
    const names: string[] = [];
    await beginWith(subscribed, scene, { names, onMessage: (id) => void told.add(id) }, {});
    return names;
  };
  const id = randomUUID();
  const webhook = { application_id: first.app.id, id, url: 'https://hooks.test', signing_key: Buffer.alloc(0) };
  await sql`insert into webhooks ${sql({ ...webhook, event_types: ['session.created'], created_at: NOW, updated_at: NOW })}`;
  await beginNext(first);
  expect([[...subscribed], [...told]]).toEqual([[first.app.id], [first.app.id]]);
  // No statement runs in vain.
  const second = await createScene(first.app);
  expect((await beginNext(second)).slice(0, 2)).toEqual(['redeemCode', 'beginGrantedSession']);
  await sql`delete from webhooks where id = ${id}`;
  // It finds the session, about which no webhook would learn anyway.
  await beginNext(await repeat(second));
  expect(subscribed.size).toBe(1);
  await beginNext(await createScene(first.app));
  expect(subscribed.size).toBe(0);
});

test('a grant has no groups without their scope', async () => {
  const [scene, id] = [await createScene(), randomUUID()];
  await sql`insert into groups ${sql({ id, name: id, created_at: NOW })}`;
  await sql`insert into group_members ${sql({ group_id: id, user_id: scene.user, added_at: NOW })}`;
  const claim = { application_id: scene.app.id, group_id: id, allows_access: false, in_claim: true };
  await sql`insert into application_groups ${sql(claim)}`;
  const again = await repeat(scene);
  await setIntent(again, { scope: GROUPS_BIT });
  expect((await begin(scene)).session.groups).toEqual([]);
  expect((await begin(again)).session.groups).toEqual([id]);
});

test('a client that is restricted gets no grant of a user whom it does not know', async () => {
  const scene = await createScene();
  const client = await createTenant(service, { openIdConnect: true });
  const restricted: Application = { ...client, redirectUris: [], restrictAccess: true };
  await setIntent(scene, { ...ofClient, client_id: client.clientId });
  const options = { forClient: client.clientId, client: restricted };
  expect(await outcomeOf(begin(scene, options))).toBe('invalid_grant');
  expect(await grantOf(scene)).toBeUndefined();
  await setIntent(scene, { redeemed_at: null });
  await sql`insert into added_users values (${client.id}, ${scene.user}, ${NOW})`;
  expect(await outcomeOf(begin(scene, options))).toBe('ok');
});

test('a code is redeemed once, at its own application', async () => {
  const [scene, other] = [await createScene(), await createScene()];
  const redeem = (of: GrantScene) => redeemCode(callOf(of), readCodeRequest(callOf(of), keys.code, requestOf(scene)));
  expect(await outcomeOf(redeem(other))).toBe('invalid_grant');
  expect(await outcomeOf(redeem(scene))).toBe('ok');
  expect(await outcomeOf(redeem(scene))).toBe('invalid_grant');
  const unused = await sql`select from login_intents where id = ${other.intent} and redeemed_at is null`;
  expect(unused).toHaveLength(1);
});

test.each<[string, (scene: GrantScene) => object, string, CallOptions?]>([
  ['a text that is no code', () => ({ code: 'none' }), 'invalid_grant'],
  ['a verifier of 42 characters', () => ({ codeVerifier: 'v'.repeat(42) }), 'invalid_grant'],
  ['the code of a resource', (s) => ({ code: createCode(keys.code, s.intent, s.app.id) }), 'invalid_target'],
  [
    'the code of another resource',
    (s) => ({ code: createCode(keys.code, s.intent, randomUUID()) }),
    'invalid_target',
    { forClient: CLIENT },
  ],
  [
    'a code in place of that of a resource',
    (s) => ({ code: createCode(keys.code, s.intent) }),
    'invalid_target',
    { forClient: CLIENT },
  ],
])('no grant begins with %s', async (_, request, reason, options) => {
  const scene = await createScene();
  expect(await outcomeOf(begin(scene, options, request(scene)))).toBe(reason);
  expect(await grantOf(scene)).toBeUndefined();
});

test('a client hears nothing of its code while Usher cannot ask who may enter it', async () => {
  const { app, user } = await createScene();
  const run = async () => Promise.reject(new Error('down'));
  const call = { ...callOf({ app }), run, client: { ...app, restrictAccess: true } };
  await expect(requireEntryToClient(call, user)).rejects.toThrow('down');
});
