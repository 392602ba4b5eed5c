/** Auth tokens of the issuer that AUTH_ISSUER and AUTH_JWKS_URL name. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { generateIssuerKey, ISSUER, JwksServer } from '../../support/issuer.ts';
import { openIssuerFixture } from '../../support/issuer-fixture.ts';
import { call, REST } from '../../support/protocols.ts';
import { adminClient, clientsOf, logIn, PUBLIC_URL, startTestService } from '../../support/service.ts';

const fixture = await openIssuerFixture();
afterAll(() => fixture.close());

describe('the exchange of a token', () => {
  const exchange = (authToken: string, { url } = fixture.service) =>
    call(REST, url, AuthService.method.exchangeToken, { authToken }, { 'x-api-key': fixture.tenant.apiKey });

  it('returns 404 for an unknown user', async () => {
    const token = fixture.token({ claims: { sub: randomUUID() } });
    expect(await exchange(token)).toMatchObject({ code: 'not_found', message: 'User not found' });
  });

  it('is refused where more than one factor is demanded: whatever it says of the sign-in, it has one factor', async () => {
    const { service, tenant } = fixture;
    const token = fixture.token({ claims: { acr: 'phr', amr: ['mfa'], auth_time: Date.now() } });
    const admin = adminClient(service);
    const { auth } = clientsOf(service, tenant);
    expect((await auth.exchangeToken({ authToken: token })).session).toMatchObject({ assurance: 1, method: 'issuer' });
    await admin.updateApplication({ applicationId: tenant.id, requiredAssurance: 'TWO_FACTORS' });
    expect(await fixture.exchange(token)).toBe('unauthenticated');
    await admin.updateApplication({ applicationId: tenant.id, requiredAssurance: 'ANY' });
    expect(await fixture.exchange(token)).toBe('ok');
  });

  it('returns 503 while the issuer is unreachable and its keys are unknown', async () => {
    const gone = await JwksServer.start(fixture.key);
    await using lost = await fixture.startWith(gone);
    await gone.stop();
    const unavailable = { code: 'unavailable', message: 'Service unavailable' };
    expect(await exchange(fixture.token(), lost)).toMatchObject(unavailable);
  });
});

it('tokens of Usher are still accepted, without a request for the keys of the issuer', async () => {
  await using server = await JwksServer.start(fixture.key);
  await using own = await fixture.startWith(server);
  expect(await fixture.exchange(await logIn(own, fixture.tenant, fixture.user), own)).toBe('ok');
  expect(server.requests).toBe(0);
});

// What is accepted, and attacks: test/robustness/tokens.test.ts.
describe('a token is refused with 401', () => {
  it('of Usher that is signed by the issuer', async () => {
    expect(await fixture.exchange(fixture.token({ claims: { iss: PUBLIC_URL } }))).toBe('unauthenticated');
  });

  it('with RS256, even if the issuer publishes the key', async () => {
    const rsa = generateIssuerKey('RS256');
    await using server = await JwksServer.start(fixture.key, rsa);
    await using own = await fixture.startWith(server);
    expect(await fixture.exchange(fixture.token({ key: rsa }), own)).toBe('unauthenticated');
    expect(await fixture.exchange(fixture.token(), own)).toBe('ok');
  });

  it('of an issuer that is not configured', async () => {
    const { database, config: like } = fixture.service;
    await using own = await startTestService({ database, like, config: { authIssuer: undefined } });
    expect(await fixture.exchange(fixture.token(), own)).toBe('unauthenticated');
  });
});

it('the service does not start if the issuer is its own public URL', async () => {
  const { database, config: like } = fixture.service;
  const started = startTestService({ database, like, config: { publicUrl: ISSUER } });
  await expect(started).rejects.toThrow('AUTH_ISSUER must not be PUBLIC_URL');
});
