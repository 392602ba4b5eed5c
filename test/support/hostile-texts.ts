/** Values that parsers, matchers and databases have failed on. */
import { brotliCompressSync, gzipSync } from 'node:zlib';

const KILO = 1_024;

/** Path segments, as they are on the wire in latin-1. */
export const SEGMENTS: readonly string[] = [
  ...words(String.raw`. .. %2e%2e%2f%2e%2e%2fetc%2fpasswd ..%5c.. a%2Fb a/b // \ %00 a%00b % %ZZ %c0%af %ed%a0%80 %ff`),
  ...words('%EF%BB%BF ; ;a=b * ? # %23 %3F %0d%0aX-Injected:%20yes %0a + %20 " <script> {} [0] __proto__ constructor'),
  ...words('null -1 1e400 %F0%9F%9A%AA 00000000-0000-0000-0000-000000000000 \xff\xfe caf\xc3\xa9'),
  ...["'%20or%201=1--", 'wh_'.padEnd(35, '0'), 'wh_'.padEnd(35, 'g'), 'a'.repeat(256), 'a'.repeat(10 * KILO)],
];

/** Values of fields in JSON, protobuf and forms. */
export const TEXTS: readonly string[] = [
  ...words("$1 %s%n {{7*7}} ../../etc/passwd javascript:alert(1) https://app.test/callback https://[ a@b @ 0X .. '"),
  ...words('file:///etc/passwd ada@example.com 123456 １２３４５６ __proto__ e30.e30. eyJhbGciOiJub25lIn0.e30.'),
  ...words('00000000-0000-0000-0000-000000000000 0x0000000000000000000000000000000000000000'),
  ...['', ' ', '\r\n', '\0', 'a\0b', '\ud800', 'a\udc00b', '\ufeff', '\u202e', '\uffff', '\u001b[31m'],
  ...["'; drop table users; --", '\u{1F6AA}'.repeat(255), 'a'.repeat(501), 'a'.repeat(8_193), 'a'.repeat(60 * KILO)],
];

/** Values in JSON, as their text. */
export const JSON_VALUES: readonly string[] = [
  ...words('null true 0 -0 1e400 123456789012345678901234567890 [] {} ["a"] {"__proto__":1} {"toString":1}'),
  ...words(String.raw`"\ud800" "\u0000" "a\u0000b" "\x" 01 +1 .5 NaN Infinity undefined 'a' [1,] {"a":1,} /**/1`),
  ...['', '"\xff"', '"\xed\xa0\x80"', '"\n"', `"${'\\u0041'.repeat(9_000)}"`, '['.repeat(30_000)],
  ...['['.repeat(5_000) + ']'.repeat(5_000), `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
];

/** Bytes to send as a message. */
export const MESSAGES: readonly Buffer[] = [
  ...words('00 ffffffff 0aff 0a7f61 0affffffff0f61 08ffffffffffffffffffff01 0f 0c 13 0b0c 0a02c328 0a03eda080'),
  ...words('0a03610062 0a00 fa07020a00 0a80808080808080808000 f8ffffff0f01'),
]
  .map((digits) => Buffer.from(digits, 'hex'))
  .concat([Buffer.alloc(0), Buffer.alloc(60_000, 0x13), Buffer.alloc(70_000), Buffer.alloc(2_000, '\x0a\x01a')]);

/** Compressed bytes with the encoding that is announced, which may be wrong. */
export const COMPRESSED: readonly (readonly [encoding: string, bytes: Buffer])[] = [
  ...words('gzip br deflate zstd identity __proto__').map((encoding) => [encoding, gzipSync('{}')] as const),
  ...[20_000_000, 65_537, 0].map((size) => ['gzip', gzipSync(Buffer.alloc(size))] as const),
  ['br', brotliCompressSync(Buffer.alloc(20_000_000))],
  ['gzip, gzip', gzipSync(gzipSync('{}'))],
  ['gzip', gzipSync('{}').subarray(0, -6)],
  ['gzip', Buffer.from('not gzip')],
];

/** Headers that servers have trusted, or failed on. */
export const HEADERS: readonly (readonly [name: string, value: string])[] = [
  ...words('__proto__=x constructor=x if-none-match=* expect=100-continue te=trailers content-language= origin=null'),
  ...words('x-request-id=\xff x-forwarded-host=evil.test x-http-method-override=DELETE forwarded=for="_\\"'),
  ...words('accept-encoding=gzip;q=0 range=bytes=0-18446744073709551615 content-encoding=gzip grpc-encoding=nothing'),
  ...words('grpc-accept-encoding=\xff,,gzip grpc-timeout=99999999H grpc-timeout=-1S connect-timeout-ms=-1'),
  ...words('connect-timeout-ms=9999999999 connect-protocol-version=9 x-user-agent=grpc-web x-data-bin=!!!'),
  ...words('cookie=usher cookie==;=;;;== cookie=usher-email-login=%ZZ;usher-email-login=%ff authorization=Bearer'),
  ...[`x-request-id=${'a'.repeat(129)}`, `x-forwarded-for=${'1.1.1.1,'.repeat(1_000)}`, 'expect=the unexpected'],
  ...[`x-long=${'a'.repeat(17_000)}`, `user-agent=${'\xf0\x9f\x9a\xaa'.repeat(100)}`, `cookie=${'a=b;'.repeat(1_000)}`],
].map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);

export const CONTENT_TYPES: readonly string[] = [
  ...words('application/json application/JSON application/proto application/grpc application/grpc+proto text/plain'),
  ...words('application/grpc+json application/grpc-web+proto application/grpc-web application/grpc-web-text+proto'),
  ...words('application/connect+json application/connect+proto application/x-www-form-urlencoded ; */* \xff/\xff'),
  ...['', 'application/json; charset=utf-16', 'multipart/form-data; boundary=x', 'application/json, application/json'],
];

export const METHODS = words('GET POST PUT PATCH DELETE OPTIONS TRACE PROPFIND SEARCH PURGE M-SEARCH');

function words(text: string): string[] {
  return text.split(' ');
}
