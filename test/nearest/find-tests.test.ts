import { existsSync, globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAULTS } from '../mutants/faults/faults.ts';
import { findNearestTests, readImporters } from './find-tests.ts';

const importers = readImporters();
const findPaths = (file: string) => findNearestTests(file, importers).map(({ test }) => test);

test('the test of a file is the nearest', () => {
  expect(findPaths('src/domain/core/validation.ts')[0]).toBe('test/domain/core/validation.test.ts');
});

test('all tests that notice the planted faults of a file are near, but those that take minutes', () => {
  const missing = [...Map.groupBy(FAULTS, ({ file }) => file)].flatMap(([file, faults]) => {
    const near = findNearestTests(file, importers);
    return faults
      .filter(({ test }) => !/^test\/(robustness|scale|examples|database\/plans)\b/.test(test))
      .filter(({ test, title }) => !near.find((each) => each.test === test)?.titles.includes(title.source));
  });
  expect(missing).toEqual([]);
});

test('of the tests that try all operations, only those that notice its planted faults are near', () => {
  expect(findNearestTests('src/domain/webhooks/webhook.ts', importers)).toContainEqual({
    test: 'test/contract/tenants.test.ts',
    titles: [expect.any(String), expect.any(String)],
    isWhole: false,
  });
});

test('the tests that call an operation as another application are near to its file', () => {
  expect(findNearestTests('src/domain/webhooks/list-webhooks.ts', importers)[0]).toMatchObject({
    test: 'test/contract/tenants.test.ts',
    titles: expect.arrayContaining(['\\bListWebhooks\\b']),
  });
});

test('the tests of its folder and of its importers are near to a file that no fault is planted in', () => {
  expect(findPaths('src/domain/events/get-event.ts')).toEqual(
    expect.arrayContaining(['test/contract/events.test.ts', 'test/contract/tenants.test.ts']),
  );
});

test('every file of the domain has a test that is near', () => {
  const files = globSync('src/domain/**/*.ts');
  expect(
    files.filter((file) => !findPaths(file).every((path) => existsSync(path)) || findPaths(file).length === 0),
  ).toEqual([]);
});

test('a changed test is near itself', () => {
  expect(findPaths('test/domain/core/validation.test.ts')[0]).toBe('test/domain/core/validation.test.ts');
});
