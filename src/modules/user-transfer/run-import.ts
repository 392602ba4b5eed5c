/** Imports a stream of lines, and yields an answer for each, in order. */
import { requireUniqueNames } from '../../api/rest/read-fields.ts';
import type { Call } from '../../domain/core/call.ts';
import { invalidField } from '../../domain/core/errors.ts';
import { isObject } from '../../encoding/json.ts';
import { importInOrder, readOrFail } from './domain/import-in-order.ts';
import type { ImportOptions } from './domain/import-lines.ts';
import { checkUser, findUnknownField, type UserLine } from './domain/user-line.ts';
import type { Line } from './read-lines.ts';

export interface Counts {
  lines: number;
  failed: number;
}

/** @param createCall returns a call with the present time and a deadline of its own, for each batch and each change */
export async function* runImport(
  lines: AsyncIterable<Line>,
  createCall: () => Call,
  options: ImportOptions,
  counts: Counts,
): AsyncGenerator<string> {
  const numbers: number[] = [];
  async function* readUsers() {
    for await (const { number, text } of lines) {
      numbers.push(number);
      yield readOrFail(() => readUserLine(text));
    }
  }
  for await (const results of importInOrder(readUsers(), createCall, options)) {
    counts.lines += results.length;
    counts.failed += results.filter(({ status }) => status === 'failed').length;
    yield results.map((result) => `${JSON.stringify({ line: numbers.shift(), ...result })}\n`).join('');
  }
}

/** @throws ServiceError `Validation failed`, with the fields that are missing, wrong or unknown */
function readUserLine(text: string | undefined): UserLine {
  if (text === undefined) throw invalidField('', 'must have at most 16 KiB of UTF-8');
  const value = parse(text);
  requireUniqueNames(text);
  if (!isObject(value)) throw invalidField('', 'must be a JSON object');
  const unknown = findUnknownField(value);
  if (unknown !== undefined) throw invalidField(unknown.slice(0, 64).toWellFormed(), 'is unknown');
  return checkUser(value);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw invalidField('', 'must be JSON');
  }
}
