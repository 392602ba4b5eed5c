import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findNearestTests } from './find-tests.ts';

test('the test that imports a file is near', () => {
  expect(findNearestTests('src/domain/validation.ts')).toEqual(['test/domain/validation.test.ts']);
});

test('a test that notices a planted fault is near, though it imports all of Usher', () => {
  expect(findNearestTests('src/domain/events/check-in.ts')).toContain('test/contract/events.test.ts');
});

test('a file without tests of its own has those of its importers', () => {
  const [file = ''] = globSync('src/domain/pages/*.ts');
  expect(findNearestTests(file)).not.toEqual([]);
});

test('a changed test is near itself', () => {
  expect(findNearestTests('test/domain/validation.test.ts')).toEqual(['test/domain/validation.test.ts']);
});
