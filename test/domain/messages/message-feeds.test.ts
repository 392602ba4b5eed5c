/** When the watchers of a process look for new messages. What they get: test/integration/contract/messages.test.ts. */
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../../src/database/pool/database.ts';
import { MessageFeeds, Watcher } from '../../../src/domain/messages/message-feeds.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const APPLICATION = 'application';
const endAt = (end: number) => [{ applicationId: APPLICATION, epoch: 'epoch', end: String(end) }];

function openFeeds(answer: () => unknown = () => endAt(0)) {
  const poll = vi.fn(async () => answer());
  return { feeds: new MessageFeeds({ run: poll } as Partial<Database> as Database, 1_000), poll };
}

test('streams that open all the time put no poll off', async () => {
  const { feeds, poll } = openFeeds();
  for (let at = 0; at < 10; at++) {
    feeds.watch(APPLICATION);
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(poll.mock.calls.length).toBeGreaterThanOrEqual(4);
});

test('a message that comes during a poll is looked for right after it', async () => {
  const answers: (() => void)[] = [];
  const { feeds, poll } = openFeeds(() => new Promise((resolve) => answers.push(() => resolve(endAt(0)))));
  feeds.watch(APPLICATION);
  await vi.advanceTimersByTimeAsync(1_000);
  feeds.wake(APPLICATION);
  expect(poll).toHaveBeenCalledTimes(1);
  answers[0]?.();
  await vi.advanceTimersByTimeAsync(100);
  expect(poll).toHaveBeenCalledTimes(2);
});

test('a poll that takes long is the only one', async () => {
  const answers: (() => void)[] = [];
  const { feeds, poll } = openFeeds(() => new Promise((resolve) => answers.push(() => resolve(endAt(0)))));
  feeds.watch(APPLICATION);
  await vi.advanceTimersByTimeAsync(1_000);
  feeds.wake(APPLICATION);
  await vi.advanceTimersByTimeAsync(500);
  expect(poll).toHaveBeenCalledTimes(1);
  answers[0]?.();
  await vi.advanceTimersByTimeAsync(100);
  expect(poll).toHaveBeenCalledTimes(2);
});

test('a feed that goes on is polled more often, and all feeds once a second otherwise', async () => {
  let end = 0;
  const { feeds, poll } = openFeeds(() => endAt(end));
  feeds.watch(APPLICATION);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(poll.mock.calls.length).toBeLessThanOrEqual(11);
  const before = poll.mock.calls.length;
  const busy = setInterval(() => end++, 100);
  await vi.advanceTimersByTimeAsync(10_000);
  clearInterval(busy);
  expect(poll.mock.calls.length - before).toBeGreaterThan(30);
  expect(poll.mock.calls.length - before).toBeLessThanOrEqual(41);
});

test('nothing is polled when the last stream has ended', async () => {
  const { feeds, poll } = openFeeds();
  feeds.watch(APPLICATION)[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(poll).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

test('a process has 200 streams at most, 20 of an application, and has room again when one ends', () => {
  const { feeds } = openFeeds();
  const open = (count: number, of: string) => Array.from({ length: count }, () => feeds.watch(of));
  const [first] = open(20, APPLICATION);
  expect(() => feeds.watch(APPLICATION)).toThrow('Too many open streams');
  first?.[Symbol.dispose]();
  open(1, APPLICATION);
  expect(() => feeds.watch(APPLICATION)).toThrow('Too many open streams');
  const others = Array.from({ length: 9 }, (_, at) => open(20, `${at}`)).flat();
  expect(() => feeds.watch('9')).toThrow('Too many open streams');
  others[0]?.[Symbol.dispose]();
  open(1, '9');
  expect(() => feeds.watch('0')).toThrow('Too many open streams');
});

test('only the feeds are looked at that somebody watches', async () => {
  const { feeds, poll } = openFeeds();
  const [one, another] = [feeds.watch('one'), feeds.watch('one')];
  feeds.watch(APPLICATION);
  one[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(1_000);
  another[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(1_000);
  const asked = (poll.mock.calls as unknown[][]).map(([, parameters]) => parameters);
  expect(asked[0]).toEqual({ applicationIds: ['one', APPLICATION] });
  expect(asked.at(-1)).toEqual({ applicationIds: [APPLICATION] });
});

test('many messages of this process cause one poll in 50 ms, and those of others none', async () => {
  const { feeds, poll } = openFeeds(() => []);
  feeds.watch(APPLICATION);
  await vi.advanceTimersByTimeAsync(1_000);
  feeds.wake('another');
  await vi.advanceTimersByTimeAsync(100);
  expect(poll).toHaveBeenCalledTimes(1);
  for (let at = 0; at < 10; at++) feeds.wake(APPLICATION);
  await vi.advanceTimersByTimeAsync(0);
  expect(poll).toHaveBeenCalledTimes(2);
  feeds.wake(APPLICATION);
  await vi.advanceTimersByTimeAsync(49);
  expect(poll).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(poll).toHaveBeenCalledTimes(3);
});

test('a message makes the next poll earlier, and adds none', async () => {
  const { feeds, poll } = openFeeds();
  feeds.watch(APPLICATION);
  // The second follows soon, because the first has found where the feed ends.
  await vi.advanceTimersByTimeAsync(1_500);
  expect(poll).toHaveBeenCalledTimes(2);
  feeds.wake(APPLICATION);
  await vi.advanceTimersByTimeAsync(950);
  expect(poll).toHaveBeenCalledTimes(3);
});

test('streams that end during a poll are no matter to the others, and the last one ends the polls', async () => {
  const answers: (() => void)[] = [];
  const { feeds, poll } = openFeeds(() => new Promise((resolve) => answers.push(() => resolve(endAt(0)))));
  const [last, one] = [feeds.watch(APPLICATION), feeds.watch('one')];
  await vi.advanceTimersByTimeAsync(1_000);
  one[Symbol.dispose]();
  answers[0]?.();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(poll).toHaveBeenCalledTimes(2);
  last[Symbol.dispose]();
  answers[1]?.();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(poll).toHaveBeenCalledTimes(2);
  expect(vi.getTimerCount()).toBe(0);
});

describe('a watcher', () => {
  const CURSOR = { epoch: 'epoch', position: 5 };
  const [HERE, AFTER] = [
    { epoch: 'epoch', end: '5' },
    { epoch: 'epoch', end: '6' },
  ];

  /** Waits, and returns after how many seconds the watcher has gone on. */
  async function secondsUntil(answers: (object[] | Error)[]): Promise<number> {
    let polls = 0;
    const answer = () => {
      const rows = answers[Math.min(polls++, answers.length - 1)] ?? [];
      if (rows instanceof Error) throw rows;
      return rows.map((row) => ({ applicationId: APPLICATION, ...row }));
    };
    const { feeds } = openFeeds(answer);
    using watcher = feeds.watch(APPLICATION);
    await vi.advanceTimersByTimeAsync(1_000);
    const begin = performance.now();
    const waiting = watcher.waitForMore(CURSOR, 30_000, new AbortController().signal).then(() => performance.now());
    await vi.advanceTimersByTimeAsync(31_000);
    return Math.ceil(((await waiting) - begin) / 1_000);
  }

  test.each<[string, (object[] | Error)[], seconds: number]>([
    ['waits while nothing happens', [[HERE]], 30],
    ['goes on with the next message', [[HERE], [HERE], [AFTER]], 2],
    ['goes on when the feed is turned off', [[HERE], []], 1],
    ['goes on when the feed begins anew', [[HERE], [{ ...HERE, epoch: 'other' }]], 1],
    ['waits for the next answer of a database that is away', [[HERE], new Error('away'), [AFTER]], 2],
    ['does not wait for what is there', [[AFTER]], 0],
    ['does not wait for a feed that is off', [[]], 0],
    ['does not wait for another epoch', [[{ ...HERE, epoch: 'other' }]], 0],
  ])('%s', async (_, answers, seconds) => {
    expect(await secondsUntil(answers)).toBe(seconds);
  });

  test('ends its wait at once when it is no longer wanted, and leaves nothing behind', async () => {
    const { feeds } = openFeeds(() => [{ applicationId: APPLICATION, ...HERE }]);
    const watcher = feeds.watch(APPLICATION);
    await vi.advanceTimersByTimeAsync(1_000);
    const leaving = new AbortController();
    const waiting = watcher.waitForMore(CURSOR, 30_000, leaving.signal);
    leaving.abort();
    await waiting;
    await watcher.waitForMore(CURSOR, 30_000, leaving.signal);
    watcher[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ends its wait when all are told to look at once', async () => {
    const { feeds } = openFeeds(() => [{ applicationId: APPLICATION, ...HERE }]);
    using watcher = feeds.watch(APPLICATION);
    await vi.advanceTimersByTimeAsync(1_000);
    const hasWaited = vi.fn();
    const waiting = watcher.waitForMore(CURSOR, 30_000, new AbortController().signal).then(hasWaited);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(hasWaited).not.toHaveBeenCalled();
    feeds.refresh();
    await vi.advanceTimersByTimeAsync(0);
    expect(hasWaited).toHaveBeenCalled();
    await waiting;
    expect([watcher.takeRefresh(), watcher.takeRefresh()]).toEqual([true, false]);
  });

  test('keeps nothing of a wait that is over', async () => {
    const watched = { count: 1, end: { epoch: 'epoch', end: 5 }, waiting: new Set<() => void>(), refreshes: 0 };
    const watcher = new Watcher(watched, () => {});
    const { signal } = new AbortController();
    const waiting = watcher.waitForMore(CURSOR, 1_000, signal);
    expect([watched.waiting.size, getEventListeners(signal, 'abort').length]).toEqual([1, 1]);
    await vi.advanceTimersByTimeAsync(1_000);
    await waiting;
    expect([watched.waiting.size, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
  });
});
