/** An HTTP/1.1 connection on which a test writes the bytes itself and reads one reply after the other. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { HttpReply } from './http2-session.ts';

/** The values of a repeated header are joined with commas. */
export type RawReply = Omit<HttpReply, 'cookies'>;

/** The limit for a reply and for the end of the connection. */
const TIMEOUT_MS = 120_000;

export class RawConnection implements Disposable {
  readonly socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #failure: Error | undefined;
  #wake = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on('end', () => {
      this.#isEnded = true;
      this.#wake();
    });
    socket.on('error', (error) => {
      this.#failure = error;
    });
    socket.on('close', () => this.#wake());
  }

  /** Returns how the server has ended the connection, if all it sent has been read. */
  get ending(): 'closed' | 'reset' | undefined {
    if (this.#received.length > 0) return undefined;
    if (this.#failure) return 'reset';
    return this.#isEnded ? 'closed' : undefined;
  }

  /** The socket may be half-open, so that the test decides when its side ends. */
  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Sends each byte in a segment of its own. */
  async sendSlowly(bytes: string | Uint8Array): Promise<void> {
    for (const byte of Buffer.from(bytes)) {
      this.socket.write(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
  }

  /** Resolves to the next whole reply, which may be interim. Rejects if the connection ends before. */
  async reply({ to = 'GET' } = {}): Promise<RawReply> {
    const deadline = performance.now() + TIMEOUT_MS;
    for (;;) {
      const taken = parseReply(this.#received, { hasBody: to !== 'HEAD' });
      if (taken) {
        this.#received = this.#received.subarray(taken.length);
        return taken.reply;
      }
      if (this.#isEnded || this.socket.destroyed || performance.now() > deadline) throw this.#describe('No reply');
      await this.#nextEvent(deadline);
    }
  }

  /** Resolves when the server has ended the connection. Rejects if it does not, or sends more bytes. */
  async ended(): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS;
    while (!this.#isEnded && !this.socket.destroyed) {
      if (performance.now() > deadline) throw this.#describe('The connection stays open');
      await this.#nextEvent(deadline);
    }
    if (this.#received.length > 0) throw this.#describe('Unexpected bytes');
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  /** Resolves at the next event of the socket, or at the deadline. */
  async #nextEvent(deadline: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.max(0, deadline - performance.now()));
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }

  #describe(problem: string): Error {
    return new Error(`${problem}; received: ${JSON.stringify(this.#received.toString('latin1'))}`, {
      cause: this.#failure,
    });
  }
}

/** Returns the first reply in the bytes and its length, or undefined while it is incomplete. */
function parseReply(bytes: Buffer, { hasBody }: { hasBody: boolean }): { reply: RawReply; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [, code] = /^HTTP\/1\.1 (\d{3}) ./.exec(statusLine) ?? [];
  if (!code) throw new Error(`Not a status line: ${statusLine}`);
  const headers = parseFields(lines);
  const status = Number(code);
  const content = bytes.subarray(end + 4);
  const isEmpty = status < 200 || status === 204 || !hasBody;
  const length = isEmpty ? 0 : Number(headers['content-length']);
  const taken = !isEmpty && headers['transfer-encoding'] ? takeChunks(content) : takeBytes(content, length);
  if (!taken) return undefined;
  const { content: body, trailers, length: taking } = taken;
  return { reply: { status, headers, body: body.toString(), bytes: body, trailers }, length: end + 4 + taking };
}

interface Taken {
  readonly content: Buffer;
  readonly trailers: Record<string, string>;
  /** The length on the wire. */
  readonly length: number;
}

function parseFields(lines: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of lines.filter((each) => each !== '')) {
    const [, name = '', value = ''] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    const key = name.toLowerCase();
    fields[key] = key in fields ? `${fields[key]}, ${value}` : value;
  }
  return fields;
}

function takeBytes(bytes: Buffer, length: number): Taken | undefined {
  if (!Number.isInteger(length)) throw new Error('The reply has no length');
  return bytes.length < length ? undefined : { content: bytes.subarray(0, length), trailers: {}, length };
}

function takeChunks(bytes: Buffer): Taken | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    const last = bytes.indexOf('\r\n\r\n', end);
    if (size === 0 && last < 0) return undefined;
    if (size === 0) {
      const trailers = parseFields(bytes.subarray(end, last).toString('latin1').split('\r\n'));
      return { content: Buffer.concat(chunks), trailers, length: last + 4 };
    }
    at = end + 2 + size + 2;
    if (bytes.length < at) return undefined;
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
  }
}
