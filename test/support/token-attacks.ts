/** Attacks on auth tokens, all of which must be refused: one for each class of what can be wrong. */
import { createPublicKey, randomUUID } from 'node:crypto';
import type { IssuerKey } from './issuer.ts';
import { bytesOfSignature, type Json, lifeFrom, type TokenForge, toBase64Url, withSignature } from './token-forge.ts';

export type Attack = readonly [name: string, forge: (forge: TokenForge) => string];

/** Returns the attacks; each must be refused with `Invalid or expired token`. */
export function attacksOn(alg: IssuerKey['alg']): readonly Attack[] {
  const own: Attack =
    alg === 'ES256'
      ? ['a signature in DER', (forge) => forge.withDerSignature(forge.token())]
      : ['a signature (R, S + L)', (forge) => forge.withTwinSignature(forge.token())];
  return [...ALGORITHMS, ...SIGNATURES, own, ...HEADERS, ...CLAIMS, ...TIMES, ...SHAPES, ...SPELLINGS];
}

const header = (changes: Json) => (forge: TokenForge) => forge.token({ header: changes });
const claims = (changes: Json) => (forge: TokenForge) => forge.token({ claims: changes });
const life = (change: (second: number) => Json) => (forge: TokenForge) => forge.token({ claims: change(forge.second) });
const respelled = (respell: (token: string) => string) => (forge: TokenForge) => respell(forge.token());
/** Builds a token from the parts of two valid ones. */
const rebuilt = (build: (parts: Parts, others: Parts) => string) => (forge: TokenForge) =>
  build(partsOf(forge.token()), partsOf(forge.token({ claims: { sub: randomUUID() } })));
/** Signs a changed header and payload with the right key. */
const sealed = (ofHeader: (text: string) => string, ofPayload: (text: string) => string) => (forge: TokenForge) =>
  forge.seal(ofHeader(JSON.stringify(forge.header())), ofPayload(JSON.stringify(forge.claims())));
const asIs = (text: string) => text;
/** Adds a member to the JSON of an object. */
const prepend = (member: string) => (text: string) => `{${member},${text.slice(1)}`;
const append = (member: string) => (text: string) => `${text.slice(0, -1)},${member}}`;
/** Repeats a member with the value that it has. */
const repeat = (name: string) => (text: string) => append(`"${name}":${JSON.stringify(JSON.parse(text)[name])}`)(text);

interface Parts {
  readonly header: string;
  readonly payload: string;
  readonly signature: string;
}

function partsOf(token: string): Parts {
  const [header = '', payload = '', signature = ''] = token.split('.');
  return { header, payload, signature };
}

const ALGORITHMS: readonly Attack[] = [
  ...['none', 'nOnE', ''].map(
    (alg): Attack => [
      `algorithm "${alg}"`,
      (forge) => withSignature(forge.token({ header: { alg } }), Buffer.alloc(0)),
    ],
  ),
  ...[undefined, null, 'none', 'RS256', 'ES256K', 'Ed25519', 'eddsa', 'es256'].map(
    (alg): Attack => [`algorithm ${alg} and a signature`, header({ alg })],
  ),
  ['a list of algorithms', (forge) => forge.token({ header: { alg: [forge.key.alg] } })],
  ["another key's algorithm", (forge) => forge.token({ header: { alg: forge.otherKey.alg } })],
  ['HS256 and no secret', (forge) => forge.sealWithSecret('')],
  ['HS256 and the public key in PEM as secret', (forge) => forge.sealWithSecret(toPem(forge.key))],
  [
    'HS256 and the bytes of the public key as secret',
    (forge) => forge.sealWithSecret(Buffer.from(String(forge.key.publicJwk.x), 'base64url')),
  ],
  ['HS256 and the public JWK as secret', (forge) => forge.sealWithSecret(JSON.stringify(forge.key.publicJwk))],
];

function toPem({ publicJwk }: IssuerKey): string | Buffer {
  return createPublicKey({ key: publicJwk, format: 'jwk' }).export({ format: 'pem', type: 'spki' });
}

const signedBy = (change: (signature: Buffer) => Uint8Array) =>
  respelled((token) => withSignature(token, change(bytesOfSignature(token))));

const SIGNATURES: readonly Attack[] = [
  ['an empty signature', signedBy(() => Buffer.alloc(0))],
  ['a signature of zeros', signedBy(() => Buffer.alloc(64))],
  ['a signature cut short', signedBy((bytes) => bytes.subarray(0, 63))],
  ['a signature that goes on', signedBy((bytes) => Buffer.concat([bytes, Buffer.alloc(1)]))],
  ...[0, 31, 32, 63].map(
    (index): Attack => [
      `a bit of byte ${index} of its signature changed`,
      signedBy((bytes) => bytes.map((byte, at) => (at === index ? byte ^ 1 : byte))),
    ],
  ),
  ['its signature halved and swapped', signedBy((bytes) => Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)]))],
  ["another token's signature", rebuilt(({ header, payload }, { signature }) => `${header}.${payload}.${signature}`)],
  [
    "the other key's header",
    (forge) => {
      const { header } = partsOf(forge.token({ header: { kid: forge.otherKey.kid, alg: forge.otherKey.alg } }));
      return `${header}.${forge.token().slice(forge.token().indexOf('.') + 1)}`;
    },
  ],
  ['its parts in another order', rebuilt(({ header, payload, signature }) => `${payload}.${header}.${signature}`)],
  ["a stranger's signature", (forge) => forge.token({ key: forge.stranger })],
  ["our other key's signature", (forge) => forge.token({ key: forge.otherKey })],
];

const HEADERS: readonly Attack[] = [
  ...['jku', 'x5u', 'cty', 'zip', 'enc', 'iss', 'foo'].map(
    (name): Attack => [`a header ${name}`, header({ [name]: 'x' })],
  ),
  [
    'a header jwk of the key that signed it',
    (forge) => forge.token({ key: forge.stranger, header: { jwk: forge.stranger.publicJwk } }),
  ],
  ['a header __proto__', sealed(append('"__proto__":{"kid":"x"}'), asIs)],
  ['a critical header', header({ crit: ['exp'], exp: 1 })],
  ['an unencoded payload', header({ b64: false, crit: ['b64'] })],
  ["the other key's ID", (forge) => forge.token({ header: { kid: forge.otherKey.kid } })],
  ...[undefined, null, 0, '', 'no-such-key', '../../dev/null', '__proto__', "' or 1=1 --"].map(
    (kid): Attack => [`key ID ${JSON.stringify(kid)}`, header({ kid })],
  ),
  ['a list of key IDs', (forge) => forge.token({ header: { kid: [forge.key.kid] } })],
  ...[undefined, 'JWT', 'at+jwt', 'LOGIN+JWT', 'application/login+jwt', 'login+jwt ', ['login+jwt']].map(
    (typ): Attack => [`type ${JSON.stringify(typ)}`, header({ typ })],
  ),
];

const CLAIMS: readonly Attack[] = [
  ...['iss', 'aud', 'sub', 'jti', 'iat', 'exp'].flatMap((name) =>
    [undefined, null, {}, true, '', 'x', '7\0'].map(
      (value): Attack => [`${name} ${JSON.stringify(value)}`, claims({ [name]: value })],
    ),
  ),
  ['the issuer with a slash', (forge) => forge.token({ claims: { iss: `${forge.issuer}/` } })],
  ['a list of one application', (forge) => forge.token({ claims: { aud: [forge.clientId] } })],
  ['a subject that is a number', claims({ sub: 7 })],
  ['a list of login intents', claims({ jti: ['0193a3c4-8ad2-7c3e-9a51-4f7d2b6c8e10'] })],
  ['a list of subjects', (forge) => forge.token({ claims: { sub: [forge.userId] } })],
  ['a subject with a line feed', (forge) => forge.token({ claims: { sub: `${forge.userId}\n` } })],
  ['a subject with a lone surrogate', sealed(asIs, append('"sub":"\\ud800"'))],
];

const TIMES: readonly Attack[] = [
  ['a time of issue in the next second', life((second) => lifeFrom(second + 1))],
  ['a time of issue 900 seconds ago', life((second) => lifeFrom(second - 900))],
  ['a time of issue before 1970', claims(lifeFrom(-900))],
  ['a fraction of a second', life((second) => lifeFrom(second - 0.5))],
  ['a time of issue that is text', life((second) => ({ iat: `${second}` }))],
  ['times that are text', life((second) => ({ iat: `${second}`, exp: `${second}900` }))],
  ['a not-before that is text', claims({ nbf: '0' })],
  ['a not-before in the next second', life((second) => ({ nbf: second + 1 }))],
  ['an expiry that is text', life((second) => ({ exp: `${second + 900}` }))],
  ['an expiry beyond the largest number', sealed(asIs, append('"exp":1e400'))],
  ['a lifetime of 899 seconds', life((second) => ({ exp: second + 899 }))],
  ['a lifetime of 901 seconds', life((second) => ({ exp: second + 901 }))],
  ['a lifetime of 1,900 seconds', life((second) => ({ iat: second - 1_000, exp: second + 900 }))],
  ['a not-before in the next minute', life((second) => ({ nbf: second + 60 }))],
];

const SHAPES: readonly Attack[] = [
  ['dots', () => '..'],
  ['two parts', rebuilt(({ header, payload }) => `${header}.${payload}`)],
  ['no payload', rebuilt(({ header, signature }) => `${header}..${signature}`)],
  ['a dot after it', respelled((token) => `${token}.`)],
  ['five parts, as an encrypted one', respelled((token) => `${token}.AAAA.AAAA`)],
  ['JSON', rebuilt(({ header, payload, signature }) => JSON.stringify({ protected: header, payload, signature }))],
  ...['', 'not JSON', 'null', '[]', '7', '{}', '['.repeat(500)].flatMap((text): Attack[] => [
    [`${text.slice(0, 9)} for a header`, sealed(() => text, asIs)],
    [`${text.slice(0, 9)} for a payload`, sealed(asIs, () => text)],
  ]),
  ['something after the JSON of its payload', sealed(asIs, (text) => `${text}{}`)],
  ['a byte order mark before its header', sealed((text) => `\ufeff${text}`, asIs)],
];

const SPELLINGS: readonly Attack[] = [
  ...([0, 1, 2] as const).flatMap((index): Attack[] => {
    const withPart = (respell: (part: string) => string) =>
      respelled((token) =>
        token
          .split('.')
          .map((part, at) => (at === index ? respell(part) : part))
          .join('.'),
      );
    return [
      [`padding after part ${index}`, withPart((part) => part + '='.repeat((4 - (part.length % 4)) % 4 || 4))],
      [`a line feed in part ${index}`, withPart((part) => `${part.slice(0, 8)}\n${part.slice(8)}`)],
      [`a character of no alphabet in part ${index}`, withPart((part) => `${part.slice(0, 8)}!${part.slice(8)}`)],
      [`a character too many in part ${index}`, withPart((part) => `${part}A`)],
    ];
  }),
  ['the spare bits of its signature set', respelled(withSpareBits)],
  ['the spare bits of its header set', (forge) => forge.sealParts(...withSpareHeaderBits(forge))],
  ['the standard alphabet of base64', inStandardAlphabet],
  ['a space before it', respelled((token) => ` ${token}`)],
  ['a line break after it', respelled((token) => `${token}\r\n`)],
  ['a comma and a copy of itself after it', respelled((token) => `${token},${token}`)],
  ...['alg', 'kid'].flatMap((name): Attack[] => [
    [`a second ${name}, before the right one`, sealed(prepend(`"${name}":"x"`), asIs)],
    [`a second ${name}, with the same value`, sealed(repeat(name), asIs)],
  ]),
  ...['aud', 'exp'].flatMap((name): Attack[] => [
    [`a second ${name}, before the right one`, sealed(asIs, prepend(`"${name}":"x"`))],
    [`a second ${name}, with the same value`, sealed(asIs, repeat(name))],
  ]),
  ['a second sub behind objects', sealed(asIs, (text) => `{"x": {"y": [{"sub": "x"}]},"sub":"x",${text.slice(1)}`)],
  ['a second sub behind brackets in a text', sealed(asIs, prepend('"x": "]}\\"{","sub":"x"'))],
  ['a second sub, its name escaped', sealed(asIs, prepend('"s\\u0075b":"x"'))],
];

/** 64 bytes are 85 characters and a third: the last character has four bits to spare. */
function withSpareBits(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.slice(-1)) + 1];
}

/** Spare bits exist when the text is one byte longer than a multiple of three. */
function withSpareHeaderBits(forge: TokenForge): [header: string, payload: string] {
  const text = JSON.stringify(forge.header());
  const padded = text.padEnd(text.length + ((4 - (text.length % 3)) % 3));
  return [withSpareBits(toBase64Url(padded)), toBase64Url(JSON.stringify(forge.claims()))];
}

/** Returns a valid token with at least one character that base64url does not have. */
function inStandardAlphabet(forge: TokenForge): string {
  for (;;) {
    const respelt = forge.token().replaceAll('-', '+').replaceAll('_', '/');
    if (/[+/]/.test(respelt)) return respelt;
  }
}
