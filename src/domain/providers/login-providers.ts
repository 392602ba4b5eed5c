/** The providers at which people may sign in, and what one sign-in at them may cost. */
import { ServiceError } from '../errors.ts';
import type {
  AuthorizationOptions,
  AuthorizationSecrets,
  Identity,
  LoginProvider,
  ProviderClient,
} from './login-provider.ts';
import { ProviderError } from './login-provider.ts';

/** Per provider and process. Others are refused, so that a slow provider does not keep the places of other logins. */
const MAX_IN_FLIGHT = 16;
const TIMEOUT_MS = 5_000;
/** What is left of a call must suffice to say that the provider was too slow. */
const TIMEOUT_SHARE = 0.6;

export interface LoginProviderSettings {
  readonly loginProviders: readonly LoginProvider[];
  /** The IDs of the providers on offer. All, if undefined. */
  readonly loginProviderIds: readonly string[] | undefined;
  readonly requestTimeoutMs: number;
}

export class LoginProviders {
  readonly #timeoutMs: number;
  readonly #offered: readonly string[] | undefined;
  #connections: ReadonlyMap<string, ProviderConnection> = new Map();
  #listed: ReadonlySet<string> = new Set();

  constructor({ loginProviders, loginProviderIds, requestTimeoutMs }: LoginProviderSettings) {
    this.#offered = loginProviderIds;
    this.#timeoutMs = Math.min(TIMEOUT_MS, requestTimeoutMs * TIMEOUT_SHARE);
    this.replace(loginProviders);
  }

  /** In the order of the file. */
  get all(): readonly LoginProvider[] {
    return [...this.#connections.values()].map(({ provider }) => provider);
  }

  /** Replaces the providers. What is known of one that stays as it was is kept. */
  replace(providers: readonly LoginProvider[]): void {
    const before = this.#connections;
    this.#listed = new Set(providers.map(({ id }) => id));
    this.#connections = new Map(
      providers
        .filter(({ id }) => this.#offered?.includes(id) ?? true)
        .map((provider) => {
          const known = before.get(provider.id);
          const isSame = known && JSON.stringify(known.provider) === JSON.stringify(provider);
          return [provider.id, isSame ? known : new ProviderConnection(provider, this.#timeoutMs)];
        }),
    );
  }

  /** Whether the file has it, offered or not. */
  isListed(id: string): boolean {
    return this.#listed.has(id);
  }

  /** Returns an empty string for an unknown one. */
  nameOf(id: string): string {
    return this.#connections.get(id)?.provider.name ?? '';
  }

  /** @throws ServiceError `Login method not enabled` */
  require(id: string): ProviderConnection {
    const connection = this.#connections.get(id);
    if (!connection) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
    return connection;
  }
}

/** A provider and what is known of it. Its methods throw `Provider unavailable`, with the reason for the log. */
export class ProviderConnection {
  readonly provider: LoginProvider;
  readonly #timeoutMs: number;
  #client: Promise<ProviderClient> | undefined;
  #inFlight = 0;

  constructor(provider: LoginProvider, timeoutMs: number) {
    this.provider = provider;
    this.#timeoutMs = timeoutMs;
  }

  authorizationUrl(secrets: AuthorizationSecrets, options: AuthorizationOptions): Promise<URL> {
    return this.#ask((client) => client.authorizationUrl(secrets, options));
  }

  identify(callback: URL, secrets: AuthorizationSecrets): Promise<Identity> {
    return this.#ask((client) => client.identify(callback, secrets));
  }

  async #ask<T>(question: (client: ProviderClient) => Promise<T>): Promise<T> {
    if (this.#inFlight >= MAX_IN_FLIGHT) throw unavailable('busy');
    this.#inFlight++;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new ProviderError('timeout')), this.#timeoutMs);
    // Each of its requests has the same limit, so it ends soon after.
    const answer = this.#open()
      .then(question)
      .finally(() => {
        this.#inFlight--;
      });
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      throw unavailable(describe(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** The library is loaded with the first sign-in. */
  async #open(): Promise<ProviderClient> {
    this.#client ??=
      this.provider.type === 'github'
        ? import('./github-client.ts').then(({ GitHubClient }) => new GitHubClient(this.provider, this.#timeoutMs))
        : import('./openid-client.ts').then(({ OpenIdClient }) => new OpenIdClient(this.provider, this.#timeoutMs));
    return await this.#client;
  }
}

function unavailable(detail: string): ServiceError {
  return new ServiceError('PROVIDER_UNAVAILABLE', { detail });
}

/** Returns what went wrong, without what the provider wrote. */
function describe(error: unknown): string {
  if (error instanceof ProviderError) return error.message;
  const { code, cause, name } = Object(error);
  if (typeof code === 'string') return code;
  const { code: reason, name: kind } = Object(cause);
  return [reason, kind, name].find((text) => typeof text === 'string') ?? 'no answer';
}
