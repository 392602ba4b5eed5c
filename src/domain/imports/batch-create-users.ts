import type { Call } from '../core/call.ts';
import { boolean, check, listOf, oneOf, orDefault, type Unchecked } from '../core/validation.ts';
import { importInOrder, readOrFail } from './import-in-order.ts';
import type { ImportOptions, LineResult } from './import-lines.ts';
import { anyUser, checkUser } from './user-line.ts';

/** Accepts what becomes of a line about a user who is there. */
export const onConflictRule = orDefault(oneOf(['skip', 'update', 'fail'] as const), 'fail');

const rules = {
  users: listOf(anyUser, { min: 1, max: 100 }),
  onConflict: onConflictRule,
  notify: orDefault(boolean, false),
  dryRun: orDefault(boolean, false),
};

/** Creates users as an import does, and returns the result of each, in their order. Each user stands or falls alone. */
export async function batchCreateUsers(
  call: Call,
  target: Pick<ImportOptions, 'cipher' | 'issuers' | 'onSignedOut' | 'rpId'>,
  request: Unchecked<keyof typeof rules>,
): Promise<readonly LineResult[]> {
  const { users, onConflict, notify: notifies, dryRun } = check(request, rules);
  const lines = users.map((user) => readOrFail(() => checkUser(user)));
  const options = { ...target, onConflict, notifies, dryRun };
  const results: LineResult[] = [];
  for await (const some of importInOrder(lines, () => call, options)) results.push(...some);
  return results;
}
