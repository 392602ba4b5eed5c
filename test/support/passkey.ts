/** An authenticator in software: it makes passkeys and answers challenges as a browser with a platform authenticator does. */
import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto';

export type PasskeyAlgorithm = 'ES256' | 'EdDSA' | 'RS256' | 'ES384';

/** What the page asks for. */
export interface AskedPasskey {
  readonly rpId: string;
  readonly origin: string;
  /** In base64url. */
  readonly challenge: string;
  readonly userHandle?: string;
}

/** What is unlike a well-behaved browser and authenticator. */
export interface Oddities {
  /** Replaces fields of the client data. Undefined removes one. */
  readonly clientData?: Readonly<Record<string, unknown>>;
  readonly rpId?: string;
  readonly userHandle?: string | undefined;
  /** The bits of the flags of WebAuthn that are turned over. */
  readonly flags?: number;
  readonly signCount?: number;
  /** Signs something else. */
  readonly forges?: boolean;
  readonly fmt?: string;
  readonly attStmt?: Buffer;
  /** The public key in COSE. */
  readonly publicKey?: Buffer;
  /** The names of the attestation object, in another order. */
  readonly order?: readonly string[];
  /** Replaces fields of the credential. */
  readonly credential?: Readonly<Record<string, unknown>>;
  readonly transports?: unknown;
}

/** WebAuthn, section 6.1. */
export const FLAGS = { present: 1, verified: 4, backupEligible: 8, backedUp: 16, attested: 64 } as const;

const GOOGLE_PASSWORD_MANAGER = 'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4';

export class SoftwarePasskey {
  readonly id: Buffer;
  readonly algorithm: PasskeyAlgorithm;
  readonly aaguid: string;
  signCount = 0;
  userHandle = '';
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor({
    algorithm = 'ES256',
    id = randomBytes(20),
    aaguid = GOOGLE_PASSWORD_MANAGER,
    keyPair = KEY_PAIRS[algorithm](),
  }: { algorithm?: PasskeyAlgorithm; id?: Buffer; aaguid?: string; keyPair?: KeyPair } = {}) {
    const { privateKey, publicKey } = keyPair;
    [this.id, this.algorithm, this.aaguid] = [id, algorithm, aaguid];
    [this.#privateKey, this.#publicKey] = [privateKey, publicKey];
  }

  /** The public key in COSE. */
  get publicKey(): Buffer {
    return toCose(this.#publicKey, this.algorithm);
  }

  /** Returns the JSON of a new credential. */
  create({ userHandle = '', ...asked }: AskedPasskey, odd: Oddities = {}): string {
    this.userHandle = userHandle;
    const { fmt = 'none', attStmt = Buffer.of(0xa0), order = ['fmt', 'attStmt', 'authData'] } = odd;
    const attested = Buffer.concat([
      Buffer.from(this.aaguid.replaceAll('-', ''), 'hex'),
      bigEndian(this.id.length, 2),
      this.id,
      odd.publicKey ?? this.publicKey,
    ]);
    const authData = Buffer.concat([this.#authenticatorData(asked, odd, FLAGS.attested), attested]);
    const values: Readonly<Record<string, Buffer>> = { fmt: cborText(fmt), attStmt, authData: cborBytes(authData) };
    const entries = order.flatMap((name) => [cborText(name), values[name] ?? Buffer.of(0xf6)]);
    const attestationObject = Buffer.concat([Buffer.of(0xa0 + order.length), ...entries]);
    const clientDataJSON = clientData('webauthn.create', asked, odd);
    const { transports = ['internal', 'hybrid'] } = odd;
    return this.#toJson({ clientDataJSON, attestationObject, transports }, odd);
  }

  /** Returns the JSON of an answer to a challenge. */
  answer(asked: AskedPasskey, odd: Oddities = {}): string {
    const authenticatorData = this.#authenticatorData(asked, odd);
    const clientDataJSON = clientData('webauthn.get', asked, odd);
    const signed = Buffer.concat([authenticatorData, hash('sha256', clientDataJSON, 'buffer')]);
    const digest = { ES256: 'sha256', RS256: 'sha256', ES384: 'sha384', EdDSA: null }[this.algorithm];
    const signature = sign(digest, odd.forges ? randomBytes(32) : signed, this.#privateKey);
    const userHandle = 'userHandle' in odd ? odd.userHandle : this.userHandle;
    return this.#toJson({ clientDataJSON, authenticatorData, signature, userHandle }, odd);
  }

  #authenticatorData({ rpId }: AskedPasskey, odd: Oddities, more = 0): Buffer {
    const { present, verified, backupEligible, backedUp } = FLAGS;
    const flags = (present | verified | backupEligible | backedUp | more) ^ (odd.flags ?? 0);
    const { signCount = this.signCount } = odd;
    return Buffer.concat([hash('sha256', odd.rpId ?? rpId, 'buffer'), Buffer.of(flags), bigEndian(signCount, 4)]);
  }

  #toJson(response: Readonly<Record<string, unknown>>, { credential }: Oddities): string {
    const id = this.id.toString('base64url');
    const texts = Object.entries(response).map(([name, value]) => [
      name,
      Buffer.isBuffer(value) ? value.toString('base64url') : value,
    ]);
    const all = { id, rawId: id, type: 'public-key', response: Object.fromEntries(texts), ...credential };
    return JSON.stringify(all);
  }
}

interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const KEY_PAIRS: Readonly<Record<PasskeyAlgorithm, () => KeyPair>> = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
};

function clientData(type: string, { challenge, origin }: AskedPasskey, { clientData: odd }: Oddities): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...odd }));
}

/** Returns a public key as a map of CBOR (RFC 9053). */
function toCose(key: KeyObject, algorithm: PasskeyAlgorithm): Buffer {
  const { x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' });
  const bytes = (text: string) => cborBytes(Buffer.from(text, 'base64url'));
  const [kty, alg, crv, first, second] = [1, 3, -1, -2, -3];
  const ec = (id: number, curve: number) => [kty, 2, alg, id, crv, curve, first, bytes(x), second, bytes(y)];
  const entries = {
    ES256: ec(-7, 1),
    ES384: ec(-35, 2),
    EdDSA: [kty, 1, alg, -8, crv, 6, first, bytes(x)],
    RS256: [kty, 3, alg, -257, crv, bytes(n), first, bytes(e)],
  }[algorithm];
  const items = entries.map((entry) => (typeof entry === 'number' ? cborInteger(entry) : entry));
  return Buffer.concat([Buffer.of(0xa0 + items.length / 2), ...items]);
}

function cborInteger(value: number): Buffer {
  return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
}

function cborBytes(bytes: Buffer): Buffer {
  return Buffer.concat([cborHead(2, bytes.length), bytes]);
}

function cborText(text: string): Buffer {
  return Buffer.concat([cborHead(3, Buffer.byteLength(text)), Buffer.from(text)]);
}

function cborHead(type: number, value: number): Buffer {
  if (value < 24) return Buffer.of((type << 5) | value);
  if (value < 256) return Buffer.of((type << 5) | 24, value);
  return Buffer.concat([Buffer.of((type << 5) | 25), bigEndian(value, 2)]);
}

function bigEndian(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}
