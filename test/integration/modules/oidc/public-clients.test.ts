/** Clients without a secret: pages and phones. Their refresh tokens rotate. Rounds of lost replies: test/robustness/oidc-races.test.ts. */
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Admission } from '../../../../src/api/admission.ts';
import { SECOND, TestClock } from '../../../support/clock.ts';
import { request } from '../../../support/http.ts';
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
import { adminClient, clientsOf, createTestUser, REDIRECT_URI, startTestService } from '../../../support/service.ts';

const clock = new TestClock(new Date('2026-03-01T12:00:00.250Z'));
const service = await startTestService({ clock: clock.read, oidcSigningKeys: [createRsaJwk()] });
const redirectUris = [REDIRECT_URI, 'http://127.0.0.1/callback', 'http://localhost/', 'com.example.app:/callback'];
const tenant = await createOidcTenant(service, { publicClient: true, redirectUris });
const other = await createOidcTenant(service, { publicClient: true });
const user = await createTestUser(service);
const ORIGIN = new URL(REDIRECT_URI).origin;

afterAll(() => service.close());

const isPublic = true;
const INVALID_GRANT = { status: 400, body: { error: 'invalid_grant' } };

async function signIn(who: { id: string } = user, browser?: string): Promise<TokenReply['body']> {
  const verifier = createVerifier();
  const code = await signInForCode(service, tenant, who, { verifier, ...(browser && { browser }) });
  const reply = await redeem(service, tenant, code, { verifier, isPublic });
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
  return reply.body;
}

const next = (refreshToken: string | undefined) => refresh(service, tenant, refreshToken, { isPublic });

describe('a code', () => {
  test('needs the verifier of its challenge', async () => {
    const verifier = createVerifier();
    const code = await signInForCode(service, tenant, user, { verifier });
    const wrong = await redeem(service, tenant, code, { verifier: createVerifier(), isPublic });
    expect(wrong).toMatchObject(INVALID_GRANT);
    expect(await redeem(service, tenant, code, { isPublic })).toMatchObject({ body: { error: 'invalid_request' } });
    expect(await redeem(service, tenant, code, { verifier, isPublic })).toMatchObject({ status: 200 });
  });

  test('that was asked for without a challenge is none', async () => {
    const code = await signInForCode(service, tenant, user);
    expect(await redeem(service, tenant, code, { verifier: createVerifier(), isPublic })).toMatchObject(INVALID_GRANT);
    expect(await redeem(service, tenant, code, { isPublic })).toMatchObject({ body: { error: 'invalid_request' } });
  });

  test('is none for an application whose clients keep a secret', async () => {
    const confidential = await createOidcTenant(service);
    const verifier = createVerifier();
    const code = await signInForCode(service, confidential, user, { verifier });
    expect(await redeem(service, confidential, code, { verifier, isPublic })).toMatchObject({ status: 401 });
  });
});

describe('a refresh token', () => {
  test('is replaced at each use', async () => {
    const { refresh_token: first } = await signIn();
    const second = await next(first);
    expect(second.status).toBe(200);
    expect(second.body.refresh_token).not.toBe(first);
    expect(await next(second.body.refresh_token)).toMatchObject({ status: 200 });
  });

  test('gets the same successor again for 30 seconds, because the reply may have been lost', async () => {
    const { refresh_token: first } = await signIn();
    const lost = await next(first);
    clock.advance(29 * SECOND);
    const again = await next(first);
    expect(again.body.refresh_token).toBe(lost.body.refresh_token);
    expect(await next(again.body.refresh_token)).toMatchObject({ status: 200 });
  });

  test('gets no more than 30 seconds from when it was replaced, however often it is used meanwhile', async () => {
    const { refresh_token: first } = await signIn();
    await next(first);
    for (const seconds of [15, 14]) {
      clock.advance(seconds * SECOND);
      expect(await next(first)).toMatchObject({ status: 200 });
    }
    clock.advance(SECOND);
    expect(await next(first)).toMatchObject(INVALID_GRANT);
  });

  test('gets one successor in 50 requests at once', async () => {
    const { refresh_token: first } = await signIn();
    const replies = await Promise.all(Array.from({ length: 50 }, () => next(first)));
    expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
    expect(new Set(replies.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(new Set(replies.map(({ body }) => body.access_token)).size).toBe(1);
  });

  test.each([
    [
      '30 seconds after it was replaced',
      async (first?: string) => {
        await next(first);
        clock.advance(30 * SECOND);
      },
    ],
    [
      'once its successor was replaced',
      async (first?: string) => {
        const { body } = await next(first);
        await next(body.refresh_token);
      },
    ],
  ])('ends the sign-in if it comes %s', async (_when, use) => {
    const { refresh_token: first, access_token: accessToken } = await signIn();
    await use(first);
    const latest = (await next(first)).body.refresh_token;
    expect(latest).toBeUndefined();
    expect(await getUserinfo(service, accessToken)).toMatchObject({ status: 401 });
  });

  test('ends with the sign-in that a reuse has ended', async () => {
    const { refresh_token: first } = await signIn();
    const { body: second } = await next(first);
    const { body: third } = await next(second.refresh_token);
    expect(await next(first)).toMatchObject(INVALID_GRANT);
    expect(await next(third.refresh_token)).toMatchObject(INVALID_GRANT);
  });

  test('is refused to other applications', async () => {
    const { refresh_token: first } = await signIn();
    expect(await refresh(service, other, first, { isPublic })).toMatchObject(INVALID_GRANT);
    expect(await next(first)).toMatchObject({ status: 200 });
  });

  test('of a client with a secret is refused without it', async () => {
    const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user));
    expect(await next(body.refresh_token)).toMatchObject(INVALID_GRANT);
    expect(await refresh(service, tenant, body.refresh_token)).toMatchObject({
      status: 200,
      body: { refresh_token: body.refresh_token },
    });
  });

  test('ends when the user is signed out of the application', async () => {
    const person = await createTestUser(service);
    const { refresh_token: first, access_token: accessToken } = await signIn(person);
    await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: person.id });
    expect(await next(first)).toMatchObject(INVALID_GRANT);
    expect(await getUserinfo(service, accessToken)).toMatchObject({ status: 401 });
  });
});

describe('revocation', () => {
  test.each(['access_token', 'refresh_token'] as const)('by the %s ends that sign-in and no other', async (kind) => {
    const [gone, kept] = [await signIn(), await signIn()];
    const fields = { token: gone[kind] ?? '', client_id: tenant.clientId };
    // Usher still knows the answer when the token is revoked.
    expect(await getUserinfo(service, gone.access_token)).toMatchObject({ status: 200 });
    expect(await post(service, '/oidc/revoke', fields)).toMatchObject({ status: 200, body: {} });
    expect(await getUserinfo(service, gone.access_token)).toMatchObject({ status: 401 });
    expect(await next(gone.refresh_token)).toMatchObject(INVALID_GRANT);
    expect(await getUserinfo(service, kept.access_token)).toMatchObject({ status: 200 });
    expect(await next(kept.refresh_token)).toMatchObject({ status: 200 });
    expect(await post(service, '/oidc/revoke', fields)).toMatchObject({ status: 200 });
  });

  test('of a token of another client, or of none, succeeds and ends nothing', async () => {
    const tokens = await signIn();
    for (const token of [tokens.access_token, tokens.refresh_token, 'uat_', 'x']) {
      const fields = { token: token ?? '', client_id: other.clientId };
      expect(await post(service, '/oidc/revoke', fields)).toMatchObject({ status: 200 });
    }
    expect(await next(tokens.refresh_token)).toMatchObject({ status: 200 });
  });

  test('needs a token and a client', async () => {
    const { clientId } = tenant;
    expect(await post(service, '/oidc/revoke', { client_id: clientId })).toMatchObject({ status: 400 });
    expect(await post(service, '/oidc/revoke', { token: 'x' })).toMatchObject({ status: 400 });
    expect(await post(service, '/oidc/revoke', { token: 'x' }, basicOf({ clientId, apiKey: 'x' }))).toMatchObject({
      status: 401,
    });
  });
});

describe('introspection', () => {
  const introspect = async (token: string | undefined, as = tenant) =>
    post(service, '/oidc/introspect', { token: token ?? '' }, basicOf(as));

  test('tells a client of its own tokens', async () => {
    const tokens = await signIn();
    const { body } = await introspect(tokens.access_token);
    expect(body).toMatchObject({
      active: true,
      iss: service.config.publicUrl,
      client_id: tenant.clientId,
      sub: user.id,
      scope: 'openid',
      token_type: 'Bearer',
    });
    expect((await introspect(tokens.refresh_token)).body).toMatchObject({ active: true });
  });

  test('tells when a token expires, and of which kind it is', async () => {
    const tokens = await signIn(await createTestUser(service));
    const signedInAt = Math.floor(clock.read().getTime() / SECOND);
    const { body: access } = await introspect(tokens.access_token);
    expect(access).toMatchObject({ token_type: 'Bearer', exp: signedInAt + 15 * 60, auth_time: signedInAt });
    const { body: refreshing } = await introspect(tokens.refresh_token);
    expect(refreshing).toMatchObject({ token_type: 'refresh_token', exp: signedInAt + 12 * 60 * 60 });
  });

  test('tells nothing of tokens of others, and of those that have ended', async () => {
    const tokens = await signIn();
    const inactive = { status: 200, body: { active: false } };
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      expect(await introspect(token, other)).toMatchObject(inactive);
    }
    await post(service, '/oidc/revoke', { token: tokens.access_token ?? '', client_id: tenant.clientId });
    for (const token of [tokens.access_token, tokens.refresh_token, 'uat_', 'x']) {
      expect((await introspect(token)).body).toEqual({ active: false });
    }
  });

  test('tells nothing of a refresh token whose user was signed out', async () => {
    const person = await createTestUser(service);
    const tokens = await signIn(person);
    expect((await introspect(tokens.refresh_token)).body).toMatchObject({ active: true });
    await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: person.id });
    expect((await introspect(tokens.refresh_token)).body).toEqual({ active: false });
  });

  test('knows at once what another replica has issued, and what this one has replaced or ended', async () => {
    await using replica = await startTestService({
      database: service.database,
      like: service.config,
      clock: clock.read,
    });
    const active = async (token: string | undefined) => (await introspect(token)).body.active;
    const { refresh_token: first, access_token } = await signIn();
    expect([await active(first), await active(access_token)]).toEqual([true, true]);
    const there = await refresh(replica, tenant, first, { isPublic: true });
    const second = there.body.refresh_token;
    expect([await active(second), await active(first)]).toEqual([true, false]);
    const third = (await next(second)).body.refresh_token;
    expect([await active(second), await active(third)]).toEqual([false, true]);
    // Two tokens old: the grant ends.
    await next(first);
    expect([await active(third), await active(access_token)]).toEqual([false, false]);
  });

  test('tells nothing of a refresh token that was replaced', async () => {
    const { refresh_token: first } = await signIn();
    const { body } = await next(first);
    expect((await introspect(first)).body).toEqual({ active: false });
    expect((await introspect(body.refresh_token)).body).toMatchObject({ active: true });
  });

  test('needs a secret', async () => {
    const fields = { token: 'x', client_id: tenant.clientId };
    expect(await post(service, '/oidc/introspect', fields)).toMatchObject({ status: 401 });
  });
});

describe('grants', () => {
  test('are listed for the application and for operators, and end by their ID', async () => {
    const person = await createTestUser(service);
    const { id: userId } = person;
    const [gone, kept] = [await signIn(person, 'browser 1'), await signIn(person, 'browser 2')];
    const { sessions } = clientsOf(service, tenant);
    const { grants } = await sessions.listGrants({ userId });
    expect(grants).toMatchObject([
      { userId, scope: 'openid', method: 'page' },
      { userId, scope: 'openid', method: 'page' },
    ]);
    expect(new Set(grants.map(({ sid }) => sid)).size).toBe(2);
    const all = await adminClient(service).listUserGrants({ userId });
    expect(all.grants.map(({ grantId }) => grantId)).toEqual(grants.map(({ grantId }) => grantId));

    const oldest = grants.at(-1)?.grantId ?? '';
    expect((await clientsOf(service, other).sessions.listGrants({ userId })).grants).toEqual([]);
    await clientsOf(service, other).sessions.endGrant({ grantId: oldest });
    expect(await getUserinfo(service, gone.access_token)).toMatchObject({ status: 200 });
    await sessions.endGrant({ grantId: oldest });
    expect(await getUserinfo(service, gone.access_token)).toMatchObject({ status: 401 });
    expect(await getUserinfo(service, kept.access_token)).toMatchObject({ status: 200 });

    const latest = grants[0]?.grantId ?? '';
    const { id: stranger } = await createTestUser(service);
    const ofOther = { applicationId: tenant.id, grantId: latest };
    await adminClient(service).endUserGrant({ ...ofOther, userId: stranger });
    expect(await next(kept.refresh_token)).toMatchObject({ status: 200 });
    await adminClient(service).endUserGrant({ ...ofOther, userId });
    expect((await sessions.listGrants({ userId })).grants).toEqual([]);
    expect(await getUserinfo(service, kept.access_token)).toMatchObject({ status: 401 });
    const events = await service.database.sql`
      select action, actor_type from audit_events where action like '%/End%Grant' and resource in (${userId}, ${oldest}, ${latest})
      order by action`;
    expect(events).toEqual([
      { action: 'AdminService/EndUserGrant', actor_type: 'admin_key' },
      { action: 'SessionService/EndGrant', actor_type: 'api_key' },
    ]);
  });

  test('are not listed once the user is signed out', async () => {
    const person = await createTestUser(service);
    const { id: userId } = person;
    await signIn(person);
    await clientsOf(service, tenant).sessions.revokeUserSessions({ userId });
    expect((await clientsOf(service, tenant).sessions.listGrants({ userId })).grants).toEqual([]);
    expect((await adminClient(service).listUserGrants({ userId })).grants).toEqual([]);
  });

  test('of the same browser have the same name for it, and another one in another application', async () => {
    const sids: unknown[] = [];
    for (const client of [tenant, tenant, other]) {
      const verifier = createVerifier();
      const code = await signInForCode(service, client, user, { verifier, browser: 'the same' });
      const { body } = await redeem(service, client, code, { verifier, isPublic });
      sids.push(JSON.parse(Buffer.from(body.id_token?.split('.')[1] ?? '', 'base64url').toString()).sid);
    }
    expect(sids[0]).toBe(sids[1]);
    expect(sids[2]).not.toBe(sids[0]);
  });
});

test('calls without a secret take nothing of the share that the calls of the same application with one have', async () => {
  const run = vi.spyOn(Admission.prototype, 'run');
  onTestFinished(() => run.mockRestore());
  const fields = { grant_type: 'refresh_token', refresh_token: 'x' };
  const callersOf = async (send: Promise<TokenReply>) => {
    run.mockClear();
    expect(await send).toMatchObject(INVALID_GRANT);
    return run.mock.calls.map(([caller]) => caller);
  };
  const withSecret = await callersOf(post(service, '/oidc/token', fields, basicOf(tenant)));
  const without = await callersOf(post(service, '/oidc/token', { ...fields, client_id: tenant.clientId }));
  expect(withSecret).toContain(tenant.id);
  expect(without).not.toContain(tenant.id);
});

describe('a page', () => {
  const preflight = (path: string, origin: string) =>
    request(service.url, {
      method: 'OPTIONS',
      path,
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });

  test.each(['/oidc/token', '/oidc/userinfo', '/oidc/revoke'])('may ask %s whether it may send', async (path) => {
    const { status, headers } = await preflight(path, ORIGIN);
    expect({ status, allowed: headers['access-control-allow-origin'] }).toEqual({ status: 204, allowed: ORIGIN });
  });

  test.each([
    [ORIGIN, ORIGIN],
    ['http://127.0.0.1:54321', 'http://127.0.0.1:54321'],
    ['http://localhost:54321', 'http://localhost:54321'],
    ['http://localhost.evil.test', undefined],
    ['https://evil.test', undefined],
    ['https://app.test.evil.test', undefined],
    ['http://app.test', undefined],
    ['null', undefined],
    ['com.example.app://', undefined],
  ])('of the origin %s reads what the client has got: %s', async (origin, allowed) => {
    const tokens = await signIn();
    const { clientId } = tenant;
    const refreshed = await post(
      service,
      '/oidc/token',
      { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', client_id: clientId },
      { origin },
    );
    const refused = await post(service, '/oidc/token', { client_id: clientId }, { origin });
    const shown = await request(service.url, {
      path: '/oidc/userinfo',
      headers: { origin, authorization: `Bearer ${tokens.access_token}` },
    });
    const revoked = await post(service, '/oidc/revoke', { token: 'x', client_id: clientId }, { origin });
    expect([refreshed.status, refused.status, shown.status, revoked.status]).toEqual([200, 400, 200, 200]);
    for (const { headers } of [refreshed, refused, shown, revoked]) {
      expect(headers['access-control-allow-origin']).toBe(allowed);
      // Otherwise a cache would show the answer for one page to another.
      expect(headers.vary).toBe(allowed && 'Origin');
      expect(headers['access-control-expose-headers']).toBe(allowed && 'WWW-Authenticate, X-Request-Id, Retry-After');
    }
  });

  test('of any origin reads that an access token is not valid', async () => {
    const { status, headers } = await request(service.url, {
      path: '/oidc/userinfo',
      headers: { origin: 'https://evil.test', authorization: 'Bearer uat_' },
    });
    expect([status, headers['access-control-allow-origin']]).toEqual([401, '*']);
  });

  test('reads nothing that a client with a secret has got', async () => {
    const confidential = await createOidcTenant(service);
    const { body } = await redeem(service, confidential, await signInForCode(service, confidential, user));
    const headers = { origin: ORIGIN, authorization: `Bearer ${body.access_token}` };
    const shown = await request(service.url, { path: '/oidc/userinfo', headers });
    expect(shown.headers['access-control-allow-origin']).toBeUndefined();
  });
});
