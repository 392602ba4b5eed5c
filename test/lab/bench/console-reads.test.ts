/** What every page of the console reads, in each combination of its filters. The long form has a million users. */
import { expect, test } from 'vitest';
import { quickOrLong } from '../../support/soak.ts';
import { measureConsole } from './console/measure-pages.ts';

/** Of 50 rows each is found by an index, which has four levels for many of them, and every page reads more, such as the operator. */
const LIMIT_BUFFERS = quickOrLong(200, 300);
const COUNTS = quickOrLong({ users: 20_000, auditEvents: 100_000 }, { users: 1_000_000, auditEvents: 2_000_000 });

test(
  'every page of the console reads few pages of memory, whatever its filters say',
  async () => {
    await using stack = new AsyncDisposableStack();
    const costs = await measureConsole(stack, COUNTS, LIMIT_BUFFERS);
    expect(costs.filter(({ buffers }) => buffers > LIMIT_BUFFERS)).toEqual([]);
    expect(costs.filter(({ status }) => status >= 500)).toEqual([]);
    expect(costs.filter(({ buffers }) => buffers > 0).length).toBeGreaterThan(200);
  },
  quickOrLong(240_000, 3_600_000),
);
