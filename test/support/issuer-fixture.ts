/** A service that accepts the tokens of an external issuer, and such tokens for a user. */
import { randomUUID } from 'node:crypto';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import type { Config } from '../../src/config/config.ts';
import { generateIssuerKey, ISSUER, type IssuerKey, JwksServer, signToken } from './issuer.ts';
import { call, REST } from './protocols.ts';
import { createTenant, createTestUser, startTestService } from './service.ts';

type JsonObject = Record<string, unknown>;

export type IssuerFixture = Awaited<ReturnType<typeof openIssuerFixture>>;

/** The issuer publishes both keys. */
export async function openIssuerFixture() {
  const key = generateIssuerKey('EdDSA', 'issuer-key');
  const ecKey = generateIssuerKey('ES256', 'issuer-ec-key');
  const jwks = await JwksServer.start(key, ecKey);
  const service = await startTestService({ config: { authIssuer: { issuer: ISSUER, jwksUrl: jwks.url } } });
  const tenant = await createTenant(service);
  const user = await createTestUser(service);
  const claims = (): JsonObject => {
    const iat = Math.floor(Date.now() / 1_000);
    return { iss: ISSUER, aud: tenant.clientId, sub: user.id, jti: randomUUID(), iat, exp: iat + 900 };
  };
  return {
    key,
    ecKey,
    service,
    tenant,
    user,
    claims,
    /** Starts a service that has not requested the keys of this issuer yet, and whose clock is `Date`. */
    startWith: ({ url: jwksUrl }: JwksServer, settings: Partial<Config> = {}) => {
      const { database, config: like } = service;
      const config = { authIssuer: { issuer: ISSUER, jwksUrl }, ...settings };
      return startTestService({ database, like, config, clock: () => new Date() });
    },
    /** Returns a token that is valid except for the given claims. */
    token: ({ key: by = key, claims: changed = {} }: { key?: IssuerKey; claims?: JsonObject } = {}) =>
      signToken({ alg: by.alg, typ: 'login+jwt', kid: by.kid }, { ...claims(), ...changed }, by),
    /** Exchanges the token over REST and returns `ok` or the code of the error. */
    exchange: async (authToken: string, { url }: { url: string } = service) => {
      const headers = { 'x-api-key': tenant.apiKey };
      return (await call(REST, url, AuthService.method.exchangeToken, { authToken }, headers)).code;
    },
    close: async () => {
      await service.close();
      await jwks.stop();
    },
  };
}
