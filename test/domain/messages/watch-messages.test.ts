/** What a watch does when, by a clock that the test moves. What it yields: test/integration/contract/messages.test.ts. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ApplicationCall } from '../../../src/domain/core/call.ts';
import { openCursor, sealCursor } from '../../../src/domain/messages/feed-cursor.ts';
import type { Watcher } from '../../../src/domain/messages/message-feeds.ts';
import { watchMessages } from '../../../src/domain/messages/watch-messages.ts';
import { PageTokens } from '../../../src/domain/pages/list.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const tokens = new PageTokens([randomBytes(32)]);
const PAYLOAD = JSON.stringify({ type: 'event.created', timestamp: new Date(0), data: {} });

/** Answers as a feed that ends at a position, and that has so many messages after the cursor. */
function answerAs(end: number, { size, after }: { size?: number; after?: string | null }) {
  const feed = { epoch: 'e', start: '0', end: String(end) };
  if (size === undefined) return [feed];
  const from = Number(after ?? 0);
  const reached = Math.min(end, from + size);
  const page = { ...feed, reached: String(reached), positions: size };
  if (reached === from) return [{ ...page, at: null, messageId: null, payload: null }];
  return Array.from({ length: reached - from }, (_, n) => {
    return { ...page, at: String(from + n + 1), messageId: '1', payload: PAYLOAD };
  });
}

interface Script {
  readonly request?: object;
  /** Where the feed ends at first. */
  end?: number;
  /** Runs after each sleep, with the seconds since the beginning. */
  readonly afterSleep?: (seconds: number, script: Script) => void;
  readonly requireKey?: () => Promise<void>;
  hasRefresh?: boolean;
  /** Whether the process has not looked yet where the feed ends. */
  readonly isUnknown?: boolean;
  readonly leaving?: AbortController;
  readonly closing?: AbortController;
}

/** Watches to the end. Returns what happened at which second. */
async function watch(script: Script) {
  const begin = performance.now();
  const log: [second: number, what: string | number][] = [];
  const now = () => Math.round(performance.now() - begin) / 1_000;
  const note = (what: string | number) => void log.push([now(), what]);
  const watcher: Partial<Watcher> = {
    takeRefresh: () => {
      const { hasRefresh = false } = script;
      script.hasRefresh = false;
      return hasRefresh;
    },
    hasMore: ({ position }) => !script.isUnknown && position < (script.end ?? 0),
    waitForMore: async (_cursor, ms) => {
      await vi.advanceTimersByTimeAsync(Math.max(1, ms));
      script.afterSleep?.(now(), script);
    },
  };
  const call = {
    run: async (_: unknown, parameters: object) => {
      note('reads');
      return answerAs(script.end ?? 0, parameters);
    },
    application: { id: 'a' },
  };
  const { signal } = script.leaving ?? new AbortController();
  const closing = (script.closing ?? new AbortController()).signal;
  const requireKey = async () => {
    note('checks the key');
    await script.requireKey?.();
  };
  const parts = { watcher: watcher as Watcher, tokens, signal, closing, requireKey };
  try {
    const stream = watchMessages(call as unknown as ApplicationCall, parts, { cursor: 'oldest', ...script.request });
    for await (const { messages, cursor } of stream) {
      if (messages.length > 0) note(`${messages.length} messages`);
      else note(openCursor(tokens, 'a', cursor).position);
    }
    note('ends');
  } catch (error) {
    note((error as { reason?: string }).reason ?? (error as Error).message);
  }
  return log;
}

const every = (seconds: number, most: number, from = seconds) =>
  Array.from({ length: Math.floor((most - from) / seconds) + 1 }, (_, n) => from + n * seconds);
const timesOf = (log: Awaited<ReturnType<typeof watch>>, what: string | number) =>
  log.filter(([, each]) => each === what).map(([second]) => second);

describe('a watch', () => {
  test.each([
    [undefined, 15],
    [5, 5],
    [60, 60],
  ])(
    'with a heartbeat of %s seconds shows its cursor so often, checks its key every 4, and ends after 30 minutes',
    async (heartbeatSeconds, shown) => {
      const log = await watch({ request: { heartbeatSeconds } });
      expect(timesOf(log, 0)).toEqual(every(shown, 1_800, 0));
      expect(timesOf(log, 'checks the key')).toEqual(every(4, 1_799));
      expect(timesOf(log, 'reads')).toEqual([0]);
      expect(log.at(-1)).toEqual([1_800, 'ends']);
    },
  );

  test.each([4, 61])('has no heartbeat of %d seconds', async (heartbeatSeconds) => {
    expect(await watch({ request: { heartbeatSeconds } })).toEqual([[0, 'VALIDATION_FAILED']]);
  });

  test.each<[string, request: object, log: [number, string | number][]]>([
    [
      'the oldest message, a hundred at a time',
      {},
      [
        [0, 'reads'],
        [0, 0],
        [0, '100 messages'],
        [0, 'reads'],
        [0, '50 messages'],
      ],
    ],
    [
      'the end',
      { cursor: undefined },
      [
        [0, 'reads'],
        [0, 150],
      ],
    ],
    [
      'a cursor',
      { cursor: sealCursor(tokens, 'a', { epoch: 'e', position: 148 }) },
      [
        [0, 'reads'],
        [0, 148],
        [0, '2 messages'],
      ],
    ],
  ])('begins at %s, whether or not the process knows its end', async (_, request, begin) => {
    const leaving = new AbortController();
    const log = await watch({ request, end: 150, leaving, afterSleep: () => leaving.abort() });
    const again = new AbortController();
    const script = { request, end: 150, isUnknown: true, leaving: again, afterSleep: () => again.abort() };
    expect(await watch(script)).toEqual(log);
    expect(log).toEqual([...begin, [4, 150], [4, 'This operation was aborted']]);
  });

  test('reads what comes while it sleeps, and counts its heartbeat from that', async () => {
    const leaving = new AbortController();
    const log = await watch({
      leaving,
      afterSleep: (seconds, script) => {
        if (seconds === 8) script.end = 3;
        if (seconds === 24) leaving.abort();
      },
    });
    expect(log.filter(([, what]) => what !== 'checks the key')).toEqual([
      [0, 'reads'],
      [0, 0],
      [8, 'reads'],
      [8, '3 messages'],
      [23, 3],
      [24, 3],
      [24, 'This operation was aborted'],
    ]);
  });

  test('shows its cursor and checks its key at once when it is told to', async () => {
    const leaving = new AbortController();
    const log = await watch({
      leaving,
      afterSleep: (seconds, script) => {
        script.hasRefresh = seconds === 4;
        if (seconds === 8) leaving.abort();
      },
    });
    expect(log).toEqual([
      [0, 'reads'],
      [0, 0],
      [4, 'checks the key'],
      [4, 0],
      [4, 'checks the key'],
      [8, 0],
      [8, 'This operation was aborted'],
    ]);
  });

  test('ends when its key is revoked', async () => {
    const log = await watch({ requireKey: () => Promise.reject(new Error('revoked')) });
    expect(log.slice(2)).toEqual([
      [4, 'checks the key'],
      [4, 'revoked'],
    ]);
  });

  test('shows its last cursor when the server stops', async () => {
    const closing = new AbortController();
    const log = await watch({ closing, afterSleep: () => closing.abort() });
    expect(log.slice(2)).toEqual([
      [4, 0],
      [4, 'SERVICE_UNAVAILABLE'],
    ]);
  });
});
