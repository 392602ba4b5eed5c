/** What becomes of a body that no handler reads. */
import type { Readable } from 'node:stream';
import type { NodeRequest, NodeResponse } from './http-context.ts';

/** Limits for the rest of a body that is read after the response. */
const DISCARD_MS = 1_000;
const DISCARD_BYTES = 1_048_576;
/** Limits the number of chunks as well, because a chunk of one byte costs much more than its byte. */
const DISCARD_CHUNKS = 1_000;

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
