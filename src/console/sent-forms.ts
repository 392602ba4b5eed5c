/**
 * Forms that come twice: without JavaScript, a double click sends one twice, and a reload sends it again. The second
 * sending gets the answer to the first.
 */
import { LRUCache } from 'lru-cache';
import { hmac } from '../domain/login/login-code.ts';
import { type RateLimit, takePermit } from '../domain/login/rate-limit.ts';
import type { ConsoleRequest } from './console-request.ts';
import { renderSentBefore } from './failure-page.ts';
import { SENDING_FIELD } from './parts/form.ts';
import type { Reply } from './route.ts';

/** Answers may have a new key, so they are kept no longer than a double click and a slow statement take. */
const KEPT_MS = 60_000;
const MAX_KEPT = 50;
/** One permit for each sending, in Postgres: another process, or this one later, does not do it again. */
const SENDINGS: RateLimit = { burst: 1, intervalMs: 24 * 60 * 60_000 };

export class SentForms {
  readonly #replies = new LRUCache<string, Promise<Reply>>({ max: MAX_KEPT, ttl: KEPT_MS, ttlAutopurge: true });

  /**
   * Returns the answer to a form of the page at `back`. `act` is called once for each form that was rendered and what was
   * typed into it.
   */
  answer(request: ConsoleRequest, back: string, act: () => Promise<Reply>): Promise<Reply> {
    const { context, form, operator } = request;
    if (!form.has(SENDING_FIELD)) return act();
    // A browser may show an old form again, in which something else is typed.
    const sending = JSON.stringify([operator.userId, context.path, form.toString()]);
    const earlier = this.#replies.get(sending);
    if (earlier) return earlier;
    const reply = actOnce(request, sending, back, act);
    this.#replies.set(sending, reply);
    // It was not answered, so that it may be sent again.
    reply.catch(() => this.#replies.delete(sending));
    return reply;
  }
}

async function actOnce(
  request: ConsoleRequest,
  sending: string,
  back: string,
  act: () => Promise<Reply>,
): Promise<Reply> {
  const { call, parts } = request;
  const key = hmac(parts.cookies.keys[0], `console form: ${sending}`);
  return (await takePermit(call, key, SENDINGS)) ? act() : renderSentBefore(request, back);
}
