/** Clients that occupy a connection without using it: slow ones, idle ones, and those that do not read. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { encodeFrame, encodeHeaders, encodeNumber, encodePreface, FRAME } from './http2-frames.ts';

export interface Victim {
  readonly port: number;
  readonly apiKey: string;
  /** The path of a webhook. */
  readonly path: string;
  readonly hasTls?: boolean;
}

/** What a client sends, and whether it reads. */
interface Habit {
  /** Sent at once. */
  readonly first?: Buffer | string;
  /** Sent afterwards, one every 100 ms. */
  readonly rounds?: readonly Buffer[];
  /** Sent in the end, a byte a second. */
  readonly slowly?: Buffer | string;
  readonly reads?: boolean;
  /** Costs so much work that a test needs few of them. */
  readonly isBusy?: boolean;
}

const PIECE_BYTES = 16_384;
const ROUND_MS = 100;
const PING = encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8));
const MAX_WINDOW = 0x7fffffff;

const LOGIN = 'POST /api/oauth/exchange HTTP/1.1\r\nHost: localhost\r\n';
const SLOW_BODY = Buffer.concat(Array.from({ length: 10 }, () => encodeFrame(FRAME.data, 0, 1, Buffer.from('{'))));
const REFLECTION = {
  ':method': 'POST',
  ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  'content-type': 'application/grpc',
};

export const HABITS: Readonly<Record<string, (victim: Victim) => Habit>> = {
  'send nothing': () => ({}),
  'send headers a byte a second': () => ({ slowly: LOGIN }),
  'send a body a byte a second': ({ apiKey }) => ({
    first: `${LOGIN}X-API-Key: ${apiKey}\r\nContent-Length: 1000\r\n\r\n`,
    slowly: ' '.repeat(100),
  }),
  'are idle after a request': (victim) => ({ first: rawRequest(victim) }),
  'do not read their replies': (victim) => ({ first: rawRequest(victim).repeat(3), reads: false }),
  // More than the buffers of both sides hold.
  'send endless requests and do not read': () => ({
    first: 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(60_000),
    reads: false,
    isBusy: true,
  }),
  'send the HTTP/2 preface a byte a second': () => ({ slowly: encodePreface() }),
  'open HTTP/2 and no stream': () => ({ first: encodePreface() }),
  'are idle after an HTTP/2 request': (victim) => ({ first: Buffer.concat([encodePreface(), readRequest(victim, 1)]) }),
  'send no HTTP/2 body': (victim) => ({ first: unfinishedRequest(victim) }),
  'send an HTTP/2 body a byte a second': (victim) => ({ first: unfinishedRequest(victim), slowly: SLOW_BODY }),
  'open a bidirectional stream and send nothing': () => ({
    first: Buffer.concat([encodePreface(), encodeHeaders(1, REFLECTION, { endStream: false })]),
  }),
  'give HTTP/2 replies no window': (victim) => ({
    first: Buffer.concat([encodePreface({ windowSize: 0 }), ...[1, 3, 5].map((stream) => readRequest(victim, stream))]),
  }),
  // Together more than the buffers of both sides hold, with no more streams at a time than allowed.
  'send endless HTTP/2 requests and do not read': () => ({
    first: Buffer.concat([
      encodePreface({ windowSize: MAX_WINDOW }),
      encodeNumber(FRAME.windowUpdate, 0, MAX_WINDOW - 65_535),
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
  'increase the window by nothing': (victim) => ({
    first: Buffer.concat([
      encodePreface(),
      ...[1, 3, 5].flatMap((stream) => [readRequest(victim, stream), encodeNumber(FRAME.windowUpdate, stream, 0)]),
    ]),
  }),
  'increase the window beyond its limit': (victim) => ({
    first: Buffer.concat([
      encodePreface(),
      readRequest(victim, 1),
      ...Array.from({ length: 3 }, () => encodeNumber(FRAME.windowUpdate, 0, MAX_WINDOW)),
    ]),
  }),
};

/** Resolves to how many milliseconds the service kept the connection; to more than `limitMs` if it still does. */
export async function hold(habit: Habit, victim: Victim, limitMs: number): Promise<number> {
  const socket = open(habit, victim);
  socket.on('error', () => {});
  const { promise: closed, resolve: onClose } = Promise.withResolvers<void>();
  socket.once('close', onClose);
  let startedAt = performance.now();
  if (habit.reads === false) socket.pause();
  else socket.resume();
  // While the service takes the first bytes, the client is not slow.
  const first = Buffer.from(habit.first ?? '');
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
  const timer = setInterval(byteWriter(socket, Buffer.from(habit.slowly ?? '')), 1_000);
  // A client that does not read learns that the connection is closed when it writes.
  const probe = isHttp2(habit) ? PING : '\r\n';
  const probing = habit.reads === false ? setInterval(() => socket.write(probe), 250) : undefined;
  const giveUp = setTimeout(() => socket.destroy(), limitMs);
  await closed;
  for (const each of [timer, probing, giveUp]) clearTimeout(each);
  return performance.now() - startedAt;
}

function open(habit: Habit, { port, hasTls }: Victim): Socket {
  const target = { port, host: '127.0.0.1', noDelay: true };
  if (!hasTls) return connect(target);
  return connectTls({ ...target, rejectUnauthorized: false, ALPNProtocols: [isHttp2(habit) ? 'h2' : 'http/1.1'] });
}

function isHttp2({ first = '', slowly = '' }: Habit): boolean {
  return [first, slowly].some((bytes) => bytes.toString().startsWith('PRI'));
}

/** Returns a function that writes the next of the bytes. */
function byteWriter(socket: Socket, bytes: Buffer): () => void {
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

function unfinishedRequest({ apiKey }: Victim): Buffer {
  const head = { ':method': 'POST', ':path': '/api/oauth/exchange', 'x-api-key': apiKey };
  return Buffer.concat([encodePreface(), encodeHeaders(1, head, { endStream: false })]);
}
