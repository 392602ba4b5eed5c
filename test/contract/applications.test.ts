/** Applications, and the keys that come and go with them. */
import { hash } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { fieldOf, refusal, success, validationFailed } from '../support/answers.ts';
import { TestClock } from '../support/clock.ts';
import { adminClient, clientsOf, createTenant, REDIRECT_URI } from '../support/service.ts';
import { API_KEY, INVALID_API_KEY, openContractFixture, UUID } from './contract-fixture.ts';

const { createApplication, getApplication, updateApplication, deleteApplication } = AdminService.method;
const APPLICATION = { name: 'Test & <application>', redirectUris: [REDIRECT_URI] };
const ASTRAL_255 = '\u{1F6AA}'.repeat(255);
const OPEN_ID_CONNECT = {
  openIdConnect: true,
  requirePkce: false,
  publicClient: true,
  postLogoutRedirectUris: ['https://app.test/', 'http://[::1]:3000/out?a=b'],
  backchannelLogoutUri: 'https://app.test/backchannel-logout',
  deviceLogin: true,
};
const RESOURCE = {
  resourceUri: 'https://mcp.app.test/',
  resourceScopes: [
    { name: 'orders:read', description: 'See your orders – also old ones' },
    { name: '!', description: '\u{1F6AA}'.repeat(100) },
  ],
  allowMetadataClients: true,
  machineClientIds: [`client_${'0a'.repeat(16)}`],
};
const NOW = '2026-03-01T12:00:00.120Z';

const { service, tenant, callWith, tryKey } = await openContractFixture({ clock: new TestClock(new Date(NOW)).read });
const admin = adminClient(service);

describe('CreateApplication', () => {
  it('returns the application and an API key that works', async () => {
    const answer = await callWith(createApplication, APPLICATION);
    expect(answer).toEqual(
      success({
        application: {
          id: expect.stringMatching(UUID),
          clientId: expect.stringMatching(/^\S+$/),
          createdAt: NOW,
          allowSignUp: false,
          signUpEmailDomains: [],
          allowInvitations: false,
          attributeClaims: [],
          askName: false,
          sessionIdleSeconds: 900,
          singleSignOn: false,
          restrictAccess: false,
          requiredAssurance: 'ANY',
          messageFeed: false,
          allowMetadataClients: false,
          resourceScopes: [],
          machineClientIds: [],
          managedByFile: false,
          deviceLogin: false,
          openIdConnect: false,
          requirePkce: true,
          publicClient: false,
          postLogoutRedirectUris: [],
          loginMethods: [],
          ...APPLICATION,
        },
        apiKeyId: expect.stringMatching(UUID),
        apiKey: expect.stringMatching(API_KEY),
      }),
    );
    expect(await tryKey(fieldOf(answer.data, 'apiKey'))).toBe('ok');
  });

  it('stores no more of the API key than its SHA-256', async () => {
    const { apiKeyId, apiKey } = await createTenant(service);
    const rows = await service.database.sql`
      select digest, api_keys::text as text from api_keys where id = ${apiKeyId}`;
    expect(rows).toEqual([{ digest: hash('sha256', apiKey, 'buffer'), text: expect.not.stringContaining(apiKey) }]);
  });

  // Which URIs may be registered: test/domain/applications/redirect-uri.test.ts.
  it('registers redirect URIs as they were written', async () => {
    const redirectUris = ['https://app.test:8443/a/b?c=d&e', 'http://[::1]:3000/callback', 'com.example.app:/callback'];
    const answer = await callWith(createApplication, { name: ASTRAL_255, redirectUris });
    expect(answer).toMatchObject({ code: 'ok', data: { application: { name: ASTRAL_255, redirectUris } } });
  });

  it('takes 50 redirect URIs', async () => {
    const redirectUris = Array.from({ length: 50 }, (_, index) => `https://app.test/${index}`);
    expect(await callWith(createApplication, { ...APPLICATION, redirectUris })).toMatchObject({ code: 'ok' });
  });

  it('stores the endpoint of its logouts with the application, or neither', async () => {
    const { sql } = service.database;
    await sql`alter table webhooks add constraint refused check (url <> 'https://app.test/refused')`;
    const create = (name: string, backchannelLogoutUri: string) =>
      callWith(createApplication, { ...APPLICATION, name, openIdConnect: true, backchannelLogoutUri });
    expect(await create('Refused', 'https://app.test/refused')).toMatchObject({ code: 'internal' });
    expect(await sql`select from applications where name = 'Refused'`).toHaveLength(0);
    expect(await create('Accepted', 'https://app.test/out')).toMatchObject({ code: 'ok' });
    const stored = await sql`
      select w.id = 'logout_' || a.id as is_named, w.url, w.event_types, w.is_active, w.owner_id
      from webhooks w join applications a on a.id = w.application_id where a.name = 'Accepted'`;
    const endpoint = { url: 'https://app.test/out', event_types: ['logout'], is_active: true, owner_id: null };
    expect(stored).toEqual([{ is_named: true, ...endpoint }]);
  });
});

describe('UpdateApplication', () => {
  const REDIRECT_URIS = ['https://app.test/new', 'com.example.app:/callback'];

  it.each<[string, JsonObject, JsonObject]>([
    ['nothing', {}, {}],
    ['the name', { name: 'New' }, { name: 'New' }],
    ['the redirect URIs', { redirectUris: REDIRECT_URIS }, { redirectUris: REDIRECT_URIS }],
    ['the login page', { allowSignUp: true, askName: true }, { allowSignUp: true, askName: true }],
    [
      'the domains of new users, each once',
      { signUpEmailDomains: ['BÜCHER.example', 'xn--bcher-kva.example.', 'mail.example'] },
      { signUpEmailDomains: ['xn--bcher-kva.example', 'mail.example'] },
    ],
    ['how long sessions can be renewed', { sessionMaxAgeSeconds: 900 }, { sessionMaxAgeSeconds: 900 }],
    [
      'how long they can be renewed after their expiry',
      { sessionIdleSeconds: 7_776_000 },
      { sessionIdleSeconds: 7_776_000 },
    ],
    ['the assurance it demands', { requiredAssurance: 'TWO_FACTORS' }, { requiredAssurance: 'TWO_FACTORS' }],
    ['OpenID Connect', OPEN_ID_CONNECT, OPEN_ID_CONNECT],
    ['the resource', RESOURCE, RESOURCE],
    ['nothing by a mask that clears what is not set', { updateMask: 'sessionMaxAgeSeconds' }, {}],
    ['what the mask names', { name: 'New', askName: true, updateMask: 'name' }, { name: 'New' }],
    ['all that is there, for an empty mask', { name: 'New', updateMask: '' }, { name: 'New' }],
  ])('changes %s and leaves the rest', async (_, fields, changed) => {
    const { id: applicationId } = await createTenant(service, APPLICATION);
    const before = (await callWith(getApplication, { applicationId })).data as { application: JsonObject };
    const expected = success({ application: { ...before.application, ...changed } });
    expect(await callWith(updateApplication, { applicationId, ...fields })).toEqual(expected);
    expect(await callWith(getApplication, { applicationId })).toEqual(expected);
  });

  it('changes the endpoint of its logouts with the application, or neither', async () => {
    const { sql } = service.database;
    const [before, after] = ['https://app.test/before', 'https://app.test/not-after'];
    const tenant = await createTenant(service, { ...APPLICATION, openIdConnect: true, backchannelLogoutUri: before });
    const { id: applicationId } = tenant;
    await sql`alter table webhooks add constraint unchanged check (url <> 'https://app.test/not-after')`;
    expect(await callWith(updateApplication, { applicationId, backchannelLogoutUri: after })).toMatchObject({
      code: 'internal',
    });
    expect(await callWith(getApplication, { applicationId })).toMatchObject({
      data: { application: { backchannelLogoutUri: before } },
    });
    const endpoints = () => sql`select url, is_active from webhooks where application_id = ${applicationId}`;
    expect(await endpoints()).toEqual([{ url: before, is_active: true }]);

    await callWith(updateApplication, { applicationId, updateMask: 'backchannelLogoutUri' });
    expect(await endpoints()).toEqual([]);
    await callWith(updateApplication, { applicationId, backchannelLogoutUri: 'https://app.test/last' });
    expect(await endpoints()).toEqual([{ url: 'https://app.test/last', is_active: true }]);
  });

  it('clears where a browser may go after a logout, and where the application learns of it', async () => {
    const { id: applicationId } = await createTenant(service, { ...APPLICATION, ...OPEN_ID_CONNECT });
    const updateMask = 'postLogoutRedirectUris,backchannelLogoutUri';
    const answer = await callWith(updateApplication, { applicationId, updateMask });
    const { backchannelLogoutUri: _, ...kept } = OPEN_ID_CONNECT;
    const expected = { ...APPLICATION, ...kept, postLogoutRedirectUris: [] };
    expect(answer).toMatchObject({ code: 'ok', data: { application: expected } });
    expect(answer.data).not.toHaveProperty('application.backchannelLogoutUri');
  });

  it('lets no two applications be one resource, until the first is deleted', async () => {
    const taken = refusal('already_exists', 'Resource already exists');
    const first = await createTenant(service, { ...APPLICATION, resourceUri: 'https://one.app.test/mcp' });
    const resourceUri = 'https://one.app.test/mcp//';
    expect(await callWith(createApplication, { ...APPLICATION, resourceUri })).toMatchObject(taken);
    expect(await callWith(updateApplication, { applicationId: tenant.id, resourceUri })).toMatchObject(taken);
    await admin.deleteApplication({ applicationId: first.id });
    expect(await callWith(updateApplication, { applicationId: tenant.id, resourceUri })).toMatchObject({
      data: { application: { resourceUri } },
    });
  });

  it('takes 50 URIs to go to after a logout', async () => {
    const postLogoutRedirectUris = Array.from({ length: 50 }, (_, index) => `https://app.test/out/${index}`);
    const answer = await callWith(updateApplication, { applicationId: tenant.id, postLogoutRedirectUris });
    expect(answer).toMatchObject({ data: { application: { postLogoutRedirectUris } } });
  });

  it('gives sessions the default again when a mask clears how long they can be renewed', async () => {
    const { id: applicationId } = await createTenant(service);
    await admin.updateApplication({ applicationId, sessionIdleSeconds: 3_600 });
    const answer = await callWith(updateApplication, { applicationId, updateMask: 'sessionIdleSeconds' });
    expect(answer).toMatchObject({ data: { application: { sessionIdleSeconds: 900 } } });
  });

  it('changes a flag back, and takes effect for logins at once', async () => {
    const { id: applicationId, clientId, apiKey } = await createTenant(service);
    for (const askName of [true, false]) {
      const answer = await callWith(updateApplication, { applicationId, askName });
      expect(answer).toMatchObject({ data: { application: { askName } } });
    }
    const [redirectUri = ''] = REDIRECT_URIS;
    const { auth } = clientsOf(service, { apiKey });
    await expect(auth.generateAuthUrl({ clientId, redirectUri, state: 's' })).rejects.toThrow('Invalid redirect URI');
    await admin.updateApplication({ applicationId, redirectUris: [redirectUri] });
    await auth.generateAuthUrl({ clientId, redirectUri, state: 's' });
  });

  it.each<[JsonObject, string]>([
    [{ updateMask: 'name' }, 'name'],
    [{ updateMask: 'redirectUris' }, 'redirectUris'],
    [{ updateMask: 'askName' }, 'askName'],
    [{ updateMask: 'id', name: 'New' }, 'updateMask'],
    [{ sessionIdleSeconds: 899 }, 'sessionIdleSeconds'],
    [{ sessionIdleSeconds: 7_776_001 }, 'sessionIdleSeconds'],
    [{ requiredAssurance: 'phr' }, 'requiredAssurance'],
    [{ updateMask: 'createdAt' }, 'updateMask'],
    [{ updateMask: 'openIdConnect' }, 'openIdConnect'],
    [{ updateMask: 'requirePkce' }, 'requirePkce'],
    [{ updateMask: 'publicClient' }, 'publicClient'],
    [{ signUpEmailDomains: ['ada@example.com'] }, 'signUpEmailDomains'],
    [{ signUpEmailDomains: ['*.example.com'] }, 'signUpEmailDomains'],
    [{ signUpEmailDomains: Array(101).fill('example.com') }, 'signUpEmailDomains'],
    [{ postLogoutRedirectUris: ['http://app.test/'] }, 'postLogoutRedirectUris'],
    [{ postLogoutRedirectUris: Array(51).fill('https://app.test/') }, 'postLogoutRedirectUris'],
    [{ resourceUri: 'http://app.test/' }, 'resourceUri'],
    [{ resourceUri: 'https://App.test/' }, 'resourceUri'],
    [{ resourceUri: 'https://app.test/#' }, 'resourceUri'],
    [{ resourceUri: 'https://app.test.' + 'a'.repeat(2_040) }, 'resourceUri'],
    [{ resourceUri: 'https://app@app.test/' }, 'resourceUri'],
    [{ resourceUri: 'app.test:/mcp' }, 'resourceUri'],
    [{ resourceScopes: [{ name: 'a b', description: 'B' }] }, 'resourceScopes[0].name'],
    [{ resourceScopes: [{ name: 'offline_access', description: 'B' }] }, 'resourceScopes[0].name'],
    [{ resourceScopes: [{ name: 'a', description: '' }] }, 'resourceScopes[0].description'],
    [{ resourceScopes: [{ name: 'a', description: 'a\nb' }] }, 'resourceScopes[0].description'],
    [{ resourceScopes: [{ name: 'a', description: 'a'.repeat(101) }] }, 'resourceScopes[0].description'],
    [{ resourceScopes: Array(2).fill({ name: 'a', description: 'B' }) }, 'resourceScopes'],
    [
      { resourceScopes: Array.from({ length: 51 }, (_, at) => ({ name: `s${at}`, description: 'B' })) },
      'resourceScopes',
    ],
    [{ updateMask: 'allowMetadataClients' }, 'allowMetadataClients'],
    [{ updateMask: 'deviceLogin' }, 'deviceLogin'],
    [{ machineClientIds: ['App'] }, 'machineClientIds'],
    [{ machineClientIds: ['usher-account'] }, 'machineClientIds'],
    [{ machineClientIds: Array(101).fill(`client_${'0'.repeat(32)}`) }, 'machineClientIds'],
    [{ backchannelLogoutUri: 'http://app.test/' }, 'backchannelLogoutUri'],
    [{ backchannelLogoutUri: 'https://app.test/#' }, 'backchannelLogoutUri'],
    [{ backchannelLogoutUri: 'com.example.app:/logout' }, 'backchannelLogoutUri'],
  ])('returns Validation failed for %j', async (wrong, field) => {
    expect(await callWith(updateApplication, { applicationId: tenant.id, ...wrong })).toEqual(validationFailed(field));
  });
});

// Its pages: lists.test.ts.
it('ListApplications leaves out what is deleted', async () => {
  const kept = await createTenant(service);
  const { id: deleted } = await createTenant(service);
  await admin.deleteApplication({ applicationId: deleted });
  const { applications } = await admin.listApplications({ pageSize: 100 });
  const ids = applications.map(({ id }) => id);
  expect(ids).toContain(kept.id);
  expect(ids).not.toContain(deleted);
});

it('DeleteApplication ends all of its API keys and no others', async () => {
  const { id, apiKey } = await createTenant(service);
  const second = await admin.createApiKey({ applicationId: id });
  expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual(['ok', 'ok']);
  expect(await callWith(deleteApplication, { applicationId: id })).toEqual(success({}));
  expect([await tryKey(apiKey), await tryKey(second.apiKey)]).toEqual([INVALID_API_KEY, INVALID_API_KEY]);
  expect(await tryKey(tenant.apiKey)).toBe('ok');
});
