/** The short form of `npm run bench:console`. */
import { expect, test } from 'vitest';
import { measureConsole } from '../lab/bench/console/measure-pages.ts';

/** Fewer than `npm run bench:console` allows, because indexes of fewer rows have fewer levels. */
const LIMIT_BUFFERS = 200;

test('every page of the console reads few pages of memory, whatever its filters say', async () => {
  await using stack = new AsyncDisposableStack();
  const costs = await measureConsole(stack, { users: 20_000, auditEvents: 100_000 }, () => {}, LIMIT_BUFFERS);
  expect(costs.filter(({ buffers }) => buffers > LIMIT_BUFFERS)).toEqual([]);
  expect(costs.filter(({ status }) => status >= 500)).toEqual([]);
  expect(costs.filter(({ buffers }) => buffers > 0).length).toBeGreaterThan(200);
}, 240_000);
