/** `npm run test:lab -- faults` plants the faults, each night. That they still fit the code is seen at once. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plantFault } from './fault.ts';
import { FAULTS } from './faults/faults.ts';

test('the text of every fault is in src once, and its test exists', () => {
  const stale = FAULTS.filter((fault) => !plantFault(fault) || !existsSync(fault.test) || fault.title.flags !== '');
  expect(stale.map(({ what }) => what)).toEqual([]);
});

test('the list is no longer than a person reads', () => {
  expect(FAULTS.length).toBeLessThanOrEqual(100);
  expect(new Set(FAULTS.map(({ what }) => what)).size).toBe(FAULTS.length);
});
