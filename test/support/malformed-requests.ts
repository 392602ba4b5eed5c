/** Requests over HTTP/1.1 that no well-behaved client sends, byte for byte, and what each is answered. */
import { gzipSync } from 'node:zlib';
import { REDIRECT_URI } from './service.ts';

export const MAX_BODY_BYTES = 65_536;

export interface Row {
  readonly title: string;
  /** The request's bytes; `{key}`, `{webhook}` and `{client}` stand for those of the tenant. */
  readonly bytes: string | Buffer;
  readonly status: number;
  readonly message: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
  readonly allow?: string;
  /** Whether the connection is of use afterwards. */
  readonly kept: boolean;
}

export const KEY = 'X-API-Key: {key}\r\n';
export const HOST = 'Host: localhost\r\n';
export const WEBHOOK = '/api/webhooks/{webhook}';
export const LOGIN = '/api/oauth/generate-auth-url?clientId={client}';
export const HEALTHY = `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`;

const badRequest = { status: 400, message: 'Bad request', kept: false };
const invalidHost = { status: 400, message: 'Invalid host', kept: true };
const notAllowed = { status: 405, message: 'Method not allowed', kept: true };
const unsupported = { status: 415, message: 'Unsupported media type', kept: true };
const badId = { status: 400, message: 'Validation failed', kept: true };
const notWellFormed = 'must be well-formed Unicode without NUL';
const noJsonObject = {
  status: 400,
  message: 'Validation failed',
  errors: [{ field: 'body', message: 'must be a JSON object in UTF-8' }],
  kept: true,
};

export const HOSTS: Row[] = [
  ...['[', 'a b', 'x:99999', '', '1.2.3.256', 'user@localhost', 'localhost/api', 'a,b:c'].map((host) => ({
    title: `the Host ${JSON.stringify(host)}`,
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\nHost: ${host}\r\n${KEY}\r\n`,
    ...invalidHost,
  })),
  { title: 'no Host in HTTP/1.1', bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${KEY}\r\n`, ...invalidHost },
  { title: 'no Host in HTTP/1.0', bytes: `GET ${WEBHOOK} HTTP/1.0\r\n${KEY}\r\n`, ...invalidHost, kept: false },
  {
    title: 'two different Hosts',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}Host: other\r\n${KEY}\r\n`,
    ...invalidHost,
  },
  { title: 'the same Host twice', bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${HOST}${KEY}\r\n`, ...invalidHost },
  {
    title: 'a bad Host beside a target in absolute form',
    bytes: `GET http://localhost${WEBHOOK} HTTP/1.1\r\nHost: [\r\n${KEY}\r\n`,
    ...invalidHost,
  },
  {
    title: 'a bad Host with a body',
    bytes: `POST ${LOGIN} HTTP/1.1\r\nHost: [\r\n${KEY}Content-Length: 2\r\n\r\n{}`,
    ...invalidHost,
  },
];

export const FRAMING: Row[] = [
  {
    title: 'a header of 20 KB',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}X-Long: ${'a'.repeat(20_000)}\r\n\r\n`,
    status: 431,
    message: 'Request header fields too large',
    kept: false,
  },
  {
    title: 'headers of 20 KB together',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}${'X-Many: abcdefghij\r\n'.repeat(1_000)}\r\n`,
    status: 431,
    message: 'Request header fields too large',
    kept: false,
  },
  {
    title: 'a target of 20 KB',
    bytes: `GET /api/webhooks/${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    status: 431,
    message: 'Request header fields too large',
    kept: false,
  },
  { title: 'a request line without a target', bytes: `GET\r\n${HOST}\r\n`, ...badRequest },
  { title: 'a request line of four words', bytes: `GET ${WEBHOOK} x HTTP/1.1\r\n${HOST}${KEY}\r\n`, ...badRequest },
  { title: 'HTTP/9.9', bytes: `GET ${WEBHOOK} HTTP/9.9\r\n${HOST}${KEY}\r\n`, ...badRequest },
  {
    title: 'a control character in the target',
    bytes: `GET ${WEBHOOK}\0 HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    ...badRequest,
  },
  { title: 'a method that does not exist', bytes: `FETCH ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`, ...badRequest },
  { title: 'a method in lower case', bytes: `get ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`, ...badRequest },
  { title: 'bytes of TLS', bytes: Buffer.from('16030100c8010000c40303', 'hex'), ...badRequest },
  {
    title: 'bare line feeds',
    bytes: `GET ${WEBHOOK} HTTP/1.1\nHost: localhost\nX-API-Key: {key}\n\n`,
    ...badRequest,
  },
  {
    title: 'a bare carriage return in a header',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}X-Odd: a\rb\r\n${KEY}\r\n`,
    ...badRequest,
  },
  {
    title: 'a folded header',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}X-Folded: a\r\n b\r\n${KEY}\r\n`,
    ...badRequest,
  },
  {
    title: 'a space before a colon',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\nHost : localhost\r\n${KEY}\r\n`,
    ...badRequest,
  },
  { title: 'a NUL in a header', bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}X-Odd: a\0b\r\n${KEY}\r\n`, ...badRequest },
  {
    title: 'the same Content-Length twice',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
    ...badRequest,
  },
  {
    title: 'two Content-Lengths that differ',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    ...badRequest,
  },
  {
    title: 'a Content-Length that is no number',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: two\r\n\r\n{}`,
    ...badRequest,
  },
  {
    title: 'a negative Content-Length',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: -2\r\n\r\n{}`,
    ...badRequest,
  },
  {
    title: 'a Content-Length beside Transfer-Encoding',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ...badRequest,
  },
  {
    title: 'a Transfer-Encoding that does not end in chunked',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
    ...badRequest,
  },
  {
    title: 'a chunk size that is no number',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    ...badRequest,
  },
  {
    title: 'a chunk size that no number holds',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}`,
    ...badRequest,
  },
  {
    title: 'a chunk longer than its size',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n`,
    ...badRequest,
  },
];

export const METHODS: Row[] = [
  { title: 'TRACE', bytes: `TRACE ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`, ...notAllowed, allow: 'GET' },
  { title: 'OPTIONS', bytes: `OPTIONS ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`, ...notAllowed, allow: 'GET' },
  { title: 'PROPFIND', bytes: `PROPFIND ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}\r\n`, ...notAllowed, allow: 'POST' },
  { title: 'CONNECT', bytes: `CONNECT localhost:443 HTTP/1.1\r\n${HOST}${KEY}\r\n`, ...notAllowed, kept: false },
  {
    title: 'an Expect that is unknown',
    bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}Expect: the unexpected\r\n\r\n`,
    status: 417,
    message: 'Expectation failed',
    kept: true,
  },
  {
    title: 'a target that is no path',
    bytes: `OPTIONS /api HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    status: 404,
    message: 'Not found',
    kept: true,
  },
  {
    title: 'a path with one segment too many',
    bytes: `GET ${WEBHOOK}/x HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    status: 404,
    message: 'Not found',
    kept: true,
  },
];

export const KEYS: Row[] = [
  ['two keys', 'X-API-Key: {key}\r\nX-API-Key: {key}\r\n'],
  ['a key that is not ASCII', 'X-API-Key: usk_\xff\xfe\r\n'],
  ['a key of 8 KB', `X-API-Key: usk_${'a'.repeat(8_000)}\r\n`],
  ['an empty key', 'X-API-Key:\r\n'],
].map(([title = '', headers]) => ({
  title,
  bytes: `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${headers}\r\n`,
  status: 401,
  message: 'Invalid API key',
  kept: true,
}));

export const PATHS: Row[] = [
  ...[
    ['a lone percent sign', '%'],
    ['a percent sign without two digits', 'a%zz'],
    ['an overlong UTF-8 sequence', '%c0%af'],
    ['a percent-encoded surrogate', '%ed%a0%80'],
    ['a truncated UTF-8 sequence', '%e2%82'],
    ['a percent-encoded NUL', 'a%00b'],
  ].flatMap(([title, id]) => [
    {
      title: `${title} in a webhook ID`,
      bytes: `GET /api/webhooks/${id} HTTP/1.1\r\n${HOST}${KEY}\r\n`,
      ...badId,
      errors: [{ field: 'webhookId', message: notWellFormed }],
    },
    {
      title: `${title} in an event ID`,
      bytes: `DELETE /api/events/${id} HTTP/1.1\r\n${HOST}${KEY}\r\n`,
      ...badId,
      errors: [{ field: 'eventId', message: notWellFormed }],
    },
  ]),
  {
    title: 'a percent-encoded control character in an event ID',
    bytes: `DELETE /api/events/a%0Ab HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    ...badId,
    errors: [{ field: 'eventId', message: 'must not have control characters' }],
  },
  {
    title: 'an event ID of 10 KB',
    bytes: `DELETE /api/events/${'a'.repeat(10_000)} HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    ...badId,
    errors: [{ field: 'eventId', message: 'must have 1 to 255 characters' }],
  },
  {
    title: 'no event ID',
    bytes: `DELETE /api/events/ HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    ...badId,
    errors: [{ field: 'eventId', message: 'is required' }],
  },
  {
    title: 'a webhook ID of 10 KB',
    bytes: `GET /api/webhooks/${'a'.repeat(10_000)} HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    status: 400,
    message: 'Invalid webhook ID format',
    kept: true,
  },
  {
    title: 'a client ID that is not UTF-8',
    bytes: post('{"redirectUri":"https://app.test/callback","state":"s"}', {
      target: '/api/oauth/generate-auth-url?clientId=%ff',
    }),
    ...badId,
    errors: [{ field: 'clientId', message: notWellFormed }],
  },
  {
    title: 'two client IDs',
    bytes: post('{"redirectUri":"https://app.test/callback","state":"s"}', { target: `${LOGIN}&clientId={client}` }),
    ...badId,
    errors: [{ field: 'clientId', message: 'must be a string' }],
  },
];

export const BODIES: Row[] = [
  { title: 'a body that is not JSON', bytes: post('{"redirectUri":'), ...noJsonObject },
  { title: 'a body that is not UTF-8', bytes: post(Buffer.from('{"state":"\xff"}', 'latin1')), ...noJsonObject },
  { title: 'a JSON array', bytes: post('[]'), ...noJsonObject },
  { title: 'a JSON string', bytes: post('"state"'), ...noJsonObject },
  { title: 'the JSON null', bytes: post('null'), ...noJsonObject },
  { title: 'two JSON objects', bytes: post('{}{}'), ...noJsonObject },
  { title: 'only white space', bytes: post('  '), ...noJsonObject },
  { title: 'NUL bytes', bytes: post(Buffer.alloc(16)), ...noJsonObject },
  { title: 'arrays 30,000 deep', bytes: post('['.repeat(30_000) + ']'.repeat(30_000)), ...noJsonObject },
  { title: 'unclosed arrays 60,000 deep', bytes: post('['.repeat(60_000)), ...noJsonObject },
  {
    title: 'a state that is an object 10,000 deep',
    bytes: post(`{"redirectUri":"${REDIRECT_URI}","state":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`),
    ...badId,
    errors: [{ field: 'state', message: 'must be a string' }],
  },
  {
    title: 'a lone surrogate',
    bytes: post(`{"redirectUri":"${REDIRECT_URI}","state":"\\ud800"}`),
    ...badId,
    errors: [{ field: 'state', message: notWellFormed }],
  },
  {
    title: 'a NUL character',
    bytes: post(`{"redirectUri":"${REDIRECT_URI}","state":"a\\u0000b"}`),
    ...badId,
    errors: [{ field: 'state', message: notWellFormed }],
  },
  {
    title: 'a duplicate key whose last value is wrong',
    bytes: post(`{"redirectUri":"${REDIRECT_URI}","state":"s","state":7}`),
    ...badId,
    errors: [{ field: 'state', message: 'must be a string' }],
  },
  {
    title: 'fields that are inherited by every object',
    bytes: post('{"__proto__":{"redirectUri":"https://app.test/callback","state":"s"}}'),
    ...badId,
    errors: [
      { field: 'redirectUri', message: 'is required' },
      { field: 'state', message: 'is required' },
    ],
  },
  { title: 'a body in gzip', bytes: post(gzipSync('{}'), { headers: 'Content-Encoding: gzip\r\n' }), ...unsupported },
  { title: 'a form', bytes: post('state=s', { type: 'application/x-www-form-urlencoded' }), ...unsupported },
  { title: 'JSON in UTF-16', bytes: post('{}', { type: 'application/json; charset=utf-16' }), ...unsupported },
  { title: 'a Content-Type that is none', bytes: post('{}', { type: ';;;' }), ...unsupported },
  {
    title: 'a body one byte above 64 KiB',
    bytes: post(' '.repeat(MAX_BODY_BYTES + 1)),
    status: 413,
    message: 'Payload too large',
    kept: false,
  },
  {
    title: 'a body declared to be larger than there are numbers',
    bytes: `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 9007199254740993\r\n\r\n{}`,
    status: 413,
    message: 'Payload too large',
    kept: false,
  },
];

export function post(
  body: string | Buffer,
  {
    target = LOGIN,
    type = 'application/json',
    headers = '',
  }: { target?: string; type?: string; headers?: string } = {},
): Buffer {
  const contentType = type && `Content-Type: ${type}\r\n`;
  const head = `POST ${target} HTTP/1.1\r\n${HOST}${KEY}${contentType}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

export function inChunks(body: string): string {
  const chunks = body.match(/.{1,7}/gs)?.map((chunk) => `${chunk.length.toString(16)};ext=1\r\n${chunk}\r\n`);
  return `POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Transfer-Encoding: chunked\r\n\r\n${chunks?.join('')}0\r\nX-Trailer: t\r\n\r\n`;
}
