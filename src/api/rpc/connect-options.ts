import { MAX_MESSAGE_BYTES, MAX_OPEN_MESSAGE_BYTES } from '../call.ts';
import type { Procedure } from '../procedures.ts';
import { gzip, identity } from './compression.ts';

/** How messages are read and written, by Connect's handlers and on the fast path beside them. */
export const connectOptions = {
  readMaxBytes: MAX_MESSAGE_BYTES,
  writeMaxBytes: 0xffff_ffff,
  /** Connect's own default. */
  compressMinBytes: 1_024,
  acceptCompression: [gzip],
  // Each would be kept as an object: 64 kB of them take 5 MB.
  binaryOptions: { readUnknownFields: false },
  // Connect hands the decoder on, though its types do not say so: invalid UTF-8 is refused, not replaced.
  jsonOptions: { ignoreUnknownFields: true, textDecoder: new TextDecoder('utf-8', { fatal: true }) },
};

/** The same for callers without a credential. */
export const openOptions: typeof connectOptions = {
  ...connectOptions,
  readMaxBytes: MAX_OPEN_MESSAGE_BYTES,
  compressMinBytes: Number.POSITIVE_INFINITY,
  acceptCompression: [identity],
};

export function optionsOf({ credential }: Pick<Procedure, 'credential'>): typeof connectOptions {
  return credential === 'none' ? openOptions : connectOptions;
}
