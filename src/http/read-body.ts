import type { Deadline } from '../database/database.ts';
import { headerOf, type NodeRequest } from './http-context.ts';

/** A refusal that HTTP has a status for and no RPC of ours a code. */
export class HttpError extends Error {
  readonly status: 408 | 413 | 415;

  constructor(status: HttpError['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/** Throws HttpError 413 where the request says that its body is larger. */
export function requireLengthWithin(request: NodeRequest, maxBytes: number): void {
  if (Number(headerOf(request, 'content-length') ?? 0) > maxBytes) throw new HttpError(413, 'Payload too large');
}

/** The whole body. Throws HttpError 413 above `maxBytes`, and 408 when it has not arrived by the deadline. */
export async function readBody(request: NodeRequest, maxBytes: number, deadline: Deadline): Promise<Buffer> {
  requireLengthWithin(request, maxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes) reject(new HttpError(413, 'Payload too large'));
    else chunks.push(chunk);
  };
  const onEnd = () => {
    // What closes after its end is no failure, and an error that nobody sees costs time.
    request.off('close', onClose);
    resolve(Buffer.concat(chunks));
  };
  const onClose = () => reject(new HttpError(408, 'Request timeout'));
  const timer = setTimeout(onClose, Math.max(0, deadline - performance.now()));
  request.on('data', onData).once('end', onEnd).once('close', onClose);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    request.off('data', onData).off('end', onEnd).off('close', onClose);
  }
}
