/** Checks sessions. A cache, and a pause after a failure, keep pages fast even while Usher hangs. */
import { Code, ConnectError } from '@connectrpc/connect';
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { ageOf, BoundedAnswers, type Moment, readMoment } from './bounded-answers.ts';
import type { UsherClient } from './usher-client.ts';

const MAX_STALENESS_MS = 5_000;
const MAX_ENTRIES = 10_000;
/** How long calls fail immediately after Usher was unavailable. */
const PAUSE_MS = 1_000;

type SessionClient = UsherClient['sessions'];

interface Entry {
  readonly result: Promise<ActiveSession | undefined>;
  readonly askedAt: Moment;
  readonly hasEnded: boolean;
}

export interface SessionCheckOptions {
  readonly client: Pick<UsherClient, 'sessions'>;
  /** How old an answer may be, 0 to 5000. Default: 5000. */
  readonly maxStalenessMs?: number | undefined;
  /** How long after a revocation a request may be served from memory. Without it, each answer has an age instead. */
  readonly boundMs?: number | undefined;
  /** How long a call waits for an answer of Usher. */
  readonly timeoutMs: number;
}

/**
 * Splits the allowed staleness: one half for the answer of Usher, the other half for the cache here. With a bound, there
 * is none, and answers are kept while what has ended is known.
 */
export class SessionChecks {
  readonly #options: SessionCheckOptions;
  readonly #stalenessMs: number;
  readonly #bounded: BoundedAnswers | undefined;
  readonly #entries = new Map<string, Entry>();
  readonly #left = new Map<string, number>();
  #failure: { readonly error: ConnectError; readonly at: Moment } | undefined;

  constructor(options: SessionCheckOptions) {
    this.#options = options;
    const { boundMs, maxStalenessMs = MAX_STALENESS_MS } = options;
    this.#stalenessMs = boundMs === undefined ? Math.floor(Math.min(maxStalenessMs, MAX_STALENESS_MS) / 2) : 0;
    if (boundMs !== undefined) this.#bounded = new BoundedAnswers(options.client.sessions, boundMs);
  }

  /** Returns the session if it is live. @throws ConnectError */
  async find(sessionId: string): Promise<ActiveSession | undefined> {
    if (this.#bounded) return this.#bounded.find(sessionId, () => this.#ask(sessionId, 0));
    const known = this.#findEntry(sessionId);
    if (known) return known.result;
    const result = this.#ask(sessionId, this.#stalenessMs);
    this.#store(sessionId, result);
    result.catch(() => {
      // A newer answer may have replaced this one.
      if (this.#entries.get(sessionId)?.result === result) this.#entries.delete(sessionId);
    });
    return result;
  }

  /** Returns the session if it is live now. @throws ConnectError */
  findNow(sessionId: string): Promise<ActiveSession | undefined> {
    return this.#ask(sessionId, 0);
  }

  /** Returns whether the session is known to have ended for good. */
  hasEnded(sessionId: string): boolean {
    return this.#findEntry(sessionId)?.hasEnded ?? false;
  }

  /** Remembers that the session cannot be renewed, so that the next requests do not try it. */
  markEnded(sessionId: string): void {
    this.#store(sessionId, Promise.resolve(undefined), true);
  }

  /** Remembers that a browser has just signed out of the session, or signed in to another one. */
  markLeft(sessionId: string): void {
    this.#entries.delete(sessionId);
    this.#bounded?.forget(sessionId);
    if (sessionId) putLast(this.#left, sessionId, performance.now());
  }

  /**
   * Returns whether a browser has left the session since the instant, in the time of `performance.now()`. Requests that
   * start later are of other browsers of the user, which may keep the session.
   */
  wasLeftSince(sessionId: string, instant: number): boolean {
    return (this.#left.get(sessionId) ?? -1) >= instant;
  }

  /** Makes a call, or fails immediately if Usher was unavailable a moment ago. @throws ConnectError */
  async call<Reply>(
    work: (sessions: SessionClient, options: { readonly timeoutMs: number }) => Promise<Reply>,
  ): Promise<Reply> {
    if (this.#failure && ageOf(this.#failure.at) < PAUSE_MS) throw this.#failure.error;
    const { client, timeoutMs } = this.#options;
    try {
      return await work(client.sessions, { timeoutMs });
    } catch (error) {
      if (isUnavailable(error)) this.#failure = { error, at: readMoment() };
      throw error;
    }
  }

  async #ask(sessionId: string, maxStalenessMs: number): Promise<ActiveSession | undefined> {
    const reply = await this.call((sessions, options) => sessions.checkSession({ sessionId, maxStalenessMs }, options));
    return reply.session;
  }

  #findEntry(sessionId: string): Entry | undefined {
    const entry = this.#entries.get(sessionId);
    return entry && ageOf(entry.askedAt) < this.#stalenessMs ? entry : undefined;
  }

  #store(sessionId: string, result: Entry['result'], hasEnded = false): void {
    if (this.#stalenessMs === 0) return;
    putLast(this.#entries, sessionId, { result, askedAt: readMoment(), hasEnded });
  }
}

/** Puts the entry at the end of the map, and removes the first entry if the map is full. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > MAX_ENTRIES ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}

/** Returns whether Usher could not be reached, was overloaded or took too long. */
function isUnavailable(error: unknown): error is ConnectError {
  return error instanceof ConnectError && (error.code === Code.Unavailable || error.code === Code.DeadlineExceeded);
}

/** Ignores errors that mean that Usher is unavailable. @throws any other error */
export function ignoreUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}
