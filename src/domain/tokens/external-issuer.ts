/** An issuer of auth tokens other than Usher. It publishes its public keys as a JWK Set. */
import { KeyObject } from 'node:crypto';
import { type CryptoKey, createLocalJWKSet, createRemoteJWKSet, customFetch, errors } from 'jose';
import { readText } from '../../encoding/read-text.ts';
import type { Algorithm, Issuer } from './verify-token.ts';

/** How long fetched keys are used before they are fetched again. */
const CACHE_MS = 10 * 60_000;
/** The shortest time between two fetches that tokens with an unknown `kid` cause. */
const COOLDOWN_MS = 30_000;
/** The shortest time between two fetches while none has succeeded. */
const BACKOFF_MS = 1_000;
const TIMEOUT_MS = 3_000;
const MAX_BYTES = 262_144;

/** The keys of the issuer cannot be fetched, so Usher can neither accept nor refuse its tokens. */
export class IssuerUnavailableError extends Error {}

export class ExternalIssuer implements Issuer {
  readonly issuer: string;
  readonly isUsher = false;
  readonly #remoteKeys: ReturnType<typeof createRemoteJWKSet>;
  #failedAt = Number.NEGATIVE_INFINITY;
  #fetches = 0;

  constructor(issuer: string, jwksUrl: string) {
    this.issuer = issuer;
    this.#remoteKeys = createRemoteJWKSet(new URL(jwksUrl), {
      cacheMaxAge: CACHE_MS,
      cooldownDuration: COOLDOWN_MS,
      timeoutDuration: TIMEOUT_MS,
      [customFetch]: (url, options) => this.#fetchKeys(url, options),
    });
  }

  /**
   * Returns the key, or undefined if no key or several keys match, or the matching one is malformed.
   *
   * @throws IssuerUnavailableError if the keys cannot be fetched, and the last fetched ones do not include this key
   */
  async findKey(kid: string, alg: Algorithm, onWait?: () => void): Promise<KeyObject | undefined> {
    const fetches = this.#fetches;
    try {
      return KeyObject.from(await this.#selectKey({ kid, alg }));
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
        return undefined;
      throw error;
    } finally {
      if (this.#fetches > fetches) onWait?.();
    }
  }

  async #selectKey(header: { kid: string; alg: Algorithm }): Promise<CryptoKey> {
    try {
      return await this.#remoteKeys(header);
    } catch (error) {
      const lastKeys = this.#remoteKeys.jwks();
      if (!(error instanceof IssuerUnavailableError) || !lastKeys) throw error;
      return await createLocalJWKSet(lastKeys)(header).catch((mismatch) => {
        // The issuer may have published the key since the last fetch that succeeded.
        throw mismatch instanceof errors.JWKSNoMatchingKey ? error : mismatch;
      });
    }
  }

  /** Adds limits that jose lacks: on the size of the reply, and on the rate of requests to a failing server. */
  async #fetchKeys(url: string, options: RequestInit): Promise<Response> {
    const backoffMs = this.#remoteKeys.jwks() ? COOLDOWN_MS : BACKOFF_MS;
    if (performance.now() < this.#failedAt + backoffMs)
      throw new IssuerUnavailableError('The last fetch has just failed');
    try {
      const text = await readText(await fetch(url, options), MAX_BYTES);
      createLocalJWKSet(JSON.parse(text));
      return new Response(text);
    } catch (error) {
      this.#failedAt = performance.now();
      throw new IssuerUnavailableError(`No keys from ${url}`, { cause: error });
    } finally {
      this.#fetches++;
    }
  }
}

/**
 * Creates the issuer of `AUTH_ISSUER`, if it is set.
 *
 * @throws Error if it has the name of Usher. The settings cannot check that: the default of `PUBLIC_URL` depends on the
 * port
 */
export function createExternalIssuer(
  given: { readonly issuer: string; readonly jwksUrl: string } | undefined,
  publicUrl: string,
): ExternalIssuer | undefined {
  if (given?.issuer === publicUrl) throw new Error('AUTH_ISSUER must not be PUBLIC_URL');
  return given && new ExternalIssuer(given.issuer, given.jwksUrl);
}
