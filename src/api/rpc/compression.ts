/** How messages are compressed. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Compression } from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';

/** As many as the threads that Node compresses in. More would hold buffers of zlib without being faster. */
const MAX_PARALLEL = 4;

/**
 * The encoding of messages in both directions. Its window is 32 KiB. That of brotli is up to 16 MiB, which a request
 * of 14 bytes allocates, and a limit on what is decompressed does not limit the window.
 */
export const gzip: Compression = limitParallel(compressionGzip, MAX_PARALLEL);

/** For callers without a credential. It has a name, so that the refusal of another encoding tells what is supported. */
export const identity: Compression = {
  name: 'identity',
  compress: async (bytes) => new Uint8Array(bytes),
  decompress: async (bytes) => new Uint8Array(bytes),
};

/** Compresses and decompresses so many messages at a time. The others wait in order; their calls end at their deadlines. */
export function limitParallel({ name, compress, decompress }: Compression, maxParallel: number): Compression {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (running < maxParallel) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }

  return {
    name,
    compress: (bytes) => run(() => compress(bytes)),
    decompress: (bytes, readMaxBytes) => run(() => decompress(bytes, readMaxBytes)),
  };
}

/** The header that names the encoding of a request, and the header of the response that names those supported. */
const ENCODING_HEADERS = [
  ['content-encoding', 'accept-encoding'],
  ['connect-content-encoding', 'connect-accept-encoding'],
  ['grpc-encoding', 'grpc-accept-encoding'],
] as const;

/** Returns the headers that tell the sender of another encoding which ones are supported. */
export function nameSupported(headers: IncomingHttpHeaders, supported: readonly Compression[]): [string, string][] {
  const names = supported.map(({ name }) => name);
  return ENCODING_HEADERS.flatMap(([requested, accepted]) => {
    const encoding = headers[requested] ?? 'identity';
    return encoding === 'identity' || names.includes(String(encoding)) ? [] : [[accepted, names.join()]];
  });
}
