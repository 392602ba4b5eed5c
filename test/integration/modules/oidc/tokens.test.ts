/** The token endpoint for clients with a secret, and what its tokens are good for. */
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { MINUTE, SECOND, TestClock } from '../../../support/clock.ts';
import { request } from '../../../support/http.ts';
import { holdLock } from '../../../support/lock.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import {
  basicOf,
  createOidcTenant,
  createVerifier,
  getUserinfo,
  post,
  redeem,
  refresh,
  signInForCode,
  type TokenReply,
} from '../../../support/oidc-client.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  REDIRECT_URI,
  startTestService,
} from '../../../support/service.ts';

const clock = new TestClock(new Date('2026-03-01T12:00:00.250Z'));
const service = await startTestService({ clock: clock.read, oidcSigningKeys: [createRsaJwk()] });
const tenant = await createOidcTenant(service);
const other = await createOidcTenant(service);
const user = await createTestUser(service, { name: 'Ada', profileImage: 'https://a.test/a.png' });
const admin = adminClient(service);

afterAll(() => service.close());

const INVALID_GRANT = { status: 400, body: { error: 'invalid_grant' } };

async function signIn(who: { id: string } = user, scope = 'openid profile email'): Promise<TokenReply> {
  const reply = await redeem(service, tenant, await signInForCode(service, tenant, who, { scope }));
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
  return reply;
}

describe('a code', () => {
  test('is exchanged for an access token, an ID token and a refresh token', async () => {
    const code = await signInForCode(service, tenant, user, { scope: 'openid email', nonce: 'n-1' });
    const { status, headers, body } = await redeem(service, tenant, code);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        access_token: expect.stringMatching(/^uat_[\w-]+$/),
        token_type: 'Bearer',
        expires_in: 900,
        id_token: expect.any(String),
        refresh_token: expect.stringMatching(/^urt_[\w-]+$/),
        scope: 'openid email',
      },
    });
    expect(headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(decodeJwt(body.id_token ?? '')).toMatchObject({
      iss: service.config.publicUrl,
      aud: tenant.clientId,
      sub: user.id,
      nonce: 'n-1',
      amr: ['page'],
      auth_time: Math.floor(clock.read().getTime() / SECOND),
      email: user.email,
    });
  });

  test('of OAuth is exchanged for tokens without an ID token, which name nobody', async () => {
    const { body } = await signIn(user, 'email offline_access');
    expect(body).toEqual(expect.objectContaining({ scope: 'email offline_access' }));
    expect(body).not.toHaveProperty('id_token');
    const { body: refreshed } = await refresh(service, tenant, body.refresh_token);
    expect(refreshed).not.toHaveProperty('id_token');
    expect(await getUserinfo(service, refreshed.access_token)).toMatchObject({
      status: 403,
      headers: { 'www-authenticate': 'Bearer realm="usher", error="insufficient_scope", scope="openid"' },
      body: { error: 'insufficient_scope' },
    });
  });

  test('is redeemed once', async () => {
    const code = await signInForCode(service, tenant, user);
    expect((await redeem(service, tenant, code)).status).toBe(200);
    expect(await redeem(service, tenant, code)).toMatchObject(INVALID_GRANT);
  });

  test('is redeemed by one of 50 requests', async () => {
    const code = await signInForCode(service, tenant, user);
    const replies = await Promise.all(Array.from({ length: 50 }, () => redeem(service, tenant, code)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(49);
  });

  test('ends 60 seconds after the sign-in', async () => {
    const early = await signInForCode(service, tenant, user);
    clock.advance(59 * SECOND);
    expect((await redeem(service, tenant, early)).status).toBe(200);
    const late = await signInForCode(service, tenant, user);
    clock.advance(60 * SECOND);
    expect(await redeem(service, tenant, late)).toMatchObject(INVALID_GRANT);
  });

  test('outlives a wrong verifier, a missing one and a wrong redirect URI', async () => {
    const verifier = createVerifier();
    const code = await signInForCode(service, tenant, user, { verifier });
    for (const wrong of [{}, { verifier: createVerifier() }, { verifier: 'short' }]) {
      expect(await redeem(service, tenant, code, wrong)).toMatchObject(INVALID_GRANT);
    }
    const fields = { grant_type: 'authorization_code', code, code_verifier: verifier };
    const redirect = { redirect_uri: `${REDIRECT_URI}/` };
    expect(await post(service, '/oidc/token', { ...fields, ...redirect }, basicOf(tenant))).toMatchObject(
      INVALID_GRANT,
    );
    expect((await redeem(service, tenant, code, { verifier })).status).toBe(200);
  });

  test('with a challenge needs no redirect URI, as clients of OAuth 2.1 send none', async () => {
    for (const of of [tenant, await createOidcTenant(service, { publicClient: true })]) {
      const verifier = createVerifier();
      const code = await signInForCode(service, of, user, { verifier });
      const fields = { grant_type: 'authorization_code', code, code_verifier: verifier };
      const wrong = { ...fields, code_verifier: createVerifier() };
      expect(await post(service, '/oidc/token', wrong, basicOf(of))).toMatchObject(INVALID_GRANT);
      const reply =
        of === tenant
          ? await post(service, '/oidc/token', fields, basicOf(of))
          : await post(service, '/oidc/token', { ...fields, client_id: of.clientId });
      expect(reply.status).toBe(200);
    }
  });

  test('without a challenge takes no verifier, and needs its redirect URI', async () => {
    const code = await signInForCode(service, tenant, user);
    expect(await redeem(service, tenant, code, { verifier: createVerifier() })).toMatchObject(INVALID_GRANT);
    const fields = { grant_type: 'authorization_code', code };
    for (const [more, error] of [
      [{}, 'invalid_request'],
      [{ redirect_uri: '' }, 'invalid_request'],
      [{ code_verifier: createVerifier() }, 'invalid_grant'],
    ] as const)
      expect((await post(service, '/oidc/token', { ...fields, ...more }, basicOf(tenant))).body.error).toBe(error);
    expect((await redeem(service, tenant, code)).status).toBe(200);
  });

  test('with the challenge of a short verifier is none', async () => {
    const verifier = 'v'.repeat(42);
    const code = await signInForCode(service, tenant, user, { verifier });
    expect(await redeem(service, tenant, code, { verifier })).toMatchObject(INVALID_GRANT);
  });

  test('of another application is none, and stays good there', async () => {
    const code = await signInForCode(service, tenant, user);
    expect(await redeem(service, other, code)).toMatchObject(INVALID_GRANT);
    expect((await redeem(service, tenant, code)).status).toBe(200);
  });

  test.each([
    ['signed out', (userId: string) => clientsOf(service, tenant).sessions.revokeUserSessions({ userId })],
    ['deactivated', (userId: string) => admin.deactivateUser({ userId })],
    ['deleted', (userId: string) => admin.deleteUser({ userId })],
    ['erased', (userId: string) => admin.eraseUser({ userId })],
  ])('is none once the user is %s', async (_what, end) => {
    const person = await createTestUser(service);
    const code = await signInForCode(service, tenant, person);
    await end(person.id);
    expect(await redeem(service, tenant, code)).toMatchObject(INVALID_GRANT);
  });

  test('is refused as a code that somebody made up', async () => {
    for (const code of ['x', 'A'.repeat(64), `${await signInForCode(service, tenant, user)}A`]) {
      expect(await redeem(service, tenant, code)).toMatchObject(INVALID_GRANT);
    }
  });
});

describe('a refresh', () => {
  test('returns the same refresh token, and tokens of the same sign-in without its nonce', async () => {
    const code = await signInForCode(service, tenant, user, { nonce: 'n-1' });
    const { body: first } = await redeem(service, tenant, code);
    clock.advance(10 * MINUTE);
    const { status, body } = await refresh(service, tenant, first.refresh_token);
    expect(status).toBe(200);
    expect(body.refresh_token).toBe(first.refresh_token);
    expect(body.expires_in).toBe(900);
    const { nonce, auth_time } = decodeJwt(body.id_token ?? '');
    expect({ nonce, auth_time }).toEqual({ nonce: undefined, auth_time: decodeJwt(first.id_token ?? '').auth_time });
  });

  test('may ask for less, but not for more', async () => {
    const { body } = await signIn(user, 'openid profile email');
    expect((await refresh(service, tenant, body.refresh_token, { scope: 'openid email' })).body.scope).toBe(
      'openid email',
    );
    const { body: less } = await refresh(service, tenant, body.refresh_token, { scope: 'email' });
    expect(less).toMatchObject({ scope: 'email' });
    expect(less).not.toHaveProperty('id_token');
    for (const scope of ['openid offline_access', 'unknown']) {
      const refused = await refresh(service, tenant, body.refresh_token, { scope });
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    }
  });

  test('for less shows less, and a later one has the whole scope again', async () => {
    const { body } = await signIn(user, 'openid profile email');
    const { body: less } = await refresh(service, tenant, body.refresh_token, { scope: 'openid' });
    expect((await getUserinfo(service, less.access_token)).body).toEqual({ sub: user.id });
    const { body: all } = await refresh(service, tenant, less.refresh_token);
    expect(all.scope).toBe('openid profile email');
    expect((await getUserinfo(service, all.access_token)).body).toMatchObject({ email: user.email, name: 'Ada' });
  });

  test('begins one session for 50 requests at once', async () => {
    const person = await createTestUser(service);
    const { body } = await signIn(person);
    clock.advance(20 * MINUTE);
    const replies = await Promise.all(Array.from({ length: 50 }, () => refresh(service, tenant, body.refresh_token)));
    expect(new Set(replies.map((reply) => reply.body.access_token)).size).toBe(1);
    const { sessions } = await clientsOf(service, tenant).sessions.listSessions({ userId: person.id });
    expect(sessions).toHaveLength(1);
  });

  test('works until the maximum age of the sign-in, also if that was shortened', async () => {
    const aged = await createOidcTenant(service);
    const code = await signInForCode(service, aged, user);
    const { body } = await redeem(service, aged, code);
    clock.advance(12 * 60 * MINUTE - SECOND);
    expect(await refresh(service, aged, body.refresh_token)).toMatchObject({ status: 200, body: { expires_in: 1 } });
    clock.advance(SECOND);
    expect(await refresh(service, aged, body.refresh_token)).toMatchObject(INVALID_GRANT);

    const { body: later } = await redeem(service, aged, await signInForCode(service, aged, user));
    await admin.updateApplication({ applicationId: aged.id, sessionMaxAgeSeconds: 900 });
    clock.advance(15 * MINUTE);
    expect(await refresh(service, aged, later.refresh_token)).toMatchObject(INVALID_GRANT);
  });

  test('is refused to other applications', async () => {
    const { body } = await signIn();
    expect(await refresh(service, other, body.refresh_token)).toMatchObject(INVALID_GRANT);
    expect(await refresh(service, tenant, body.access_token)).toMatchObject(INVALID_GRANT);
  });

  test.each([
    ['signed out', (userId: string) => clientsOf(service, tenant).sessions.revokeUserSessions({ userId })],
    ['deactivated', (userId: string) => admin.deactivateUser({ userId })],
    ['deleted', (userId: string) => admin.deleteUser({ userId })],
    ['erased', (userId: string) => admin.eraseUser({ userId })],
  ])('is refused once the user is %s, and the access token, too', async (_what, end) => {
    const person = await createTestUser(service);
    const { body } = await signIn(person);
    expect((await getUserinfo(service, body.access_token)).status).toBe(200);
    await end(person.id);
    expect(await refresh(service, tenant, body.refresh_token)).toMatchObject(INVALID_GRANT);
    expect((await getUserinfo(service, body.access_token)).status).toBe(401);
  });
});

describe('userinfo', () => {
  test('shows of the user what the scope allows', async () => {
    const { body } = await signIn(user, 'openid profile email');
    expect((await getUserinfo(service, body.access_token)).body).toEqual({
      sub: user.id,
      email: user.email,
      name: 'Ada',
      preferred_username: user.email.split('@')[0],
      picture: 'https://a.test/a.png',
    });
    const { body: less } = await signIn(user, 'openid');
    expect((await getUserinfo(service, less.access_token)).body).toEqual({ sub: user.id });
  });

  test('takes the token from a form, too, but not from two places', async () => {
    const { access_token = '' } = (await signIn(user, 'openid')).body;
    expect((await post(service, '/oidc/userinfo', { access_token })).body).toEqual({ sub: user.id });
    const bearer = { authorization: `Bearer ${access_token}` };
    expect(await post(service, '/oidc/userinfo', {}, bearer)).toMatchObject({ status: 200 });
    expect(await post(service, '/oidc/userinfo', { access_token }, bearer)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
  });

  test.each([
    ['application/json', '{'],
    ['text/plain', 'access_token=other'],
    ['application/octet-stream', 'x'.repeat(100_000)],
    ['multipart/form-data', '--'],
    ['no type', ''],
  ])('takes the token of the header beside a body of %s, which it does not read', async (type, body) => {
    const { access_token = '' } = (await signIn(user, 'openid')).body;
    const headers = { ...(type.includes('/') && { 'content-type': type }) };
    const ask = (more: object) =>
      request(service.url, { method: 'POST', path: '/oidc/userinfo', body, headers: { ...headers, ...more } });
    const reply = await ask({ authorization: `Bearer ${access_token}` });
    expect([reply.status, JSON.parse(reply.body)]).toEqual([200, { sub: user.id }]);
    expect((await ask({})).status).toBe(401);
  });

  test('challenges without a token, and says what is wrong with one', async () => {
    const missing = await post(service, '/oidc/userinfo', {});
    expect(missing).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer realm="usher"' } });
    const { body } = await signIn();
    for (const token of ['uat_', `${body.access_token}A`, body.refresh_token, body.id_token]) {
      expect(await getUserinfo(service, token)).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Bearer realm="usher", error="invalid_token"' },
      });
    }
  });

  test.each([
    [
      'offers no OpenID Connect any more',
      (applicationId: string) => admin.updateApplication({ applicationId, openIdConnect: false }),
    ],
    ['is deleted', (applicationId: string) => admin.deleteApplication({ applicationId })],
  ])('refuses a token of an application that %s', async (_what, end) => {
    const gone = await createOidcTenant(service);
    const { body } = await redeem(service, gone, await signInForCode(service, gone, user));
    await end(gone.id);
    expect(await getUserinfo(service, body.access_token)).toMatchObject({ status: 401 });
  });

  test('refuses an expired token', async () => {
    const { body } = await signIn();
    clock.advance(15 * MINUTE);
    expect(await getUserinfo(service, body.access_token)).toMatchObject({ status: 401 });
  });
});

describe('the token endpoint', () => {
  const fields = { grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT_URI };
  const invalidClient = {
    status: 401,
    body: { error: 'invalid_client' },
    headers: { 'www-authenticate': expect.any(String) },
  };

  test('refuses clients that it does not know, whose secret is wrong, or that have none', async () => {
    const wrong = [
      { ...tenant, apiKey: other.apiKey },
      { ...tenant, clientId: other.clientId },
      { ...tenant, clientId: 'client_1' },
      { ...tenant, apiKey: 'x' },
    ];
    for (const client of wrong) {
      expect(await post(service, '/oidc/token', fields, basicOf(client))).toMatchObject(invalidClient);
      const { clientId, apiKey } = client;
      const inForm = { ...fields, client_id: clientId, client_secret: apiKey };
      expect(await post(service, '/oidc/token', inForm)).toMatchObject(invalidClient);
    }
    const alone = await post(service, '/oidc/token', { ...fields, client_id: tenant.clientId });
    expect(alone).toMatchObject(invalidClient);
    expect(await post(service, '/oidc/token', fields)).toMatchObject({ body: { error: 'invalid_request' } });
  });

  test.each([
    [
      'the same field twice',
      `client_id=${tenant.clientId}&client_id=${tenant.clientId}&client_secret=${tenant.apiKey}`,
    ],
    ['a NUL', `client_id=${tenant.clientId}&client_secret=${tenant.apiKey}&state=%00`],
  ])('refuses a form with %s', async (_what, credentials) => {
    const reply = await request(service.url, {
      path: '/oidc/token',
      body: `${new URLSearchParams(fields)}&${credentials}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toMatchObject({ error: 'invalid_request' });
  });

  test.each([
    ['a secret in the form, too', { client_secret: tenant.apiKey }],
    ['the ID of another client', { client_id: other.clientId }],
  ])('refuses a header beside %s', async (_what, more) => {
    const reply = await post(service, '/oidc/token', { ...fields, ...more }, basicOf(tenant));
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  test('says that it is not available if Postgres does not answer, so that the client keeps its token', async () => {
    const { database, config: like } = service;
    await using hasty = await startTestService({
      ...{ database, like, clock: clock.read },
      config: { requestTimeoutMs: 1_000 },
    });
    const { body } = await signIn();
    await using _lock = await holdLock(database, 'lock table usher.oidc_grants in access exclusive mode');
    expect(await refresh(hasty, tenant, body.refresh_token)).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
      headers: { 'retry-after': '1' },
    });
  });

  test('notes the use of a secret', async () => {
    const { database, config: like } = service;
    const { apiKey, apiKeyId } = await admin.createApiKey({ applicationId: tenant.id, use: 'CLIENT_SECRET' });
    const replica = await startTestService({ database, like, clock: clock.read });
    await post(replica, '/oidc/token', fields, basicOf({ ...tenant, apiKey }));
    // It notes uses once a minute, and when it closes.
    await replica.close();
    const [row] = await database.sql`select last_used_at is not null as is_noted from api_keys where id = ${apiKeyId}`;
    expect(row).toEqual({ is_noted: true });
  });

  test('gives tokens that are no auth tokens', async () => {
    const { body } = await signIn();
    for (const authToken of [body.id_token, body.access_token, body.refresh_token]) {
      const exchange = clientsOf(service, tenant).auth.exchangeToken({ authToken: authToken ?? '' });
      await expect(exchange).rejects.toThrow('Invalid or expired token');
    }
  });

  test('takes a client secret that opens nothing else, until it is revoked', async () => {
    const { apiKey, apiKeyId } = await admin.createApiKey({ applicationId: tenant.id, use: 'CLIENT_SECRET' });
    const code = await signInForCode(service, tenant, user);
    const { body } = await redeem(service, { ...tenant, apiKey }, code);
    expect(body.access_token).toBeDefined();
    await admin.revokeApiKey({ apiKeyId });
    const reply = await refresh(service, { ...tenant, apiKey }, body.refresh_token);
    expect(reply).toMatchObject({ status: 401 });
  });

  test('refuses applications without OpenID Connect', async () => {
    const plain = await createTenant(service);
    expect(await post(service, '/oidc/token', fields, basicOf(plain))).toMatchObject({
      status: 400,
      body: { error: 'unauthorized_client' },
    });
  });

  test.each([
    ['grant_type', { code: 'x' }, 'invalid_request'],
    ['code', { grant_type: 'authorization_code', redirect_uri: REDIRECT_URI }, 'invalid_request'],
    ['redirect_uri', { grant_type: 'authorization_code', code: 'x' }, 'invalid_request'],
    ['refresh_token', { grant_type: 'refresh_token' }, 'invalid_request'],
    ['a known grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
  ])('refuses a form without %s', async (_what, form, error) => {
    const reply = await post(service, '/oidc/token', form, basicOf(tenant));
    expect(reply).toMatchObject({ status: 400, body: { error } });
  });
});
