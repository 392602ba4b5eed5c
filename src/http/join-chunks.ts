/**
 * Joins the chunks of a request that nobody has read yet. Node keeps each: of HTTP/1.1 as a buffer of its own, which takes
 * some 350 bytes for a byte; of HTTP/2 as a part of what the socket has read, all of which it keeps. And Node counts only
 * the bytes of the body, so a client could fill the memory with a few MB.
 */
import { Readable } from 'node:stream';
import { JoinedBytes } from '../encoding/joined-bytes.ts';

const waiting = Symbol('waiting');
const hasEnded = Symbol('hasEnded');
const onArrival = Symbol('onArrival');

interface Joining extends Readable {
  /** The chunks behind those that Node has. Undefined if there are none. */
  [waiting]: JoinedBytes | undefined;
  /** Whether all has arrived, read or not. */
  [hasEnded]: boolean;
  [onArrival]: (() => void) | undefined;
}

/** To be called before the first chunk arrives. From then on, what waits to be read takes at most three times its bytes. */
export function joinChunks(readable: Readable): void {
  Object.assign(readable, {
    [waiting]: undefined,
    [hasEnded]: false,
    [onArrival]: undefined,
    push,
    read,
    _read: readMore,
  });
}

/**
 * Resolves when all of a body, or more than `maxBytes` of it, waits to be read; at the deadline; or when nothing more
 * comes. It reads nothing, so that whoever reads later finds the body as it came.
 *
 * @param deadline in milliseconds of `performance.now()`
 */
export async function awaitBody(readable: Readable, maxBytes: number, deadline: number): Promise<void> {
  const joining = readable as Joining;
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    const bytes = joining.readableLength + (joining[waiting]?.length ?? 0);
    if (joining[hasEnded] || bytes > maxBytes) resolve();
  };
  const timer = setTimeout(resolve, Math.max(0, deadline - performance.now()));
  joining.once('close', resolve);
  joining[onArrival] = look;
  look();
  await promise;
  joining[onArrival] = undefined;
  joining.off('close', resolve);
  clearTimeout(timer);
}

/** Called by Node for each chunk, and with null at the end. Returns whether more may come. */
function push(this: Joining, chunk: Buffer | null): boolean {
  if (chunk === null) {
    this[hasEnded] = true;
    pass(this);
  }
  const mayMore = chunk === null || this.readableLength === 0 ? pushFirst(this, chunk) : hold(this, chunk);
  this[onArrival]?.();
  return mayMore;
}

/** Whoever reads gets the chunk at once, or is told of it. */
function pushFirst(readable: Joining, chunk: Buffer | null): boolean {
  return superPush(readable, chunk && !readable.readableFlowing ? copy(chunk) : chunk);
}

function hold(readable: Joining, chunk: Buffer): boolean {
  readable[waiting] ??= new JoinedBytes();
  readable[waiting].add(chunk);
  return !isFull(readable);
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
