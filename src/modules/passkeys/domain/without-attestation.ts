/**
 * Reads attestation objects (CBOR) and drops the statement about the authenticator. Usher asks for none, but some
 * authenticators send one, and the library would parse its certificates.
 */
import { requireValid } from './credential.ts';

/** The head of a map with three entries: `fmt`, `attStmt` and `authData`, in any order. */
const MAP_OF_THREE = 0xa3;
/** Major types of CBOR (RFC 8949, section 3.1). */
const [BYTES, TEXT, ARRAY, MAP, TAG] = [2, 3, 4, 5, 6];
/** The object with the format `none` and no statement, up to the authenticator data. */
const NONE = Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex');

/**
 * Returns the object with the format `none` in place of its own.
 *
 * @throws ServiceError `Invalid passkey` for bytes that are no attestation object
 */
export function withoutAttestation(attestationObject: Buffer): Buffer {
  const reader = new CborReader(attestationObject);
  requireValid(reader.readByte() === MAP_OF_THREE);
  let authData = attestationObject;
  const names = Array.from({ length: 3 }, () => {
    const name = reader.readString(TEXT).toString();
    if (name === 'fmt') reader.readString(TEXT);
    else if (name === 'attStmt') reader.skipMap();
    else authData = reader.readString(BYTES);
    return name;
  });
  requireValid(names.sort().join() === 'attStmt,authData,fmt' && reader.isAtEnd);
  const head = Buffer.of((BYTES << 5) | 25, authData.length >> 8, authData.length & 255);
  return Buffer.concat([NONE, head, authData]);
}

class CborReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  readByte(): number {
    return this.#read(1).readUInt8();
  }

  readString(type: number): Buffer {
    const head = this.#readHead();
    requireValid(head.type === type);
    return this.#read(head.value);
  }

  /** Skips a map and all that it contains. */
  skipMap(): void {
    requireValid(this.#bytes[this.#at] !== undefined && (this.#bytes[this.#at] ?? 0) >> 5 === MAP);
    for (let left = 1; left > 0; left--) {
      const { type, value } = this.#readHead();
      if (type === BYTES || type === TEXT) this.#read(value);
      else if (type === ARRAY) left += value;
      else if (type === MAP) left += 2 * value;
      else if (type === TAG) left++;
      // Every item has a byte, so more items than bytes are never read.
      requireValid(left - 1 <= this.#bytes.length - this.#at);
    }
  }

  /** Reads a type with its length or value, of at most eight bytes. */
  #readHead(): { type: number; value: number } {
    const head = this.readByte();
    const size = head & 31;
    requireValid(size < 28);
    const bytes = size < 24 ? 0 : 2 ** (size - 24);
    // Lengths of more bytes than the largest object has are refused where they are read.
    const value =
      size < 24 ? size : bytes === 8 ? Number(this.#read(8).readBigUInt64BE()) : this.#read(bytes).readUIntBE(0, bytes);
    return { type: head >> 5, value };
  }

  #read(length: number): Buffer {
    requireValid(length <= this.#bytes.length - this.#at);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
