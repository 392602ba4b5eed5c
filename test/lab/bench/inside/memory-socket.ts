import { Duplex } from 'node:stream';

/** A connection without a kernel: it gives a server the bytes of requests, and takes those of its responses. */
export class MemorySocket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  /** Called when the server has written, with the first bytes. Every response here is one write. */
  onResponse: (head: string) => void = () => {};

  constructor() {
    super({ decodeStrings: false });
  }

  override _read(): void {}

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    done();
    this.onResponse(String(chunk));
  }

  override _writev(chunks: readonly { readonly chunk: string | Buffer }[], done: () => void): void {
    done();
    this.onResponse(String(chunks[0]?.chunk));
  }

  // What servers call on the socket of a network.
  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }
}
