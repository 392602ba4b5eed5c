/** Rules for text that represents an instant or one of several values, or is counted in bytes. */
import { isInRange, readIsoInstant } from '../../encoding/instants.ts';
import { isObject } from '../../encoding/json.ts';
import { ASCII, type Rule, rule, Unacceptable } from './rule.ts';
import { anyString, requireText, textThat } from './validation.ts';

const NO_INSTANT = 'must be an instant in ISO 8601 with a time zone';

const isoText = textThat((text) => readIsoInstant(text) !== undefined, NO_INSTANT, { max: 64, format: 'date-time' });

/**
 * Accepts an instant of the years 1 to 9999: the Timestamp of an RPC, or text in ISO 8601 with a time zone. Only whole
 * milliseconds count.
 */
export const timestamp: Rule<Date> = rule(isoText.schema, (value) => {
  const instant = isTimestamp(value) ? toDate(value) : readIsoInstant(isoText(value));
  if (!instant) throw new Unacceptable(NO_INSTANT);
  if (!isInRange(instant)) throw new Unacceptable('must be in the years 1 to 9999');
  return instant;
});

interface Timestamp {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Of `google.protobuf.Timestamp`. JSON has no bigint. */
function isTimestamp(value: unknown): value is Timestamp {
  return isObject(value) && typeof value.seconds === 'bigint' && typeof value.nanos === 'number';
}

function toDate({ seconds, nanos }: Timestamp): Date | undefined {
  if (nanos < 0 || nanos > 999_999_999) return undefined;
  return new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000));
}

export function oneOf<T extends string>(values: readonly T[]): Rule<T> {
  return rule({ type: 'string', enum: values }, (given) => {
    const text = anyString(given);
    const known = values.find((value) => value === text);
    if (known === undefined) throw new Unacceptable(`must be one of ${values.join(', ')}`);
    return known;
  });
}

/** Accepts well-formed Unicode text of 1 to `max` bytes in UTF-8. */
export function textOfBytes(max: number): Rule<string> {
  return rule({ type: 'string', minLength: 1, maxLength: max, pattern: ASCII }, (value) => {
    const string = requireText(value);
    if (string.length === 0) throw new Unacceptable('is required');
    if (Buffer.byteLength(string) > max) throw new Unacceptable(`must have 1 to ${max} bytes`);
    return string;
  });
}
