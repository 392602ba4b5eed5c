/** Keys of token issuers, and tokens that they sign. */
import { generateKeyPairSync, type KeyPairKeyObjectResult, randomUUID, sign } from 'node:crypto';

type JsonObject = Record<string, unknown>;

const RSA_KEY_PAIRS = 4;
const rsaKeyPairs: KeyPairKeyObjectResult[] = [];
let taken = 0;

/** Returns another pair than the last three times. To generate one takes longer than most tests. */
export function takeRsaKeyPair(): KeyPairKeyObjectResult {
  const index = taken++ % RSA_KEY_PAIRS;
  rsaKeyPairs[index] ??= generateKeyPairSync('rsa', { modulusLength: 2048 });
  return rsaKeyPairs[index];
}

export type IssuerKey = ReturnType<typeof generateIssuerKey>;

export function generateIssuerKey(alg: 'EdDSA' | 'ES256' | 'RS256', kid: string = randomUUID()) {
  const { privateKey, publicKey } =
    alg === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : takeRsaKeyPair();
  return { kid, alg, privateKey, publicJwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
}

/** Returns a token in compact form, with the header and claims unchanged. */
export function signToken(header: JsonObject, claims: JsonObject, key: Pick<IssuerKey, 'alg' | 'privateKey'>): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signatureOf(input, key)}`;
}

export function signatureOf(input: string, { alg, privateKey }: Pick<IssuerKey, 'alg' | 'privateKey'>): string {
  const digest = alg === 'EdDSA' ? null : 'sha256';
  return sign(digest, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

export function encode(part: JsonObject): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
