/** A connection over HTTP/1.1 on which a test writes the bytes itself and reads the replies one by one. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawReply {
  readonly status: number;
  /** Names in lower case; the values of a repeated one are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How long a reply, or the end of the connection, is waited for. */
const PATIENCE_MS = 10_000;

export class RawConnection implements Disposable {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #isEnded = false;
  #failure: Error | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    socket.on('end', () => {
      this.#isEnded = true;
    });
    socket.on('error', (error) => {
      this.#failure = error;
    });
  }

  /** Half-open sockets are allowed, so that the test alone decides when its side ends. */
  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The bytes one at a time, each in a segment of its own. */
  async sendSlowly(bytes: string | Uint8Array): Promise<void> {
    for (const byte of Buffer.from(bytes)) {
      this.socket.write(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
  }

  /** The next whole reply, interim ones included. Rejects when the connection ends before it is there. */
  async reply({ to = 'GET' } = {}): Promise<RawReply> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const taken = parseReply(this.#received, { hasBody: to !== 'HEAD' });
      if (taken) {
        this.#received = this.#received.subarray(taken.length);
        return taken.reply;
      }
      if (this.#isEnded || this.socket.destroyed || performance.now() > deadline) throw this.#describe('No reply');
      await nextEvent(this.socket, ['data', 'end', 'close'], deadline);
    }
  }

  /** Resolves when the server has ended the connection; rejects when it does not, or sends anything more. */
  async ended(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!this.#isEnded && !this.socket.destroyed) {
      if (performance.now() > deadline) throw this.#describe('The connection stays open');
      await nextEvent(this.socket, ['end', 'close'], deadline);
    }
    if (this.#received.length > 0) throw this.#describe('More was sent than was asked for');
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #describe(problem: string): Error {
    return new Error(`${problem}; received: ${JSON.stringify(this.#received.toString('latin1'))}`, {
      cause: this.#failure,
    });
  }
}

/** The reply at the front of the bytes and how many it takes, or undefined while it is incomplete. */
function parseReply(bytes: Buffer, { hasBody }: { hasBody: boolean }): { reply: RawReply; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [, code] = /^HTTP\/1\.1 (\d{3}) ./.exec(statusLine) ?? [];
  if (!code) throw new Error(`Not a status line: ${statusLine}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  const status = Number(code);
  const start = end + 4;
  if (status < 200 || status === 204 || !hasBody) return { reply: { status, headers, body: '' }, length: start };
  const content = headers['transfer-encoding']
    ? readChunks(bytes.subarray(start))
    : takeBytes(bytes.subarray(start), Number(headers['content-length']));
  return content && { reply: { status, headers, body: content.text }, length: start + content.length };
}

function takeBytes(bytes: Buffer, length: number): { text: string; length: number } | undefined {
  if (!Number.isInteger(length)) throw new Error('The reply does not say how long it is');
  return bytes.length < length ? undefined : { text: bytes.subarray(0, length).toString(), length };
}

function readChunks(bytes: Buffer): { text: string; length: number } | undefined {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    const next = end + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { text: Buffer.concat(chunks).toString(), length: next };
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = next;
  }
}

async function nextEvent(socket: Socket, names: readonly string[], deadline: number): Promise<void> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), Math.max(0, deadline - performance.now()));
  try {
    await Promise.race(names.map((name) => once(socket, name, { signal: waiting.signal })));
  } catch {
    // An error of the socket is told by its close, and the time being up by the deadline.
  } finally {
    clearTimeout(timer);
    waiting.abort();
  }
}
