/**
 * Joins the chunks of a request that nobody has read yet. Node keeps each: of HTTP/1.1 as a buffer of its own, which takes
 * some 350 bytes for a byte; of HTTP/2 as a part of what the socket has read, all of which it keeps. And Node counts only
 * the bytes of the body, so a client could fill the memory with a few MB.
 */
import { Readable } from 'node:stream';
import { JoinedBytes } from '../encoding/joined-bytes.ts';

const waiting = Symbol('waiting');

interface Joining extends Readable {
  /** The chunks behind those that Node has. Undefined if there are none. */
  [waiting]: JoinedBytes | undefined;
}

/** To be called before the first chunk arrives. From then on, what waits to be read takes at most three times its bytes. */
export function joinChunks(readable: Readable): void {
  Object.assign(readable, { [waiting]: undefined, push, read, _read: readMore });
}

/** Called by Node for each chunk, and with null at the end. Returns whether more may come. */
function push(this: Joining, chunk: Buffer | null): boolean {
  if (chunk === null) {
    pass(this);
    return superPush(this, null);
  }
  // Whoever reads gets the chunk at once, or is told of it.
  if (this.readableLength === 0) return superPush(this, this.readableFlowing ? chunk : copy(chunk));
  this[waiting] ??= new JoinedBytes();
  this[waiting].add(chunk);
  return !isFull(this);
}

function read(this: Joining, size?: number): Buffer | null {
  // With 0, Node only asks for more.
  if (size !== 0) pass(this);
  return Readable.prototype.read.call(this, size);
}

/** Node asks for more as long as it has little itself. */
function readMore(this: Joining, size: number): void {
  if (!isFull(this)) Object.getPrototypeOf(this)._read.call(this, size);
}

/** Passes what waits to Node. */
function pass(readable: Joining): void {
  const bytes = readable[waiting]?.take();
  readable[waiting] = undefined;
  if (bytes) superPush(readable, bytes);
}

/** Not what Node has: it calls `_read` before it subtracts what it passes on. */
function isFull({ readableHighWaterMark, [waiting]: joined }: Joining): boolean {
  return joined !== undefined && joined.length >= readableHighWaterMark;
}

function superPush(readable: Readable, chunk: Buffer | null): boolean {
  return Readable.prototype.push.call(readable, chunk);
}

function copy(chunk: Buffer): Buffer {
  const bytes = Buffer.allocUnsafeSlow(chunk.length);
  bytes.set(chunk);
  return bytes;
}
