import { expect, test } from 'vitest';
import { StatementQueue } from '../../../src/database/connection/statement-queue.ts';
import type { Statement } from '../../../src/database/pool/database.ts';
import type { StatementExecution } from '../../../src/database/sql/statement.ts';

const statement: Statement<unknown> = () => ({ getQuery: () => ({ sql: '', params: [] }), execute: async () => [] });

test('serves applications round robin, each in its own order', async () => {
  const queue = new StatementQueue();
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) add(queue, name);
  expect(startAll(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('lets one that came later wait for one turn of each other application', () => {
  const queue = new StatementQueue();
  for (const name of ['a1', 'a2', 'a3']) add(queue, name);
  const started = [start(queue)];
  add(queue, 'b1');
  expect([...started, ...startAll(queue)]).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('starts the first that matches and counts those that do', () => {
  const queue = new StatementQueue();
  for (const name of ['a1', 'a2', 'b1']) add(queue, name);
  const isOfB = (execution: StatementExecution<unknown>) => execution.parameters.applicationId === 'b';
  expect(queue.count(isOfB)).toBe(1);
  expect(start(queue, isOfB)).toBe('b1');
  expect(queue.startFirst(never, isOfB)).toBe(false);
  expect(queue.length).toBe(2);
});

test('rejects those whose deadline has passed, and all', async () => {
  const queue = new StatementQueue();
  const late = add(queue, 'a1', performance.now() - 1);
  const others = [add(queue, 'a2'), add(queue, 'b1')];
  queue.rejectLate(performance.now());
  await expect(late).rejects.toThrow('No answer before the deadline');
  expect(queue.length).toBe(2);
  queue.rejectAll('The database is closed');
  for (const other of others) await expect(other).rejects.toThrow('The database is closed');
  expect(queue.first).toBeUndefined();
});

test('starts none whose deadline has passed', async () => {
  const queue = new StatementQueue();
  const late = add(queue, 'a1', performance.now() - 1);
  add(queue, 'a2');
  expect([start(queue), start(queue)]).toEqual([undefined, 'a2']);
  await expect(late).rejects.toThrow('No answer before the deadline');
});

/** Adds a statement of the application that the first letter names. */
function add(queue: StatementQueue, name: string, deadline = Number.POSITIVE_INFINITY): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  queue.add({ statement, parameters: { applicationId: name[0], name }, deadline }, { resolve, reject });
  promise.catch(() => {});
  return promise;
}

function start(queue: StatementQueue, matches?: (execution: StatementExecution<unknown>) => boolean): unknown {
  let started: unknown;
  queue.startFirst((execution) => {
    started = execution.parameters.name;
  }, matches);
  return started;
}

function startAll(queue: StatementQueue): unknown[] {
  return Array.from({ length: queue.length }, () => start(queue));
}

function never(): never {
  throw new Error('Nothing matches');
}
