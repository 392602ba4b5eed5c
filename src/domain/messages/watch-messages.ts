import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, integer, optional, type Unchecked } from '../core/validation.ts';
import { cursorRule, type PageTokens } from '../pages/list.ts';
import { type FeedCursor, OLDEST, openCursor, sealCursor } from './feed-cursor.ts';
import { typesRule } from './list-messages.ts';
import type { Watcher } from './message-feeds.ts';
import { type FeedMessage, type FeedPage, readEnd, readMessages } from './read-messages.ts';

const MAX_MESSAGES = 100;
const DEFAULT_HEARTBEAT_SECONDS = 15;
/** How long a stream lasts. */
const LIFETIME_MS = 30 * 60_000;
/** How often the API key is checked, so that a revoked one ends the stream within 5 seconds. */
const KEY_CHECK_MS = 4_000;

const heartbeat = integer({ min: 5, max: 60 });
const rules = { cursor: optional(cursorRule), eventTypes: typesRule, heartbeatSeconds: optional(heartbeat) };

interface WatchParts {
  /** Of the feed of the application. */
  readonly watcher: Watcher;
  readonly tokens: PageTokens;
  /** Aborted when the server ends its streams. */
  readonly closing: AbortSignal;
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal;
  /** @throws ServiceError `Invalid API key` if the key of the caller has been revoked */
  requireKey(): Promise<unknown>;
}

interface WatchedMessages {
  readonly messages: readonly FeedMessage[];
  readonly cursor: string;
}

/**
 * Yields the cursor at once, and then messages as they come. Reads the next ones only when the last were taken.
 *
 * @throws ServiceError `Message feed is off`, `Cursor expired`, `Invalid API key`; `Service unavailable` when the server stops, after the last cursor
 */
export async function* watchMessages(
  call: ApplicationCall,
  { watcher, tokens, closing, signal, requireKey }: WatchParts,
  request: Unchecked<keyof typeof rules>,
): AsyncGenerator<WatchedMessages> {
  const { cursor: given, eventTypes: types, heartbeatSeconds } = check(request, rules);
  const { id } = call.application;
  const show = (at: FeedCursor, messages: readonly FeedMessage[] = []) => ({
    messages,
    cursor: sealCursor(tokens, id, at),
  });
  const ended = AbortSignal.any([signal, closing]);
  const heartbeatMs = (heartbeatSeconds ?? DEFAULT_HEARTBEAT_SECONDS) * 1_000;
  const endsAt = performance.now() + LIFETIME_MS;
  const read = (after: FeedCursor | undefined) => readMessages(call, after, { types, size: MAX_MESSAGES });
  const readFirst = (from: string) => read(from === OLDEST ? undefined : openCursor(tokens, id, from));
  let page: FeedPage | undefined = await (given ? readFirst(given) : readEnd(call));
  let cursor = page.from;
  yield show(cursor);
  let [toldAt, checkedAt] = [performance.now(), performance.now()];
  for (;;) {
    const isBehind: boolean | undefined = page?.isFull;
    cursor = page?.cursor ?? cursor;
    if (page && page.messages.length > 0) {
      yield show(cursor, page.messages);
      toldAt = performance.now();
    }
    if (ended.aborted || performance.now() - toldAt >= heartbeatMs) {
      yield show(cursor);
      toldAt = performance.now();
    }
    signal.throwIfAborted();
    if (closing.aborted) throw new ServiceError('SERVICE_UNAVAILABLE');
    if (performance.now() >= endsAt) return;
    if (performance.now() - checkedAt >= KEY_CHECK_MS) {
      await requireKey();
      checkedAt = performance.now();
    }
    const dueAt = Math.min(toldAt + heartbeatMs, checkedAt + KEY_CHECK_MS, endsAt);
    if (watcher.takeRefresh()) toldAt = checkedAt = Number.NEGATIVE_INFINITY;
    else if (!isBehind) await watcher.waitForMore(cursor, Math.max(0, dueAt - performance.now()), ended);
    page = isBehind || watcher.hasMore(cursor) ? await read(cursor) : undefined;
  }
}
