/** A wallet: a key pair that answers `personal_sign`. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';

export class Wallet {
  /** In lower case. */
  readonly address: string;
  readonly #secretKey = secp256k1.utils.randomSecretKey();

  constructor() {
    this.address = addressOf(secp256k1.getPublicKey(this.#secretKey, false));
  }

  /** The spelling of EIP-55. */
  get checksumAddress(): string {
    const digits = this.address.slice(2);
    const hash = toHex(keccak_256(Buffer.from(digits)));
    const spell = (digit: string, at: number) =>
      Number.parseInt(hash[at] ?? '0', 16) > 7 ? digit.toUpperCase() : digit;
    return `0x${[...digits].map(spell).join('')}`;
  }

  /** Signs as `personal_sign` does (EIP-191, version 0x45). Returns r, s and v in hex. */
  sign(text: string): string {
    return this.signDigest(digestOf(text));
  }

  /** Signs without the prefix of EIP-191. No wallet does this for a page: the signature could be a transaction's. */
  signDigest(digest: Uint8Array): string {
    const signature = secp256k1.sign(digest, this.#secretKey, { prehash: false, format: 'recovered' });
    return `0x${toHex(signature.subarray(1))}${((signature[0] ?? 0) + 27).toString(16)}`;
  }
}

/** Returns the other valid signature of the same text: (r, n - s) with v flipped. */
export function toHighS(signature: string): string {
  const { rs, v } = split(signature);
  const s = BigInt(`0x${rs.slice(64)}`);
  const highS = (secp256k1.Point.CURVE().n - s).toString(16).padStart(64, '0');
  return `0x${rs.slice(0, 64)}${highS}${(v === 27 ? 28 : 27).toString(16)}`;
}

/** Returns the signature with another last byte. */
export function withV(signature: string, change: (v: number) => number): string {
  const { rs, v } = split(signature);
  return `0x${rs}${change(v).toString(16).padStart(2, '0')}`;
}

/** Returns the signature in 64 bytes (EIP-2098): v is the highest bit of s. */
export function toCompact(signature: string): string {
  const { rs, v } = split(signature);
  const s = BigInt(`0x${rs.slice(64)}`) | (BigInt(v - 27) << 255n);
  return `0x${rs.slice(0, 64)}${s.toString(16).padStart(64, '0')}`;
}

function digestOf(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'utf8');
  return keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes]));
}

function addressOf(publicKey: Uint8Array): string {
  return `0x${toHex(keccak_256(publicKey.subarray(1)).subarray(-20))}`;
}

function split(signature: string): { rs: string; v: number } {
  return { rs: signature.slice(2, 130), v: Number.parseInt(signature.slice(130), 16) };
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
