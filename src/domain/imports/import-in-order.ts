/** Imports users in the order in which they come, in batches. */

import { hash } from 'node:crypto';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { type ImportOptions, importLines, type LineResult } from './import-lines.ts';
import { uniqueKeysOf } from './known.ts';
import type { UserLine } from './user-line.ts';

const BATCH_LINES = 100;
/** A dry run stores nothing, so it remembers the keys of the file: those of some four million lines, in 128 MB. */
// Equivalent: limit: nobody counts so many lines
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
    // An import that stores them need not remember, or hash, any.
    const lasting = options.dryRun ? own : [];
    batch.push(lasting.some((key) => remembered.has(key)) ? repeated(options) : line);
    for (const key of lasting) remembered.add(key);
  }
  if (batch.length > 0) yield await flush();
}

/** What the second line about a user would answer, if the first were stored. */
function repeated({ onConflict }: ImportOptions): LineResult {
  if (onConflict === 'fail') return { status: 'failed', reason: 'USER_ALREADY_EXISTS' };
  return { status: onConflict === 'skip' ? 'skipped' : 'updated' };
}

/** A set of keys with little memory: 8 bytes a place, of which a quarter or more is empty, outside the heap of V8. */
const FIRST_PLACES = 1_024;
/** So that a search ends soon. */
const MAX_FILLED = 0.75;

/**
 * It keeps 64 bits of a hash of each key: of ten million keys, one in 360,000 sets takes a new key for one that it has.
 */
export class KeySet {
  /** Two words a place, both zero if it is empty. */
  #words = new Uint32Array(2 * FIRST_PLACES);
  #size = 0;
  readonly #most: number;

  /** @param most how many keys it keeps. It forgets further ones. */
  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  has(key: string): boolean {
    const [low, high] = toWords(key);
    return this.#words[findPlace(this.#words, low, high)] !== 0;
  }

  add(key: string): void {
    if (this.#size >= this.#most) return;
    if (this.#size >= (this.#words.length / 2) * MAX_FILLED) this.#grow();
    const [low, high] = toWords(key);
    const place = findPlace(this.#words, low, high);
    if (this.#words[place] !== 0) return;
    this.#words.set([low, high], place);
    this.#size++;
  }

  #grow(): void {
    const words = new Uint32Array(2 * this.#words.length);
    // Equivalent: comparison: after the last word there is none
    for (let at = 0; at < this.#words.length; at += 2) {
      const [low = 0, high = 0] = this.#words.subarray(at, at + 2);
      if (low !== 0) words.set([low, high], findPlace(words, low, high));
    }
    this.#words = words;
  }
}

/** Returns the index of the two words, or of an empty place for them. */
function findPlace(words: Uint32Array, low: number, high: number): number {
  // The number of words is a power of two.
  let at = (2 * low) & (words.length - 1);
  while (words[at] !== 0 && (words[at] !== low || words[at + 1] !== high)) at = (at + 2) & (words.length - 1);
  return at;
}

function toWords(key: string): [low: number, high: number] {
  const digest = hash('sha256', key, 'buffer');
  // Zero stands for an empty place.
  return [digest.readUInt32LE(0) || 1, digest.readUInt32LE(4)];
}
