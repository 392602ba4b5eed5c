/** Each condition under which a token is active, and what a request may ask for. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Resource, Resources } from '../../../../src/modules/oidc/clients/resources.ts';
import {
  resourceOfMetadataClient,
  resourceOfRegistered,
} from '../../../../src/modules/oidc/domain/grants/choose-resource.ts';
import { findAccessToken, findRefreshToken } from '../../../../src/modules/oidc/domain/grants/find-token.ts';
import {
  chooseNames,
  chooseScope,
  narrowScope,
  requireGrantedName,
} from '../../../../src/modules/oidc/domain/grants/narrow-scope.ts';
import { OidcError } from '../../../../src/modules/oidc/domain/oidc-error.ts';
import { callAtResource } from '../../../../src/modules/oidc/endpoints/device-endpoint.ts';

const NOW = new Date();
const at = (ms: number) => new Date(NOW.getTime() + ms);
const ids = { applicationId: randomUUID(), grantId: randomUUID() };
const GRANT = { isAllowed: true, rotation: 2, expiresAt: at(2), email: 'ada@app.test', clientId: 'client_1' };
const SESSION = { expiresAt: at(2), groups: ['editors'] };

const partsOf = (grant: object | undefined, session?: object, read?: object) =>
  ({
    liveGrants: { find: async () => grant, read: async () => read },
    liveSessions: { find: async () => session },
  }) as never;

test.each<[string, object | undefined, object | undefined, Date | undefined]>([
  ['as it stands', GRANT, SESSION, at(2)],
  ['whose session ends first', GRANT, { ...SESSION, expiresAt: at(1) }, at(1)],
  ['whose grant ends first', { ...GRANT, expiresAt: at(1) }, SESSION, at(1)],
  ['whose session ends now', GRANT, { ...SESSION, expiresAt: NOW }, undefined],
  ['whose grant ends now', { ...GRANT, expiresAt: NOW }, SESSION, undefined],
  ['without a session', GRANT, undefined, undefined],
  ['without a grant', undefined, SESSION, undefined],
  ['whose client is not allowed', { ...GRANT, isAllowed: false }, SESSION, undefined],
])('an access token %s', async (_, grant, session, expiresAt) => {
  const token = { ...ids, sessionId: randomUUID(), scope: 3 };
  const found = await findAccessToken(partsOf(grant, session), token, NOW);
  const profile = expect.objectContaining({ groups: ['editors'], preferredUsername: 'ada', email: 'ada@app.test' });
  expect(found).toEqual(expiresAt && { ...ids, scope: 3, grant, expiresAt, profile });
});

test.each<[string, object | undefined, object, boolean, read?: object]>([
  ['as it stands', GRANT, {}, true],
  ['that was replaced', GRANT, { rotation: 1 }, false],
  ['that replaced the known one elsewhere', { ...GRANT, rotation: 1 }, {}, true, GRANT],
  ['that was replaced again', { ...GRANT, rotation: 1 }, {}, false, { ...GRANT, rotation: 3 }],
  ['whose grant has ended meanwhile', { ...GRANT, rotation: 1 }, {}, false],
  ['without a grant', undefined, {}, false, GRANT],
  ['whose client is not allowed', { ...GRANT, isAllowed: false }, {}, false],
  ['whose grant ends now', { ...GRANT, expiresAt: NOW }, {}, false],
  ['that ends now', GRANT, { endsAt: NOW }, false],
])('a refresh token %s', async (_, grant, changes, isFound, again) => {
  const token = { ...ids, scope: 3, rotation: 2, endsAt: at(1), ...changes };
  const found = await findRefreshToken(partsOf(grant, undefined, again), token as never, NOW);
  expect(found).toEqual(isFound ? { ...ids, scope: 3, grant: again ?? grant, expiresAt: at(1) } : undefined);
});

const errorOf = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return error instanceof OidcError ? error.reason : error;
  }
};
const NAMES = [
  { name: 'read', description: '' },
  { name: 'write', description: '' },
];

test.each<[string | undefined, typeof NAMES, number, unknown]>([
  [undefined, [], -1, { scope: 1, names: [] }],
  [undefined, NAMES, -1, { scope: 0, names: ['read', 'write'] }],
  ['', NAMES, -1, { scope: 0, names: ['read', 'write'] }],
  ['openid', NAMES, -1, { scope: 1, names: [] }],
  ['openid write other', NAMES, -1, { scope: 1, names: ['write'] }],
  ['write', NAMES, -1, { scope: 0, names: ['write'] }],
  ['openid write', NAMES, 6, { scope: 0, names: ['write'] }],
  ['openid', NAMES, 6, 'invalid_scope'],
  ['other', NAMES, -1, 'invalid_scope'],
  ['other', [], -1, 'invalid_scope'],
  ['offline_access', [], -1, { scope: 9, names: [] }],
  ['offline_access', NAMES, -1, { scope: 8, names: ['read', 'write'] }],
  ['offline_access read', NAMES, -1, { scope: 8, names: ['read'] }],
  ['offline_access_of_all', [], -1, 'invalid_scope'],
])('a login with the scope %j at the resource %j asks, of the bits %i, for %j', (text, resource, allowed, expected) => {
  expect(errorOf(() => chooseScope(text, resource, allowed))).toEqual(expected);
});

test.each<[string | undefined, unknown]>([
  [undefined, ['read', 'write']],
  [' ', ['read', 'write']],
  ['write openid', ['write']],
  ['openid', 'invalid_scope'],
])('a machine with the scope %j asks for %j', (text, expected) => {
  expect(errorOf(() => chooseNames(text, NAMES))).toEqual(expected);
});

test.each<[string | undefined, unknown]>([
  [undefined, 3],
  ['openid', 1],
  ['openid profile', 3],
  ['openid email', 'invalid_scope'],
  ['read', 0],
  ['read email', 'invalid_scope'],
  ['other', 'invalid_scope'],
])('a refresh with the scope %j has %j', (text, expected) => {
  expect(errorOf(() => narrowScope(3, text, NAMES))).toEqual(expected);
});

test.each<[string, object | undefined, unknown]>([
  ['that has the name', { scopeNames: ['read'] }, undefined],
  ['that has another name', { scopeNames: ['write'] }, 'invalid_scope'],
  ['without names', { scopeNames: null }, 'invalid_scope'],
  ['that has ended', undefined, undefined],
])('a refresh for a name of a grant %s', async (_, grant, expected) => {
  const asked = requireGrantedName(partsOf(grant), ids as never, 'read').catch((error) => error.reason ?? error);
  expect(await asked).toBe(expected);
});

const api = {
  id: randomUUID(),
  resourceUri: 'https://api.test',
  machineClientIds: ['client_1'],
  allowMetadataClients: false,
};
const other = { ...api, id: randomUUID(), resourceUri: 'https://other.test', allowMetadataClients: true };
const resources = {
  findByUri: async (uri: string) => [api, other].find(({ resourceUri }) => resourceUri === uri) as Resource | undefined,
  findById: async (id: string) => [api, other].find((each) => each.id === id) as Resource | undefined,
} as unknown as Resources;

test.each<[string, { uri?: string; id?: string }, unknown, clientId?: string]>([
  ['nothing', {}, undefined],
  ['a resource', { uri: api.resourceUri }, api],
  ['a resource that does not list it', { uri: api.resourceUri }, 'invalid_target', 'client_2'],
  ['a resource that is none', { uri: 'https://none.test' }, 'invalid_target'],
  ['the resource of its code', { id: api.id }, api],
  ['the resource of its code by its URI', { id: api.id, uri: api.resourceUri }, api],
  ['a resource other than that of its code', { id: api.id, uri: other.resourceUri }, 'invalid_target'],
  ['a resource that is none in place of that of its code', { id: api.id, uri: 'https://none.test' }, 'invalid_target'],
  ['the resource of its code, which is none any more', { id: randomUUID() }, 'invalid_target'],
  [
    'a resource in place of that of its code, which is none',
    { id: randomUUID(), uri: api.resourceUri },
    'invalid_target',
  ],
])('a registered client that names %s', async (_, { uri, id }, expected, clientId = 'client_1') => {
  const found = resourceOfRegistered(resources, { uri, id }, clientId).catch(({ reason }) => reason);
  expect(await found).toBe(expected);
});

test.each([
  [2, undefined, 2],
  [1, 2, 2],
  [3, 2, 3],
])('a call for a resource of the level %i by a client of the level %s demands %i', async (level, own, demanded) => {
  const client = { id: randomUUID(), clientId: 'client_1', ...(own && { requiredAssurance: own }) };
  const resource = { ...api, requiredAssurance: level, resourceScopes: NAMES };
  const found = { findByUri: async () => resource } as never;
  const call = { clientId: 'client_1', application: client, forClient: null } as never;
  expect(await callAtResource(call, { resources: found }, { uri: api.resourceUri, id: undefined })).toMatchObject({
    ...{
      application: { id: api.id, requiredAssurance: demanded },
      client,
      forClient: 'client_1',
      resourceScopes: NAMES,
    },
  });
});

test.each<[string | undefined, unknown]>([
  [other.resourceUri, other],
  [api.resourceUri, 'invalid_target'],
  ['https://none.test', 'invalid_target'],
  [undefined, 'invalid_target'],
])('a client that nobody has registered and that names %s', async (uri, expected) => {
  expect(await resourceOfMetadataClient(resources, uri).catch(({ reason }) => reason)).toBe(expected);
});
