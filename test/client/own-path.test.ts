import { expect, test } from 'vitest';
import { toOwnPath } from '../../src/client/own-path.ts';
import { FOREIGN_PATHS } from '../support/foreign-paths.ts';

const ORIGIN = 'https://app.test';

test.each(FOREIGN_PATHS)('%j is no path of this site', (path) => {
  expect(toOwnPath(path, ORIGIN)).toBeUndefined();
});

test.each([
  ['/', '/'],
  ['/orders/7?tab=é&a=b;c#x', '/orders/7?tab=%C3%A9&a=b;c'],
  ['/a/../b//c?to=//evil.test', '/b//c?to=//evil.test'],
])('%j is the path %j', (given, path) => {
  expect(toOwnPath(given, ORIGIN)).toBe(path);
});
