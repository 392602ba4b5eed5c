/** HTTP/1.1 requests, byte for byte, that have been used to smuggle requests, to bypass routes, or to crash servers. */
import { PUBLIC_URL, REDIRECT_URI } from './service.ts';

export const MAX_BODY_BYTES = 65_536;

interface Answer {
  readonly status: number;
  readonly message: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
  readonly help?: string;
  readonly allow?: string;
  /** Whether the connection stays open. */
  readonly kept: boolean;
}

export interface Row extends Answer {
  readonly title: string;
  /** `{key}`, `{webhook}`, `{digits}` and `{client}` stand for the values of the tenant. */
  readonly bytes: string | Buffer;
}

export const KEY = 'X-API-Key: {key}\r\n';
export const HOST = 'Host: localhost\r\n';
export const WEBHOOK = '/api/webhooks/{webhook}';
export const LOGIN = '/api/oauth/generate-auth-url?clientId={client}';
export const UNFINISHED = `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 100\r\n\r\n{"state":`;
export const HEALTHY = `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`;

/** Where the error of a wrong key leads to. */
export const KEY_HELP = `${PUBLIC_URL}/docs/errors#error-INVALID_API_KEY`;

const badRequest: Answer = { status: 400, message: 'Bad request', kept: false };
const invalidHost: Answer = { status: 400, message: 'Invalid host', kept: true };
const tooLong: Answer = { status: 431, message: 'Request header fields too large', kept: false };
const notFound: Answer = { status: 404, message: 'Not found', kept: true };
const notAllowed: Answer = { status: 405, message: 'Method not allowed', kept: true };
const unsupported = (field: string, message: string): Answer => ({
  status: 415,
  message: 'Unsupported media type',
  kept: true,
  errors: [{ field, message }],
});
const unexpected: Answer = { status: 417, message: 'Expectation failed', kept: true };
const tooLarge: Answer = { status: 413, message: 'Payload too large', kept: false };
const noKey: Answer = { status: 401, message: 'Invalid API key', help: KEY_HELP, kept: true };
const invalidId: Answer = { status: 400, message: 'Invalid webhook ID format', kept: true };
const invalid = (field: string, message: string): Answer => ({
  status: 400,
  message: 'Validation failed',
  kept: true,
  errors: [{ field, message }],
});
const noObject = invalid('body', 'must be a JSON object in UTF-8');
const notWellFormed = 'must be well-formed Unicode without NUL';

const withHost = (host: string) => `GET ${WEBHOOK} HTTP/1.1\r\nHost: ${host}\r\n${KEY}\r\n`;
const withHeader = (line: string) => `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}${line}\r\n\r\n`;
const withLine = (line: string) => `${line}\r\n${HOST}${KEY}\r\n`;
const withKey = (lines: string) => `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${lines}\r\n`;
const toPath = (path: string) => withLine(`GET ${path} HTTP/1.1`);
const toEvent = (id: string) => withLine(`DELETE /api/events/${id} HTTP/1.1`);
const framedBy = (lines: string) => `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}${lines}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
const withChunks = (chunks: string) => framedBy('Transfer-Encoding: chunked').replace('2\r\n{}\r\n0', chunks);
const withClientId = (id: string) =>
  post(`{"redirectUri":"${REDIRECT_URI}","state":"s"}`, { target: LOGIN.replace('{client}', id) });
const withState = (state: string) => post(`{"redirectUri":"${REDIRECT_URI}","state":${state}}`);
const exactly = (bytes: string) => bytes;

/** Returns a row for each part, which the row's bytes contain and its title quotes. */
function rows(what: string, answer: Answer, toBytes: (part: string) => string | Buffer, parts: string[]): Row[] {
  return parts.map((part) => ({
    title: `${what} ${JSON.stringify(part.slice(0, 60))}`,
    bytes: toBytes(part),
    ...answer,
  }));
}

const HOSTS = [
  ...rows('the Host', invalidHost, withHost, [
    ...['[', '[::1]x', 'x:99999', 'localhost:80:80', '1.2.3.256', 'user@localhost', '', 'a,b:c', 'a b', 'local%00host'],
    ...['localhost/api', 'localhost\\evil.test', 'localhost\r\nHost: other', 'localhost\r\nHost: localhost'],
  ]),
  ...rows('no Host', invalidHost, exactly, [`GET ${WEBHOOK} HTTP/1.1\r\n${KEY}\r\n`]),
  ...rows('no Host', { ...invalidHost, kept: false }, exactly, [`GET ${WEBHOOK} HTTP/1.0\r\n${KEY}\r\n`]),
  ...rows('the Host beside an absolute target', invalidHost, withHost, ['[']).map((row) => ({
    ...row,
    bytes: String(row.bytes).replace('/', 'http://localhost/'),
  })),
];

const FRAMING = [
  ...rows('the framing', badRequest, framedBy, [
    ...['Content-Length: 2\r\nContent-Length: 2', 'Content-Length: 2\r\nContent-Length: 3', 'Content-Length: 2, 2'],
    ...['Content-Length: -2', 'Content-Length: 0x2', 'Content-Length:', 'Content-Length: 18446744073709551616'],
    ...['Content-Length: 0\r\nTransfer-Encoding: chunked', 'Transfer-Encoding: chunked\r\nContent-Length: 3'],
    ...['Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', 'Transfer-Encoding: chunked, gzip'],
    ...['Transfer-Encoding: xchunked', 'Transfer-Encoding: \x0bchunked', 'Transfer-Encoding : chunked'],
    ...['Transfer-Encoding:\r\n chunked', 'X-Odd: a\nTransfer-Encoding: chunked'],
  ]),
  ...rows('the chunks', badRequest, withChunks, [
    ...['zz\r\n{}\r\n0', 'fffffffffffffffff\r\n{}', '-2\r\n{}\r\n0', '0x2\r\n{}\r\n0', '2\n{}\r\n0', '2;a=b\n{}\r\n0'],
    ...['2\r\n{}\n0', '2\r\n{}{}\r\n0', '5\r\n{}\r\n0', '2\r\n{}\r\n0\r\nnothing'],
  ]),
];

/** The service does not read on after these. */
const ABANDONED = [
  ...rows('the request that follows', badRequest, (next) => `GET / HTTP/9.9\r\n\r\n${next}`, [HEALTHY]),
  ...rows('the oversize body without a key', { ...noKey, kept: false }, exactly, [
    `POST ${LOGIN} HTTP/1.1\r\n${HOST}Content-Length: 10000000\r\n\r\n`,
  ]),
];

const HEADS = [
  ...rows('a header of 20 KB', tooLong, withHeader, [`X-Long: ${'a'.repeat(20_000)}`]),
  ...rows('headers of 20 KB', tooLong, withHeader, [`${'X-Many: abcdefghij\r\n'.repeat(1_000)}X: y`]),
  ...rows('a target of 20 KB', tooLong, toPath, [`/api/webhooks/${'a'.repeat(20_000)}`]),
  ...rows('the header', badRequest, withHeader, [
    ...[': x', 'X-Odd', 'X-Odd : x', 'X\0Odd: x', 'X-\xc3\xa9: x', 'X-Odd: a\0b', 'X-Odd: a\rb', 'X-Folded: a\r\n b'],
  ]),
  ...rows('the request line', badRequest, withLine, [
    ...['GET', 'GET webhooks HTTP/1.1', 'PRI * HTTP/2.0\r\n\r\nXX', 'PROXY TCP4 1.2.3.4 1.2.3.4 1 80', '\0\0\0\0'],
    ...[`GET ${WEBHOOK} x HTTP/1.1`, `GET\t${WEBHOOK}\tHTTP/1.1`, `GET ${WEBHOOK}\0 HTTP/1.1`, `get / HTTP/1.1`],
    ...[`GET ${WEBHOOK} HTTP/9.9`, `GET ${WEBHOOK} HTTP/1.1\r\n X: y`, `FETCH ${WEBHOOK} HTTP/1.1`],
  ]),
  ...rows('bytes of TLS', badRequest, exactly, ['\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03']),
  ...rows('bare line feeds', badRequest, exactly, [HEALTHY.replaceAll('\r', '')]),
];

const METHODS = [
  ...rows(
    'the method',
    { ...notAllowed, allow: 'GET, PATCH, DELETE, HEAD' },
    (method) => withLine(`${method} ${WEBHOOK} HTTP/1.1`),
    [...['TRACE', 'PROPFIND']],
  ),
  ...rows('the method', { ...notAllowed, kept: false }, withLine, ['CONNECT localhost:443 HTTP/1.1']),
  ...rows('the expectation', unexpected, withHeader, ['Expect: the unexpected']),
];

const PATHS = [
  ...rows('the target', notFound, toPath, [
    ...[`${WEBHOOK}/x`, '/api/webhooks/../webhooks/{webhook}', '*', '/%61pi/webhooks/{webhook}', '/api/__proto__'],
    ...['/api%2fwebhooks/{webhook}', '//api/webhooks/{webhook}', '/api\\webhooks\\{webhook}'],
    ...['/api;x=1/webhooks/{webhook}', 'http://localhost/other', 'ftp://localhost/api/webhooks/{webhook}'],
  ]),
  ...rows('the webhook ID', invalidId, (id) => toPath(`/api/webhooks/${id}`), [
    ...['{webhook}%2f..', '{webhook};x=1', '{webhook}%0a', '%2577h_{digits}', '%2e%2e', '__proto__'],
    ...[`wh_${'%EF%BC%91'.repeat(32)}`, "'%20or%201=1--", 'a'.repeat(10_000)],
    ...['%', 'a%zz', '%c0%af', '%ed%a0%80', 'a%00b', '{webhook}%00'],
  ]),
  ...rows('the event ID', invalid('eventId', notWellFormed), toEvent, ['%', '%c0%af', 'a%00b']),
  ...rows('the event ID', invalid('eventId', 'must not have control characters'), toEvent, ['a%0Ab']),
  ...rows('the event ID', invalid('eventId', 'must have 1 to 255 characters'), toEvent, ['a'.repeat(10_000)]),
  ...rows('the event ID', invalid('eventId', 'is required'), toEvent, ['']),
  ...rows('the client ID', invalid('clientId', notWellFormed), withClientId, ['%ff']),
  ...rows('the client IDs', invalid('clientId', 'must be a string'), withClientId, ['{client}&clientId={client}']),
];

const KEYS = rows('the key', noKey, withKey, [
  ...['', `${KEY}${KEY}`, `X-API-Key: wrong\r\n${KEY}`, `${KEY}X-API-Key: wrong\r\n`, 'X_API_Key: {key}\r\n'],
  ...['X-API-Key: "{key}"\r\n', 'X-API-Key: {key}\xe2\x80\x8b\r\n', 'X-API-Key: usk_\xff\xfe\r\n'],
  ...[`X-API-Key: usk_${'a'.repeat(8_000)}\r\n`],
]);

const BODIES = [
  ...rows('the body', noObject, post, [
    ...['{"redirectUri":', '[]', '1e400', '{}{}', '{/**/}', "{'state':'s'}", '\0'.repeat(16), '{"state":"s",}'],
    ...['{"state":NaN}', '{"state":"\\x41"}', '{"state":"a\nb"}', '['.repeat(60_000), '\ufeff\ufeff{}'],
    ...['['.repeat(30_000) + ']'.repeat(30_000)],
  ]),
  ...rows('the body in latin-1', noObject, (body) => post(Buffer.from(body, 'latin1')), ['{"state":"\xff"}']),
  ...rows('the state', invalid('state', 'must be a string'), withState, [
    ...['{"a":'.repeat(10_000) + 1 + '}'.repeat(10_000), '"s","state":7'],
  ]),
  ...rows('the state', invalid('state', notWellFormed), withState, ['"\\ud800"', '"a\\u0000b"']),
  ...rows('the content type', unsupported('Content-Type', 'must be application/json'), (type) => post('{}', { type }), [
    ';;;',
    '*/*',
    'application/json, text/plain',
  ]),
  ...rows(
    'the encoding',
    unsupported('Content-Encoding', 'must be identity'),
    (name) => post('{}', { headers: `Content-Encoding: ${name}\r\n` }),
    [...['gzip', '__proto__']],
  ),
  ...rows('the length', tooLarge, (length) => post('{}').toString().replace('Length: 2', `Length: ${length}`), [
    ...['65537', '9007199254740993'],
  ]),
];

export const MALFORMED: readonly Row[] = [HOSTS, FRAMING, ABANDONED, HEADS, METHODS, PATHS, KEYS, BODIES].flat();

/** Requests that are unusual and valid: each is answered with the webhook. */
export const UNUSUAL: readonly string[] = [
  ...[
    ...['X-Odd: \xff\xfe', '__proto__: x', 'Range: bytes=0-1', 'If-None-Match: *', 'X-HTTP-Method-Override: DELETE'],
    ...['X-Original-URL: /healthz', 'Connection: keep-alive, x-api-key', `X-Long: ${'a'.repeat(10_000)}`],
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAA',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  ].map(withHeader),
  ...[`${WEBHOOK}?${'a'.repeat(8_000)}`, `${WEBHOOK}?a=%ff`, '/api/webhooks/%77h_{digits}'].map(toPath),
  ...[toPath(`http://localhost:8080${WEBHOOK}?a=b`), withHost('[::1]:8080'), withKey('X-API-Key: \t {key} \t \r\n')],
  ...[`\r\n\r\n${HEALTHY}`, withHeader('Content-Length: 3').concat('{{{')],
];

/** Returns a login request with the body. */
export function post(
  body: string | Buffer,
  {
    target = LOGIN,
    type = 'application/json',
    headers = '',
  }: { target?: string; type?: string; headers?: string } = {},
): Buffer {
  const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const head = `POST ${target} HTTP/1.1\r\n${HOST}${KEY}Content-Type: ${type}\r\n${headers}${length}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/** Returns a login request with the body in chunks, an extension and a trailer. */
export function inChunks(body: string): string {
  const chunks = body.match(/.{1,7}/gs)?.map((chunk) => `${chunk.length.toString(16)};ext=1\r\n${chunk}\r\n`);
  return framedBy('Transfer-Encoding: chunked').replace('2\r\n{}\r\n0\r\n', `${chunks?.join('')}0\r\nX-Trailer: t\r\n`);
}
