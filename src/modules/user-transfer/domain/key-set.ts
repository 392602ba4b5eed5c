/** A set of keys with little memory: 8 bytes a place, of which a quarter or more is empty, outside the heap of V8. */
import { hash } from 'node:crypto';

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
