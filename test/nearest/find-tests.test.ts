import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findNearestTests, readImporters } from './find-tests.ts';

const importers = readImporters();

test('the test that imports a file is near', () => {
  expect(findNearestTests('src/domain/core/validation.ts', importers)).toEqual(['test/domain/core/validation.test.ts']);
});

test('a test that notices a planted fault is near, though it imports all of Usher', () => {
  expect(findNearestTests('src/domain/events/check-in.ts', importers)).toContain('test/contract/events.test.ts');
});

test('a file without tests of its own has those of its importers', () => {
  const [file = ''] = globSync('src/domain/pages/*.ts');
  expect(findNearestTests(file, importers)).not.toEqual([]);
});

test('a changed test is near itself', () => {
  expect(findNearestTests('test/domain/core/validation.test.ts', importers)).toEqual([
    'test/domain/core/validation.test.ts',
  ]);
});
