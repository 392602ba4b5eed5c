/** Registered clients that get tokens for another application: the rules of both count. */
import { afterAll, describe, expect, it } from 'vitest';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { beginOidcLogin, CODE_VERIFIER, createRsaJwk, parametersOf } from '../../../support/oidc.ts';
import { basicOf, getUserinfo, post } from '../../../support/oidc-client.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  REDIRECT_URI,
  startTestService,
  type Tenant,
} from '../../../support/service.ts';

const service = await startTestService({ oidcSigningKeys: [createRsaJwk()] });
afterAll(() => service.close());
const admin = adminClient(service);

/** Another replica has not cached the applications. */
const startReplica = () => startTestService({ database: service.database, like: service.config });

async function open(rules: { restrictAccess?: boolean; requiredAssurance?: string } = {}) {
  const client = await createTenant(service, { openIdConnect: true });
  const api = await createTenant(service, { openIdConnect: true });
  const resource = `https://${client.clientId}.app.test`;
  await admin.updateApplication({
    ...{ applicationId: api.id, resourceUri: resource, machineClientIds: [client.clientId] },
  });
  await admin.updateApplication({ applicationId: client.id, ...rules });
  return { client, api, resource, user: await createTestUser(service) };
}

type Opened = Awaited<ReturnType<typeof open>>;

async function begin({ client, resource }: Opened): Promise<string> {
  return (await beginOidcLogin(new LoginBrowser(service), client, { resource })).loginIntentId;
}

async function signIn(opened: Opened) {
  const loginIntentId = await begin(opened);
  const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId: opened.user.id });
  const { code = '' } = parametersOf(redirectUrl);
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER };
  return post(service, '/oidc/token', { ...form, resource: opened.resource }, basicOf(opened.client));
}

const refresh = (at: { url: string }, client: Tenant, token: string | undefined) =>
  post(at, '/oidc/token', { grant_type: 'refresh_token', refresh_token: token ?? '' }, basicOf(client));

const REFUSED = { status: 400, body: { error: 'invalid_grant' } };

describe('the client is restricted', () => {
  it('gets tokens of those alone who may enter it, and of nobody who no longer may', async () => {
    const opened = await open({ restrictAccess: true });
    const { client, user } = opened;
    expect(await signIn(opened)).toMatchObject(REFUSED);
    expect(await service.database.sql`select from usher.oidc_grants where user_id = ${user.id}`).toEqual([]);
    await admin.addApplicationUser({ applicationId: client.id, userId: user.id });
    const { status, body } = await signIn(opened);
    expect(status).toBe(200);
    expect((await refresh(service, client, body.refresh_token)).status).toBe(200);
    await admin.removeApplicationUser({ applicationId: client.id, userId: user.id });
    expect(await refresh(service, client, body.refresh_token)).toMatchObject(REFUSED);
  });

  it('has its access tokens taken by nobody after a user has lost the access to it alone', async () => {
    const opened = await open({ restrictAccess: true });
    const { client, api, user } = opened;
    await admin.addApplicationUser({ applicationId: client.id, userId: user.id });
    const { body } = await signIn(opened);
    const introspect = (at: { url: string }, token: string) => post(at, '/oidc/introspect', { token }, basicOf(api));
    for (const token of [body.access_token ?? '', body.refresh_token ?? ''])
      expect((await introspect(service, token)).body).toMatchObject({ active: true, client_id: client.clientId });
    await admin.removeApplicationUser({ applicationId: client.id, userId: user.id });
    await using replica = await startReplica();
    for (const token of [body.access_token ?? '', body.refresh_token ?? ''])
      expect((await introspect(replica, token)).body).toEqual({ active: false });
  });
});

describe('the client demands more than one factor', () => {
  it('has its users sign in with that', async () => {
    const opened = await open({ requiredAssurance: 'PHISHING_RESISTANT' });
    const [loginIntentId, userId] = [await begin(opened), opened.user.id];
    await expect(admin.completeLogin({ loginIntentId, userId })).rejects.toMatchObject({
      rawMessage: 'Assurance not met',
    });
  });

  it('gets no more tokens of those who have signed in with less', async () => {
    const opened = await open();
    const { client } = opened;
    const { body } = await signIn(opened);
    expect((await refresh(service, client, body.refresh_token)).status).toBe(200);
    await admin.updateApplication({ applicationId: client.id, requiredAssurance: 'PHISHING_RESISTANT' });
    await using replica = await startReplica();
    expect(await refresh(replica, client, body.refresh_token)).toMatchObject(REFUSED);
  });
});

describe('its tokens', () => {
  const userinfoOf = async (at: { url: string }, token: string | undefined) => (await getUserinfo(at, token)).status;

  it.each<[string, (client: Tenant) => Promise<unknown>]>([
    ['the client is deleted', ({ id: applicationId }) => admin.deleteApplication({ applicationId })],
    [
      'the client has no OpenID Connect',
      ({ id: applicationId }) => admin.updateApplication({ applicationId, openIdConnect: false }),
    ],
  ])('are dead once %s', async (_, end) => {
    const opened = await open();
    const { api, client } = opened;
    const { body } = await signIn(opened);
    expect(await userinfoOf(service, body.access_token)).toBe(200);
    await end(client);
    await using replica = await startReplica();
    for (const token of [body.access_token ?? '', body.refresh_token ?? ''])
      expect((await post(replica, '/oidc/introspect', { token }, basicOf(api))).body).toEqual({ active: false });
    expect(await userinfoOf(replica, body.access_token)).toBe(401);
    expect((await refresh(replica, client, body.refresh_token)).status).toBeGreaterThanOrEqual(400);
  });

  it('are dead once the application is another resource or none, and new ones are for the new one', async () => {
    const opened = await open();
    const { api, client, resource } = opened;
    const { body } = await signIn(opened);
    const audienceOf = async (at: { url: string }, token = '') =>
      (await post(at, '/oidc/introspect', { token }, basicOf(api))).body.aud;
    const move = (resourceUri: string | undefined) =>
      admin.updateApplication({ applicationId: api.id, resourceUri, updateMask: { paths: ['resource_uri'] } });
    await move(`${resource}/`);
    {
      await using replica = await startReplica();
      expect(await audienceOf(replica, body.access_token)).toBe(`${resource}/`);
      expect((await refresh(replica, client, body.refresh_token)).status).toBe(200);
    }
    for (const next of [undefined, `${resource}/v2`]) {
      await move(next);
      await using replica = await startReplica();
      for (const token of [body.access_token, body.refresh_token])
        expect(await audienceOf(replica, token)).toBe(undefined);
      expect(await userinfoOf(replica, body.access_token)).toBe(401);
      expect((await refresh(replica, client, body.refresh_token)).status).toBe(400);
    }
    await using replica = await startReplica();
    const moved = (await signIn({ ...opened, resource: `${resource}/v2` })).body;
    expect(await audienceOf(replica, moved.access_token)).toBe(`${resource}/v2`);
    expect((await refresh(replica, client, moved.refresh_token)).status).toBe(200);
  });

  it('end with a revocation by the client, of a refresh token or an access token', async () => {
    for (const name of ['refresh_token', 'access_token']) {
      const opened = await open();
      const { body } = await signIn(opened);
      expect((await post(service, '/oidc/revoke', { token: body[name] ?? '' }, basicOf(opened.client))).status).toBe(
        200,
      );
      expect(await refresh(service, opened.client, body.refresh_token)).toMatchObject(REFUSED);
    }
  });

  it('end with a logout by its ID token, and no others of the resource or client do', async () => {
    const opened = await open();
    const { api, client } = opened;
    const others = await open();
    await admin.updateApplication({
      applicationId: api.id,
      machineClientIds: [client.clientId, others.client.clientId],
    });
    const { user } = opened;
    const { body } = await signIn(opened);
    const ofOther = (await signIn({ ...opened, client: others.client })).body;
    const elsewhere = (await signIn(opened)).body;
    const reply = await new LoginBrowser(service).open(`/oidc/logout?id_token_hint=${body.id_token}`);
    expect(reply.heading).toBe('You are signed out');
    expect(await userinfoOf(service, body.access_token)).toBe(401);
    expect(await refresh(service, client, body.refresh_token)).toMatchObject(REFUSED);
    expect([
      await userinfoOf(service, ofOther.access_token),
      await userinfoOf(service, elsewhere.access_token),
    ]).toEqual([200, 200]);
    // The client has no login of its own, so nothing is stored of it.
    expect(await service.database.sql`select from usher.session_cutoffs where application_id = ${client.id}`).toEqual(
      [],
    );
    const { grants } = await clientsOf(service, api).sessions.listGrants({ userId: user.id });
    const left = grants.map(({ clientId }) => clientId);
    expect(new Set(left)).toEqual(new Set([client.clientId, others.client.clientId]));
  });
});

it('has tokens that are dead once the resource no longer lists the client', async () => {
  const opened = await open();
  const { api } = opened;
  const { body } = await signIn(opened);
  const introspect = (at: { url: string }) =>
    post(at, '/oidc/introspect', { token: body.access_token ?? '' }, basicOf(api));
  expect((await introspect(service)).body.active).toBe(true);
  await service.database.sql`update usher.applications set machine_client_ids = '{}' where id = ${api.id}`;
  await using replica = await startReplica();
  expect((await introspect(replica)).body.active).toBe(false);
});
