import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BatchLoader } from '../../../src/domain/cache/batch-loader.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function openLoader() {
  const batches: string[][] = [];
  const loader = new BatchLoader(async (keys) => {
    batches.push([...keys]);
    return new Map(keys.map((key) => [key, key.toUpperCase()]));
  });
  return { batches, loader };
}

test('loads the first key at once, and those that follow together, 5 ms later', async () => {
  const { batches, loader } = openLoader();
  const loaded = [loader.load('a'), loader.load('b'), loader.load('c'), loader.load('b')];
  expect(batches).toEqual([['a']]);
  vi.advanceTimersByTime(4);
  expect(batches).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(batches).toEqual([['a'], ['b', 'c']]);
  expect(await Promise.all(loaded)).toEqual(['A', 'B', 'C', 'B']);
  vi.advanceTimersByTime(5);
  loader.load('d');
  expect(batches).toEqual([['a'], ['b', 'c'], ['d']]);
});

test('loads a full batch without waiting, and then nothing', () => {
  const { batches, loader } = openLoader();
  loader.load('first');
  for (let key = 1; key < 1_000; key++) loader.load(`${key}`);
  expect(batches).toHaveLength(1);
  loader.load('last');
  expect(batches.map(({ length }) => length)).toEqual([1, 1_000]);
  vi.advanceTimersByTime(60_000);
  expect(batches).toHaveLength(2);
});
