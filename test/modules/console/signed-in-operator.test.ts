/** Which sign-ins open the console for whom. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { parseOperators } from '../../../src/config/operators.ts';
import { OperatorsFile } from '../../../src/modules/console/operators-file.ts';
import { findOperator } from '../../../src/modules/console/signed-in-operator.ts';

const lines = parseOperators('ada@example.com admin passkey\ngrace@example.com viewer\n');
const operators = new OperatorsFile(lines, undefined, pino({ level: 'silent' }));
test('operators without a file stay as they are', async () => {
  const done = operators.run(new AbortController().signal).then(() => 'done');
  expect(await Promise.race([done, new Promise((resolve) => setImmediate(resolve))])).toBe('done');
  expect({ isRead: operators.isRead, size: operators.size }).toEqual({ isRead: true, size: 2 });
});

const find = (email: string, method: string, assurance: number) =>
  'role' in findOperator({ operators }, { email }, { method, assurance });

test.each<[method: string, assurance: number, opens: boolean]>([
  ['passkey', 3, true],
  ['passkey', 1, false],
  ['page', 3, true],
  ['page', 2, false],
  ['email', 1, false],
  ['impersonation', 3, false],
])('a sign-in by %s of level %i opens the console for an operator who needs a passkey: %s', (method, level, opens) => {
  expect(find('ada@example.com', method, level)).toBe(opens);
});

test('an account at a provider does not open the console for an operator who needs a passkey, whatever it shows', () => {
  expect([1, 2, 3].map((level) => find('ada@example.com', 'corp', level))).toEqual([false, false, false]);
  expect(find('grace@example.com', 'corp', 1)).toBe(true);
});
