import type { Revocations } from '../domain/sessions/live-sessions.ts';
import type { RevocationMessage } from './messages.ts';

/** Limits how long a stalled process delays a revocation. Its cache expires as that of another replica does. */
const TIMEOUT_MS = 500;

/**
 * One end of the channel between the primary and a worker. Each end can ask the other to forget the sessions of a user.
 */
export class RevocationChannel implements Revocations {
  readonly #send: (message: RevocationMessage) => void;
  /** Functions that resolve unanswered requests, by the ID of the request. */
  readonly #pending = new Map<number, () => void>();
  #forget: (userId: string) => void | Promise<void> = () => {};
  #lastId = 0;

  constructor(send: (message: RevocationMessage) => void) {
    this.#send = send;
  }

  async forgetUser(userId: string): Promise<void> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, TIMEOUT_MS);
    this.#pending.set(id, resolve);
    this.#send({ revocation: id, userId });
    await promise;
    clearTimeout(timer);
    this.#pending.delete(id);
  }

  onForget(forget: (userId: string) => void | Promise<void>): void {
    this.#forget = forget;
  }

  async receive({ revocation, userId }: RevocationMessage): Promise<void> {
    if (userId === undefined) {
      this.#pending.get(revocation)?.();
    } else {
      await this.#forget(userId);
      this.#send({ revocation });
    }
  }

  /** Resolves pending requests, because the other end is gone. */
  close(): void {
    for (const resolve of this.#pending.values()) resolve();
  }
}
