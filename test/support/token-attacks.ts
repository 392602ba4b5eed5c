/** Attacks on auth tokens, all of which must be refused. */
import { randomUUID } from 'node:crypto';
import type { IssuerKey } from './issuer.ts';
import { bytesOfSignature, type Json, lifeFrom, type TokenForge, withSignature, withSpareBits } from './token-forge.ts';

export type Attack = readonly [name: string, forge: (forge: TokenForge) => string];

/** Returns the attacks; each must be refused with `Invalid or expired token`. */
export function attacksOn(alg: IssuerKey['alg']): readonly Attack[] {
  return [...ALGORITHMS, ...signaturesFor(alg), ...HEADERS, ...CLAIMS, ...TIMES, ...SHAPES, ...SPELLINGS];
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
  ...['none', 'None', 'NONE', 'nOnE', ' none', 'none ', 'n\u043ene', ''].flatMap((alg): Attack[] => [
    [
      `algorithm "${alg}" and no signature`,
      (forge) => withSignature(forge.token({ header: { alg } }), Buffer.alloc(0)),
    ],
    [`algorithm "${alg}" and a signature`, header({ alg })],
  ]),
  [
    'algorithm none and no key ID',
    (forge) => withSignature(forge.token({ header: { alg: 'none', kid: undefined } }), Buffer.alloc(0)),
  ],
  ['no algorithm', header({ alg: undefined })],
  ['algorithm null', header({ alg: null })],
  ['a list of algorithms', (forge) => forge.token({ header: { alg: [forge.key.alg] } })],
  ["another key's algorithm", (forge) => forge.token({ header: { alg: forge.otherKey.alg } })],
  ...['RS256', 'PS256', 'ES384', 'ES256K', 'Ed25519', 'Ed448', 'eddsa', 'es256', 'dir', 'ECDH-ES'].map(
    (alg): Attack => [`algorithm ${alg}`, header({ alg })],
  ),
  [
    'HS256 and the public key in PEM as secret',
    (forge) => forge.sealWithSecret('sha256', 'HS256', forge.publicKey.export({ format: 'pem', type: 'spki' })),
  ],
  [
    'HS256 and the public key in DER as secret',
    (forge) => forge.sealWithSecret('sha256', 'HS256', forge.publicKey.export({ format: 'der', type: 'spki' })),
  ],
  [
    'HS256 and the bytes of the public key as secret',
    (forge) => forge.sealWithSecret('sha256', 'HS256', Buffer.from(String(forge.key.publicJwk.x), 'base64url')),
  ],
  [
    'HS256 and the public JWK as secret',
    (forge) => forge.sealWithSecret('sha256', 'HS256', JSON.stringify(forge.key.publicJwk)),
  ],
  ['HS256 and no secret', (forge) => forge.sealWithSecret('sha256', 'HS256', '')],
  [
    'HS512 and the public key in PEM as secret',
    (forge) => forge.sealWithSecret('sha512', 'HS512', forge.publicKey.export({ format: 'pem', type: 'spki' })),
  ],
];

function signaturesFor(alg: IssuerKey['alg']): readonly Attack[] {
  return [
    ['an empty signature', (forge) => withSignature(forge.token(), Buffer.alloc(0))],
    ['a signature of zeros', (forge) => withSignature(forge.token(), Buffer.alloc(64))],
    ['a signature of ones', (forge) => withSignature(forge.token(), Buffer.alloc(64, 0xff))],
    ['a signature cut short', (forge) => withSignature(forge.token(), bytesOfSignature(forge.token()).subarray(0, 63))],
    ['half a signature', rebuilt(({ header, payload, signature }) => `${header}.${payload}.${signature.slice(0, 43)}`)],
    [
      'a signature that goes on',
      respelled((token) => withSignature(token, Buffer.concat([bytesOfSignature(token), Buffer.alloc(1)]))),
    ],
    ...[0, 10, 31, 32, 50, 63].map(
      (index): Attack => [
        `a bit of byte ${index} of its signature changed`,
        respelled((token) =>
          withSignature(
            token,
            bytesOfSignature(token).map((byte, at) => (at === index ? byte ^ 1 : byte)),
          ),
        ),
      ],
    ),
    [
      'the halves of its signature swapped',
      respelled((token) => {
        const bytes = bytesOfSignature(token);
        return withSignature(token, Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)]));
      }),
    ],
    ["another token's signature", rebuilt(({ header, payload }, { signature }) => `${header}.${payload}.${signature}`)],
    ["another token's payload", rebuilt(({ header, signature }, { payload }) => `${header}.${payload}.${signature}`)],
    [
      "the other key's header",
      (forge) => {
        const { payload, signature } = partsOf(forge.token());
        const { header } = partsOf(forge.token({ header: { kid: forge.otherKey.kid, alg: forge.otherKey.alg } }));
        return `${header}.${payload}.${signature}`;
      },
    ],
    ['its parts in another order', rebuilt(({ header, payload, signature }) => `${payload}.${header}.${signature}`)],
    ["a stranger's signature", (forge) => forge.token({ key: forge.stranger })],
    ["our other key's signature", (forge) => forge.token({ key: forge.otherKey })],
    ...(alg === 'ES256'
      ? ([['a signature in DER', (forge) => forge.withDerSignature()]] satisfies Attack[])
      : ([['a signature (R, S + L)', (forge) => forge.withTwinSignature()]] satisfies Attack[])),
  ];
}

const HEADERS: readonly Attack[] = [
  ...Object.entries<unknown>({
    jku: 'https://evil.test/jwks.json',
    x5u: 'https://evil.test/cert.pem',
    x5c: ['AAAA'],
    x5t: 'AAAA',
    'x5t#S256': 'AAAA',
    b64: true,
    cty: 'JWT',
    zip: 'DEF',
    enc: 'A256GCM',
    epk: {},
    iss: 'https://evil.test',
    foo: 'bar',
    url: null,
  }).map(([name, value]): Attack => [`a header ${name}`, header({ [name]: value })]),
  ['a header jwk', (forge) => forge.token({ header: { jwk: forge.key.publicJwk } })],
  [
    'a header jwk of the key that signed it',
    (forge) => forge.token({ key: forge.stranger, header: { jwk: forge.stranger.publicJwk } }),
  ],
  ['a jku and a key ID of its own', header({ jku: 'https://evil.test/jwks.json', kid: 'evil' })],
  ['a header __proto__', sealed(append('"__proto__":{"kid":"x"}'), asIs)],
  ['a critical header', header({ crit: ['exp'], exp: 1 })],
  ['an empty list of critical headers', header({ crit: [] })],
  ['an unencoded payload', header({ b64: false, crit: ['b64'] })],
  ['an unknown key ID', header({ kid: 'no-such-key' })],
  ["the other key's ID", (forge) => forge.token({ header: { kid: forge.otherKey.kid } })],
  ['no key ID', header({ kid: undefined })],
  ...['', '../../dev/null', '__proto__', 'constructor', "' or 1=1 --"].map(
    (kid): Attack => [`key ID "${kid}"`, header({ kid })],
  ),
  ['a key ID that is a number', header({ kid: 0 })],
  ['a key ID that is null', header({ kid: null })],
  ['a list of key IDs', (forge) => forge.token({ header: { kid: [forge.key.kid] } })],
  ['a key ID in another case', (forge) => forge.token({ header: { kid: forge.key.kid.toUpperCase() } })],
  ['no type', header({ typ: undefined })],
  ...['JWT', 'jwt', 'at+jwt', 'login', 'LOGIN+JWT', 'application/login+jwt', 'login+jwt '].map(
    (typ): Attack => [`type "${typ}"`, header({ typ })],
  ),
  ['a list of types', header({ typ: ['login+jwt'] })],
];

const CLAIMS: readonly Attack[] = [
  ...['iss', 'aud', 'sub', 'jti', 'iat', 'exp'].flatMap((name): Attack[] => [
    [`no ${name}`, claims({ [name]: undefined })],
    [`${name} null`, claims({ [name]: null })],
    [`${name} an object`, claims({ [name]: {} })],
    [`${name} true`, claims({ [name]: true })],
    [`${name} empty`, claims({ [name]: '' })],
  ]),
  ['another issuer', claims({ iss: 'https://evil.test' })],
  ['the issuer with a slash', (forge) => forge.token({ claims: { iss: `${forge.issuer}/` } })],
  ['a list of issuers', (forge) => forge.token({ claims: { iss: [forge.issuer] } })],
  ['another application', claims({ aud: 'client_fedcba9876543210fedcba9876543210' })],
  ['a list of one application', (forge) => forge.token({ claims: { aud: [forge.clientId] } })],
  ['a list of several applications', (forge) => forge.token({ claims: { aud: ['client_other', forge.clientId] } })],
  ['an empty list of applications', claims({ aud: [] })],
  ['the application in another case', (forge) => forge.token({ claims: { aud: forge.clientId.toUpperCase() } })],
  ['the application with a space', (forge) => forge.token({ claims: { aud: `${forge.clientId} ` } })],
  ['a subject that is a number', claims({ sub: 7 })],
  ['a list of subjects', (forge) => forge.token({ claims: { sub: [forge.userId] } })],
  ['a subject that is no UUID', claims({ sub: 'ada' })],
  ['a subject with a line feed', (forge) => forge.token({ claims: { sub: `${forge.userId}\n` } })],
  ['a subject in braces', (forge) => forge.token({ claims: { sub: `{${forge.userId}}` } })],
  ['a subject with NUL', (forge) => forge.token({ claims: { sub: `${forge.userId}\0` } })],
  ['a subject with a lone surrogate', sealed(asIs, append('"sub":"\\ud800"'))],
  ['a token ID that is no UUID', claims({ jti: 'x' })],
  ['a token ID that is a number', claims({ jti: 7 })],
  ['a token ID with NUL', claims({ jti: `${randomUUID()}\0` })],
];

const TIMES: readonly Attack[] = [
  ['a time of issue in the next second', life((second) => lifeFrom(second + 1))],
  ['a time of issue in the next minute', life((second) => lifeFrom(second + 60))],
  ['a time of issue 900 seconds ago', life((second) => lifeFrom(second - 900))],
  ['a time of issue 901 seconds ago', life((second) => lifeFrom(second - 901))],
  ['a time of issue in 1970', claims(lifeFrom(0))],
  ['a time of issue before 1970', claims(lifeFrom(-900))],
  ['a time in milliseconds', life((second) => lifeFrom(second * 1000))],
  ['a fraction of a second', life((second) => lifeFrom(second - 0.5))],
  ['times that are text', life((second) => ({ iat: `${second}`, exp: `${second + 900}` }))],
  ['a time of issue that is text', life((second) => ({ iat: `${second}` }))],
  ['a list of times of issue', life((second) => ({ iat: [second] }))],
  ['an expiry that is text', life((second) => ({ exp: `${second + 900}` }))],
  ['a list of expiries', life((second) => ({ exp: [second + 900] }))],
  ['an expiry of 1e300', claims({ exp: 1e300 })],
  ['an expiry beyond the largest number', sealed(asIs, append('"exp":1e400'))],
  ['both times 1e300', claims({ iat: 1e300, exp: 1e300 })],
  ['both times minus 1e300', claims({ iat: -1e300, exp: -1e300 })],
  ['a negative expiry', claims({ exp: -1 })],
  ['a lifetime of 899 seconds', life((second) => ({ exp: second + 899 }))],
  ['a lifetime of 901 seconds', life((second) => ({ exp: second + 901 }))],
  ['a lifetime of 0 seconds', life((second) => ({ exp: second }))],
  ['an expiry before its issue', life((second) => ({ exp: second - 1 }))],
  ['a lifetime of 1,900 seconds', life((second) => ({ iat: second - 1_000, exp: second + 900 }))],
  ['a not-before in the next minute', life((second) => ({ nbf: second + 60 }))],
];

const SHAPES: readonly Attack[] = [
  ['a session ID', () => randomUUID()],
  ['an API key', () => `usk_${'A'.repeat(49)}`],
  ['dots', () => '..'],
  ['more dots', () => '...'],
  ['one part', rebuilt(({ header }) => header)],
  ['two parts', rebuilt(({ header, payload }) => `${header}.${payload}`)],
  ['no header', rebuilt(({ payload, signature }) => `.${payload}.${signature}`)],
  ['no payload', rebuilt(({ header, signature }) => `${header}..${signature}`)],
  ['a detached payload', rebuilt(({ header, payload, signature }) => `${header}..${signature}.${payload}`)],
  ['four parts', respelled((token) => `${token}.${token.split('.')[2]}`)],
  ['a dot after it', respelled((token) => `${token}.`)],
  ['a dot before it', respelled((token) => `.${token}`)],
  ['five parts, as an encrypted one', respelled((token) => `${token}.AAAA.AAAA`)],
  ['JSON', rebuilt(({ header, payload, signature }) => JSON.stringify({ protected: header, payload, signature }))],
  ...['', 'not JSON', 'null', '[]', '7', '"text"', '{}', `${'['.repeat(500)}${']'.repeat(500)}`].flatMap(
    (text): Attack[] => [
      [`${text.slice(0, 9)} for a header`, sealed(() => text, asIs)],
      [`${text.slice(0, 9)} for a payload`, sealed(asIs, () => text)],
    ],
  ),
  ['a list around its header', sealed((text) => `[${text}]`, asIs)],
  ['a list around its payload', sealed(asIs, (text) => `[${text}]`)],
  ['a token for a payload', (forge) => forge.seal(JSON.stringify(forge.header()), forge.token())],
  ['something after the JSON of its header', sealed((text) => `${text}{}`, asIs)],
  ['something after the JSON of its payload', sealed(asIs, (text) => `${text}{}`)],
  ['a comma at the end of its payload', sealed(asIs, (text) => `${text.slice(0, -1)},}`)],
  ['a byte order mark before its header', sealed((text) => `\ufeff${text}`, asIs)],
  ['a byte order mark before its payload', sealed(asIs, (text) => `\ufeff${text}`)],
];

const PART_NAMES = ['header', 'payload', 'signature'] as const;

const SPELLINGS: readonly Attack[] = [
  ...PART_NAMES.flatMap((name): Attack[] => {
    const withPart = (respell: (part: string) => string) =>
      rebuilt((parts) => PART_NAMES.map((each) => (each === name ? respell(parts[each]) : parts[each])).join('.'));
    return [
      [`padding after its ${name}`, withPart((part) => part + '='.repeat((4 - (part.length % 4)) % 4 || 4))],
      [`a space after its ${name}`, withPart((part) => `${part} `)],
      [`a line feed in its ${name}`, withPart((part) => `${part.slice(0, 8)}\n${part.slice(8)}`)],
      [`a character of no alphabet in its ${name}`, withPart((part) => `${part.slice(0, 8)}!${part.slice(8)}`)],
      [`its ${name} percent-encoded`, withPart((part) => `%${part.charCodeAt(0).toString(16)}${part.slice(1)}`)],
      [`a character too many in its ${name}`, withPart((part) => `${part}A`)],
      [`a full-width letter in its ${name}`, withPart((part) => `${part}\uff21`)],
    ];
  }),
  ['the spare bits of its signature set', respelled(withSpareBits)],
  ['the spare bits of its header set', (forge) => forge.withSpareBits('header')],
  ['the spare bits of its payload set', (forge) => forge.withSpareBits('payload')],
  ['a space before it', respelled((token) => ` ${token}`)],
  ['a tab before it', respelled((token) => `\t${token}`)],
  ['a line break after it', respelled((token) => `${token}\r\n`)],
  ['a byte order mark before it', respelled((token) => `\ufeff${token}`)],
  ['a scheme before it', respelled((token) => `Bearer ${token}`)],
  ['quotes around it', respelled((token) => `"${token}"`)],
  ['only upper case', respelled((token) => token.toUpperCase())],
  ['a copy of itself after it', respelled((token) => token + token)],
  ['a comma and a copy of itself after it', respelled((token) => `${token},${token}`)],
  ['the standard alphabet of base64', (forge) => forge.inStandardAlphabet()],
  ...['alg', 'typ', 'kid'].flatMap((name): Attack[] => [
    [`a second ${name}, before the right one`, sealed(prepend(`"${name}":"x"`), asIs)],
    [`a second ${name}, with the same value`, sealed((text) => append(memberOf(text, name))(text), asIs)],
  ]),
  ...['iss', 'aud', 'sub', 'jti', 'iat', 'exp'].flatMap((name): Attack[] => [
    [`a second ${name}, before the right one`, sealed(asIs, prepend(`"${name}":"x"`))],
    [`a second ${name}, with the same value`, sealed(asIs, (text) => append(memberOf(text, name))(text))],
  ]),
  ['a second sub, its name escaped', sealed(asIs, prepend('"s\\u0075b":"x"'))],
  ['a second alg, its name escaped', sealed(prepend('"\\u0061lg":"x"'), asIs)],
];

/** Returns the member as the text has it. */
function memberOf(text: string, name: string): string {
  return `"${name}":${JSON.stringify(JSON.parse(text)[name])}`;
}
