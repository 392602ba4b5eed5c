/**
 * Keeps live answers in memory, and asks Usher what has ended since. Each answer of Usher is complete up to the moment
 * when it was asked for, so the age of what is known here counts from there, whatever holds the answer back.
 */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { ActiveSession, Revocation } from '../../gen/usher/v1/session_pb.ts';
import { reasonOf } from './errors.ts';
import type { UsherClient } from './usher-client.ts';

const MIN_BOUND_MS = 500;
const MAX_BOUND_MS = 5_000;
const MAX_ENTRIES = 100_000;
const ENTRY_LIFETIME_MS = 15 * 60_000;
/** An answer of CheckSession that was on its way may be older than a revocation, but not by this much. */
const REMEMBERED_MS = 20 * 60_000;
/** How long after the last request it asks what has ended. */
const IDLE_MS = 60_000;

/** An instant by two clocks: one stands still while the machine sleeps, and somebody may set the other one. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export const readMoment = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });
export const ageOf = ({ monotonic, wall }: Moment) => Math.max(performance.now() - monotonic, Date.now() - wall);

interface Answer {
  readonly session: ActiveSession;
  readonly askedAt: Moment;
  readonly signedInAt: number;
  readonly expiresAt: number;
}

interface Cutoff {
  readonly at: number;
  readonly learnedAt: number;
}

interface Pending {
  readonly result: Promise<ActiveSession | undefined>;
  readonly askedAt: Moment;
}

export class BoundedAnswers {
  readonly #sessions: UsherClient['sessions'];
  readonly #boundMs: number;
  readonly #answers = new Map<string, Answer>();
  readonly #pending = new Map<string, Pending>();
  /** By user, the one that was learned first comes first. */
  readonly #cutoffs = new Map<string, Cutoff>();
  #since = '';
  /** When the last call that succeeded was sent. */
  #knownAt: Moment = { monotonic: Number.NEGATIVE_INFINITY, wall: 0 };
  /** Answers that were asked for before are of no use. */
  #usableFrom = Number.POSITIVE_INFINITY;
  #usedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;

  /** @throws RangeError unless `boundMs` is 500 to 5000 */
  constructor(sessions: UsherClient['sessions'], boundMs: number) {
    if (!(boundMs >= MIN_BOUND_MS && boundMs <= MAX_BOUND_MS))
      throw new RangeError(`boundMs must be ${MIN_BOUND_MS} to ${MAX_BOUND_MS}`);
    this.#sessions = sessions;
    this.#boundMs = boundMs;
  }

  /** Returns the session if it is live, from memory or by `ask`. Callers share a call that is no older than the bound. */
  find(
    sessionId: string,
    ask: () => Promise<ActiveSession | undefined>,
  ): Promise<ActiveSession | undefined> | ActiveSession {
    this.#keepAsking();
    const known = this.#findKnown(sessionId);
    if (known) return known;
    const pending = this.#pending.get(sessionId);
    if (pending && ageOf(pending.askedAt) <= this.#boundMs) return pending.result;
    const askedAt = readMoment();
    const result = ask();
    const asked = { result, askedAt };
    this.#pending.set(sessionId, asked);
    const settle = () => {
      if (this.#pending.get(sessionId) === asked) this.#pending.delete(sessionId);
    };
    result.then((session) => {
      // A later call, or the end of the session by this process, has removed this one.
      if (session && this.#pending.get(sessionId) === asked) this.#store(sessionId, session, askedAt);
      settle();
    }, settle);
    return result;
  }

  /** Forgets the session, and others of the sign-in, which this process has just ended. */
  forget(sessionId: string): void {
    const known = this.#answers.get(sessionId);
    if (known) this.#cutOff(known.session.userId, known.signedInAt);
    this.#answers.delete(sessionId);
    this.#pending.delete(sessionId);
  }

  #findKnown(sessionId: string): ActiveSession | undefined {
    const known = this.#answers.get(sessionId);
    if (!known || ageOf(this.#knownAt) > this.#boundMs) return undefined;
    const { session, askedAt, signedInAt, expiresAt } = known;
    const isCutOff = (this.#cutoffs.get(session.userId)?.at ?? Number.NEGATIVE_INFINITY) >= signedInAt;
    const isUsable = askedAt.monotonic > this.#usableFrom && !isCutOff;
    if (isUsable && Date.now() < expiresAt && ageOf(askedAt) < ENTRY_LIFETIME_MS) return session;
    this.#answers.delete(sessionId);
    return undefined;
  }

  #store(sessionId: string, session: ActiveSession, askedAt: Moment): void {
    const { signedInAt, expiresAt } = session;
    if (!signedInAt || !expiresAt) return;
    const answer = { session, askedAt, signedInAt: timestampMs(signedInAt), expiresAt: timestampMs(expiresAt) };
    this.#answers.delete(sessionId);
    this.#answers.set(sessionId, answer);
    const [oldest] = this.#answers.size > MAX_ENTRIES ? this.#answers.keys() : [];
    if (oldest !== undefined) this.#answers.delete(oldest);
  }

  #keepAsking(): void {
    this.#usedAt = performance.now();
    if (!this.#timer && !this.#isAsking) void this.#askAndGoOn();
  }

  async #askAndGoOn(): Promise<void> {
    this.#isAsking = true;
    this.#timer = undefined;
    const sentAt = readMoment();
    try {
      const reply = await this.#sessions.listRevocations({ since: this.#since }, { timeoutMs: this.#boundMs });
      // The first answer of a chain: it tells nothing of what has ended before.
      if (this.#since === '') this.#forgetAll();
      for (const revocation of reply.revocations) this.#learn(revocation);
      this.#since = reply.until;
      this.#knownAt = sentAt;
      this.#dropOldCutoffs();
    } catch (error) {
      if (reasonOf(error) === 'CURSOR_EXPIRED') {
        this.#since = '';
        this.#forgetAll();
      }
    }
    this.#isAsking = false;
    if (performance.now() - this.#usedAt > IDLE_MS) return;
    const dueInMs = this.#boundMs / 4 - (performance.now() - sentAt.monotonic);
    this.#timer = setTimeout(() => void this.#askAndGoOn(), Math.max(0, dueInMs));
    // Deno, Bun and workers have other timers.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #learn({ subject, cutoffAt }: Revocation): void {
    if (subject.case === 'everyUser' || !cutoffAt) this.#forgetAll();
    else if (subject.case === 'userId') this.#cutOff(subject.value, timestampMs(cutoffAt));
  }

  #cutOff(userId: string, at: number): void {
    const known = this.#cutoffs.get(userId);
    this.#cutoffs.delete(userId);
    this.#cutoffs.set(userId, { at: Math.max(at, known?.at ?? at), learnedAt: performance.now() });
    // As many as this are treated as one of every user.
    if (this.#cutoffs.size <= MAX_ENTRIES) return;
    this.#cutoffs.clear();
    this.#forgetAll();
  }

  #dropOldCutoffs(): void {
    for (const [userId, { learnedAt }] of this.#cutoffs) {
      if (performance.now() - learnedAt < REMEMBERED_MS) return;
      this.#cutoffs.delete(userId);
    }
  }

  #forgetAll(): void {
    this.#answers.clear();
    this.#usableFrom = performance.now();
  }
}
