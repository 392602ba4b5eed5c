/** Imports a stream of lines, and yields an answer for each, in order. */
import type { Call } from '../../domain/core/call.ts';
import { invalidField, ServiceError } from '../../domain/core/errors.ts';
import { type ImportOptions, importLines, type LineResult } from './import-lines.ts';
import { uniqueKeysOf } from './known.ts';
import type { Line } from './read-lines.ts';
import { readUserLine, type UserLine } from './user-line.ts';

const BATCH_LINES = 100;
/** A dry run stores nothing, so it remembers the keys of the file. That many have about 200 MB. */
const MAX_REMEMBERED_KEYS = 2_000_000;

export interface Counts {
  lines: number;
  failed: number;
}

/** @param createCall returns a call with the present time and a deadline of its own, for each batch */
export async function* runImport(
  lines: AsyncIterable<Line>,
  createCall: () => Call,
  options: ImportOptions,
  counts: Counts,
): AsyncGenerator<string> {
  let batch: { number: number; line: UserLine | LineResult }[] = [];
  let keys = new Set<string>();
  const remembered = new Set<string>();
  const flush = async () => {
    const users = batch.flatMap(({ line }) => ('status' in line ? [] : [line]));
    const results = users.length > 0 ? await importLines(createCall(), users, options) : [];
    const answers = batch.map(({ number, line }) => {
      const result = 'status' in line ? line : results.shift();
      counts.lines++;
      if (result?.status === 'failed') counts.failed++;
      return `${JSON.stringify({ line: number, ...result })}\n`;
    });
    batch = [];
    keys = new Set();
    return answers.join('');
  };
  for await (const { number, text } of lines) {
    const line = readLine(text);
    const own = 'status' in line ? [] : uniqueKeysOf(line, options.issuers);
    if (batch.length >= BATCH_LINES || own.some((key) => keys.has(key))) yield await flush();
    for (const key of own) keys.add(key);
    const isRepeated = options.dryRun && own.some((key) => remembered.has(key));
    batch.push({ number, line: isRepeated ? repeated(options) : line });
    if (options.dryRun && remembered.size < MAX_REMEMBERED_KEYS) for (const key of own) remembered.add(key);
  }
  if (batch.length > 0) yield await flush();
}

/** What the second line about a user would answer, if the first were stored. */
function repeated({ onConflict }: ImportOptions): LineResult {
  if (onConflict === 'fail') return { status: 'failed', reason: 'USER_ALREADY_EXISTS' };
  return { status: onConflict === 'skip' ? 'skipped' : 'updated' };
}

function readLine(text: string | undefined): UserLine | LineResult {
  try {
    if (text === undefined) throw invalidField('', 'must have at most 16 KiB of UTF-8');
    return readUserLine(text);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const field = error.violations[0]?.field;
    return { status: 'failed', reason: error.reason, ...(field && { field }) };
  }
}
