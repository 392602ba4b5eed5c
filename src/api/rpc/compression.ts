import { constants, gzipSync } from 'node:zlib';
import type { Compression } from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';

/** Up to this length, another thread costs the event loop more time than the compression. */
const MAX_SYNC_BYTES = 32_768;
/** Takes two thirds of the time of the default, for 2 % more bytes. */
const FAST = { level: constants.Z_BEST_SPEED };

/** Node compresses in four threads. More messages at a time would hold buffers of zlib without being faster. */
const MAX_PARALLEL = 4;

/**
 * The only encoding for callers with a credential. Its window has 32 KiB. A brotli request of 14 bytes makes Node
 * allocate a window of 16 MiB, because a limit on decompressed bytes does not limit the window.
 */
export const gzip: Compression = limitGzip({
  ...compressionGzip,
  compress: async (bytes) => (bytes.length > MAX_SYNC_BYTES ? compressionGzip.compress(bytes) : gzipSync(bytes, FAST)),
});

/** For callers without a credential. It is listed, so that the refusal of another encoding can name a supported one. */
export const identity: Compression = {
  name: 'identity',
  compress: async (bytes) => new Uint8Array(bytes),
  decompress: async (bytes) => new Uint8Array(bytes),
};

/** Limits how many messages a process compresses and decompresses at a time. */
export function limitGzip(compression: Compression): Compression {
  return limitParallel(compression, MAX_PARALLEL);
}

/** Limits how many messages are processed at a time. Other messages wait, in order of arrival. */
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
