/**
 * HTTP/1.1 requests, byte for byte, that no well-behaved client sends. They have been used to smuggle requests,
 * to bypass routes, or to crash servers.
 */
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
const unexpected: Answer = { status: 417, message: 'Expectation failed', kept: true };
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
const withClientId = (id: string) =>
  post(`{"redirectUri":"${REDIRECT_URI}","state":"s"}`, { target: LOGIN.replace('{client}', id) });
const withEncoding = (encoding: string) => post('{}', { headers: `Content-Encoding: ${encoding}\r\n` });
const withState = (state: string) => post(`{"redirectUri":"${REDIRECT_URI}","state":${state}}`);

/** Returns a row for each part, which the row's bytes contain and its title quotes. */
function rows(what: string, answer: Answer, toBytes: (part: string) => string | Buffer, parts: string[]): Row[] {
  return parts.map((part) => ({
    title: `${what} ${JSON.stringify(part.slice(0, 60))}`,
    bytes: toBytes(part),
    ...answer,
  }));
}

const HOSTS: Row[] = [
  ...rows('the Host', invalidHost, withHost, [
    ...['[', '[::1', '::1', '[::1]x', 'x:99999', 'localhost:80:80', 'localhost:-1', '1.2.3.256', 'user@localhost', ''],
    ...['localhost/api', 'localhost\\evil.test', 'http://localhost', 'a,b:c', 'a b', 'local%00host', 'local\thost'],
  ]),
  { title: 'no Host', bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${KEY}\r\n`, ...invalidHost },
  { title: 'no Host in HTTP/1.0', bytes: `GET ${WEBHOOK} HTTP/1.0\r\n${KEY}\r\n`, ...invalidHost, kept: false },
  ...rows('the second Host', invalidHost, (host) => withHeader(`Host: ${host}`), ['other', 'localhost']),
  ...rows('the absolute target and the Host', invalidHost, (host) => withHost(host).replace('/', 'http://localhost/'), [
    '[',
  ]),
];

const FRAMING: Row[] = [
  ...rows('the framing', badRequest, framedBy, [
    ...['Content-Length: 2\r\nContent-Length: 2', 'Content-Length: 2\r\nContent-Length: 3', 'Content-Length: 2, 2'],
    ...['Content-Length: -2', 'Content-Length: +2', 'Content-Length: 0x2', 'Content-Length:', 'Content-Length : 2'],
    'Content-Length: 18446744073709551616',
    'Content-Length: 0\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 3',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    ...['Transfer-Encoding: chunked, gzip', 'Transfer-Encoding: xchunked', 'Transfer-Encoding: \x0bchunked'],
    ...['Transfer-Encoding : chunked', 'Transfer-Encoding:\r\n chunked', 'X-Odd: a\nTransfer-Encoding: chunked'],
  ]),
  ...rows('the chunks', badRequest, withChunks, [
    ...['zz\r\n{}\r\n0', 'fffffffffffffffff\r\n{}', '-2\r\n{}\r\n0', '0x2\r\n{}\r\n0', '2\n{}\r\n0', '2;a=b\n{}\r\n0'],
    ...['2\r\n{}\n0', '2\r\n{}{}\r\n0', '5\r\n{}\r\n0', '2\r\n{}\r\n0\r\nnothing'],
  ]),
];

const HEADS: Row[] = [
  ...rows('the header of 20 KB', tooLong, withHeader, [`X-Long: ${'a'.repeat(20_000)}`]),
  ...rows('headers of 20 KB', tooLong, withHeader, [`${'X-Many: abcdefghij\r\n'.repeat(1_000)}X: y`]),
  ...rows('the target of 20 KB', tooLong, toPath, [`/api/webhooks/${'a'.repeat(20_000)}`]),
  ...rows('the header', badRequest, withHeader, [
    ...[': x', 'X-Odd', 'X-Odd : x', 'X\0Odd: x', 'X-\xc3\xa9: x', 'X-Odd: a\0b', 'X-Odd: a\rb', 'X-Folded: a\r\n b'],
  ]),
  ...rows('the request line', badRequest, withLine, [
    ...['GET', 'GET webhooks HTTP/1.1', 'PRI * HTTP/2.0\r\n\r\nXX', 'PROXY TCP4 1.2.3.4 1.2.3.4 1 80', '\0\0\0\0'],
    ...[`GET ${WEBHOOK} x HTTP/1.1`, `GET\t${WEBHOOK}\tHTTP/1.1`, `GET ${WEBHOOK}\0 HTTP/1.1`, `get / HTTP/1.1`],
    ...[`GET ${WEBHOOK} HTTP/9.9`, `GET ${WEBHOOK} HTTP/1.1\r\n X: y`, ` GET ${WEBHOOK} HTTP/1.1`],
    ...[`FETCH ${WEBHOOK} HTTP/1.1`],
  ]),
  { title: 'bytes of TLS', bytes: Buffer.from('16030100c8010000c40303', 'hex'), ...badRequest },
  { title: 'bare line feeds', bytes: HEALTHY.replaceAll('\r', ''), ...badRequest },
];

const METHODS: Row[] = [
  ...rows('the method', { ...notAllowed, allow: 'GET' }, (method) => withLine(`${method} ${WEBHOOK} HTTP/1.1`), [
    ...['TRACE', 'OPTIONS'],
  ]),
  { title: 'PROPFIND', bytes: withLine(`PROPFIND ${LOGIN} HTTP/1.1`), ...notAllowed, allow: 'POST' },
  { title: 'CONNECT', bytes: withLine('CONNECT localhost:443 HTTP/1.1'), ...notAllowed, kept: false },
  { title: 'an unknown expectation', bytes: withHeader('Expect: the unexpected'), ...unexpected },
];

const PATHS: Row[] = [
  ...rows('the target', notFound, toPath, [
    ...[`${WEBHOOK}/x`, `${WEBHOOK}/`, '/api/webhooks/../webhooks/{webhook}', '/api/./webhooks/{webhook}', '*'],
    ...['/%61pi/webhooks/{webhook}', '/api%2fwebhooks/{webhook}', '/API/webhooks/{webhook}', '/api/__proto__'],
    ...['//api/webhooks/{webhook}', '/api//webhooks/{webhook}', '/api\\webhooks\\{webhook}', 'http://localhost'],
    ...['/api;x=1/webhooks/{webhook}', 'http://localhost/other', 'ftp://localhost/api/webhooks/{webhook}'],
  ]),
  ...rows('the webhook ID', invalidId, (id) => toPath(`/api/webhooks/${id}`), [
    ...['{webhook}%2f..', '{webhook};x=1', '{webhook}%20', '{webhook}%0a', '%2577h_{digits}', '%2e%2e', '__proto__'],
    ...[`wh_${'%EF%BC%91'.repeat(32)}`, "'%20or%201=1--", 'a'.repeat(10_000)],
  ]),
  ...['%', 'a%zz', '%c0%af', '%ed%a0%80', 'a%00b'].flatMap((id) => [
    ...rows('the webhook ID', invalid(['webhookId', notWellFormed]), (part) => toPath(`/api/webhooks/${part}`), [id]),
    ...rows('the event ID', invalid(['eventId', notWellFormed]), toEvent, [id]),
  ]),
  ...rows('the event ID', invalid(['eventId', 'must not have control characters']), toEvent, ['a%0Ab']),
  ...rows('the event ID', invalid(['eventId', 'must have 1 to 255 characters']), toEvent, ['a'.repeat(10_000)]),
  ...rows('the event ID', invalid(['eventId', 'is required']), toEvent, ['']),
  ...rows('the client ID', invalid(['clientId', notWellFormed]), withClientId, ['%ff']),
  ...rows('the client IDs', invalid(['clientId', 'must be a string']), withClientId, ['{client}&clientId={client}']),
];

const KEYS: Row[] = rows('the key', noKey, withKey, [
  ...['', 'X-API-Key:\r\n', `${KEY}${KEY}`, `X-API-Key: wrong\r\n${KEY}`, `${KEY}X-API-Key: wrong\r\n`],
  ...['X-API-Key: {key}, {key}\r\n', 'X-API-Key: "{key}"\r\n', 'X-API-Key: Bearer {key}\r\n', 'X_API_Key: {key}\r\n'],
  ...['X-API-Key: {key}\xe2\x80\x8b\r\n', 'X-API-Key: usk_\xff\xfe\r\n', `X-API-Key: usk_${'a'.repeat(8_000)}\r\n`],
  ...['X-Admin-Key: {key}\r\n', 'Authorization: Bearer {key}\r\n'],
]);

const BODIES: Row[] = [
  ...rows('the body', noObject, post, [
    ...['{"redirectUri":', '[]', '"state"', 'null', '1e400', '  ', '{}{}', '{/**/}', "{'state':'s'}", '\0'.repeat(16)],
    ...['{"state":"s",}', '{"state":NaN}', '{"state":"\\x41"}', '{"state":"a\nb"}', '['.repeat(60_000)],
    ...['['.repeat(30_000) + ']'.repeat(30_000), '\ufeff\ufeff{}'],
  ]),
  { title: 'a body that is not UTF-8', bytes: post(Buffer.from('{"state":"\xff"}', 'latin1')), ...noObject },
  ...rows('the state', invalid(['state', 'must be a string']), withState, [
    ...['{"a":'.repeat(10_000) + 1 + '}'.repeat(10_000), '"s","state":7'],
  ]),
  ...rows('the state', invalid(['state', notWellFormed]), withState, ['"\\ud800"', '"a\\u0000b"']),
  ...rows('the inherited fields', invalid(['redirectUri', 'is required'], ['state', 'is required']), post, [
    `{"__proto__":{"redirectUri":"${REDIRECT_URI}","state":"s"}}`,
  ]),
  ...rows('the content type', unsupported, (type) => post('{}', { type }), [
    ...['application/x-www-form-urlencoded', 'application/json; charset=utf-16', ';;;', '*/*', 'text/json'],
    ...['application/grpc', 'application/json, text/plain'],
  ]),
  ...rows('the content encoding', unsupported, withEncoding, ['gzip', 'br', 'gzip, gzip', '__proto__']),
  { title: 'a body one byte above 64 KiB', bytes: post(' '.repeat(MAX_BODY_BYTES + 1)), ...tooLarge },
  {
    title: 'a declared length above the safe integers',
    bytes: post('{}').toString().replace('Length: 2', 'Length: 9007199254740993'),
    ...tooLarge,
  },
];

export const MALFORMED: readonly Row[] = [HOSTS, FRAMING, HEADS, METHODS, PATHS, KEYS, BODIES].flat();

/** Requests that are unusual and valid: each is answered with the webhook. */
export const UNUSUAL: readonly [title: string, bytes: string][] = [
  ...[
    ...['X-Odd:', 'X-Odd: \xff\xfe', '__proto__: x', 'Range: bytes=0-1', 'If-None-Match: *'],
    ...['X-Original-URL: /healthz', 'X-HTTP-Method-Override: DELETE', 'Connection: keep-alive, x-api-key'],
    ...[`X-Long: ${'a'.repeat(10_000)}`],
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAA',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  ].map((header): [string, string] => [`the header ${header.slice(0, 60)}`, withHeader(header)]),
  ...[`${WEBHOOK}?${'a'.repeat(8_000)}`, `${WEBHOOK}?a=%ff`, `${WEBHOOK}???`, '/api/webhooks/%77h_{digits}']
    .concat(`http://localhost:8080${WEBHOOK}?a=b`)
    .map((target): [string, string] => [`the target ${target.slice(0, 60)}`, toPath(target)]),
  ...['usher.test:8443', '[::1]:8080'].map((host): [string, string] => [`the Host ${host}`, withHost(host)]),
  ['spaces around the key', withKey('X-API-Key: \t {key} \t \r\n')],
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
