/** Checks the public keys of imported passkeys. Without it, a wrong one would show itself at the first sign-in. */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { UserLine } from './user-line.ts';

/** Types, algorithms and curves of COSE (RFC 9053) that the library verifies, with the names that JWK gives them. */
const [OKP, EC2, RSA] = [1, 2, 3];
const ALGORITHMS: Readonly<Record<number, readonly number[]>> = {
  [OKP]: [-8],
  [EC2]: [-7, -35, -36],
  [RSA]: [-257, -258, -259, -37, -38, -39],
};
const CURVES: Readonly<Record<number, string>> = { 1: 'P-256', 2: 'P-384', 3: 'P-521' };
const ED25519 = 6;

interface Cose {
  get(label: number): unknown;
}

/** Returns the lines with a public key that verifies no signature, and the field of the first such key. */
export async function findWrongPublicKeys(lines: readonly UserLine[]): Promise<ReadonlyMap<UserLine, string>> {
  const wrong = new Map<UserLine, string>();
  const withPasskeys = lines.filter(({ passkeys }) => passkeys.length > 0);
  if (withPasskeys.length === 0) return wrong;
  // Loaded with the first passkey, because the library takes much memory.
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers');
  for (const line of withPasskeys) {
    const at = line.passkeys.findIndex(({ publicKey }) => {
      try {
        createPublicKey({ key: toJwk(decodeCredentialPublicKey(new Uint8Array(publicKey))), format: 'jwk' });
        return false;
      } catch {
        return true;
      }
    });
    if (at >= 0) wrong.set(line, `passkeys[${at}].publicKey`);
  }
  return wrong;
}

/** @throws Error if the key has another type, algorithm or curve. Whether it is a key at all is up to OpenSSL. */
function toJwk(key: Cose): JsonWebKey {
  const [type, algorithm, first] = [key.get(1), key.get(3), key.get(-1)];
  if (!ALGORITHMS[Number(type)]?.includes(Number(algorithm))) throw new Error('Unknown algorithm');
  if (type === RSA) return { kty: 'RSA', n: toText(first), e: toText(key.get(-2)) };
  const x = toText(key.get(-2));
  if (type === OKP && first === ED25519) return { kty: 'OKP', crv: 'Ed25519', x };
  const crv = CURVES[Number(first)];
  if (type !== EC2 || crv === undefined) throw new Error('Unknown curve');
  return { kty: 'EC', crv, x, y: toText(key.get(-3)) };
}

function toText(bytes: unknown): string {
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw new Error('No bytes');
  return Buffer.from(bytes).toString('base64url');
}
