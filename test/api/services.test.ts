import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { OPERATIONS as ANSWERED } from '../support/operations.ts';

test('every operation is answered by the core or by a module', () => {
  expect(ANSWERED).toEqual(OPERATIONS);
});
