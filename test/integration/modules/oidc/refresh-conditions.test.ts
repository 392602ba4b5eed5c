/** Each condition of a refresh, a row each. What clients see: tokens.test.ts and public-clients.test.ts. */
import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import { LiveSessions } from '../../../../src/domain/sessions/live-sessions.ts';
import { LiveGrants } from '../../../../src/modules/oidc/domain/grants/live-grants.ts';
import { refreshTokens, tokensForCode } from '../../../../src/modules/oidc/domain/issuing/issue-tokens.ts';
import { readAccessToken } from '../../../../src/modules/oidc/domain/tokens/access-token.ts';
import { createOidcProvider } from '../../../../src/modules/oidc/domain/tokens/provider.ts';
import { createRefreshToken, type RefreshToken } from '../../../../src/modules/oidc/domain/tokens/refresh-token.ts';
import {
  at,
  type CallOptions,
  CLIENT,
  DAY,
  type GrantScene,
  HOUR,
  MINUTE,
  NOW,
  ofClient,
  openGrantScenes,
  outcomeOf,
  SIGNED_IN,
} from '../../../support/grant-scene.ts';
import { createRsaJwk } from '../../../support/oidc.ts';

const scenes = await openGrantScenes();
afterAll(scenes.close);
const { database, sql, keys, callOf, createScene, requestOf, begin, setIntent, setGrant, consent } = scenes;

const provider = createOidcProvider([createRsaJwk()], keys);
if (!provider) throw new Error('There are keys');
const run = database.within(Number.POSITIVE_INFINITY);
const liveSessions = new LiveSessions(run);
const forgotten: string[] = [];
const parts = {
  ...{ provider, issuer: 'https://usher.test', logger: { warn() {} } as never, sessionMaxAgeSeconds: DAY / 1_000 },
  ...{ subscribed: new Set<string>(), forgetUser: (userId: string) => void forgotten.push(userId) },
  liveGrants: new LiveGrants(run, liveSessions, () => true),
};
const RESOURCE_SCOPES = [
  { name: 'read', description: '' },
  { name: 'write', description: '' },
];

type Options = CallOptions & { readonly sessionMaxAgeSeconds?: number };

function callWith(scene: GrantScene, { sessionMaxAgeSeconds, ...options }: Options = {}) {
  const app = { ...scene.app, ...(sessionMaxAgeSeconds && { sessionMaxAgeSeconds }) };
  return { ...callOf({ app }, options), resourceScopes: RESOURCE_SCOPES };
}

function refresh(scene: GrantScene, changes: Partial<RefreshToken> = {}, options: Options = {}, scope?: string) {
  const refreshToken = createRefreshToken(keys.refreshToken, {
    ...{ scope: 3, method: 'email', applicationId: scene.app.id, userId: scene.user, grantId: scene.intent },
    ...{ authenticatedAt: SIGNED_IN, endsAt: at(DAY), rotation: 0, isForClient: false },
    ...changes,
  });
  return refreshTokens(callWith(scene, options), parts, { refreshToken, scope });
}

test.each<[string, Partial<RefreshToken>, boolean, Options?]>([
  ['as it stands', {}, true],
  ['of another application', { applicationId: randomUUID() }, false],
  ['for the client of a resource', { isForClient: true }, false],
  ['that ends later', { endsAt: at(1) }, true],
  ['that ends now', { endsAt: NOW }, false],
  ['whose sign-in is nearly too old', { authenticatedAt: at(1 - HOUR) }, true, { sessionMaxAgeSeconds: 3_600 }],
  ['whose sign-in is too old', { authenticatedAt: at(-HOUR) }, false, { sessionMaxAgeSeconds: 3_600 }],
  ['whose sign-in is too old for the settings', { authenticatedAt: at(-DAY) }, false],
  ['of a client with a secret, without it', {}, false, { isPublic: true }],
])('a refresh token %s', async (_, changes, isGood, options) => {
  const scene = await createScene();
  await begin(scene);
  expect(await outcomeOf(refresh(scene, changes, options))).toBe(isGood ? 'ok' : 'invalid_grant');
  expect(forgotten).toEqual([]);
});

test('a text that is no refresh token is refused', async () => {
  const scene = await createScene();
  const refused = refreshTokens(callWith(scene), parts, { refreshToken: 'urt_', scope: undefined });
  expect(await outcomeOf(refused)).toBe('invalid_grant');
});

test('a token that is replaced, or used twice, makes this replica read its grant again', async () => {
  const scene = await createScene();
  await begin(scene);
  await setGrant(scene, { rotation: 1 });
  forgotten.length = 0;
  expect(await outcomeOf(refresh(scene, { rotation: 1 }, { isPublic: true }))).toBe('ok');
  expect(await outcomeOf(refresh(scene, { rotation: 5 }, { isPublic: true }))).toBe('invalid_grant');
  expect(forgotten).toEqual([scene.user, scene.user]);
  forgotten.length = 0;
});

describe('the session of a refresh', () => {
  const setSession = async ({ user }: GrantScene, columns: object) => {
    await sql`update sessions set ${sql(columns as never)} where user_id = ${user}`;
    await sql`update session_ids set ${sql(columns as never)} where user_id = ${user}`;
  };

  test.each([
    ['half', 5 * MINUTE, 15 * 60],
    ['less than half', 5 * MINUTE - 1, 5 * 60],
  ])('of whose lifetime %s is over ends in %i ms, and that of its tokens in %i s', async (_, age, seconds) => {
    const scene = await createScene();
    await begin(scene);
    await setSession(scene, { created_at: at(-age), expires_at: at(5 * MINUTE) });
    const names: string[] = [];
    expect(await refresh(scene, {}, { names })).toMatchObject({ expiresInSeconds: seconds });
    // A session that lasts longer needs no further statement.
    expect(names.length === 1).toBe(seconds === 5 * 60);
  });

  test.each<[string, string, (scene: GrantScene) => Promise<unknown>, string]>([
    [
      'has ended before it is renewed',
      'continueGrantedSession',
      ({ user }) => sql`delete from sessions where user_id = ${user}`.execute(),
      'invalid_grant',
    ],
    ['cannot be renewed', 'findOrBeginSuccessor', () => Promise.reject(new Error('down')), 'down'],
    [
      'cannot be renewed now',
      'findOrBeginSuccessor',
      () => Promise.reject(new ServiceError('SERVICE_UNAVAILABLE')),
      'Service unavailable',
    ],
  ])('that %s', async (_, statement, fail, outcome) => {
    const scene = await createScene();
    await begin(scene);
    await setSession(scene, { created_at: at(-10 * MINUTE), expires_at: at(MINUTE) });
    const meanwhile = { [statement]: () => fail(scene) };
    const work = outcomeOf(refresh(scene, {}, { meanwhile })).catch(({ message }: Error) => message);
    expect(await work).toBe(outcome);
  });
});

describe('the tokens of a refresh', () => {
  /** Of the client of a resource that has other scopes since. */
  async function createGranted() {
    const scene = await createScene();
    await setIntent(scene, { ...ofClient, scope_names: ['old', 'write', 'read'] });
    await begin(scene, { forClient: CLIENT });
    return scene;
  }
  const namesOf = ({ accessToken }: { accessToken: string }) => readAccessToken(keys.accessToken, accessToken)?.names;

  test.each<[string | undefined, string, bigint, boolean, granted?: number]>([
    [undefined, 'openid profile read write', 6n, true],
    [undefined, 'read write', 6n, false, 0],
    ['write', 'write', 2n, false],
    ['openid old', 'openid', 0n, true],
  ])('of a client for the scope %j have the scope %j', async (asked, scope, names, hasIdToken, granted = 3) => {
    const scene = await createGranted();
    const issued = await refresh(scene, { isForClient: true, scope: granted }, { forClient: CLIENT }, asked);
    expect({ scope: issued.scope, names: namesOf(issued), hasIdToken: issued.idToken !== undefined }).toEqual({
      ...{ scope, names, hasIdToken },
    });
  });

  test.each([
    ['other', 'invalid_scope'],
    ['old', 'invalid_scope'],
    ['email', 'invalid_scope'],
  ])('are none for the scope %s', async (asked, reason) => {
    const scene = await createGranted();
    expect(await outcomeOf(refresh(scene, { isForClient: true }, { forClient: CLIENT }, asked))).toBe(reason);
  });

  test('of the application itself have no names', async () => {
    const scene = await createScene();
    await begin(scene);
    const issued = await refresh(scene);
    expect([namesOf(issued), issued.scope]).toEqual([undefined, 'openid profile']);
    expect(decodeJwt(issued.idToken ?? '').aud).toBe(scene.app.clientId);
  });

  test('show attributes of users to registered clients alone', async () => {
    const scene = await createScene();
    await setIntent(scene, { scope: 3 });
    const app = { ...scene.app, attributeClaims: ['team'] };
    await sql`update users set attributes = ${sql.json({ team: 'a' })} where id = ${scene.user}`;
    await sql`update applications set attribute_claims = '{team}' where id = ${app.id}`;
    const own = await tokensForCode(callWith({ ...scene, app }), parts, requestOf(scene));
    expect(decodeJwt(own.idToken ?? '')).toMatchObject({ team: 'a', aud: app.clientId });
    await setIntent(scene, { ...ofClient, client_name: 'Assistant', redeemed_at: null, consented_at: at(-1) });
    await consent(scene);
    await sql`delete from oidc_grants where id = ${scene.intent}`;
    const ofStranger = { ...scene, app };
    const shown = await tokensForCode(
      callWith(ofStranger, { forClient: CLIENT }),
      parts,
      requestOf(scene, { forClient: CLIENT }),
    );
    expect(decodeJwt(shown.idToken ?? '')).toMatchObject({ aud: CLIENT });
    expect(decodeJwt(shown.idToken ?? '')).not.toHaveProperty('team');
  });
});
