/** When the watchers of a process look for new messages. What they get: test/integration/contract/messages.test.ts. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Database } from '../../../src/database/pool/database.ts';
import { MessageFeeds } from '../../../src/domain/messages/message-feeds.ts';

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
