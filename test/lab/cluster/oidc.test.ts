/** Tokens of OpenID Connect on Citus, which needs CITUS_URL, and behind pgbouncer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cloneDatabase, openDatabase } from '../../support/database.ts';
import { DebianPostgres } from '../../support/debian-postgres.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import {
  createOidcTenant,
  createVerifier,
  getUserinfo,
  post,
  redeem,
  refresh,
  signInForCode,
} from '../../support/oidc-client.ts';
import { Pgbouncer, SKIPS_PGBOUNCER } from '../../support/pgbouncer.ts';
import {
  adminClient,
  clientsOf,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
} from '../../support/service.ts';
import { sessionEndingsOf } from '../../support/session-endings.ts';
import { countShards, StatementExplainer } from '../../support/statement-explainer.ts';
import { lacks } from '../../support/tools.ts';

const isPublic = true;

describe.skipIf(lacks('CITUS'))('on Citus', () => {
  const stack = new AsyncDisposableStack();
  let service: TestService;
  let tenant: Tenant;

  beforeAll(async () => {
    const database = stack.use(await cloneDatabase());
    service = stack.use(await startTestService({ database, oidcSigningKeys: [createRsaJwk()] }));
    tenant = await createOidcTenant(service, { publicClient: true });
  }, 120_000);
  afterAll(() => stack.disposeAsync());

  const signIn = async (user: { id: string }) => {
    const verifier = createVerifier();
    const code = await signInForCode(service, tenant, user, { verifier });
    return (await redeem(service, tenant, code, { verifier, isPublic })).body;
  };

  test('codes, refreshes, revocations and grants work, and their statements touch one shard', async () => {
    using explainer = new StatementExplainer(service.database, {
      options: 'format json',
      modes: ['force_custom_plan'],
    });
    const user = await createTestUser(service);
    const tokens = await signIn(user);
    expect(await getUserinfo(service, tokens.access_token)).toMatchObject({ status: 200, body: { sub: user.id } });
    const next = await refresh(service, tenant, tokens.refresh_token, { isPublic });
    expect(next).toMatchObject({ status: 200 });
    expect(await refresh(service, tenant, tokens.refresh_token, { isPublic })).toMatchObject({
      body: { refresh_token: next.body.refresh_token },
    });
    const { grants } = await clientsOf(service, tenant).sessions.listGrants({ userId: user.id });
    expect(grants).toHaveLength(1);
    expect((await adminClient(service).listUserGrants({ userId: user.id })).grants).toHaveLength(1);
    const fields = { token: tokens.access_token ?? '', client_id: tenant.clientId };
    expect(await post(service, '/oidc/revoke', fields)).toMatchObject({ status: 200 });
    expect(await getUserinfo(service, tokens.access_token)).toMatchObject({ status: 401 });

    const names = /oidc|redeem_code|granted|public_clients/;
    // These two ask several servers: citus.test.ts says why.
    const own = explainer.explained.filter(
      ({ name }) => names.test(name) && !['select_user_oidc_grants', 'end_oidc_grant'].includes(name),
    );
    expect(own.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['redeem_code', 'begin_granted_session', 'continue_granted_session', 'rotate_oidc_grant']),
    );
    const shards = own.map(({ name, plans }) => ({ name, shards: countShards(plans) }));
    expect(shards.filter((each) => each.shards > 1)).toEqual([]);
  }, 120_000);

  test('a code is redeemed by one of 50 requests, and a refresh token gets one successor', async () => {
    const verifier = createVerifier();
    const code = await signInForCode(service, tenant, await createTestUser(service), { verifier });
    const fifty = <Result>(send: () => Promise<Result>) => Promise.all(Array.from({ length: 50 }, send));
    const redeemed = await fifty(() => redeem(service, tenant, code, { verifier, isPublic }));
    const [first, ...others] = redeemed.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    const refreshed = await fifty(() => refresh(service, tenant, first?.body.refresh_token, { isPublic }));
    expect(new Set(refreshed.map(({ body }) => body.refresh_token)).size).toBe(1);
  }, 120_000);

  test('a revocation and an erasure end what has begun', async () => {
    const [user, gone] = [await createTestUser(service), await createTestUser(service)];
    const [tokens, ofGone] = [await signIn(user), await signIn(gone)];
    await clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id });
    await adminClient(service).eraseUser({ userId: gone.id });
    for (const { refresh_token: token } of [tokens, ofGone]) {
      expect(await refresh(service, tenant, token, { isPublic })).toMatchObject({ body: { error: 'invalid_grant' } });
    }
    expect(await service.database.sql`select id from oidc_grants where user_id = ${gone.id}`).toEqual([]);
  }, 120_000);

  test('each call that ends the sessions of a user ends grants', async () => {
    for (const [name, end] of Object.entries(sessionEndingsOf(service))) {
      const user = await createTestUser(service);
      const { refresh_token: token } = await signIn(user);
      await end({ tenant, user });
      expect(await refresh(service, tenant, token, { isPublic }), name).toMatchObject({
        body: { error: 'invalid_grant' },
      });
    }
  }, 120_000);
});

describe.skipIf(SKIPS_PGBOUNCER)('behind pgbouncer in transaction mode', () => {
  test('codes are redeemed once, and refresh tokens rotate', async () => {
    await using server = await DebianPostgres.start();
    await server.sql('postgres', (sql) => sql`create database usher`);
    const settings = { pool_mode: 'transaction', max_prepared_statements: 200, default_pool_size: 20 };
    await using pooler = await Pgbouncer.start(server, settings);
    await using database = openDatabase(server.urlOf('usher'));
    const config = { databaseUrl: pooler.urlOf('usher') };
    await using service = await startTestService({ database, config, oidcSigningKeys: [createRsaJwk()] });
    const tenant = await createOidcTenant(service, { publicClient: true });
    const user = await createTestUser(service);
    for (let round = 0; round < 5; round++) {
      const verifier = createVerifier();
      const code = await signInForCode(service, tenant, user, { verifier });
      const redeemed = await Promise.all(
        Array.from({ length: 10 }, () => redeem(service, tenant, code, { verifier, isPublic })),
      );
      const [first, ...others] = redeemed.filter(({ status }) => status === 200);
      expect(others).toEqual([]);
      const refreshed = await Promise.all(
        Array.from({ length: 10 }, () => refresh(service, tenant, first?.body.refresh_token, { isPublic })),
      );
      expect(new Set(refreshed.map(({ status, body }) => `${status} ${body.refresh_token}`)).size).toBe(1);
      expect(await getUserinfo(service, refreshed[0]?.body.access_token)).toMatchObject({ status: 200 });
    }
  }, 120_000);
});
