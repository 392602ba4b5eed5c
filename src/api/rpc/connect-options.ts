import { MAX_MESSAGE_BYTES, MAX_PUBLIC_MESSAGE_BYTES } from '../call-info.ts';
import { ignoresUnknownFields } from '../documented-calls.ts';
import type { Procedure } from '../procedures.ts';
import { gzip, identity } from './compression.ts';

/** How Connect's handlers and the fast paths read and write messages. */
export const connectOptions = {
  readMaxBytes: MAX_MESSAGE_BYTES,
  writeMaxBytes: 0xffff_ffff,
  /** The default of Connect for Node. */
  compressMinBytes: 1_024,
  acceptCompression: [gzip],
  // Each unknown field would become an object: a message of 64 kB would take 5 MB.
  binaryOptions: { readUnknownFields: false },
  // Refuses invalid UTF-8 instead of replacing it. Connect passes the decoder on, although its types lack it.
  jsonOptions: { ignoreUnknownFields: true, textDecoder: new TextDecoder('utf-8', { fatal: true }) },
};

/** The options for callers without a credential: smaller messages, no compression. */
export const publicOptions: typeof connectOptions = {
  ...connectOptions,
  readMaxBytes: MAX_PUBLIC_MESSAGE_BYTES,
  compressMinBytes: Number.POSITIVE_INFINITY,
  acceptCompression: [identity],
};

/** For calls that refuse unknown fields of JSON. Binary messages may have unknown fields: clients may be newer. */
const strictOptions: typeof connectOptions = {
  ...connectOptions,
  jsonOptions: { ...connectOptions.jsonOptions, ignoreUnknownFields: false },
};

export function optionsOf({ credential, method }: Pick<Procedure, 'credential' | 'method'>): typeof connectOptions {
  if (credential === 'none') return publicOptions;
  return ignoresUnknownFields(method) ? connectOptions : strictOptions;
}
