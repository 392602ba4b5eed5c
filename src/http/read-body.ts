import { headerOf, type NodeRequest } from './http-context.ts';

/** A refusal of the request itself, by the status that HTTP has for it. */
export class HttpError extends Error {
  readonly status: 408 | 413 | 415;

  constructor(status: HttpError['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/** @throws HttpError 413 if `Content-Length` says that the body is larger. */
export function checkContentLength(request: NodeRequest, maxBytes: number): void {
  if (Number(headerOf(request, 'content-length') ?? 0) > maxBytes) throw new HttpError(413, 'Payload too large');
}

/**
 * Returns the whole body.
 *
 * @param deadline in milliseconds of `performance.now()`
 * @throws HttpError 413 if it is larger than `maxBytes`, and 408 if it has not come by the deadline.
 */
export async function readBody(request: NodeRequest, maxBytes: number, deadline: number): Promise<Buffer> {
  checkContentLength(request, maxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes) reject(new HttpError(413, 'Payload too large'));
    else chunks.push(chunk);
  };
  const onEnd = () => {
    // A close after the end is no failure; creating its error costs time.
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
