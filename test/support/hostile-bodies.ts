/** Generates changes to the body of a request: to its JSON, its protobuf, or its frames. */
import type { JsonObject } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { JSON_VALUES, MESSAGES, TEXTS } from './hostile-texts.ts';
import { frame } from './protocols.ts';

const pick = fc.constantFrom;

/** Returns the usual value most of the time, so that requests get far, and the odd one otherwise. */
export const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 4) =>
  fc.oneof({ arbitrary: usual, weight }, { arbitrary: odd, weight: 1 });

export const oddTexts = often(pick(...TEXTS), fc.string({ unit: 'binary' }));
export const oddBytes = often(
  pick(...MESSAGES),
  fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
  2,
);

/** Returns the fields as JSON: unchanged, with one field changed or added, truncated, or replaced. */
export const jsonChanges = fc.oneof(
  fc.constant((fields: JsonObject) => Buffer.from(JSON.stringify(fields))),
  fc.tuple(fc.nat(20), oddTexts).map(([index, text]) => (fields: JsonObject) => {
    const name = Object.keys(fields)[index % Math.max(1, Object.keys(fields).length)] ?? 'x';
    return Buffer.from(JSON.stringify({ ...fields, [name]: text }));
  }),
  fc.tuple(fc.nat(20), pick(...JSON_VALUES)).map(([index, value]) => (fields: JsonObject) => {
    const names = [...Object.keys(fields), '__proto__', 'x', 'constructor'];
    const json = JSON.stringify(fields).slice(0, -1);
    return Buffer.from(`${json}${json === '{' ? '' : ','}"${names[index % names.length]}":${value}}`, 'latin1');
  }),
  pick(...JSON_VALUES, '{', '}', '{}{}', '\ufeff{}', '\0', ' '.repeat(70_000)).map(
    (text) => () => Buffer.from(text, 'latin1'),
  ),
  fc.nat(100).map((length) => (fields: JsonObject) => Buffer.from(JSON.stringify(fields).slice(0, length))),
);

/** Returns a protobuf message: unchanged, with one byte changed, with bytes appended, or replaced. */
export const binaryChanges = fc.oneof(
  fc.constant((message: Uint8Array) => Buffer.from(message)),
  oddBytes.map((odd) => () => odd),
  oddBytes.map((odd) => (message: Uint8Array) => Buffer.concat([message, odd])),
  fc.tuple(fc.nat(200), fc.nat(255)).map(([at, byte]) => (message: Uint8Array) => {
    const changed = Buffer.from(message);
    if (changed.length > 0) changed[at % changed.length] = byte;
    return changed;
  }),
);

const oddFlags = pick(0, 1, 2, 0x7e, 0x80, 0x81, 0xff);
const extraLengths = pick(0, 1, -1, 10, 65_537, 100_000_000, 0xffff_ffff);

/** Returns the message in a gRPC frame, or in a malformed one. */
export const frameChanges = often(
  fc.constant((message: Buffer) => frame(message)),
  fc.oneof(
    fc.tuple(oddFlags, extraLengths).map(
      ([flags, extra]) =>
        (message: Buffer) =>
          frame(message, { flags, length: (message.length + extra) >>> 0 }),
    ),
    fc.constant((message: Buffer) => Buffer.concat([frame(message), frame(message)])),
    oddBytes.map((odd) => (message: Buffer) => Buffer.concat([frame(message), odd])),
    oddBytes.map((odd) => () => odd),
    fc.nat(6).map((length) => (message: Buffer) => frame(message).subarray(0, length)),
  ),
  2,
);
