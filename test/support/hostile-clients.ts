/** Clients that hold a connection for nothing: slow ones, idle ones, and those that do not read. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { encodeFrame, encodeHeaders, encodeNumber, encodePreface, FRAME } from './http2-frames.ts';

export interface Victim {
  readonly port: number;
  readonly apiKey: string;
  /** The path of something to read. */
  readonly path: string;
  readonly hasTls?: boolean;
}

/** What to send at once, and what to send after it, a byte a second. */
interface Habit {
  readonly first: Buffer | string;
  readonly slowly?: Buffer | string;
  /** What to send before it is slow, one after the other. */
  readonly rounds?: readonly Buffer[];
  readonly reads?: boolean;
  /** Where each of them is so much work that there are to be fewer. */
  readonly isBusy?: boolean;
}

const PIECE_BYTES = 16_384;
const ROUND_MS = 100;
const PING = encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8));

const LOGIN = 'POST /api/oauth/exchange HTTP/1.1\r\nHost: localhost\r\n';
const BODY = { ':method': 'POST', ':path': '/api/oauth/exchange' };
const SLOW_BODY = Buffer.concat(Array.from({ length: 10 }, () => encodeFrame(FRAME.data, 0, 1, Buffer.from('{'))));
const REFLECTION = {
  ':method': 'POST',
  ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  'content-type': 'application/grpc',
};

/** By what the client does. */
export const HABITS: Readonly<Record<string, (victim: Victim) => Habit>> = {
  'says nothing': () => ({ first: '' }),
  'sends headers a byte a second': () => ({ first: '', slowly: LOGIN }),
  'sends a body a byte a second': ({ apiKey }) => ({
    first: `${LOGIN}X-API-Key: ${apiKey}\r\nContent-Length: 1000\r\n\r\n`,
    slowly: ' '.repeat(100),
  }),
  'has made a request and makes no other': (victim) => ({ first: rawRequest(victim) }),
  'makes requests and reads no reply': (victim) => ({ first: rawRequest(victim).repeat(3), reads: false }),
  // More than the buffers of both sides hold.
  'makes requests without end and reads no reply': () => ({
    first: 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(60_000),
    reads: false,
    isBusy: true,
  }),
  'sends the preface of HTTP/2 a byte a second': () => ({ first: '', slowly: encodePreface() }),
  'opens HTTP/2 and no stream': () => ({ first: encodePreface() }),
  'has made a request over HTTP/2 and makes no other': (victim) => ({
    first: Buffer.concat([encodePreface(), readRequest(victim, 1)]),
  }),
  'sends no body over HTTP/2': ({ apiKey }) => ({
    first: Buffer.concat([encodePreface(), encodeHeaders(1, { ...BODY, 'x-api-key': apiKey }, { endStream: false })]),
  }),
  'sends a body over HTTP/2 a byte a second': ({ apiKey }) => ({
    first: Buffer.concat([encodePreface(), encodeHeaders(1, { ...BODY, 'x-api-key': apiKey }, { endStream: false })]),
    slowly: SLOW_BODY,
  }),
  'begins a stream both ways and says nothing': () => ({
    first: Buffer.concat([encodePreface(), encodeHeaders(1, REFLECTION, { endStream: false })]),
  }),
  'gives the replies of HTTP/2 no window': (victim) => ({
    first: Buffer.concat([encodePreface({ windowSize: 0 }), ...[1, 3, 5].map((stream) => readRequest(victim, stream))]),
  }),
  // Together more than the buffers of both sides hold, and never more streams at a time than it may open.
  'makes requests over HTTP/2, gives their replies any window and reads nothing': () => ({
    first: Buffer.concat([
      encodePreface({ windowSize: 0x7fffffff }),
      encodeNumber(FRAME.windowUpdate, 0, 0x7fffffff - 65_535),
    ]),
    rounds: Array.from({ length: 10 }, (_, round) =>
      Buffer.concat(
        Array.from({ length: 90 }, (_, at) =>
          encodeHeaders(180 * round + 2 * at + 1, { ':method': 'GET', ':path': '/login' }),
        ),
      ),
    ),
    reads: false,
    isBusy: true,
  }),
  'gives a window of nothing, again and again': (victim) => ({
    first: Buffer.concat([
      encodePreface(),
      ...[1, 3, 5].flatMap((stream) => [readRequest(victim, stream), encodeNumber(FRAME.windowUpdate, stream, 0)]),
    ]),
  }),
  'gives a window that is too large': (victim) => ({
    first: Buffer.concat([
      encodePreface(),
      readRequest(victim, 1),
      ...Array.from({ length: 3 }, () => encodeNumber(FRAME.windowUpdate, 0, 0x7fffffff)),
    ]),
  }),
};

/** Resolves to how long the service has kept the connection, in milliseconds, or to more than `limitMs` where it still does. */
export async function hold(habit: Habit, victim: Victim, limitMs: number): Promise<number> {
  const socket = open(habit, victim);
  socket.on('error', () => {});
  const { promise: closed, resolve: onClose } = Promise.withResolvers<void>();
  socket.once('close', onClose);
  let startedAt = performance.now();
  if (habit.reads === false) socket.pause();
  else socket.resume();
  // As long as that is taken, it is not slow.
  const first = Buffer.from(habit.first);
  for (let at = 0; at < first.length; at += PIECE_BYTES) {
    socket.write(first.subarray(at, at + PIECE_BYTES), () => {
      startedAt = performance.now();
    });
  }
  for (const round of habit.rounds ?? []) {
    await sleep(ROUND_MS);
    socket.write(round);
    startedAt = performance.now();
  }
  const timer = setInterval(writeBytesOf(socket, Buffer.from(habit.slowly ?? '')), 1_000);
  // A client that does not read learns of the end when it writes.
  const knock =
    habit.reads === false ? setInterval(() => socket.write(isHttp2(habit) ? PING : '\r\n'), 250) : undefined;
  const giveUp = setTimeout(() => socket.destroy(), limitMs);
  await closed;
  for (const each of [timer, knock, giveUp]) clearTimeout(each);
  return performance.now() - startedAt;
}

function open(habit: Habit, { port, hasTls }: Victim): Socket {
  const target = { port, host: '127.0.0.1', noDelay: true };
  if (!hasTls) return connect(target);
  return connectTls({ ...target, rejectUnauthorized: false, ALPNProtocols: [isHttp2(habit) ? 'h2' : 'http/1.1'] });
}

function isHttp2({ first, slowly = '' }: Habit): boolean {
  return [first, slowly].some((bytes) => bytes.toString().startsWith('PRI'));
}

function writeBytesOf(socket: Socket, bytes: Buffer): () => void {
  let sent = 0;
  return () => {
    if (sent < bytes.length && socket.writable) socket.write(bytes.subarray(sent, ++sent));
  };
}

function rawRequest({ apiKey, path }: Victim): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${apiKey}\r\n\r\n`;
}

function readRequest({ apiKey, path }: Victim, stream: number): Buffer {
  return encodeHeaders(stream, { ':method': 'GET', ':path': path, 'x-api-key': apiKey });
}
