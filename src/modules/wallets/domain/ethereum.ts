/** Sign-In with Ethereum: EIP-4361 messages, EIP-191 signatures, EIP-55 addresses. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { ServiceError } from '../../../domain/core/errors.ts';

/** EIP-4361 allows only spaces and the reserved and unreserved characters of RFC 3986 in a statement. */
const NOT_OF_STATEMENTS = /[^ A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]/g;

export interface SignInMessage {
  /** The host of the login page, with its port if it has one. */
  readonly domain: string;
  /** In lower case. */
  readonly address: string;
  readonly uri: string;
  /** Some wallets warn of a chain other than their own. It does not matter for the signature. */
  readonly chainId: number;
  /** The sentence that the wallet shows to the person. */
  readonly statement: string;
  readonly nonce: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  readonly requestId: string;
}

/** Returns the text that a wallet signs (EIP-4361). */
export function formatSignInMessage(message: SignInMessage): string {
  return [
    `${message.domain} wants you to sign in with your Ethereum account:`,
    toChecksumAddress(message.address),
    '',
    message.statement.replace(NOT_OF_STATEMENTS, '?'),
    '',
    `URI: ${message.uri}`,
    'Version: 1',
    `Chain ID: ${message.chainId}`,
    `Nonce: ${message.nonce}`,
    `Issued At: ${message.issuedAt.toISOString()}`,
    `Expiration Time: ${message.expiresAt.toISOString()}`,
    `Request ID: ${message.requestId}`,
  ].join('\n');
}

/** A signature of a key has 64 or 65 bytes. A longer one than this counts as one of a wallet that is a contract. */
export const MAX_SIGNATURE_BYTES = 66;

/**
 * Checks that the key of the address has signed the message.
 *
 * @throws ServiceError `Invalid signature`, `Contract wallet not supported`
 */
export async function requireWalletSignature(
  { address, message }: { readonly address: string; readonly message: string },
  signature: string,
): Promise<void> {
  const signer = await recoverSigner(message, signature);
  if (signer?.address === address && !signer.hasHighS) return;
  const isByContract = /^0x([0-9a-f]{2})*$/i.test(signature) && signature.length / 2 - 1 > MAX_SIGNATURE_BYTES;
  throw new ServiceError(isByContract ? 'CONTRACT_WALLET_NOT_SUPPORTED' : 'INVALID_SIGNATURE');
}

interface Signer {
  /** In lower case. */
  readonly address: string;
  /**
   * Whether `s` is in the upper half of the curve's order. Anybody can compute this second form of a valid signature.
   */
  readonly hasHighS: boolean;
}

/**
 * Returns the signer of a text that was signed with `personal_sign` (EIP-191), or undefined if no key made the
 * signature.
 */
async function recoverSigner(text: string, signature: string): Promise<Signer | undefined> {
  const parsed = parseSignature(signature);
  // Equivalent: guard: the signer is undefined below, too, but then the library has been loaded for it
  if (!parsed) return undefined;
  // Loaded with the first wallet: it takes a megabyte, and many processes see no wallet.
  const { secp256k1 } = await import('@noble/curves/secp256k1.js');
  try {
    const recoverable = secp256k1.Signature.fromHex(parsed.rs, 'compact').addRecoveryBit(parsed.recovery);
    const publicKey = recoverable.recoverPublicKey(digestText(text));
    return { address: addressOf(publicKey.toBytes(false)), hasHighS: recoverable.hasHighS() };
  } catch {
    return undefined;
  }
}

/** Returns the Keccak-256 digest that a wallet signs for a text (EIP-191). */
function digestText(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'utf8');
  return keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes]));
}

/** Accepts two forms: r, s and v, where v is 27, 28, 0 or 1; and r and s with v in the highest bit of s (EIP-2098). */
function parseSignature(signature: string): { rs: string; recovery: number } | undefined {
  const found = /^0x([0-9a-f]{64})([0-9a-f]{64})(00|01|1b|1c)?$/i.exec(signature);
  if (!found) return undefined;
  const [, r = '', s = '', v] = found;
  if (v) return { rs: r + s, recovery: Number.parseInt(v, 16) % 27 };
  const compact = BigInt(`0x${s}`);
  const lowS = BigInt.asUintN(255, compact).toString(16).padStart(64, '0');
  return { rs: r + lowS, recovery: Number(compact >> 255n) };
}

/** Returns the address, in lower case, of an uncompressed public key of 65 bytes. */
function addressOf(publicKey: Uint8Array): string {
  return `0x${Buffer.from(keccak_256(publicKey.subarray(1)).subarray(-20)).toString('hex')}`;
}

/** Writes the address so that the case of its letters is a checksum (EIP-55). */
function toChecksumAddress(address: string): string {
  const digits = address.slice(2);
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString('hex');
  const checked = [...digits].map((digit, at) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${checked.join('')}`;
}
