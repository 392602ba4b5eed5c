/** When a cache reads. How callers see it: test/domain/api-keys/api-key-cache.test.ts. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { RevalidatingCache } from '../../../src/domain/cache/revalidating-cache.ts';
import { stopTimer } from '../../support/clock.ts';

type Answer = string | undefined | Error;

/** Returns a cache whose look-ups wait for their answers. */
function openCache() {
  const timer = stopTimer();
  onTestFinished(() => timer[Symbol.dispose]());
  const waiting: PromiseWithResolvers<string | undefined>[] = [];
  const cache = new RevalidatingCache<string>(() => {
    const load = Promise.withResolvers<string | undefined>();
    waiting.push(load);
    return load.promise;
  });
  return {
    ...{ cache, timer, waiting },
    /** Answers the look-up, counted from the first one. */
    answer: async (index: number, answer: Answer) => {
      if (answer instanceof Error) waiting[index]?.reject(answer);
      else waiting[index]?.resolve(answer);
      await nextTurn();
    },
    find: () => cache.find('key'),
  };
}

test('a value is read again behind the back of its callers, once at a time, again and again', async () => {
  const { cache, timer, waiting, answer, find } = openCache();
  const first = find();
  await answer(0, 'a');
  expect(await first).toBe('a');
  for (const [time, value] of ['a', 'b', 'c'].entries()) {
    timer.advance(1_500);
    expect(await find()).toBe(value);
    expect(waiting).toHaveLength(1 + time);
    timer.advance(1);
    for (let call = 0; call < 3; call++) expect(await find()).toBe(value);
    expect(waiting).toHaveLength(2 + time);
    await answer(1 + time, 'bcd'[time]);
  }
  expect(cache.lookUps).toEqual({ hits: 12, misses: 1 });
});

test('a look-up that hangs is given up after 4 s', async () => {
  const { timer, waiting, answer, find } = openCache();
  const hanging = find();
  timer.advance(3_999);
  const second = find();
  expect(waiting).toHaveLength(1);
  timer.advance(1);
  const third = find();
  expect(waiting).toHaveLength(2);
  await answer(1, 'new');
  expect(await third).toBe('new');
  await answer(0, 'old');
  expect(await Promise.all([hanging, second])).toEqual(['old', 'old']);
  expect(await find()).toBe('new');
});

test('a failed look-up is made again for callers that waited, also if they have left', async () => {
  const { cache, waiting, answer, find } = openCache();
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const first = find();
  cache.get('key', { maxAgeMs: 4_000, refreshAgeMs: 1_500 });
  const failed = expect(first).rejects.toThrow('gone');
  await answer(0, new Error('gone'));
  await failed;
  expect(waiting).toHaveLength(2);
  await answer(1, new Error('gone again'));
  await nextTurn();
  expect(unhandled).not.toHaveBeenCalled();
});

test('what is read while the cache is emptied does not stay', async () => {
  const { cache, waiting, answer, find } = openCache();
  const first = find();
  cache.clear();
  await answer(0, 'old');
  expect(await first).toBe('old');
  const second = find();
  expect(waiting).toHaveLength(2);
  await answer(1, 'new');
  expect([await second, await find()]).toEqual(['new', 'new']);
});

test('a key that was absent is read again after it was found and the cache emptied', async () => {
  const { cache, waiting, answer, find } = openCache();
  const absent = find();
  await answer(0, undefined);
  expect([await absent, await find()]).toEqual([undefined, undefined]);
  const found = cache.read('key');
  await answer(1, 'new');
  expect((await found)?.value).toBe('new');
  cache.clear();
  const again = find();
  expect(waiting).toHaveLength(3);
  await answer(2, 'newer');
  expect(await again).toBe('newer');
});
