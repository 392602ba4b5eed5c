/** What anyone can send without a credential, at the least cost to the sender. */
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { ServerReflection, ServerReflectionRequestSchema } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { encodeFrame, encodeHeaders, encodeNumber, encodePreface, FLAG, FRAME } from './http2-frames.ts';
import { frame } from './protocols.ts';

/** Bytes that each of so many connections sends before it waits. */
export interface CheapRequest {
  readonly connections: number;
  readonly bytes: Buffer;
}

const CHECK = pathOf(Health.method.check);
const LIST = pathOf(Health.method.list);
const WATCH = pathOf(Health.method.watch);
const REFLECT = pathOf(ServerReflection.method.serverReflectionInfo);
const LARGEST = 65_536;
const STREAMS = 100;
const MAX_WINDOW = 0x7fff_ffff;
/** RFC 9113, section 6. */
const PRIORITY = 2;
const CONTINUATION = 9;

/** 16 MiB of spaces behind a window of 16 MiB, in 14 bytes. */
const BROTLI = Buffer.from('9ffffffff82540e2b14020f7fe1f', 'hex');

const repeat = (unit: Buffer | string, bytes: number) => Buffer.alloc(bytes, unit);

/** Bodies that are much larger once they have been read, by what they are. */
const BODIES: Readonly<Record<string, Buffer>> = {
  'unknown fields of Protobuf': repeat(Buffer.from('7801', 'hex'), LARGEST - 2),
  'unknown groups of Protobuf': repeat(Buffer.from('7b7c', 'hex'), LARGEST - 2),
  'nested groups of Protobuf': repeat(Buffer.from('7b', 'hex'), LARGEST - 2),
  'a field many times': repeat(Buffer.from('0a00', 'hex'), LARGEST - 2),
  'nested arrays': repeat('[', LARGEST),
  'empty objects': Buffer.concat([Buffer.from('{"a":[{}'), repeat(',{}', 65_400), Buffer.from(']}')]),
  'many names': Buffer.from(`{${Array.from({ length: 7_000 }, (_, at) => `"${at.toString(36)}":0`).join()}}`),
  'one long name': Buffer.from(`{"service":"${'\\u0000'.repeat(10_900)}"}`),
};

const ENCODINGS: Readonly<Record<string, Buffer>> = {
  br: BROTLI,
  gzip: gzipSync(Buffer.alloc(LARGEST)),
  'gzip ': Buffer.concat(Array.from({ length: 3_000 }, () => gzipSync(''))),
  deflate: gzipSync(Buffer.alloc(LARGEST)),
};

const FRAMED = ['application/grpc-web+proto', 'application/grpc-web+json', 'application/grpc', 'application/grpc+json'];
const UNFRAMED = ['application/json', 'application/proto'];
const SHORT = ['application/json', 'application/proto', 'application/grpc'];
const STREAMED = ['application/connect+json', 'application/connect+proto', ...FRAMED];

/** Every request by what it is. The short form leaves out content types that are read like another. */
export function listCheapRequests({ isShort }: { isShort: boolean }): Map<string, CheapRequest> {
  const requests = new Map<string, CheapRequest>();
  const add = (what: string, bytes: Buffer, connections = 200) => requests.set(what, { bytes, connections });

  const unary = [...UNFRAMED, ...FRAMED].filter((contentType) => !isShort || SHORT.includes(contentType));
  for (const contentType of unary) {
    const isFramed = FRAMED.includes(contentType);
    const isJson = contentType.endsWith('json');
    for (const [what, body] of Object.entries(BODIES)) {
      if (isJson !== /arrays|objects|names?$/.test(what)) continue;
      // As much as a stream takes before the server asks for more.
      const message = body.subarray(0, isFramed ? LARGEST - 16 : LARGEST);
      add(`${what} as ${contentType}`, send(CHECK, contentType, isFramed ? frame(message) : message));
    }
    for (const [encoding, body] of Object.entries(ENCODINGS)) {
      const header = { [isFramed ? 'grpc-encoding' : 'content-encoding']: encoding.trim() };
      const message = isFramed ? frame(body, { flags: 1 }) : body;
      add(`${encoding} of ${body.length} bytes as ${contentType}`, send(CHECK, contentType, message, header));
    }
  }
  for (const contentType of STREAMED.filter((each) => !isShort || SHORT.includes(each))) {
    const body = frame(BODIES['unknown fields of Protobuf']?.subarray(0, 65_000) ?? '');
    add(`watches with unknown fields as ${contentType}`, http2({ path: WATCH, contentType, body, streams: 1 }), 100);
  }
  const question = create(ServerReflectionRequestSchema, {
    messageRequest: { case: 'fileContainingSymbol', value: 'usher.v1.AdminService' },
  });
  const message = frame(toBinary(ServerReflectionRequestSchema, question));
  const questions = Buffer.concat(Array.from({ length: 100 }, () => message));
  const reflection = {
    path: REFLECT,
    contentType: 'application/grpc',
    body: questions,
    streams: 5,
    windowSize: MAX_WINDOW,
  };
  add('reflection', http2(reflection), 4);
  const longAnswers = { path: LIST, contentType: 'application/json', body: Buffer.from('{}') };
  add('lists of health that may be compressed', http2({ ...longAnswers, headers: { 'accept-encoding': 'br' } }), 20);

  // Node takes some microseconds per chunk, at once for all that it has read.
  // The answers to many requests are a gigabyte.
  const few = isShort ? /chunks|many times/ : /chunks/;
  for (const [what, bytes] of Object.entries(listHttpRequests())) add(what, bytes, few.test(what) ? 20 : 200);
  for (const [what, bytes] of Object.entries(listFrames())) add(what, bytes, 20);
  return requests;
}

/** What HTTP/1.1 itself allows. */
function listHttpRequests(): Record<string, Buffer> {
  const get = (path: string, headers = '') => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
  const form = (path: string, body: Buffer | string) =>
    post(path, 'application/x-www-form-urlencoded', Buffer.from(body));
  const chunked = (chunk: string, count: number) =>
    Buffer.from(
      `POST ${CHECK} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(count)}`,
    );
  return {
    'an idle connection': Buffer.from('G'),
    'a health check': get('/healthz'),
    'pipelined health checks': repeat(get('/healthz'), get('/healthz').length * 99),
    'many small headers': get('/healthz', 'a:\r\n'.repeat(3_900)),
    'many different headers': get(
      '/healthz',
      Array.from({ length: 2_000 }, (_, at) => `${at.toString(36)}:\r\n`).join(''),
    ),
    'one long header': get('/healthz', `a: ${'b'.repeat(16_000)}\r\n`),
    'a header that never ends': Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(3_000)}`),
    'a long path': get(`/api/events/${'%41'.repeat(5_000)}`),
    'a long query': get(`/api/events?${'a=&'.repeat(5_000)}`),
    'a body that never comes': Buffer.from(
      `POST ${CHECK} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 65536\r\n\r\n`,
    ),
    'chunks of a byte': chunked('1\r\n \r\n', 10_000),
    'extensions of chunks': chunked(`1;${'a'.repeat(16_000)}\r\n \r\n`, 4),
    'the reference': get('/docs', 'Accept-Encoding: br\r\n'),
    'the reference many times': repeat(get('/docs'), get('/docs').length * 99),
    'the OpenAPI document': get('/openapi.json'),
    'the OpenAPI document many times': repeat(get('/openapi.json'), get('/openapi.json').length * 99),
    'the key set': get('/.well-known/jwks.json'),
    'the page of a login': get('/login?intent=00000000-0000-4000-8000-000000000000'),
    'a form with many fields': form('/login', 'a=&'.repeat(2_700)),
    'a form of percent signs': form('/login/email', '%'.repeat(8_192)),
    'a form that is too large': form('/login', repeat('a', LARGEST)),
    'a REST body without a key': post(
      '/api/oauth/exchange',
      'application/json',
      BODIES['empty objects'] ?? Buffer.of(),
    ),
  };
}

/** What HTTP/2 itself allows. */
function listFrames(): Record<string, Buffer> {
  const frames = (unit: Buffer, count: number) => Buffer.concat([encodePreface(), repeat(unit, unit.length * count)]);
  const settings = Buffer.from('000300000064', 'hex');
  const pending = { path: CHECK, contentType: 'application/grpc', isPending: true };
  return {
    'streams whose body never comes': http2(pending),
    'streams of Connect whose body never comes': http2({ ...pending, contentType: 'application/json; a=b' }),
    'streams of gRPC-Web whose body never comes': http2({ ...pending, contentType: 'application/grpc-web+proto' }),
    'streams of Connect in gzip whose body never comes': http2({
      ...pending,
      contentType: 'application/json',
      headers: { 'content-encoding': 'gzip' },
    }),
    'streams with many indexed headers': indexedHeaders({ value: 1, count: 110 }),
    'streams with long indexed headers': indexedHeaders({ value: 3_000, count: 5 }),
    'streams with headers above the limit': indexedHeaders({ value: 3_900, count: 14 }),
    'continuations without end': Buffer.concat([
      encodePreface(),
      encodeFrame(FRAME.headers, 0, 1),
      repeat(encodeFrame(CONTINUATION, 0, 1, Buffer.from([0x82])), 10 * 50_000),
    ]),
    settings: frames(encodeFrame(FRAME.settings, 0, 0, settings), 20_000),
    pings: frames(encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)), 20_000),
    priorities: frames(encodeFrame(PRIORITY, 0, 3, Buffer.alloc(5)), 20_000),
    'priorities of many streams': Buffer.concat([
      encodePreface(),
      ...Array.from({ length: 20_000 }, (_, at) => encodeFrame(PRIORITY, 0, 2 * at + 3, Buffer.alloc(5))),
    ]),
    'window updates': frames(encodeNumber(FRAME.windowUpdate, 0, 1), 20_000),
    'empty data': Buffer.concat([http2({ ...pending, streams: 1 }), repeat(encodeFrame(FRAME.data, 0, 1), 9 * 50_000)]),
    'unknown frames': frames(encodeFrame(77, 0, 0, Buffer.alloc(1)), 20_000),
    'unread answers': Buffer.concat([
      encodePreface({ windowSize: 0 }),
      ...Array.from({ length: STREAMS }, (_, at) => encodeHeaders(2 * at + 1, { ':method': 'GET', ':path': '/docs' })),
    ]),
  };
}

function post(path: string, contentType: string, body: Buffer, headers: Record<string, string> = {}): Buffer {
  const all = { host: 'a', 'content-type': contentType, 'content-length': body.length, ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n`), body]);
}

interface Http2Request {
  readonly path: string;
  readonly contentType: string;
  readonly body?: Buffer;
  readonly headers?: Record<string, string>;
  readonly streams?: number;
  readonly isPending?: boolean;
  /** How much of the response the client takes. */
  readonly windowSize?: number;
}

/** gRPC needs HTTP/2. */
function send(path: string, contentType: string, body: Buffer, headers?: Record<string, string>): Buffer {
  const isGrpc = /^application\/grpc(\+|$)/.test(contentType);
  return isGrpc
    ? http2({ path, contentType, body, streams: 1, ...(headers && { headers }) })
    : post(path, contentType, body, headers);
}

function http2(request: Http2Request): Buffer {
  const { path, contentType, body, headers, streams = STREAMS, isPending = false, windowSize = 65_535 } = request;
  const head = { ':method': 'POST', ':path': path, 'content-type': contentType, ...headers };
  const requests = Array.from({ length: streams }, (_, at) => {
    const stream = 2 * at + 1;
    const data: Buffer[] = [];
    for (let from = 0; body && from < body.length; from += 16_384)
      data.push(encodeFrame(FRAME.data, 0, stream, body.subarray(from, from + 16_384)));
    const end = isPending ? [] : [encodeFrame(FRAME.data, FLAG.endStream, stream)];
    return Buffer.concat([encodeHeaders(stream, head, { endStream: false }), ...data, ...end]);
  });
  const connectionWindow = encodeNumber(FRAME.windowUpdate, 0, windowSize - 65_535 || 1);
  return Buffer.concat([encodePreface({ windowSize }), connectionWindow, ...requests]);
}

/** Streams whose headers are references of a byte each to one that the first stream has sent (RFC 7541, section 6.1). */
function indexedHeaders({ value, count }: { value: number; count: number }): Buffer {
  const literal = Buffer.concat([Buffer.from([0x40, 1, 0x61, ...encodeInteger(value)]), Buffer.alloc(value, 'b')]);
  const text = (name: string, content: string) =>
    Buffer.concat([
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([content.length]),
      Buffer.from(content),
    ]);
  const head = Buffer.concat([
    Buffer.from([0x83, 0x86]),
    text(':path', CHECK),
    text(':authority', 'a'),
    text('content-type', 'application/grpc'),
  ]);
  const streams = Array.from({ length: STREAMS }, (_, at) => {
    const references = Buffer.alloc(count, 0xbe);
    const block = Buffer.concat(at === 0 ? [head, literal] : [head, references]);
    return encodeFrame(FRAME.headers, FLAG.endHeaders, 2 * at + 1, block);
  });
  return Buffer.concat([encodePreface(), ...streams]);
}

/** RFC 7541, section 5.1, with a prefix of 7 bits. */
function encodeInteger(value: number): number[] {
  if (value < 127) return [value];
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}
