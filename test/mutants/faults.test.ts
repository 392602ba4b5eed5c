/** `npm run test:mutants` plants the faults, before a release. That they still fit the code is seen at once. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAULTS } from './faults/faults.ts';

test('the text of every fault is in its file once, and its test exists', () => {
  const isStale = ({ file, find, test }: (typeof FAULTS)[number]) =>
    !existsSync(file) || readFileSync(file, 'utf8').split(find).length !== 2 || !existsSync(test);
  expect(FAULTS.filter(isStale).map(({ file, what }) => `${file}: ${what}`)).toEqual([]);
});
