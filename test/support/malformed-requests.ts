/**
 * HTTP/1.1 requests, byte for byte, that no well-behaved client sends. They have been used to smuggle requests,
 * to bypass routes, or to crash servers.
 */
import { gzipSync } from 'node:zlib';
import { REDIRECT_URI } from './service.ts';

export const MAX_BODY_BYTES = 65_536;

interface Answer {
  readonly status: number;
  readonly message: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
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
export const HEALTHY = `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`;

const badRequest: Answer = { status: 400, message: 'Bad request', kept: false };
const invalidHost: Answer = { status: 400, message: 'Invalid host', kept: true };
const tooLong: Answer = { status: 431, message: 'Request header fields too large', kept: false };
const notFound: Answer = { status: 404, message: 'Not found', kept: true };
const notAllowed: Answer = { status: 405, message: 'Method not allowed', kept: true };
const unsupported: Answer = { status: 415, message: 'Unsupported media type', kept: true };
const tooLarge: Answer = { status: 413, message: 'Payload too large', kept: false };
const noKey: Answer = { status: 401, message: 'Invalid API key', kept: true };
const invalidId: Answer = { status: 400, message: 'Invalid webhook ID format', kept: true };
const invalid = (...errors: [field: string, message: string][]): Answer => ({
  status: 400,
  message: 'Validation failed',
  errors: errors.map(([field, message]) => ({ field, message })),
  kept: true,
});
const noObject = invalid(['body', 'must be a JSON object in UTF-8']);
const notWellFormed = 'must be well-formed Unicode without NUL';

const withHost = (host: string) => `GET ${WEBHOOK} HTTP/1.1\r\nHost: ${host}\r\n${KEY}\r\n`;
const withHeader = (line: string) => `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}${line}\r\n\r\n`;
const withLine = (line: string) => `${line}\r\n${HOST}${KEY}\r\n`;
const withKey = (lines: string) => `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${lines}\r\n`;
const toPath = (path: string) => withLine(`GET ${path} HTTP/1.1`);
const toEvent = (id: string) => withLine(`DELETE /api/events/${id} HTTP/1.1`);
const framedBy = (lines: string) => `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}${lines}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
const withChunks = (chunks: string) => framedBy('Transfer-Encoding: chunked').replace('2\r\n{}\r\n0', chunks);
const withType = (type: string) => post('{}', { type });
const withEncoding = (encoding: string) => post('{}', { headers: `Content-Encoding: ${encoding}\r\n` });
const withState = (state: string) => post(`{"redirectUri":"${REDIRECT_URI}","state":${state}}`);

/** Returns a row for each part, which the row's bytes contain and its title quotes. */
function rows(
  what: string,
  answer: Answer,
  toBytes: (part: string) => string | Buffer,
  parts: readonly (string | Buffer)[],
): Row[] {
  return parts.map((part) => {
    const text = typeof part === 'string' ? part : part.toString('latin1');
    return { title: `${what} ${JSON.stringify(text.slice(0, 60))}`, bytes: toBytes(text), ...answer };
  });
}

const HOSTS: Row[] = [
  ...rows('the Host', invalidHost, withHost, [
    ...'[ [::1 ::1 [::1]x x:99999 localhost:80:80 localhost:-1 localhost:http 1.2.3.256 user@localhost'.split(' '),
    ...'localhost/api localhost?x localhost#x localhost\\evil.test http://localhost a,b:c local%00host <script>'.split(
      ' ',
    ),
    ...['', 'a b', 'local\thost', 'local%host', 'localhost, evil.test'],
  ]),
  { title: 'no Host', bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${KEY}\r\n`, ...invalidHost },
  { title: 'no Host in HTTP/1.0', bytes: `GET ${WEBHOOK} HTTP/1.0\r\n${KEY}\r\n`, ...invalidHost, kept: false },
  ...rows('the second Host', invalidHost, (host) => withHeader(`Host: ${host}`), ['other', 'localhost']),
  {
    title: 'a bad Host and a target in absolute form',
    bytes: `GET http://localhost${WEBHOOK} HTTP/1.1\r\nHost: [\r\n${KEY}\r\n`,
    ...invalidHost,
  },
  {
    title: 'a bad Host with a body',
    bytes: `POST ${LOGIN} HTTP/1.1\r\nHost: [\r\n${KEY}Content-Length: 2\r\n\r\n{}`,
    ...invalidHost,
  },
];

const FRAMING: Row[] = [
  ...rows('the framing', badRequest, framedBy, [
    'Content-Length: 2\r\nContent-Length: 2',
    'Content-Length: 2\r\nContent-Length: 3',
    'Content-Length: 0\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 3',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:\r\n chunked',
    'X-Odd: a\nTransfer-Encoding: chunked',
    'X-Odd: a\rTransfer-Encoding: chunked',
    'Content-Length: two',
    'Content-Length: -2',
    'Content-Length: +2',
    'Content-Length: 0x2',
    'Content-Length: 2, 2',
    'Content-Length:',
    'Content-Length: 18446744073709551616',
    'Content-Length : 2',
  ]),
  ...rows('the chunks', badRequest, withChunks, [
    'zz\r\n{}\r\n0',
    'fffffffffffffffff\r\n{}',
    '-2\r\n{}\r\n0',
    '0x2\r\n{}\r\n0',
    '\r\n{}\r\n0',
    '2\n{}\r\n0',
    '2;a=b\n{}\r\n0',
    '2;a=\0\r\n{}\r\n0',
    '2\r\n{}\n0',
    '2\r\n{}{}\r\n0',
    '5\r\n{}\r\n0',
    '2\r\n{}\r\n0\r\nnothing',
  ]),
];

const HEADS: Row[] = [
  ...rows('the header of 20 KB', tooLong, withHeader, [`X-Long: ${'a'.repeat(20_000)}`]),
  ...rows('headers of 20 KB', tooLong, withHeader, [`${'X-Many: abcdefghij\r\n'.repeat(1_000)}X: y`]),
  ...rows('the target of 20 KB', tooLong, toPath, [`/api/webhooks/${'a'.repeat(20_000)}`]),
  ...rows('the header', badRequest, withHeader, [
    ': x',
    'X-Odd',
    'X-Odd : x',
    'X\0Odd: x',
    'X(Odd): x',
    'X-\xc3\xa9: x',
    'X-Odd: a\0b',
    'X-Odd: a\x7fb',
    'X-Odd: a\rb',
    'X-Folded: a\r\n b',
  ]),
  ...rows('the request line', badRequest, withLine, [
    'GET',
    `GET ${WEBHOOK} x HTTP/1.1`,
    `GET\t${WEBHOOK}\tHTTP/1.1`,
    `GET ${WEBHOOK}\0 HTTP/1.1`,
    `GET ${WEBHOOK} HTTP/9.9`,
    `GET ${WEBHOOK} HTTP/1.1x`,
    `GET ${WEBHOOK} ICE/1.0`,
    `GET ${WEBHOOK} HTTP/1.1\r\n X: y`,
    ` GET ${WEBHOOK} HTTP/1.1`,
    'GET webhooks HTTP/1.1',
    `FETCH ${WEBHOOK} HTTP/1.1`,
    `get ${WEBHOOK} HTTP/1.1`,
    `${'G'.repeat(1_000)} ${WEBHOOK} HTTP/1.1`,
    'PRI * HTTP/2.0\r\n\r\nXX',
    'PROXY TCP4 1.2.3.4 1.2.3.4 1 80',
    '\0\0\0\0',
  ]),
  { title: 'bytes of TLS', bytes: Buffer.from('16030100c8010000c40303', 'hex'), ...badRequest },
  {
    title: 'bare line feeds',
    bytes: `GET ${WEBHOOK} HTTP/1.1\nHost: localhost\nX-API-Key: {key}\n\n`,
    ...badRequest,
  },
];

const METHODS: Row[] = [
  ...rows('the method', { ...notAllowed, allow: 'GET' }, (method) => withLine(`${method} ${WEBHOOK} HTTP/1.1`), [
    'TRACE',
    'OPTIONS',
  ]),
  { title: 'PROPFIND', bytes: withLine(`PROPFIND ${LOGIN} HTTP/1.1`), ...notAllowed, allow: 'POST' },
  { title: 'CONNECT', bytes: withLine('CONNECT localhost:443 HTTP/1.1'), ...notAllowed, kept: false },
  {
    title: 'an unknown expectation',
    bytes: withHeader('Expect: the unexpected'),
    status: 417,
    message: 'Expectation failed',
    kept: true,
  },
];

const PATHS: Row[] = [
  ...rows('the target', notFound, toPath, [
    `${WEBHOOK}/x`,
    `${WEBHOOK}/`,
    '/api/webhooks/../webhooks/{webhook}',
    '/api/./webhooks/{webhook}',
    '/%61pi/webhooks/{webhook}',
    '/api%2fwebhooks/{webhook}',
    '/API/webhooks/{webhook}',
    '/api//webhooks/{webhook}',
    '//api/webhooks/{webhook}',
    '/api\\webhooks\\{webhook}',
    '/api;x=1/webhooks/{webhook}',
    '/api/__proto__',
    '*',
    'http://localhost',
    'http://localhost/other',
    'ftp://localhost/api/webhooks/{webhook}',
  ]),
  ...rows('the webhook ID', invalidId, (id) => toPath(`/api/webhooks/${id}`), [
    '{webhook}%2f..',
    '{webhook};x=1',
    '{webhook}%20',
    '{webhook}%0a',
    `wh_${'%EF%BC%91'.repeat(32)}`,
    '%2577h_{digits}',
    '%2e%2e',
    "'%20or%201=1--",
    '__proto__',
    'a'.repeat(10_000),
  ]),
  ...['%', 'a%zz', '%c0%af', '%ed%a0%80', '%e2%82', 'a%00b'].flatMap((id) => [
    ...rows('the webhook ID', invalid(['webhookId', notWellFormed]), (part) => toPath(`/api/webhooks/${part}`), [id]),
    ...rows('the event ID', invalid(['eventId', notWellFormed]), toEvent, [id]),
  ]),
  ...rows('the event ID', invalid(['eventId', 'must not have control characters']), toEvent, ['a%0Ab']),
  ...rows('the event ID', invalid(['eventId', 'must have 1 to 255 characters']), toEvent, ['a'.repeat(10_000)]),
  ...rows('the event ID', invalid(['eventId', 'is required']), toEvent, ['']),
  {
    title: 'a client ID that is not UTF-8',
    bytes: post(`{"redirectUri":"${REDIRECT_URI}","state":"s"}`, { target: LOGIN.replace('{client}', '%ff') }),
    ...invalid(['clientId', notWellFormed]),
  },
  {
    title: 'two client IDs',
    bytes: post(`{"redirectUri":"${REDIRECT_URI}","state":"s"}`, { target: `${LOGIN}&clientId={client}` }),
    ...invalid(['clientId', 'must be a string']),
  },
];

const KEYS: Row[] = rows('the key', noKey, withKey, [
  '',
  'X-API-Key:\r\n',
  `${KEY}${KEY}`,
  `X-API-Key: wrong\r\n${KEY}`,
  `${KEY}X-API-Key: wrong\r\n`,
  'X-API-Key: {key}, {key}\r\n',
  'X-API-Key: "{key}"\r\n',
  'X-API-Key: Bearer {key}\r\n',
  'X-API-Key: {key}\xe2\x80\x8b\r\n',
  'X-API-Key: usk_\xff\xfe\r\n',
  `X-API-Key: usk_${'a'.repeat(8_000)}\r\n`,
  'X_API_Key: {key}\r\n',
  'X-Admin-Key: {key}\r\n',
  'Authorization: Bearer {key}\r\n',
  'Cookie: x-api-key={key}\r\n',
]);

const BODIES: Row[] = [
  ...rows('the body', noObject, post, [
    ...['{"redirectUri":', '[]', '"state"', 'null', 'true', '1e400', '  ', '{}{}', '{}\n{}', '{/**/}', "{'state':'s'}"],
    ...['{"state":"s",}', '{"state":NaN}', '{"state":01}', '{"state":"\\x41"}', '{"state":"\\u12', '{"state":"a\nb"}'],
    ...['['.repeat(30_000) + ']'.repeat(30_000), '['.repeat(60_000), '{"a":'.repeat(8_000), '\0'.repeat(16)],
  ]),
  { title: 'a body that is not UTF-8', bytes: post(Buffer.from('{"state":"\xff"}', 'latin1')), ...noObject },
  { title: 'two byte order marks', bytes: post('\ufeff\ufeff{}'), ...noObject },
  ...rows('the state', invalid(['state', 'must be a string']), withState, [
    `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
    '"s","state":7',
  ]),
  ...rows('the state', invalid(['state', notWellFormed]), withState, ['"\\ud800"', '"a\\u0000b"']),
  {
    title: 'fields that every object inherits',
    bytes: post(`{"__proto__":{"redirectUri":"${REDIRECT_URI}","state":"s"}}`),
    ...invalid(['redirectUri', 'is required'], ['state', 'is required']),
  },
  ...rows('the content type', unsupported, withType, [
    ...[
      'application/x-www-form-urlencoded',
      'application/json; charset=utf-16',
      'application/json; charset=iso-8859-1',
    ],
    ...[';;;', '*/*', 'text/json', 'application/json+x', 'application/grpc', 'application/json, text/plain'],
  ]),
  ...rows('the content encoding', unsupported, withEncoding, ['br', 'deflate', 'gzip, gzip', '__proto__']),
  { title: 'a body in gzip', bytes: post(gzipSync('{}'), { headers: 'Content-Encoding: gzip\r\n' }), ...unsupported },
  { title: 'a body one byte above 64 KiB', bytes: post(' '.repeat(MAX_BODY_BYTES + 1)), ...tooLarge },
  {
    title: 'a declared length above the safe integers',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 9007199254740993\r\n\r\n{}`,
    ...tooLarge,
  },
];

export const MALFORMED: readonly Row[] = [HOSTS, FRAMING, HEADS, METHODS, PATHS, KEYS, BODIES].flat();

/** Requests that are unusual and valid: each is answered with the webhook. */
export const UNUSUAL: readonly [title: string, bytes: string][] = [
  ['spaces around the key', withKey('X-API-Key: \t {key} \t \r\n')],
  ['the header __proto__', withHeader('__proto__: x')],
  ['a header value that is not ASCII', withHeader('X-Odd: \xff\xfe')],
  ['an empty header', withHeader('X-Odd:')],
  ['a Range', withHeader('Range: bytes=0-1')],
  ['a condition', withHeader('If-None-Match: *')],
  ['a method override', withHeader('X-HTTP-Method-Override: DELETE')],
  ['a path override', withHeader('X-Original-URL: /healthz')],
  ['an upgrade to WebSocket', withHeader('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAA')],
  ['an upgrade to h2c', withHeader('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk')],
  ['a key that Connection names', withHeader('Connection: keep-alive, x-api-key')],
  ['headers of 10 KB', withHeader(`X-Long: ${'a'.repeat(10_000)}`)],
  ['a query of 8 KB', toPath(`${WEBHOOK}?${'a'.repeat(8_000)}`)],
  ['a query that is not UTF-8', toPath(`${WEBHOOK}?a=%ff`)],
  ['several question marks', toPath(`${WEBHOOK}???`)],
  ['a target in absolute form', toPath(`http://localhost:8080${WEBHOOK}?a=b`)],
  ['a percent-encoded letter in the ID', toPath('/api/webhooks/%77h_{digits}')],
  ['a Host with a port', withHost('usher.test:8443')],
  ['a Host that is an IPv6 address', withHost('[::1]:8080')],
  ['empty lines before the request', `\r\n\r\n${HEALTHY}`],
  ['a body on GET', `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 3\r\n\r\n{{{`],
];

interface PostOptions {
  readonly target?: string;
  readonly type?: string;
  readonly headers?: string;
}

/** Returns a login request with the body. */
export function post(
  body: string | Buffer,
  { target = LOGIN, type = 'application/json', headers = '' }: PostOptions = {},
): Buffer {
  const contentType = type && `Content-Type: ${type}\r\n`;
  const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const head = `POST ${target} HTTP/1.1\r\n${HOST}${KEY}${contentType}${headers}${length}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/** Returns a login request with the body in chunks, an extension and a trailer. */
export function inChunks(body: string): string {
  const chunks = body.match(/.{1,7}/gs)?.map((chunk) => `${chunk.length.toString(16)};ext=1\r\n${chunk}\r\n`);
  return `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Transfer-Encoding: chunked\r\n\r\n${chunks?.join('')}0\r\nX-Trailer: t\r\n\r\n`;
}
