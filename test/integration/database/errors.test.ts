/** Errors of Postgres as Citus relays them from a worker, and of a start. */
import { inject, test } from 'vitest';
import { describeFailure } from '../../../src/database/connection/start-failure.ts';
import {
  createLateError,
  DatabaseUnavailableError,
  isTemporaryFailure,
  isUniqueViolation,
} from '../../../src/database/sql/errors.ts';
import { onServer } from '../../../src/testing/on-server.ts';

test.for([
  ['terminating connection due to administrator command', true],
  ['server closed the connection unexpectedly', true],
  ['connection not open', true],
  ['failure on connection marked as essential: 127.0.0.1:5432', true],
  ["failed to prepare transaction ''citus_0_1_2_3'' on host 127.0.0.1:5432", true],
  ['failed to read result "1_2" from node 127.0.0.1:5432', true],
  ['cannot connect to 127.0.0.1:5432 to fetch intermediate results', true],
  ['postmaster was shut down, exiting', true],
  ['cache lookup failed for relation 12345', false],
] as const)('"%s" without a code of its own passes: %s', async ([message, passes], { expect }) => {
  await expect(failWith(message)).rejects.toSatisfy((error) => isTemporaryFailure(error) === passes);
});

test.for([
  ['duplicate key value violates unique constraint "scans_pkey_102812"', true],
  ['failed to copy a duplicate', false],
] as const)('"%s" without a code of its own is a violation: %s', async ([message, isViolation], { expect }) => {
  await expect(failWith(message)).rejects.toSatisfy((error) => isUniqueViolation(error) === isViolation);
});

test.for([
  new DatabaseUnavailableError(Object.assign(new Error('canceling statement'), { code: '57014' })),
  createLateError(),
])('a start that was late names the setting: %s', (error, { expect }) => {
  expect(describeFailure(error)).toBe('The database did not answer in time. Raise REQUEST_TIMEOUT_MS');
});

/** Fails with an error that has the code of internal errors. */
function failWith(message: string) {
  const statement = `do $$ begin raise exception '${message}' using errcode = 'XX000'; end $$`;
  return onServer(inject('postgresUrl'), (sql) => sql.unsafe(statement));
}
