/** IntrospectToken, over every protocol. What a token is: token-status in test/integration/modules/oidc/tokens.test.ts. */
import { afterAll, describe, expect, it } from 'vitest';
import { TokenService } from '../../../../gen/usher/v1/token_pb.ts';
import { SECOND, TestClock } from '../../../support/clock.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { basicOf, createOidcTenant, post, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import { call, PROTOCOLS } from '../../../support/protocols.ts';
import { clientsOf, createTestUser, startTestService } from '../../../support/service.ts';

const clock = new TestClock(new Date('2026-03-01T12:00:00.250Z'));
const service = await startTestService({ clock: clock.read, oidcSigningKeys: [createRsaJwk()] });
afterAll(() => service.close());
const tenant = await createOidcTenant(service);
const other = await createOidcTenant(service);
const user = await createTestUser(service);
const { introspectToken } = TokenService.method;

const { body: tokens } = await redeem(service, tenant, await signInForCode(service, tenant, user));
const ask = (token: string | undefined, of = tenant) =>
  clientsOf(service, of).tokens.introspectToken({ token: token ?? '' });

describe.each(PROTOCOLS)('IntrospectToken over %s', (protocol) => {
  it.each(['access_token', 'refresh_token'])('tells of an %s what /oidc/introspect tells', async (name) => {
    const token = tokens[name] ?? '';
    const { body } = await post(service, '/oidc/introspect', { token }, basicOf(tenant));
    expect(body).toMatchObject({ active: true, sub: user.id });
    const { client_id: clientId, token_type: tokenType, grant_id: grantId, exp, auth_time: authTime, ...others } = body;
    const { grants } = await clientsOf(service, tenant).sessions.listGrants({});
    expect(grants.map((grant) => grant.grantId)).toEqual([grantId]);
    const instantOf = (seconds: string | undefined) => new Date(Number(seconds) * SECOND).toISOString();
    const answer = await call(protocol, service.url, introspectToken, { token }, { 'x-api-key': tenant.apiKey });
    expect(answer).toMatchObject({ code: 'ok' });
    expect(normalize(answer.data)).toEqual({
      ...others,
      clientId,
      tokenType,
      grantId,
      exp: instantOf(exp),
      authTime: instantOf(authTime),
    });
  });
});

/** Instants without their fraction, as each protocol writes them. */
function normalize(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data), (_, value) =>
    typeof value === 'string' && /^\d{4}-.*Z$/.test(value) ? new Date(value).toISOString() : value,
  );
}

describe('a token', () => {
  it('is not active at another application, and no text is', async () => {
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect(await ask(token, other)).toMatchObject({ active: false });
    for (const token of ['a', 'uat_', `${tokens.access_token}A`, `\0${tokens.access_token}`.slice(1, -1)])
      expect(await ask(token)).toMatchObject({ active: false });
    await expect(ask('')).rejects.toMatchObject({ rawMessage: 'Validation failed' });
    await expect(ask('a'.repeat(8_193))).rejects.toMatchObject({ rawMessage: 'Validation failed' });
  });

  it('is not active once its grant has ended, and within 5 seconds not on another replica', async () => {
    await using replica = await startTestService({
      database: service.database,
      like: service.config,
      clock: clock.read,
    });
    const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user));
    const askReplica = () => clientsOf(replica, tenant).tokens.introspectToken({ token: body.access_token ?? '' });
    expect(await askReplica()).toMatchObject({ active: true, sub: user.id });
    await post(service, '/oidc/revoke', { token: body.refresh_token ?? '' }, basicOf(tenant));
    expect(await ask(body.access_token)).toMatchObject({ active: false });
    await expect.poll(askReplica).toMatchObject({ active: false });
    expect(await refresh(service, tenant, body.refresh_token)).toMatchObject({ status: 400 });
  });

  it('is not active once its session is over', async () => {
    const { body } = await redeem(service, tenant, await signInForCode(service, tenant, await createTestUser(service)));
    clock.advance(15 * 60 * SECOND);
    expect(await ask(body.access_token)).toMatchObject({ active: false });
    expect(await ask(body.refresh_token)).toMatchObject({ active: true });
  });

  it('is not active without OpenID Connect', async () => {
    await using without = await startTestService({
      database: service.database,
      like: { ...service.config, secrets: { ...service.config.secrets, oidcSigningKeys: [] } },
    });
    expect(await clientsOf(without, tenant).tokens.introspectToken({ token: tokens.access_token ?? '' })).toMatchObject(
      {
        active: false,
      },
    );
  });
});
