/** Imports users in the order in which they come, in batches. */
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { type ImportOptions, importLines, type LineResult } from './import-lines.ts';
import { KeySet } from './key-set.ts';
import { uniqueKeysOf } from './known.ts';
import type { UserLine } from './user-line.ts';

const BATCH_LINES = 100;
/** A dry run stores nothing, so it remembers the keys of the file: those of some four million lines, in 128 MB. */
const MAX_REMEMBERED_KEYS = 12_000_000;

/** Returns the line that a function reads, or the result of one that it refuses. */
export function readOrFail(read: () => UserLine): UserLine | LineResult {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const field = error.violations[0]?.field;
    return { status: 'failed', reason: error.reason, ...(field && { field }) };
  }
}

/**
 * Yields the results of the lines, in their order, a batch at a time.
 *
 * @param lines those that are to be imported, and the results of those that were refused
 * @param createCall returns a call with the present time and a deadline of its own, for each batch and each change
 */
export async function* importInOrder(
  lines: AsyncIterable<UserLine | LineResult> | Iterable<UserLine | LineResult>,
  createCall: () => Call,
  options: ImportOptions,
): AsyncGenerator<readonly LineResult[]> {
  let batch: (UserLine | LineResult)[] = [];
  let keys = new Set<string>();
  const remembered = new KeySet(MAX_REMEMBERED_KEYS);
  const flush = async () => {
    const given = batch.flatMap((line) => ('status' in line ? [] : [line]));
    const imported = given.length > 0 ? await importLines(createCall, given, options) : [];
    const results = batch.flatMap((line) => ('status' in line ? line : (imported.shift() ?? [])));
    batch = [];
    keys = new Set();
    return results;
  };
  for await (const line of lines) {
    const own = 'status' in line ? [] : uniqueKeysOf(line, options.issuers);
    if (batch.length >= BATCH_LINES || own.some((key) => keys.has(key))) yield await flush();
    for (const key of own) keys.add(key);
    const isRepeated = options.dryRun && own.some((key) => remembered.has(key));
    batch.push(isRepeated ? repeated(options) : line);
    if (options.dryRun) for (const key of own) remembered.add(key);
  }
  if (batch.length > 0) yield await flush();
}

/** What the second line about a user would answer, if the first were stored. */
function repeated({ onConflict }: ImportOptions): LineResult {
  if (onConflict === 'fail') return { status: 'failed', reason: 'USER_ALREADY_EXISTS' };
  return { status: onConflict === 'skip' ? 'skipped' : 'updated' };
}
