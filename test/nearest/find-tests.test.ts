import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findNearestTests, readImporters } from './find-tests.ts';

const importers = readImporters();

test('the test that imports a file is near', () => {
  expect(findNearestTests('src/domain/core/validation.ts', importers)).toEqual([
    { test: 'test/domain/core/validation.test.ts' },
  ]);
});

test('a test that notices a planted fault is near, and not the others of its file, which loads all of Usher', () => {
  expect(findNearestTests('src/domain/events/check-in.ts', importers)).toContainEqual({
    test: 'test/contract/events.test.ts',
    titles: expect.arrayContaining([expect.stringContaining('CheckIn')]),
  });
});

test('a file without tests of its own has those of its importers', () => {
  const [file = ''] = globSync('src/domain/pages/*.ts');
  expect(findNearestTests(file, importers)).not.toEqual([]);
});

test('a changed test is near itself', () => {
  expect(findNearestTests('test/domain/core/validation.test.ts', importers)).toEqual([
    { test: 'test/domain/core/validation.test.ts' },
  ]);
});
