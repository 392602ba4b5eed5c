const EMPTY = Buffer.alloc(0);
/** Whoever sends pieces of a byte cannot make Usher allocate for each. */
const MIN_CAPACITY = 64;

/**
 * Joins the pieces of a body in one buffer, which has at most twice as many bytes. Each piece is copied: Node's own buffers
 * take some 350 bytes for a chunk of one byte, and a part of what a socket has read keeps all of it, up to 64 KiB.
 */
export class JoinedBytes {
  #buffer = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What has been added, as long as nothing more is. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) this.#grow(length);
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** Returns the first bytes, and keeps the rest. */
  take(length = this.#length): Buffer {
    const taken = this.#buffer.subarray(0, length);
    const rest = this.#buffer.subarray(length, this.#length);
    this.#buffer = EMPTY;
    this.#length = 0;
    if (rest.length > 0) this.add(rest);
    return taken;
  }

  #grow(length: number): void {
    // Of its own, because a part of Node's pool would keep the whole pool.
    const grown = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length, MIN_CAPACITY));
    grown.set(this.bytes);
    this.#buffer = grown;
  }
}
