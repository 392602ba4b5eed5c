import { EmptySchema } from '@bufbuild/protobuf/wkt';
import { MAX_MESSAGE_BYTES, MAX_PUBLIC_MESSAGE_BYTES } from '../call-info.ts';
import { ignoresUnknownFields } from '../documented-calls.ts';
import type { Procedure } from '../procedures.ts';
import { gzip, identity } from './compression.ts';
import { createJsonDecoder } from './json-decoder.ts';

/** How Connect's handlers and the fast paths read and write messages. */
export const connectOptions = {
  readMaxBytes: MAX_MESSAGE_BYTES,
  writeMaxBytes: 0xffff_ffff,
  /** The default of Connect for Node. */
  compressMinBytes: 1_024,
  acceptCompression: [gzip],
  // Each unknown field would become an object: a message of 64 kB would take 5 MB.
  binaryOptions: { readUnknownFields: false },
  // Connect passes the decoder on, although its types lack it.
  jsonOptions: { ignoreUnknownFields: true, textDecoder: createJsonDecoder(EmptySchema) },
};

/** The options for callers without a credential: smaller messages, no compression. */
export const publicOptions: typeof connectOptions = {
  ...connectOptions,
  readMaxBytes: MAX_PUBLIC_MESSAGE_BYTES,
  compressMinBytes: Number.POSITIVE_INFINITY,
  acceptCompression: [identity],
};

export function optionsOf({ credential, method }: Pick<Procedure, 'credential' | 'method'>): typeof connectOptions {
  if (credential === 'none') return publicOptions;
  const textDecoder = createJsonDecoder(method.input);
  // Binary messages may have unknown fields: clients may be newer.
  return { ...connectOptions, jsonOptions: { ignoreUnknownFields: ignoresUnknownFields(method), textDecoder } };
}
