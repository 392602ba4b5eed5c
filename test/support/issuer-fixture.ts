/** A service that accepts the tokens of an external issuer, and such tokens for a user. */
import { randomUUID } from 'node:crypto';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import type { Config } from '../../src/config/config.ts';
import { CALLERS } from './callers.ts';
import { cloneDatabase } from './database.ts';
import { generateIssuerKey, ISSUER, type IssuerKey, JwksServer, signToken } from './issuer.ts';
import {
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
  testConfig,
} from './service.ts';

type JsonObject = Record<string, unknown>;

const rest = CALLERS.find(({ isRest }) => isRest);

export class IssuerFixture {
  readonly key: IssuerKey;
  readonly ecKey: IssuerKey;
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly user: TestUser;
  readonly close: () => Promise<void>;

  private constructor(parts: Pick<IssuerFixture, 'key' | 'ecKey' | 'service' | 'tenant' | 'user' | 'close'>) {
    ({
      key: this.key,
      ecKey: this.ecKey,
      service: this.service,
      tenant: this.tenant,
      user: this.user,
      close: this.close,
    } = parts);
  }

  /** The issuer publishes both keys. */
  static async open(): Promise<IssuerFixture> {
    const key = generateIssuerKey('EdDSA', 'issuer-key');
    const ecKey = generateIssuerKey('ES256', 'issuer-ec-key');
    const database = await cloneDatabase();
    const jwks = await JwksServer.start(key, ecKey);
    const like = testConfig(database.url, { AUTH_ISSUER: ISSUER, AUTH_JWKS_URL: jwks.url });
    const service = await startTestService({ database, like });
    const close = async () => {
      await service.close();
      await jwks.stop();
      await database[Symbol.asyncDispose]();
    };
    const tenant = await createTenant(service);
    return new IssuerFixture({ key, ecKey, service, tenant, user: await createTestUser(service), close });
  }

  /** Starts a service that has not asked this issuer for its keys yet. */
  startWith({ url: jwksUrl }: JwksServer, settings: Partial<Config> = {}): Promise<TestService> {
    const { database, config: like } = this.service;
    return startTestService({ database, like, config: { authIssuer: { issuer: ISSUER, jwksUrl }, ...settings } });
  }

  claims(): JsonObject {
    const iat = Math.floor(Date.now() / 1_000);
    return { iss: ISSUER, aud: this.tenant.clientId, sub: this.user.id, jti: randomUUID(), iat, exp: iat + 900 };
  }

  /** Returns a token that is valid except for the given claims. */
  token({ key = this.key, claims = {} }: { key?: IssuerKey; claims?: JsonObject } = {}): string {
    return signToken({ alg: key.alg, typ: 'login+jwt', kid: key.kid }, { ...this.claims(), ...claims }, key);
  }

  /** Exchanges the token over REST and returns `ok` or the code of the error. */
  async exchange(authToken: string, { url }: { url: string } = this.service): Promise<string | undefined> {
    const headers = { 'x-api-key': this.tenant.apiKey };
    return (await rest?.call(url, AuthService.method.exchangeToken, { authToken }, headers))?.code;
  }
}
