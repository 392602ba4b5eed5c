/** More of what is in malformed-requests.ts: what has let requests be smuggled, routes be passed by, and servers fall over. */
import { HEALTHY, HOST, KEY, LOGIN, post, type Row, WEBHOOK } from './malformed-requests.ts';

type Answer = Pick<Row, 'status' | 'message' | 'kept' | 'allow' | 'errors'>;

const badRequest: Answer = { status: 400, message: 'Bad request', kept: false };
const invalidHost: Answer = { status: 400, message: 'Invalid host', kept: true };
const notFound: Answer = { status: 404, message: 'Not found', kept: true };
const invalidId: Answer = { status: 400, message: 'Invalid webhook ID format', kept: true };
const noKey: Answer = { status: 401, message: 'Invalid API key', kept: true };
const unsupported: Answer = { status: 415, message: 'Unsupported media type', kept: true };
const noObject: Answer = {
  status: 400,
  message: 'Validation failed',
  errors: [{ field: 'body', message: 'must be a JSON object in UTF-8' }],
  kept: true,
};

/** A row for each title and what stands in the place of something in a request. */
function rows(answer: Answer, toBytes: (part: string) => string | Buffer, parts: readonly [string, string][]): Row[] {
  return parts.map(([title, part]) => ({ title, bytes: toBytes(part), ...answer }));
}

const inHead = (line: string) => `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}${line}\r\n\r\n`;
const framedBy = (lines: string) => `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}${lines}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
const lineOf = (line: string) => `${line}\r\n${HOST}${KEY}\r\n`;
const inChunks = (chunks: string) =>
  `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Transfer-Encoding: chunked\r\n\r\n${chunks}\r\n\r\n`;
const withHost = (host: string) => `GET ${WEBHOOK} HTTP/1.1\r\nHost: ${host}\r\n${KEY}\r\n`;
const toPath = (path: string) => `GET ${path} HTTP/1.1\r\n${HOST}${KEY}\r\n`;
const withKeys = (lines: string) => `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${lines}\r\n`;

export const ODD_HOSTS: readonly Row[] = rows(invalidHost, withHost, [
  ['a Host with two ports', 'localhost:80:80'],
  ['a Host with a scheme', 'http://localhost'],
  ['a Host that is half an IPv6 address', '[::1'],
  ['a Host that is an IPv6 address without brackets', '::1'],
  ['a Host with something after an IPv6 address', '[::1]x'],
  ['a Host with a fragment', 'localhost#x'],
  ['a Host with a query', 'localhost?x'],
  ['a Host with a backslash', 'localhost\\evil.test'],
  ['a Host with a tab in it', 'local\thost'],
  ['a Host with a percent-encoded NUL', 'local%00host'],
  ['a Host with a lone percent sign', 'local%host'],
  ['a Host with a negative port', 'localhost:-1'],
  ['a Host with a port in letters', 'localhost:http'],
  ['a Host with a port of six digits', 'localhost:100000'],
  ['a Host with angle brackets', '<script>'],
  ['a Host with a list', 'localhost, evil.test'],
]);

export const SMUGGLED: readonly Row[] = [
  ...rows(badRequest, framedBy, [
    ['Transfer-Encoding before a Content-Length', 'Transfer-Encoding: chunked\r\nContent-Length: 3'],
    ['Transfer-Encoding beside a Content-Length of 0', 'Content-Length: 0\r\nTransfer-Encoding: chunked'],
    ['Transfer-Encoding identity beside a Content-Length', 'Transfer-Encoding: identity\r\nContent-Length: 3'],
    ['Transfer-Encoding identity', 'Transfer-Encoding: identity'],
    ['Transfer-Encoding xchunked', 'Transfer-Encoding: xchunked'],
    ['Transfer-Encoding in quotes', 'Transfer-Encoding: "chunked"'],
    ['Transfer-Encoding with a vertical tab', 'Transfer-Encoding: \x0bchunked'],
    ['Transfer-Encoding with a vertical tab after it', 'Transfer-Encoding: chunked\x0b'],
    ['Transfer-Encoding with a space before its colon', 'Transfer-Encoding : chunked'],
    ['Transfer-Encoding with a tab before its colon', 'Transfer-Encoding\t: chunked'],
    ['Transfer-Encoding folded', 'Transfer-Encoding:\r\n chunked'],
    ['Transfer-Encoding after a bare line feed', 'X-Odd: a\nTransfer-Encoding: chunked'],
    ['Transfer-Encoding after a bare carriage return', 'X-Odd: a\rTransfer-Encoding: chunked'],
    ['two codings in two Transfer-Encodings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'],
    ['a Content-Length with a sign', 'Content-Length: +2'],
    ['a Content-Length in hexadecimal', 'Content-Length: 0x2'],
    ['a Content-Length in scientific notation', 'Content-Length: 2e0'],
    ['a Content-Length with a fraction', 'Content-Length: 2.0'],
    ['a Content-Length that is a list', 'Content-Length: 2, 2'],
    ['a Content-Length with a space in it', 'Content-Length: 2 2'],
    ['an empty Content-Length', 'Content-Length:'],
    ['a Content-Length that 64 bits do not hold', 'Content-Length: 18446744073709551616'],
    ['a Content-Length folded', 'Content-Length:\r\n 2'],
    ['a Content-Length with a space before its colon', 'Content-Length : 2'],
  ]),
  ...rows(badRequest, inChunks, [
    ['a negative chunk size', '-2\r\n{}\r\n0'],
    ['a chunk size with a sign', '+2\r\n{}\r\n0'],
    ['a chunk size with 0x', '0x2\r\n{}\r\n0'],
    ['a chunk size after a space', ' 2\r\n{}\r\n0'],
    ['an empty chunk size', '\r\n{}\r\n0'],
    ['a chunk size that ends in a bare line feed', '2\n{}\r\n0'],
    ['a chunk extension that ends in a bare line feed', '2;a=b\n{}\r\n0'],
    ['a chunk that ends in a bare line feed', '2\r\n{}\n0'],
    ['a chunk that ends in nothing', '2\r\n{}0'],
    ['a chunk shorter than its size', '5\r\n{}\r\n0'],
    ['a trailer without a colon', '2\r\n{}\r\n0\r\nnothing'],
    ['a trailer with a space in its name', '2\r\n{}\r\n0\r\nX Odd: a'],
    ['a chunk extension with NUL', '2;a=\0\r\n{}\r\n0'],
  ]),
];

export const ODD_HEADS: readonly Row[] = [
  ...rows(badRequest, inHead, [
    ['a header without a name', ': x'],
    ['a header without a colon', 'X-Odd'],
    ['a header with a space in its name', 'X Odd: x'],
    ['a header with NUL in its name', 'X\0Odd: x'],
    ['a header with a control character in its name', 'X\x01Odd: x'],
    ['a header with a bracket in its name', 'X(Odd): x'],
    ['a header whose name is not ASCII', 'X-\xc3\xa9: x'],
    ['a header with a control character in its value', 'X-Odd: a\x01b'],
    ['a header with DEL in its value', 'X-Odd: a\x7fb'],
    ['a header folded with a tab', 'X-Odd: a\r\n\tb'],
  ]),
  ...rows(badRequest, lineOf, [
    ['a request line with a tab', `GET\t${WEBHOOK}\tHTTP/1.1`],
    ['a request line with a version of its own', `GET ${WEBHOOK} HTTP/1.1x`],
    ['a request line in lower case', `GET ${WEBHOOK} http/1.1`],
    ['HTTP/1.2', `GET ${WEBHOOK} HTTP/1.2`],
    ['another protocol', `GET ${WEBHOOK} ICE/1.0`],
    ['a space before the method', ` GET ${WEBHOOK} HTTP/1.1`],
    ['a space in the target', `GET ${WEBHOOK} ${WEBHOOK} HTTP/1.1`],
    ['a tab in the target', `GET ${WEBHOOK}\tx HTTP/1.1`],
    ['DEL in the target', `GET ${WEBHOOK}\x7f HTTP/1.1`],
    ['a carriage return in the target', `GET ${WEBHOOK}\rx HTTP/1.1`],
    ['a target that is a word', 'GET webhooks HTTP/1.1'],
    ['a method with a comma', `GET,POST ${WEBHOOK} HTTP/1.1`],
    ['a method of 1,000 letters', `${'G'.repeat(1_000)} ${WEBHOOK} HTTP/1.1`],
    ['the preface of HTTP/2 that is not whole', 'PRI * HTTP/2.0\r\n\r\nXX'],
    ['the banner of SSH', 'SSH-2.0-OpenSSH_9.6'],
    ['a line of the PROXY protocol', 'PROXY TCP4 1.2.3.4 1.2.3.4 1 80'],
    ['a status line', 'HTTP/1.1 200 OK'],
    ['JSON', '{"method":"GET"}'],
    ['NUL bytes', '\0\0\0\0'],
  ]),
  {
    title: 'a folded line before the first header',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n X: y\r\n${HOST}${KEY}\r\n`,
    ...badRequest,
  },
  {
    title: 'a line feed after the request line alone',
    bytes: `GET ${WEBHOOK} HTTP/1.1\n${HOST}${KEY}\r\n`,
    ...badRequest,
  },
  {
    title: 'an end of the headers in bare line feeds',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY.trimEnd()}\n\n`,
    ...badRequest,
  },
];

export const ODD_PATHS: readonly Row[] = [
  ...rows(notFound, toPath, [
    ['a dot-dot segment out of the route', '/api/webhooks/../webhooks/{webhook}'],
    ['a dot segment in the route', '/api/./webhooks/{webhook}'],
    ['an encoded letter in the route', '/%61pi/webhooks/{webhook}'],
    ['an encoded slash in the route', '/api%2fwebhooks/{webhook}'],
    ['another case of the route', '/API/webhooks/{webhook}'],
    ['a doubled slash', '/api//webhooks/{webhook}'],
    ['two slashes at the front', '//api/webhooks/{webhook}'],
    ['a slash at the end', '/api/webhooks/{webhook}/'],
    ['backslashes', '/api\\webhooks\\{webhook}'],
    ['a path parameter in the route', '/api;x=1/webhooks/{webhook}'],
    ['a NUL in the route', '/api%00/webhooks/{webhook}'],
    ['a name that every object has', '/api/__proto__'],
    ['the asterisk', '*'],
    ['a target in absolute form with a path of another', 'http://localhost/other'],
    ['a target in absolute form without a path', 'http://localhost'],
    ['a target in absolute form of ftp', 'ftp://localhost/api/webhooks/{webhook}'],
  ]),
  ...rows(invalidId, toPath, [
    ['an encoded slash in an ID', '/api/webhooks/{webhook}%2f..'],
    ['a path parameter after an ID', '/api/webhooks/{webhook};x=1'],
    ['a space after an ID', '/api/webhooks/{webhook}%20'],
    ['a line feed after an ID', '/api/webhooks/{webhook}%0a'],
    ['an ID in full-width digits', `/api/webhooks/wh_${'%EF%BC%91'.repeat(32)}`],
    ['dots for an ID', '/api/webhooks/..'],
    ['encoded dots for an ID', '/api/webhooks/%2e%2e'],
    ['a wildcard for an ID', '/api/webhooks/%25'],
    ['a quote for an ID', "/api/webhooks/'%20or%201=1--"],
    ['an ID of every object', '/api/webhooks/__proto__'],
    ['an ID twice encoded', '/api/webhooks/%2577h_{digits}'],
  ]),
];

export const ODD_KEYS: readonly Row[] = rows(noKey, withKeys, [
  ['no key', ''],
  ['a key as a bearer token', 'Authorization: Bearer {key}\r\n'],
  ['a key in a header with underscores', 'X_API_Key: {key}\r\n'],
  ['a key in a cookie', 'Cookie: x-api-key={key}\r\n'],
  ['a key as an admin key', 'X-Admin-Key: {key}\r\n'],
  ['a key in quotes', 'X-API-Key: "{key}"\r\n'],
  ['a key with a scheme', 'X-API-Key: Bearer {key}\r\n'],
  ['a key and a comma', 'X-API-Key: {key},\r\n'],
  ['a key twice in a list', 'X-API-Key: {key}, {key}\r\n'],
  ['a wrong key and then a right one', 'X-API-Key: wrong\r\nX-API-Key: {key}\r\n'],
  ['a right key and then a wrong one', 'X-API-Key: {key}\r\nX-API-Key: wrong\r\n'],
  ['a key with a zero-width space', 'X-API-Key: {key}\xe2\x80\x8b\r\n'],
]);

export const ODD_BODIES: readonly Row[] = [
  ...rows(noObject, post, [
    ['JSON after two byte order marks', '\ufeff\ufeff{}'],
    ['JSON with a comma at the end', '{"state":"s",}'],
    ['JSON in single quotes', "{'state':'s'}"],
    ['JSON with a comment', '{/**/}'],
    ['JSON with NaN', '{"state":NaN}'],
    ['JSON with a number that begins with 0', '{"state":01}'],
    ['JSON with a bare line feed in a string', '{"state":"a\nb"}'],
    ['JSON with an escape that there is not', '{"state":"\\x41"}'],
    ['JSON with half an escape', '{"state":"\\u12'],
    ['a number', '1e400'],
    ['true', 'true'],
    ['objects 8,000 deep and not closed', '{"a":'.repeat(8_000)],
    ['a second value after a line feed', '{}\n{}'],
  ]),
  ...rows(unsupported, (type) => post('{}', { type }), [
    ['the type text/json', 'text/json'],
    ['the type application/jsonp', 'application/jsonp'],
    ['the type application/json+x', 'application/json+x'],
    ['the type of a multipart form', 'multipart/form-data; boundary=x'],
    ['the type application/grpc', 'application/grpc'],
    ['any type', '*/*'],
    ['JSON in Latin-1', 'application/json; charset=iso-8859-1'],
    ['two types', 'application/json, text/plain'],
  ]),
  ...rows(unsupported, (encoding) => post('{}', { headers: `Content-Encoding: ${encoding}\r\n` }), [
    ['a body in brotli', 'br'],
    ['a body in deflate', 'deflate'],
    ['a body in gzip twice', 'gzip, gzip'],
    ['a body in an encoding that there is not', '__proto__'],
  ]),
];

/** What looks odd and is right all the same: each is answered with the webhook. */
export const SOUND: [title: string, bytes: string][] = [
  ['spaces around a key', withKeys('X-API-Key: \t {key} \t \r\n')],
  ['a header of every object', inHead('__proto__: x')],
  ['a header with bytes that are not ASCII', inHead('X-Odd: \xff\xfe')],
  ['an empty header', inHead('X-Odd:')],
  ['a Range', inHead('Range: bytes=0-1')],
  ['a condition', inHead('If-None-Match: *')],
  ['another method in a header', inHead('X-HTTP-Method-Override: DELETE')],
  ['another path in a header', inHead('X-Original-URL: /healthz')],
  ['an upgrade to a web socket', inHead('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAA')],
  ['a key that Connection names', inHead('Connection: keep-alive, x-api-key')],
  ['a query of 8 KB', toPath(`${WEBHOOK}?${'a'.repeat(8_000)}`)],
  ['a query that is not UTF-8', toPath(`${WEBHOOK}?a=%ff`)],
  ['question marks', toPath(`${WEBHOOK}???`)],
  ['empty lines before the request', `\r\n\r\n${HEALTHY}`],
];
