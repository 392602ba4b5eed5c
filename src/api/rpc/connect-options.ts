import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';
import { MAX_MESSAGE_BYTES } from '../call.ts';

/** How messages are read and written, by Connect's handlers and on the fast path beside them. */
export const connectOptions = {
  readMaxBytes: MAX_MESSAGE_BYTES,
  writeMaxBytes: 0xffff_ffff,
  /** Connect's own default. */
  compressMinBytes: 1_024,
  acceptCompression: [compressionGzip, compressionBrotli],
  // Connect hands the decoder on, though its types do not say so: invalid UTF-8 is refused, not replaced.
  jsonOptions: { ignoreUnknownFields: true, textDecoder: new TextDecoder('utf-8', { fatal: true }) },
};
