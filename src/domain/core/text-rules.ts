/** Rules for text that represents an instant or one of several values, or is counted in bytes. */
import { isObject } from '../../encoding/json.ts';
import { ASCII, type Rule, rule, Unacceptable } from './rule.ts';
import { anyString, requireText, textThat } from './validation.ts';

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

const isoText = textThat(
  (text) => ISO_8601.test(text) && !Number.isNaN(Date.parse(text)),
  'must be an instant in ISO 8601 with a time zone',
  { max: 64, format: 'date-time' },
);
/** Accepts an instant in ISO 8601 with its time zone, such as `2026-03-01T12:00:00.120Z`. */
export const instantText: Rule<Date> = rule(isoText.schema, (value) => new Date(isoText(value)));

/** Accepts an instant: the Timestamp of an RPC, or its text in JSON. Only whole milliseconds count. */
export const timestamp: Rule<Date> = rule(isoText.schema, (value) => {
  const date = isTimestamp(value) ? toDate(value) : instantText(value);
  if (date >= FIRST && date <= LAST) return date;
  throw new Unacceptable('must be in the years 1 to 9999');
});

/** What both Postgres and a Timestamp can hold. */
const [FIRST, LAST] = [new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59.999Z')];

interface Timestamp {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Of `google.protobuf.Timestamp`. JSON has no bigint. */
function isTimestamp(value: unknown): value is Timestamp {
  return isObject(value) && typeof value.seconds === 'bigint' && typeof value.nanos === 'number';
}

function toDate({ seconds, nanos }: Timestamp): Date {
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
