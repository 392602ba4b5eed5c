/** How lines become batches, without Postgres. What is imported: test/integration/contract/import-users.test.ts. */
import { describe, expect, test } from 'vitest';
import { invalidField, ServiceError } from '../../../src/domain/core/errors.ts';
import { importInOrder, readOrFail } from '../../../src/domain/imports/import-in-order.ts';
import type { LineResult } from '../../../src/domain/imports/import-lines.ts';

const REFUSED: LineResult = { status: 'failed', reason: 'VALIDATION_FAILED' };

test.each([
  [0, []],
  [1, [1]],
  [100, [100]],
  [101, [100, 1]],
  [250, [100, 100, 50]],
])('%d lines come in batches of a hundred, and refused ones need no statement', async (count, sizes) => {
  const createCall = () => {
    throw new Error('A statement for no user');
  };
  const options = { issuers: new Map(), onConflict: 'fail', notifies: false, dryRun: false } as const;
  const lines = Array.from({ length: count }, () => REFUSED);
  const batches: (readonly LineResult[])[] = [];
  for await (const batch of importInOrder(lines, createCall, options as never)) batches.push(batch);
  expect(batches.map(({ length }) => length)).toEqual(sizes);
  expect(batches.flat()).toEqual(lines);
});

describe('a line that cannot be read', () => {
  const fail = (error: Error) =>
    readOrFail(() => {
      throw error;
    });

  test('is refused with its reason, and with its field if there is one', () => {
    const reason = 'USER_ALREADY_EXISTS';
    expect(fail(new ServiceError(reason))).toStrictEqual({ status: 'failed', reason });
    expect(fail(invalidField('email', 'must be an address'))).toMatchObject({ status: 'failed', field: 'email' });
  });

  test('ends the import if the mistake is ours', () => {
    expect(() => fail(new Error('ours'))).toThrow('ours');
  });
});
