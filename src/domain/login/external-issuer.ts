/** An issuer of auth tokens other than Usher, known by the keys it publishes. */
import { KeyObject } from 'node:crypto';
import { type CryptoKey, createLocalJWKSet, createRemoteJWKSet, customFetch, errors } from 'jose';
import type { Algorithm, Issuer } from './verify-token.ts';

/** How long keys are taken to be current, and how often at most an unknown one makes us ask again. */
const CACHE_MS = 10 * 60_000;
const COOLDOWN_MS = 30_000;
/** How soon to try again while there are no keys at all. */
const RETRY_MS = 1_000;
const TIMEOUT_MS = 3_000;
const MAX_BYTES = 262_144;

/** The issuer's keys cannot be had, so its tokens can be neither accepted nor refused. */
export class IssuerUnavailableError extends Error {}

export class ExternalIssuer implements Issuer {
  readonly issuer: string;
  readonly #remote: ReturnType<typeof createRemoteJWKSet>;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(issuer: string, jwksUrl: string) {
    this.issuer = issuer;
    this.#remote = createRemoteJWKSet(new URL(jwksUrl), {
      cacheMaxAge: CACHE_MS,
      cooldownDuration: COOLDOWN_MS,
      timeoutDuration: TIMEOUT_MS,
      [customFetch]: (url, options) => this.#fetchKeys(url, options),
    });
  }

  /** Throws IssuerUnavailableError where there are no keys; keys that were had once are used on. */
  async findKey(kid: string, alg: Algorithm): Promise<KeyObject | undefined> {
    try {
      return KeyObject.from(await this.#choose({ kid, alg }));
    } catch (error) {
      // No key, or several, that fit, or one that is broken.
      if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
        return undefined;
      throw error;
    }
  }

  async #choose(header: { kid: string; alg: Algorithm }): Promise<CryptoKey> {
    try {
      return await this.#remote(header);
    } catch (error) {
      const known = this.#remote.jwks();
      if (!(error instanceof IssuerUnavailableError) || !known) throw error;
      return createLocalJWKSet(known)(header);
    }
  }

  /** Bounded in size, and in how often it is tried while it fails. */
  async #fetchKeys(url: string, options: RequestInit): Promise<Response> {
    const pause = this.#remote.jwks() ? COOLDOWN_MS : RETRY_MS;
    if (performance.now() < this.#failedAt + pause)
      throw new IssuerUnavailableError('The last attempt has just failed');
    try {
      const text = await readText(await fetch(url, options));
      createLocalJWKSet(JSON.parse(text));
      return new Response(text);
    } catch (error) {
      this.#failedAt = performance.now();
      throw new IssuerUnavailableError(`No keys from ${url}`, { cause: error });
    }
  }
}

async function readText({ status, body }: Response): Promise<string> {
  if (status !== 200 || !body) throw new Error(`The answer has status ${status}`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_BYTES) throw new Error('The answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
