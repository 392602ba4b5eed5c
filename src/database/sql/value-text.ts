/** The text form of values: all that statements send and get is text. */

export type ParseValue = (text: string) => unknown;

/** By the OID of a type. All others stay text, as do instants and `bigint`. */
const PARSERS: Readonly<Record<number, ParseValue>> = {
  16: (text) => text === 't',
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  ...Object.fromEntries([21, 23, 26, 700, 701].map((oid) => [oid, Number])),
  ...Object.fromEntries([114, 3802].map((oid) => [oid, JSON.parse])),
};

/** Returns how values of the type are read. Undefined if they stay text. */
export function parserOf(oid: number): ParseValue | undefined {
  return PARSERS[oid];
}

/** @throws Error for a value that is no parameter, such as undefined */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  throw new Error(`A parameter of a statement is ${typeof value}`);
}
