/**
 * Refuses attestation objects (CBOR) with a format other than `none`, which Usher requests. The library would parse the
 * certificates of all other formats.
 */
import { requireValid } from './credential.ts';

/** The head of a map with three entries: `fmt`, `attStmt` and `authData`, in any order. */
const MAP_OF_THREE = 0xa3;
const EMPTY_MAP = 0xa0;
/** Major types of CBOR. */
const [BYTES, TEXT] = [2, 3];

/** @throws ServiceError `Invalid passkey` for any other format, and for bytes that are no attestation object */
export function requireNoAttestation(attestationObject: Buffer): void {
  const reader = new CborReader(attestationObject);
  requireValid(reader.readByte() === MAP_OF_THREE);
  const names = Array.from({ length: 3 }, () => {
    const name = reader.readString(TEXT).toString();
    if (name === 'fmt') requireValid(reader.readString(TEXT).toString() === 'none');
    else if (name === 'attStmt') requireValid(reader.readByte() === EMPTY_MAP);
    else reader.readString(BYTES);
    return name;
  });
  requireValid(names.sort().join() === 'attStmt,authData,fmt' && reader.isAtEnd);
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

  /** Reads a string with a length of at most two bytes (RFC 8949, section 3.1). */
  readString(type: number): Buffer {
    const head = this.readByte();
    requireValid(head >> 5 === type);
    const size = head & 31;
    const lengthBytes = { 24: 1, 25: 2 }[size];
    requireValid(size < 24 || lengthBytes !== undefined);
    return this.#read(lengthBytes ? this.#read(lengthBytes).readUIntBE(0, lengthBytes) : size);
  }

  #read(length: number): Buffer {
    requireValid(length <= this.#bytes.length - this.#at);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
