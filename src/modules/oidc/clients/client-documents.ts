/** The metadata of clients that nobody has registered, from the cache or their own servers. */
import { createLruCache } from '../../../domain/cache/lru-cache.ts';
import type { ClientDocument } from './client-document.ts';
import { type ClientHosts, matchClient } from './client-hosts.ts';
import type { FetchDocument } from './fetch-document.ts';

/** With 20 long redirect URIs each, they take 40 MB at most. */
const MAX_DOCUMENTS = 1_000;
const MAX_HOSTS = 1_000;
const MINUTE_MS = 60_000;
/**
 * Anybody can make Usher fetch a document, so only so many are fetched: at once, and in a minute from a host and in all.
 * Whoever waits for one takes a request in flight from the login page, which has 100.
 */
const LIMITS = { atOnce: 10, waiting: 50, ofHost: 30, inAll: 120 };

type Found = { readonly document: ClientDocument } | { readonly problem: 'unknown' | 'unavailable' | 'too-many' };

interface Kept {
  readonly document: ClientDocument | undefined;
  readonly until: number;
}

interface Options {
  /** Undefined: off. */
  readonly hosts: ClientHosts | undefined;
  readonly fetchDocument: FetchDocument;
  /** In milliseconds, never going back. */
  readonly now?: () => number;
}

export class ClientDocuments {
  readonly #options: Options & { readonly now: () => number };
  readonly #kept = createLruCache<Kept>(MAX_DOCUMENTS);
  readonly #pending = new Map<string, Promise<ClientDocument | undefined>>();
  #waiting = 0;
  /** When the buckets of hosts, and of all, are empty. */
  readonly #buckets = createLruCache<{ emptyAt: number }>(MAX_HOSTS);

  constructor({ now = () => performance.now(), ...options }: Options) {
    this.#options = { ...options, now };
  }

  get isOn(): boolean {
    return this.#options.hosts !== undefined;
  }

  /** Returns whether the operator lets clients of this URL ask for access. */
  allows(clientId: string): boolean {
    return matchClient(this.#options.hosts, clientId) !== undefined;
  }

  /** `mayFetch` is asked before a fetch. */
  async find(clientId: string, mayFetch: () => boolean): Promise<Found> {
    const match = matchClient(this.#options.hosts, clientId);
    if (!match) return { problem: 'unknown' };
    const kept = this.#kept.get(clientId);
    if (kept && kept.until > this.#options.now()) return toFound(kept.document);
    if (this.#waiting >= LIMITS.waiting) return { problem: 'too-many' };
    let pending = this.#pending.get(clientId);
    if (!pending) {
      if (!mayFetch() || this.#pending.size >= LIMITS.atOnce || !this.#take(match.host)) return { problem: 'too-many' };
      pending = this.#fetch(clientId, match).finally(() => this.#pending.delete(clientId));
      this.#pending.set(clientId, pending);
    }
    this.#waiting++;
    try {
      return toFound(await pending);
    } finally {
      this.#waiting--;
    }
  }

  async #fetch(clientId: string, { match }: { readonly match: 'named' | 'wildcard' }) {
    const { fetchDocument, now } = this.#options;
    const fetched = await fetchDocument(clientId, match);
    const keptMs = fetched ? fetched.keptMs : MINUTE_MS;
    if (keptMs === 0) this.#kept.delete(clientId);
    else this.#kept.set(clientId, { document: fetched?.document, until: now() + keptMs });
    return fetched?.document;
  }

  /** Takes a permit of the host and of all. Returns false if one of them has none, and then takes none. */
  #take(host: string): boolean {
    const now = this.#options.now();
    const filled = [[`host ${host}`, LIMITS.ofHost] as const, ['all', LIMITS.inAll] as const].map(
      ([key, perMinute]) => {
        const emptyAt = Math.max(this.#buckets.get(key)?.emptyAt ?? 0, now) + MINUTE_MS / perMinute;
        return [key, emptyAt] as const;
      },
    );
    // Half a millisecond makes up for the rounding of the sums.
    if (filled.some(([, emptyAt]) => emptyAt - now > MINUTE_MS + 0.5)) return false;
    for (const [key, emptyAt] of filled) this.#buckets.set(key, { emptyAt });
    return true;
  }
}

function toFound(document: ClientDocument | undefined): Found {
  return document ? { document } : { problem: 'unavailable' };
}
