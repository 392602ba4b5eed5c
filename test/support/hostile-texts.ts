/** Values that parsers, matchers and databases have failed on. */
import { brotliCompressSync, gzipSync } from 'node:zlib';

const KILO = 1_024;

/** Path segments, as they are on the wire in latin-1. */
export const SEGMENTS: readonly string[] = [
  ...words(String.raw`. .. ../.. %2e%2e %2e%2e%2f%2e%2e%2fetc%2fpasswd ..%5c.. %2F a%2Fb a/b // \ %00 a%00b % %Z %ZZ`),
  ...words('%c0%ae %c0%af %e0%80%af %ed%a0%80 %f8%88%80%80%80 %ff %e2%82 %EF%BB%BF ; ;a=b a;jsessionid=1 * ? # #a'),
  ...words('%23 %3F %0d%0aX-Injected:%20yes %0a %09 + %20 " <script> {} [0] __proto__ constructor toString null'),
  ...words('undefined NaN -1 1e400 %F0%9F%9A%AA 00000000-0000-0000-0000-000000000000'),
  ...['', "'%20or%201=1--", 'caf\xc3\xa9', '\xff\xfe'],
  ...['wh_0', 'wh_g', 'WH_0'].map((id) => id.padEnd(35, id.at(-1))),
  ...['a'.repeat(255), 'a'.repeat(256), 'a'.repeat(10 * KILO), '%61'.repeat(256), '%00'.repeat(KILO)],
];

/** Values of fields in JSON, protobuf and forms. */
export const TEXTS: readonly string[] = [
  ...words("$1 %s%n {{7*7}} ../../etc/passwd javascript:alert(1) https://app.test/callback https://[ a@b @ 0X .. '"),
  ...words('http://169.254.169.254/ file:///etc/passwd ada@example.com 123456 １２３４５６ __proto__ e30.e30.'),
  ...words('00000000-0000-0000-0000-000000000000 00000000-0000-0000-0000-00000000000g eyJhbGciOiJub25lIn0.e30.'),
  ...words('urn:uuid:00000000-0000-0000-0000-000000000000 0x0000000000000000000000000000000000000000'),
  ...['', ' ', '\r\n', '\0', 'a\0b', '\ud800', 'a\udc00b', '\ufeff', '\u202e', '\uffff', '\u001b[31m'],
  ...["'; drop table users; --", `${'a'.repeat(300)}@example.com`, '\u{1F6AA}'.repeat(255), 'é'.repeat(500)],
  ...['a'.repeat(256), 'a'.repeat(501), 'a'.repeat(8_193), 'a'.repeat(60 * KILO)],
];

/** Values in JSON, as their text. */
export const JSON_VALUES: readonly string[] = [
  ...words('null true false 0 -0 -1 1e400 1e-400 0.1 123456789012345678901234567890 9007199254740993 [] {} ["a"]'),
  ...words(String.raw`{"a":1} {"__proto__":1} {"toString":1} {"toJSON":"x"} "\ud800" "\u0000" "a\u0000b" "\x" 01 +1`),
  ...words('.5 NaN Infinity undefined \'a\' [1,] {"a":1,} /**/1'),
  ...['', '"\xff"', '"\xed\xa0\x80"', '"\xc0\xaf"', '"\n"', `"${'\\u0041'.repeat(9_000)}"`],
  ...['['.repeat(5_000) + ']'.repeat(5_000), `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
  ...['['.repeat(30_000), `[${'0,'.repeat(20_000)}0]`],
];

/** Bytes to send as a message. */
export const MESSAGES: readonly Buffer[] = [
  ...words('00 ff ffffffff 0aff 0a7f61 0affffffff0f61 08ffffffffffffffffffff01 0f 0000 0c 13 0b0c 0a02c328 0a03eda080'),
  ...words('0a03610062 0a00 1a00 fa07020a00 0a80808080808080808000 f8ffffff0f01'),
]
  .map((digits) => Buffer.from(digits, 'hex'))
  .concat([Buffer.alloc(0), Buffer.alloc(60_000, 0x13), Buffer.alloc(70_000), Buffer.alloc(2_000, '\x0a\x01a')])
  .concat([Buffer.from('{}')]);

const MEGABYTES = Buffer.alloc(20_000_000);

/** Compressed bytes with the encoding that is announced, which may be wrong. */
export const COMPRESSED: readonly (readonly [encoding: string, bytes: Buffer])[] = [
  ['gzip', gzipSync(MEGABYTES)],
  ['br', brotliCompressSync(MEGABYTES)],
  ['gzip', gzipSync(Buffer.alloc(65_537))],
  ['gzip', gzipSync('{}')],
  ['gzip', gzipSync('')],
  ['gzip', gzipSync(gzipSync('{}'))],
  ['gzip', gzipSync('{}').subarray(0, -6)],
  ['gzip', Buffer.from('not gzip')],
  ['gzip', Buffer.alloc(0)],
  ['br', gzipSync('{}')],
  ['br', brotliCompressSync('{}')],
  ['deflate', gzipSync('{}')],
  ['zstd', gzipSync('{}')],
  ['gzip, gzip', gzipSync(gzipSync('{}'))],
  ['identity', Buffer.from('{}')],
  ['__proto__', Buffer.from('{}')],
];

/** Values of headers that servers have trusted, or failed on. */
const HEADER_VALUES: Readonly<Record<string, readonly string[]>> = {
  ['__proto__']: ['x'],
  constructor: ['x'],
  hasOwnProperty: ['x'],
  'x-request-id': ['a'.repeat(129), 'a b', '\xff', 'well-formed'],
  'x-forwarded-for': ['1.2.3.4, , [::1], \xff', '1.1.1.1,'.repeat(1_000)],
  'x-forwarded-host': ['evil.test'],
  'x-http-method-override': ['DELETE'],
  forwarded: ['for="_\\"'],
  cookie: [
    ...['usher', '=; =; ;;;==', `usher=${'A'.repeat(43)}; __Host-usher=x`],
    ...['usher-email=%ZZ; usher-email=%ff', 'a=b;'.repeat(1_000)],
  ],
  'accept-encoding': ['gzip;q=0, *;q=9'],
  accept: ['*/*;q=nonsense'],
  'if-none-match': ['*'],
  range: ['bytes=0-18446744073709551615'],
  expect: ['100-continue', 'the unexpected'],
  authorization: ['Bearer x'],
  'user-agent': ['\xf0\x9f\x9a\xaa'.repeat(100), 'a'.repeat(9_000)],
  'x-long': ['a'.repeat(16_000), 'a'.repeat(17_000)],
  te: ['trailers'],
  'content-language': [''],
  'content-encoding': ['gzip', 'x'],
  'grpc-encoding': ['gzip', 'nothing'],
  'grpc-accept-encoding': ['\xff,,gzip'],
  'grpc-timeout': ['99999999H', '-1S', 'soon'],
  'connect-timeout-ms': ['9999999999', '-1', 'NaN'],
  'connect-protocol-version': ['9'],
  'connect-content-encoding': ['gzip'],
  'x-user-agent': ['grpc-web'],
  'x-data-bin': ['!!!'],
  origin: ['null'],
  'access-control-request-method': ['POST'],
};

export const HEADERS: readonly (readonly [name: string, value: string])[] = Object.entries(HEADER_VALUES).flatMap(
  ([name, values]) => values.map((value) => [name, value] as const),
);

export const CONTENT_TYPES: readonly string[] = [
  ...words('application/json application/JSON application/proto application/grpc application/grpc+proto text/plain'),
  ...words('application/grpc+json application/grpc-web+proto application/grpc-web application/grpc-web-text+proto'),
  ...words('application/connect+json application/connect+proto application/x-www-form-urlencoded ; */*'),
  ...['', '\xff/\xff', 'application/json; charset=utf-8', 'application/json; charset=utf-16'],
  ...['multipart/form-data; boundary=x', 'application/json, application/json'],
];

export const METHODS = words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND SEARCH PURGE M-SEARCH');

function words(text: string): string[] {
  return text.split(' ');
}
