import type { Readable } from 'node:stream';
import { HttpError } from './errors.ts';
import { headerOf, type NodeRequest, type NodeResponse } from './http-context.ts';

/** Limits for the rest of a body that is read after the response. */
const DISCARD_MS = 1_000;
const DISCARD_BYTES = 1_048_576;
/** Limits the number of chunks as well, because a chunk of one byte costs much more than its byte. */
const DISCARD_CHUNKS = 1_000;

/** @throws HttpError 413 if `Content-Length` is larger than `maxBytes`. */
export function checkContentLength(request: NodeRequest, maxBytes: number): void {
  if (Number(headerOf(request, 'content-length') ?? 0) > maxBytes) throw new HttpError('PAYLOAD_TOO_LARGE');
}

/**
 * @param deadline in milliseconds of `performance.now()`
 * @throws HttpError 413 if the body is larger than `maxBytes`, or 408 if it has not arrived by the deadline.
 */
export async function readBody(request: NodeRequest, maxBytes: number, deadline: number): Promise<Buffer> {
  checkContentLength(request, maxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes) reject(new HttpError('PAYLOAD_TOO_LARGE'));
    else chunks.push(chunk);
  };
  const onEnd = () => {
    // `close` follows `end`, and would create an error for nothing.
    request.off('close', onClose);
    resolve(Buffer.concat(chunks));
  };
  const onClose = () => reject(new HttpError('REQUEST_TIMEOUT'));
  const timer = setTimeout(onClose, Math.max(0, deadline - performance.now()));
  request.on('data', onData).once('end', onEnd).once('close', onClose);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    request.off('data', onData).off('end', onEnd).off('close', onClose);
  }
}

/** Reads and drops the rest of a body, within limits. Then calls the listener, possibly more than once. */
export function discardBody(request: Readable, onDone: () => void): void {
  let length = 0;
  let chunks = 0;
  const timer = setTimeout(onDone, DISCARD_MS);
  const finish = () => {
    clearTimeout(timer);
    onDone();
  };
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > DISCARD_BYTES || ++chunks > DISCARD_CHUNKS) finish();
  });
  request.once('end', finish).once('error', finish).once('close', finish);
  request.resume();
}

/**
 * Sends `100 Continue` when a handler begins to read the body. The head may decide the answer, and then the client need
 * not send the body (RFC 9110, section 10.1.1).
 */
export function continueWhenRead(request: NodeRequest, response: NodeResponse): void {
  const onNewListener = (event: string) => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onNewListener);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', onNewListener);
}
