/** The metadata of clients that nobody has registered, from the cache or their own servers. */
import { createLruCache } from '../../../domain/cache/revalidating-cache.ts';
import { networkOf } from '../../../domain/login/network.ts';
import { NetworkLimit } from '../../../login-page/browser/network-limit.ts';
import { type ClientHosts, type HostMatch, matchClient } from './client-url.ts';
import type { ClientDocument, FetchDocument } from './fetch-document.ts';

/** A document has at most 16 KiB, so those that are known take 16 MB at most. As many failures are known. */
const MAX_DOCUMENTS = 1_000;
const MINUTE_MS = 60_000;
/** How long a document serves after its time while its renewal fails: RFC 9111, section 4.2.4. */
const STALE_MS = 24 * 60 * MINUTE_MS;
/**
 * Anybody can make Usher fetch a document, so only so many are fetched: at once, and in a minute from a host and in all.
 * Those that are known and those that are not have as many each: made-up paths must not use up the fetches of clients
 * that people use, and one network must not use up those of clients that nobody has used yet.
 * Whoever waits for one takes a request in flight from the login page, which has 100.
 */
const LIMITS = { atOnce: 10, waiting: 50, ofHost: 30, ofHostForNetwork: 15, inAll: 120 };

type Found =
  | { readonly document: ClientDocument }
  | { readonly problem: 'unknown' | 'unavailable' | 'too-many' /** For the log. */; readonly cause: string };

interface Known {
  /** Undefined for `no-store`: only that there is one is known then. */
  readonly document: ClientDocument | undefined;
  readonly freshUntil: number;
  readonly knownUntil: number;
}

interface Asking {
  readonly address: string;
  /** Takes a permit of the network for a fetch, or returns false. */
  readonly mayFetch: () => boolean;
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
  readonly #known = createLruCache<Known>(MAX_DOCUMENTS);
  /** Apart from the documents, so that no number of made-up paths drives those out. */
  readonly #failures = createLruCache<{ readonly cause: string; readonly until: number }>(MAX_DOCUMENTS);
  readonly #pending = new Map<string, Promise<Found>>();
  #waiting = 0;
  /** Of hosts, of networks at hosts, and of all. */
  readonly #fetches = new NetworkLimit();

  constructor({ now = () => performance.now(), ...options }: Options) {
    this.#options = { ...options, now };
  }

  get isOn(): boolean {
    return this.#options.hosts !== undefined;
  }

  /** Returns why the operator lets no client of this URL ask for access, or undefined. */
  findProblem(clientId: string): string | undefined {
    const matched = matchClient(this.#options.hosts, clientId);
    // Equivalent: choice: what matches has none
    return 'problem' in matched ? matched.problem : undefined;
  }

  /** Returns the document, also an old one while it cannot be renewed. */
  async find(clientId: string, { address, mayFetch }: Asking): Promise<Found> {
    const matched = matchClient(this.#options.hosts, clientId);
    if ('problem' in matched) return { problem: 'unknown', cause: matched.problem };
    const now = this.#options.now();
    const kept = this.#known.get(clientId);
    const known = kept && kept.knownUntil > now ? kept : undefined;
    if (known?.document && known.freshUntil > now) return { document: known.document };
    const failure = this.#failures.get(clientId);
    if (failure && failure.until > now) return orOld(known, 'unavailable', failure.cause);
    if (this.#waiting >= LIMITS.waiting) return orOld(known, 'too-many', 'too many requests wait for documents');
    let pending = this.#pending.get(clientId);
    if (!pending) {
      if (!mayFetch() || this.#pending.size >= LIMITS.atOnce || !this.#take(matched.host, known ? undefined : address))
        return orOld(known, 'too-many', 'its host or network, or all of them, have caused too many fetches');
      pending = this.#fetch(clientId, matched.match, known).finally(() => this.#pending.delete(clientId));
      this.#pending.set(clientId, pending);
    }
    this.#waiting++;
    try {
      return await pending;
    } finally {
      this.#waiting--;
    }
  }

  async #fetch(clientId: string, match: HostMatch, known: Known | undefined): Promise<Found> {
    const fetched = await this.#options.fetchDocument(clientId, match);
    const now = this.#options.now();
    if ('problem' in fetched) {
      const { problem: cause, isGone } = fetched;
      this.#failures.set(clientId, { cause, until: now + MINUTE_MS });
      if (isGone) this.#known.delete(clientId);
      return orOld(isGone ? undefined : known, 'unavailable', cause);
    }
    const { document, keptMs } = fetched;
    const freshUntil = now + keptMs;
    const kept = keptMs === 0 ? undefined : document;
    this.#known.set(clientId, { document: kept, freshUntil, knownUntil: freshUntil + STALE_MS });
    return { document };
  }

  /**
   * Takes a permit of the host, of all, and of the network, if the document is not known. Returns false if one of them has
   * none, and then takes none.
   */
  #take(host: string, address: string | undefined): boolean {
    const limits: Parameters<NetworkLimit['takeEach']>[0] =
      address === undefined
        ? [
            [`known ${host}`, LIMITS.ofHost],
            ['known', LIMITS.inAll],
          ]
        : [
            [`new ${host} ${networkOf(address)}`, LIMITS.ofHostForNetwork],
            [`new ${host}`, LIMITS.ofHost],
            ['new', LIMITS.inAll],
          ];
    return this.#fetches.takeEach(limits, this.#options.now());
  }
}

/** Returns the document that is known, or else why there is none. */
function orOld(known: Known | undefined, problem: 'unavailable' | 'too-many', cause: string): Found {
  return known?.document ? { document: known.document } : { problem, cause };
}
