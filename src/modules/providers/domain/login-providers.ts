/** The providers at which people may sign in, with limits of time and concurrency for each. */

import { ServiceError } from '../../../domain/core/errors.ts';
import type { ProviderAnswer } from '../../../domain/identities/provider-names.ts';
import type { LoginProvider } from '../parse-login-providers.ts';
import {
  type AuthorizationOptions,
  type AuthorizationSecrets,
  type Identity,
  type ProviderClient,
  ProviderError,
} from './provider-client.ts';

/**
 * Per provider and process. Further sign-ins are refused at once, so that a slow provider does not use up the capacity
 * for others.
 */
const MAX_IN_FLIGHT = 16;
const TIMEOUT_MS = 5_000;
const TIMED_OUT = 'timeout';
/** The share of the time of a call. The rest must suffice to answer that the provider was too slow. */
const TIMEOUT_SHARE = 0.6;

export interface LoginProviderSettings {
  readonly loginProviders: readonly LoginProvider[];
  /** The IDs of the providers that people may use. Undefined for all. */
  readonly loginProviderIds: readonly string[] | undefined;
  readonly requestTimeoutMs: number;
}

export class LoginProviders {
  readonly #timeoutMs: number;
  readonly #offered: readonly string[] | undefined;
  #connections: ReadonlyMap<string, ProviderConnection> = new Map();
  #issuers: ReadonlyMap<string, string> = new Map();

  constructor({ loginProviders, loginProviderIds, requestTimeoutMs }: LoginProviderSettings) {
    this.#offered = loginProviderIds;
    this.#timeoutMs = Math.min(TIMEOUT_MS, requestTimeoutMs * TIMEOUT_SHARE);
    this.replace(loginProviders);
  }

  /** The providers that people may use, in the order of their file. */
  get all(): readonly LoginProvider[] {
    return [...this.#connections.values()].map(({ provider }) => provider);
  }

  /** Replaces the providers after their file has changed. An unchanged provider keeps its client and metadata. */
  replace(providers: readonly LoginProvider[]): void {
    const before = this.#connections;
    this.#issuers = new Map(providers.map(({ id, issuer }) => [id, issuer]));
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

  /** The issuers by ID, of all that the file has, even if people may not use them. */
  get issuers(): ReadonlyMap<string, string> {
    return this.#issuers;
  }

  /** Returns the name of a provider, or an empty string for an unknown ID. */
  nameOf(id: string): string {
    return this.#connections.get(id)?.provider.name ?? '';
  }

  readAnswers(): readonly ProviderAnswer[] {
    return [...this.#connections.values()].map(({ provider, last }) => ({
      name: provider.name,
      assurance: provider.assurance ?? {},
      at: last?.at,
      problem: last?.problem,
    }));
  }

  /** @throws ServiceError `Login method not enabled` */
  require(id: string): ProviderConnection {
    const connection = this.#connections.get(id);
    if (!connection) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
    return connection;
  }
}

/** A provider and its client. The methods throw `Provider unavailable`, with a reason for the log. */
export class ProviderConnection {
  readonly provider: LoginProvider;
  readonly #timeoutMs: number;
  #client: Promise<ProviderClient> | undefined;
  #inFlight = 0;
  /** When it has answered last, or why it has not. */
  last: Pick<ProviderAnswer, 'at' | 'problem'> | undefined;

  constructor(provider: LoginProvider, timeoutMs: number) {
    this.provider = provider;
    this.#timeoutMs = timeoutMs;
  }

  authorizationUrl(secrets: AuthorizationSecrets, options: AuthorizationOptions): Promise<URL> {
    return this.#run((client) => client.authorizationUrl(secrets, options));
  }

  identify(callback: URL, secrets: AuthorizationSecrets): Promise<Identity> {
    return this.#run((client) => client.identify(callback, secrets));
  }

  async #run<T>(work: (client: ProviderClient) => Promise<T>): Promise<T> {
    if (this.#inFlight >= MAX_IN_FLIGHT) throw unavailable('busy');
    this.#inFlight++;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new ProviderError(TIMED_OUT)), this.#timeoutMs);
    // It may outlive the timeout, but not by much: each of its requests has the same limit.
    const answer = this.#open()
      .then(work)
      .finally(() => {
        this.#inFlight--;
      });
    try {
      const result = await Promise.race([answer, late]);
      this.last = { at: new Date(), problem: undefined };
      return result;
    } catch (error) {
      const detail = describe(error);
      // Anybody can make it refuse a code, which is an answer.
      this.last = { at: new Date(), problem: hasNoAnswer(error) ? detail : undefined };
      throw unavailable(detail);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Loads the client, and the library that it uses, with the first sign-in. */
  async #open(): Promise<ProviderClient> {
    this.#client ??=
      this.provider.type === 'github'
        ? import('./github-client.ts').then(({ GitHubClient }) => new GitHubClient(this.provider, this.#timeoutMs))
        : import('./openid-client.ts').then(({ OpenIdClient }) => new OpenIdClient(this.provider, this.#timeoutMs));
    return await this.#client;
  }
}

/** Whether the provider was too slow, or the connection failed, as its code says. */
function hasNoAnswer(error: unknown): boolean {
  if (error instanceof ProviderError) return error.message === TIMED_OUT;
  const { code, cause } = Object(error);
  return [code, Object(cause).code].some((text) =>
    /^(E[A-Z]|UND_ERR|CERT_|ERR_TLS|DEPTH|SELF_|UNABLE)/.test(String(text)),
  );
}

function unavailable(detail: string): ServiceError {
  return new ServiceError('PROVIDER_UNAVAILABLE', { detail });
}

/** Returns a short reason, without any text that the provider wrote. */
function describe(error: unknown): string {
  if (error instanceof ProviderError) return error.message;
  const { code, cause, name } = Object(error);
  const { code: reason, name: kind } = Object(cause);
  return String([code, reason, kind, name].find((text) => typeof text === 'string'));
}
