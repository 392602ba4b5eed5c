/** Calls about sessions, so that neither a page with many requests nor an Usher that hangs makes pages slow. */
import { Code, ConnectError } from '@connectrpc/connect';
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import type { UsherClient } from './usher-client.ts';

const MAX_STALENESS_MS = 5_000;
const MAX_ENTRIES = 10_000;
/** After Usher could not be reached, calls fail at once for so long. */
const PAUSE_MS = 1_000;

type SessionClient = UsherClient['sessions'];

interface Entry {
  readonly result: Promise<ActiveSession | undefined>;
  readonly until: number;
  readonly hasEnded: boolean;
}

export interface SessionCheckOptions {
  readonly client: Pick<UsherClient, 'sessions'>;
  /** How old an answer may be, 0 to 5000 ms. */
  readonly maxStalenessMs?: number | undefined;
  /** How long Usher has to answer. */
  readonly timeoutMs: number;
}

/** Half of the staleness is for Usher's answer, and half for the cache. */
export class SessionChecks {
  readonly #options: SessionCheckOptions;
  readonly #stalenessMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #left = new Map<string, number>();
  #failure: { readonly error: ConnectError; readonly until: number } | undefined;

  constructor(options: SessionCheckOptions) {
    this.#options = options;
    this.#stalenessMs = Math.floor(Math.min(options.maxStalenessMs ?? MAX_STALENESS_MS, MAX_STALENESS_MS) / 2);
  }

  /** Returns the session if it is live. @throws ConnectError */
  find(sessionId: string): Promise<ActiveSession | undefined> {
    const known = this.#known(sessionId);
    if (known) return known.result;
    const result = this.#ask(sessionId, this.#stalenessMs);
    this.#keep(sessionId, result);
    result.catch(() => this.#entries.delete(sessionId));
    return result;
  }

  /** Returns the session if it is live now. @throws ConnectError */
  findNow(sessionId: string): Promise<ActiveSession | undefined> {
    return this.#ask(sessionId, 0);
  }

  /** Returns whether the session is known to have ended for good. */
  hasEnded(sessionId: string): boolean {
    return this.#known(sessionId)?.hasEnded ?? false;
  }

  /** Keeps in mind that the session cannot be renewed. */
  keepEnd(sessionId: string): void {
    this.#keep(sessionId, Promise.resolve(undefined), true);
  }

  /** Keeps in mind that a browser has just signed out of the session, or in to another one. */
  leave(sessionId: string): void {
    this.#entries.delete(sessionId);
    if (sessionId) putLast(this.#left, sessionId, performance.now());
  }

  /** Other browsers of the user may keep the session, so only requests from before the sign-out are affected. */
  isLeftSince(sessionId: string, instant: number): boolean {
    return (this.#left.get(sessionId) ?? -1) >= instant;
  }

  /** Makes a call, unless the last one has just shown that Usher is away. @throws ConnectError */
  async call<Reply>(
    work: (sessions: SessionClient, options: { readonly timeoutMs: number }) => Promise<Reply>,
  ): Promise<Reply> {
    if (this.#failure && this.#failure.until > performance.now()) throw this.#failure.error;
    const { client, timeoutMs } = this.#options;
    try {
      return await work(client.sessions, { timeoutMs });
    } catch (error) {
      if (isAway(error)) this.#failure = { error, until: performance.now() + PAUSE_MS };
      throw error;
    }
  }

  async #ask(sessionId: string, maxStalenessMs: number): Promise<ActiveSession | undefined> {
    const reply = await this.call((sessions, options) => sessions.checkSession({ sessionId, maxStalenessMs }, options));
    return reply.session;
  }

  #known(sessionId: string): Entry | undefined {
    const entry = this.#entries.get(sessionId);
    return entry && entry.until > performance.now() ? entry : undefined;
  }

  #keep(sessionId: string, result: Entry['result'], hasEnded = false): void {
    if (this.#stalenessMs === 0) return;
    putLast(this.#entries, sessionId, { result, until: performance.now() + this.#stalenessMs, hasEnded });
  }
}

/** Removes the oldest entry of a map that is full. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > MAX_ENTRIES ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}

/** Returns whether Usher could not be reached, was overloaded or took too long. */
function isAway(error: unknown): error is ConnectError {
  return error instanceof ConnectError && (error.code === Code.Unavailable || error.code === Code.DeadlineExceeded);
}

/** Passes what says that Usher is away. @throws any other error */
export function ignoreAbsence(error: unknown): void {
  if (!isAway(error)) throw error;
}
