/**
 * Recognizes repeated forms: without JavaScript, a double click sends a form twice, and a reload sends it again. The
 * repetition gets the answer to the first request.
 */

import { LRUCache } from 'lru-cache';
import { hmac } from '../../domain/crypto/derived-keys.ts';
import { ONCE_A_DAY, takePermit } from '../../domain/login/rate-limit.ts';
import type { ConsoleRequest } from './console-request.ts';
import { renderSentBefore } from './failure-page.ts';
import { SENDING_FIELD } from './parts/form.ts';
import type { Reply } from './route.ts';

/** Answers may contain a new key, so they are kept only as long as a double click and a slow statement take. */
const KEPT_MS = 60_000;
const MAX_KEPT = 50;

export class SentForms {
  readonly #replies = new LRUCache<string, Promise<Reply>>({ max: MAX_KEPT, ttl: KEPT_MS, ttlAutopurge: true });

  /**
   * Returns the answer to a form of the page at `back`. Calls `run` once for each rendered form and the values typed into
   * it.
   */
  answer(request: ConsoleRequest, back: string, run: () => Promise<Reply>): Promise<Reply> {
    const { context, form, operator } = request;
    if (!form.has(SENDING_FIELD)) return run();
    // The values belong to the key: a browser may restore an old form, and the operator types other values into it.
    const sending = JSON.stringify([operator.userId, context.path, form.toString()]);
    const earlier = this.#replies.get(sending);
    if (earlier) return earlier;
    const reply = runOnce(request, sending, back, run);
    this.#replies.set(sending, reply);
    // Keeps no failure, so that a repetition asks Postgres whether the form has already taken effect.
    reply.catch(() => this.#replies.delete(sending));
    return reply;
  }
}

async function runOnce(
  request: ConsoleRequest,
  sending: string,
  back: string,
  run: () => Promise<Reply>,
): Promise<Reply> {
  const { call, parts } = request;
  const key = hmac(parts.cookies.keys[0], `console form: ${sending}`);
  // In Postgres, so that neither another process nor this one repeats the form later.
  return (await takePermit(call, key, ONCE_A_DAY)) ? run() : renderSentBefore(request, back);
}
