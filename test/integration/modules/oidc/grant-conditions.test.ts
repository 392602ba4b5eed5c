/** Each condition of the statements of grants and of their refresh tokens, a row each. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { LiveSessions } from '../../../../src/domain/sessions/live-sessions.ts';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { continueGrantedSession } from '../../../../src/modules/oidc/domain/grants/granted-session.ts';
import { LiveGrants } from '../../../../src/modules/oidc/domain/grants/live-grants.ts';
import { rotateGrant } from '../../../../src/modules/oidc/domain/grants/rotate-grant.ts';
import { OidcError } from '../../../../src/modules/oidc/domain/oidc-error.ts';
import { countStatements } from '../../../support/count-statements.ts';
import {
  at,
  type CallOptions,
  CLIENT,
  type ConditionRow,
  DAY,
  type GrantScene,
  NOW,
  ofClient,
  ofDocument,
  openGrantScenes,
  outcomeOf,
  SECOND,
  SIGNED_IN,
} from '../../../support/grant-scene.ts';
import { adminClient, createTenant, REDIRECT_URI } from '../../../support/service.ts';

const scenes = await openGrantScenes();
afterAll(scenes.close);
const { service, database, sql, callOf, createScene, repeat, grantOf, begin } = scenes;
const { setIntent, setGrant, setUser, setApplication, cutOff } = scenes;

/** Gives the grant to another application. No update may change on which server of Citus a row is. */
async function moveElsewhere({ app, intent }: GrantScene): Promise<void> {
  await sql`insert into oidc_grants
    select (jsonb_populate_record(g, jsonb_build_object('application_id', ${randomUUID()}::text))).*
    from oidc_grants g where id = ${intent}`;
  await sql`delete from oidc_grants where application_id = ${app.id} and id = ${intent}`;
}

function rotate(scene: GrantScene, rotation: number, options: CallOptions = {}, of: object = {}) {
  return rotateGrant(callOf(scene, options), { ...tokenOf(scene), rotation, ...of });
}

const tokenOf = ({ app, user, intent }: GrantScene) => ({
  ...{ scope: 1, method: 'email', applicationId: app.id, userId: user, grantId: intent, authenticatedAt: SIGNED_IN },
  ...{ endsAt: at(DAY), rotation: 0, isForClient: false },
});

describe('a refresh token', () => {
  test.each<[string, object, number | undefined]>([
    ['is replaced', { rotation: 1 }, 2],
    ['was replaced a moment ago', { rotation: 2, rotated_at: at(1 - 30 * SECOND) }, 2],
    ['was replaced 30 seconds ago', { rotation: 2, rotated_at: at(-30 * SECOND) }, undefined],
    ['was replaced twice a moment ago', { rotation: 3, rotated_at: at(-1) }, undefined],
    ['is one that was not issued yet', { rotation: 0 }, undefined],
    ['has a grant that ends later', { rotation: 1, expires_at: at(1) }, 2],
    ['has a grant that ends now', { rotation: 1, expires_at: NOW }, undefined],
    ['has a grant of another client', { rotation: 1, client_id: CLIENT }, undefined],
  ])('%s', async (_, columns, successor) => {
    const scene = await createScene();
    await begin(scene);
    await setGrant(scene, columns);
    const outcome = rotate(scene, 1).catch((error) => (error instanceof OidcError ? undefined : Promise.reject(error)));
    expect(await outcome).toBe(successor);
    expect((await grantOf(scene))?.rotated_at).toEqual(
      successor === undefined || 'rotated_at' in columns ? ('rotated_at' in columns ? columns.rotated_at : null) : NOW,
    );
  });

  test('of another application or grant is not replaced', async () => {
    const [scene, other] = [await createScene(), await createScene()];
    await begin(scene);
    await begin(other);
    await setGrant(scene, { rotation: 1 });
    await setGrant(other, { rotation: 1 });
    expect(await outcomeOf(rotate(scene, 1, {}, { applicationId: other.app.id }))).toBe('invalid_grant');
    expect(await outcomeOf(rotate(scene, 1))).toBe('ok');
    expect(await grantOf(other)).toMatchObject({ rotation: 1 });
  });
});

const goOn = (scene: GrantScene, options?: CallOptions, of: object = {}) =>
  continueGrantedSession(callOf(scene, options), { ...tokenOf(scene), ...of });

/** What ends a grant, or keeps its tokens from being used. */
const ofGrant: readonly ConditionRow[] = [
  ['as it stands', () => undefined, true],
  ['it ends later', (s) => setGrant(s, { expires_at: at(1) }), true],
  ['it ends now', (s) => setGrant(s, { expires_at: NOW }), false],
  ['the user is deactivated', (s) => setUser(s, { deactivated_at: NOW }), false],
  ['the user is deleted', (s) => setUser(s, { deleted_at: NOW }), false],
  ['a cut-off came with the sign-in', (s) => cutOff(s, SIGNED_IN), false],
  ['a cut-off came before the sign-in', (s) => cutOff(s, at(-2 * SECOND - 1)), true],
  ['it is one of the client of a resource', (s) => setGrant(s, ofClient), false],
  ['the client of a resource goes on', (s) => setGrant(s, ofClient), true, { forClient: CLIENT }],
  ['another client of the resource goes on', (s) => setGrant(s, ofClient), false, { forClient: 'another' }],
  ['a client goes on with one of the application', () => undefined, false, { forClient: CLIENT }],
  [
    'the application has become another resource since',
    async (s) => {
      await setGrant(s, ofClient);
      await setApplication(s, { resource_uri_changed_at: NOW });
    },
    false,
    { forClient: CLIENT },
  ],
  [
    'the application has become another resource before',
    async (s) => {
      await setGrant(s, ofClient);
      await setApplication(s, { resource_uri_changed_at: at(-1) });
    },
    true,
    { forClient: CLIENT },
  ],
  ['it is the own one of what has become a resource', (s) => setApplication(s, { resource_uri_changed_at: NOW }), true],
];

describe('a session of a grant', () => {
  test.each<ConditionRow>(ofGrant)('%s', async (_, change, isGood, options) => {
    const scene = await createScene();
    await begin(scene);
    await change(scene);
    expect(await outcomeOf(goOn(scene, options))).toBe(isGood ? 'ok' : 'invalid_grant');
  });

  test.each([
    [1, 2, true],
    [2, 2, true],
    [3, 2, false],
  ])('is had where the application demands the level %i, and the sign-in was of %i: %s', async (level, own, isGood) => {
    const scene = await createScene();
    await begin(scene);
    await setGrant(scene, { assurance: own });
    const demanding = { ...scene, app: { ...scene.app, requiredAssurance: level } };
    expect(await outcomeOf(goOn(demanding))).toBe(isGood ? 'ok' : 'invalid_grant');
  });

  test('is that of its own grant, user and application', async () => {
    const [scene, other] = [await createScene(), await createScene()];
    await begin(scene);
    await begin(other);
    expect(await outcomeOf(goOn(scene, {}, { grantId: other.intent }))).toBe('invalid_grant');
    expect(await outcomeOf(goOn(scene, {}, { userId: other.user }))).toBe('invalid_grant');
    expect(await outcomeOf(goOn({ ...scene, app: other.app }))).toBe('invalid_grant');
    expect(await goOn(scene)).toMatchObject({ sid: sidOf(scene.app.id, scene.user, scene.browser) });
  });

  test('begins anew with what the grant has, and says what it may do', async () => {
    const scene = await createScene();
    await setIntent(scene, { ...ofClient, ip_address: '192.0.2.1', user_agent: 'a browser', on_behalf_by: 'support' });
    await begin(scene, { forClient: CLIENT });
    await sql`delete from sessions where user_id = ${scene.user}`;
    const session = await goOn(scene, { forClient: CLIENT });
    expect(session).toMatchObject({ grantAssurance: 2, scopeNames: ['read'], createdAt: NOW });
    expect(await sql`select * from sessions where user_id = ${scene.user}`).toMatchObject([
      { assurance: 2, ip_address: '192.0.2.1', user_agent: 'a browser', browser_digest: null, on_behalf_by: 'support' },
    ]);
  });
});

describe('a refresh', () => {
  const namesOf = async (scene: GrantScene) => {
    const names: string[] = [];
    await goOn(scene, { names });
    return names;
  };

  test('that finds a session runs one statement', async () => {
    const scene = await createScene();
    await begin(scene);
    expect(await namesOf(scene)).toEqual(['continueGrantedSession']);
  });

  test('that begins a session while the user is deactivated ends it again', async () => {
    const scene = await createScene();
    await begin(scene);
    await sql`delete from sessions where user_id = ${scene.user}`;
    const meanwhile = { continueGrantedSession: () => setUser(scene, { deactivated_at: NOW }) };
    expect(await outcomeOf(goOn(scene, { meanwhile }))).toBe('invalid_grant');
    expect(await sql`select from sessions where user_id = ${scene.user}`).toEqual([]);
  });

  test('that begins a session while the user is erased leaves nothing of the user', async () => {
    const scene = await createScene();
    await begin(scene);
    await sql`delete from sessions where user_id = ${scene.user}`;
    let isErased = false;
    // The erasure has not seen what was stored while it was on its way.
    const erase = async () => {
      if (isErased) return;
      isErased = true;
      const ids = { application_id: scene.app.id, user_id: scene.user };
      const [stored] = await sql`select to_jsonb(s) as session from sessions s where user_id = ${scene.user}`;
      await adminClient(service).eraseUser({ userId: scene.user });
      await sql`insert into sessions select (jsonb_populate_record(null::sessions, ${stored?.session})).*`;
      const joined = { ...ids, first_signed_in_at: at(-DAY), last_signed_in_at: NOW };
      await sql`insert into application_users ${sql(joined)}`;
    };
    expect(await outcomeOf(goOn(scene, { meanwhile: { continueGrantedSession: erase } }))).toBe('invalid_grant');
    for (const table of ['sessions', 'application_users'])
      expect(await sql`select from ${sql(table)} where user_id = ${scene.user}`).toEqual([]);
  });

  test('that finds a session of an earlier sign-in makes it one of its own', async () => {
    const scene = await createScene();
    await begin(scene);
    await sql`update sessions set authenticated_at = ${at(-DAY)} where user_id = ${scene.user}`;
    expect(await namesOf(scene)).toEqual([
      'continueGrantedSession',
      'updateSignInByParameters',
      'continueGrantedSession',
    ]);
    const [session] = await sql`select last_authenticated_at, assurance from sessions where user_id = ${scene.user}`;
    expect(session).toEqual({ last_authenticated_at: SIGNED_IN, assurance: 2 });
  });
});

describe('a live grant', () => {
  const find = async ({ app, intent }: GrantScene, allowsClient = true) => {
    const { run, countRows } = countStatements(database);
    const found = await new LiveGrants(run, new LiveSessions(run), () => allowsClient).find(app.id, intent);
    // Of a restricted client, a second statement asks who may enter.
    expect(countRows()).toBeLessThanOrEqual(found?.restrictedClientId ? 2 : 1);
    return found;
  };
  const createClient = async () => {
    const { id, clientId } = await createTenant(service, { openIdConnect: true });
    return { id, clientId };
  };
  const setClient = (id: string, columns: object) =>
    sql`update applications set ${sql(columns as never)} where id = ${id}`;

  test.each<[string, (scene: GrantScene) => PromiseLike<unknown> | undefined, boolean]>([
    ['as it stands', () => undefined, true],
    ['the user is deactivated', (s) => setUser(s, { deactivated_at: NOW }), false],
    ['the user is deleted', (s) => setUser(s, { deleted_at: NOW }), false],
    ['the application is deleted', (s) => setApplication(s, { deleted_at: NOW }), false],
    ['the application has no OpenID Connect', (s) => setApplication(s, { open_id_connect: false }), false],
    ['a cut-off came with the sign-in', (s) => cutOff(s, SIGNED_IN), false],
    ['a cut-off came before the sign-in', (s) => cutOff(s, at(-2 * SECOND - 1)), true],
    ['it is one of another application', (s) => moveElsewhere(s), false],
  ])('%s', async (_, change, isLive) => {
    const scene = await createScene();
    await begin(scene);
    await begin(await createScene());
    await begin(await repeat(scene));
    await change(scene);
    expect(await find(scene)).toEqual(isLive ? expect.objectContaining({ userId: scene.user }) : undefined);
  });

  test('is found at its own application alone', async () => {
    const [scene, other] = [await createScene(), await createScene()];
    await begin(scene);
    expect(await find({ ...scene, app: other.app })).toBeUndefined();
  });

  test('is read again once the cache is empty', async () => {
    const scene = await createScene();
    await begin(scene);
    const run = database.within(Number.POSITIVE_INFINITY);
    const grants = new LiveGrants(run, new LiveSessions(run), () => true);
    const findIt = () => grants.find(scene.app.id, scene.intent);
    expect(await findIt()).toMatchObject({ isEmailVerified: false });
    await setUser(scene, { email_verified_at: NOW });
    expect(await findIt()).toMatchObject({ isEmailVerified: false });
    grants.clear();
    expect(await findIt()).toMatchObject({ isEmailVerified: true });
  });

  test('shows what the application sees, and no more for a client that nobody has registered', async () => {
    const scene = await createScene();
    await begin(scene);
    await setApplication(scene, {
      public_client: true,
      attribute_claims: ['team'],
      resource_uri: `https://${scene.app.clientId}.test`,
    });
    await setUser(scene, { attributes: { team: 'a', secret: 'b', preferred_username: 'ada' }, email_verified_at: NOW });
    const own = {
      clientId: scene.app.clientId,
      resourceUri: null,
      knownNames: null,
      isAllowed: true,
      restrictedClientId: null,
    };
    expect(await find(scene)).toMatchObject({
      ...own,
      redirectUris: [REDIRECT_URI],
      attributes: { team: 'a' },
      isEmailVerified: true,
    });
    await setUser(scene, { email_verified_at: null });
    await setApplication(scene, { public_client: false, resource_scopes: [{ name: 'read', description: '' }] });
    expect(await find(scene)).toMatchObject({ redirectUris: [], isEmailVerified: false });
    await setApplication(scene, { public_client: true, allow_metadata_clients: true });
    await setGrant(scene, ofDocument);
    const ofResource = { clientId: CLIENT, resourceUri: `https://${scene.app.clientId}.test`, knownNames: ['read'] };
    expect(await find(scene)).toMatchObject({ ...ofResource, redirectUris: [], attributes: null, isAllowed: true });
  });

  test.each<
    [string, (scene: GrantScene, client: { id: string; clientId: string }) => PromiseLike<unknown> | undefined, boolean]
  >([
    ['the resource lists the client', () => undefined, true],
    ['the resource lists others', (s) => setApplication(s, { machine_client_ids: ['another'] }), false],
    ['the client is deleted', (_, { id }) => setClient(id, { deleted_at: NOW }), false],
    ['the client has no OpenID Connect', (_, { id }) => setClient(id, { open_id_connect: false }), false],
    ['nobody has registered the client', (_, { id }) => setClient(id, { client_id: `client_${randomUUID()}` }), false],
    [
      'the application has become another resource with it',
      (s) => setApplication(s, { resource_uri_changed_at: NOW }),
      false,
    ],
    [
      'the application has become another resource before',
      (s) => setApplication(s, { resource_uri_changed_at: at(-1) }),
      true,
    ],
    [
      'the client is restricted, and the user is not in it',
      (_, { id }) => setClient(id, { restrict_access: true }),
      false,
    ],
    [
      'the client is restricted, and the user is in it',
      async (s, { id }) => {
        await setClient(id, { restrict_access: true });
        await sql`insert into added_users values (${id}, ${s.user}, ${NOW})`;
      },
      true,
    ],
  ])('of a client: %s', async (_, change, isAllowed) => {
    const [scene, client] = [await createScene(), await createClient()];
    await begin(scene);
    await setGrant(scene, { ...ofClient, client_id: client.clientId });
    await setApplication(scene, { machine_client_ids: [client.clientId] });
    await change(scene, client);
    expect(await find(scene)).toMatchObject({ clientId: client.clientId, isAllowed });
  });

  test.each<[string, (scene: GrantScene) => PromiseLike<unknown> | undefined, boolean, allowsClient?: boolean]>([
    ['the resource lets such clients in', () => undefined, true],
    ['the settings do not', () => undefined, false, false],
    ['the resource does not', (s) => setApplication(s, { allow_metadata_clients: false }), false],
    [
      'the application has become another resource with it',
      (s) => setApplication(s, { resource_uri_changed_at: NOW }),
      false,
    ],
  ])('of a client that nobody has registered: %s', async (_, change, isAllowed, allowsClient) => {
    const scene = await createScene();
    await begin(scene);
    await setGrant(scene, ofDocument);
    await setApplication(scene, { allow_metadata_clients: true });
    await change(scene);
    expect(await find(scene, allowsClient)).toMatchObject({ isAllowed });
  });
});
