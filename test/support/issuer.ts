/** An external issuer: serves a key set, counts its requests, and signs tokens. */
import { generateKeyPairSync, type KeyPairKeyObjectResult, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { listenOnLoopback, stopServer } from './loopback-server.ts';

export const ISSUER = 'https://issuer.test';

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

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export class JwksServer implements AsyncDisposable {
  /** The number of requests so far. */
  requests = 0;
  answer: Answer = (_request, response) => void response.end('{"keys":[]}');
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
    server.on('request', (request, response) => {
      this.requests++;
      response.setHeader('content-type', 'application/json');
      this.answer(request, response);
    });
  }

  static async start(...keys: IssuerKey[]): Promise<JwksServer> {
    const server = createServer();
    const jwks = new JwksServer(server, `${await listenOnLoopback(server)}/keys`);
    jwks.publish(...keys);
    return jwks;
  }

  publish(...keys: IssuerKey[]): void {
    this.answer = (_request, response) => void response.end(JSON.stringify({ keys: keys.map((key) => key.publicJwk) }));
  }

  stop(): Promise<void> {
    return stopServer(this.#server);
  }

  readonly [Symbol.asyncDispose] = () => this.stop();
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
