/** How Connect's handlers and plain calls read, write and compress messages. */
import { constants, gzipSync } from 'node:zlib';
import type { DescMessage } from '@bufbuild/protobuf';
import { EmptySchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { Compression } from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';
import { ServiceError, type Violation } from '../../domain/core/errors.ts';
import { Unacceptable } from '../../domain/core/rule.ts';
import { timestamp } from '../../domain/core/validation.ts';
import { isObject } from '../../encoding/json.ts';
import { MAX_MESSAGE_BYTES, MAX_PUBLIC_MESSAGE_BYTES } from '../call-info.ts';
import type { Procedure } from '../procedures.ts';
import { ignoresUnknownFields } from '../unknown-fields.ts';

/** Refuses invalid UTF-8 instead of replacing it. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

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
const gzip: Compression = limitParallel(
  {
    ...compressionGzip,
    compress: async (bytes) =>
      bytes.length > MAX_SYNC_BYTES ? compressionGzip.compress(bytes) : gzipSync(bytes, FAST),
  },
  MAX_PARALLEL,
);

/** For callers without a credential, never run. It is listed, so that the refusal of another encoding can name one. */
const identity: Compression = { ...compressionGzip, name: 'identity' };

/** For callers with a credential. */
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

/**
 * Returns a decoder of JSON messages. It throws `Validation failed`, with the instants that no rule takes: Protobuf's own
 * reader takes 30 February for a day of March, and names no field.
 */
function createJsonDecoder(schema: DescMessage): Pick<typeof utf8, 'decode'> {
  const names = namesOfInstants(schema);
  if (names.length === 0) return utf8;
  // Most requests have none of the fields.
  const name = new RegExp(`"(?:${names.join('|')})"`);
  return {
    decode(bytes: Parameters<typeof utf8.decode>[0]) {
      const text = utf8.decode(bytes);
      const violations = name.test(text) ? checkInstants(schema, parse(text)) : [];
      if (violations.length > 0) throw new ServiceError('VALIDATION_FAILED', { violations });
      return text;
    },
  };
}

function namesOfInstants({ fields }: DescMessage): string[] {
  return fields.flatMap(({ jsonName, name, message }) => {
    if (message?.typeName === TimestampSchema.typeName) return [jsonName, name];
    return message && isOurs(message) ? namesOfInstants(message) : [];
  });
}

/** Returns undefined for what is no JSON, which Protobuf refuses. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checkInstants({ fields }: DescMessage, value: unknown, path = ''): Violation[] {
  if (!isObject(value)) return [];
  const object: Readonly<Record<string, unknown>> = value;
  return fields.flatMap(({ jsonName, name, message }) => {
    const inner = object[jsonName] ?? object[name];
    if (!message || inner === undefined || inner === null) return [];
    if (message.typeName === TimestampSchema.typeName) return checkInstant(inner, path + jsonName);
    if (!isOurs(message)) return [];
    const items = Array.isArray(inner) ? inner.map((item, at) => [`[${at}]`, item]) : [['', inner]];
    return items.flatMap(([at, item]) => checkInstants(message, item, `${path}${jsonName}${at}.`));
  });
}

function checkInstant(value: unknown, field: string): Violation[] {
  try {
    timestamp(value);
    return [];
  } catch (error) {
    if (!(error instanceof Unacceptable)) throw error;
    return error.violations.map(({ message }) => ({ field, message }));
  }
}

const isOurs = ({ typeName }: DescMessage): boolean => !typeName.startsWith('google.protobuf.');

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
