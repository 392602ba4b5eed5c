/** Validation of requests: every field is checked, and all violations are reported at once. */
import { canonicalizeEmail } from '../../config/email-address.ts';
import { isInRange, readIsoInstant } from '../../encoding/instants.ts';
import { isObject } from '../../encoding/json.ts';
import { ServiceError, type Violation } from './errors.ts';
import {
  ASCII,
  checkedRules,
  countCodePoints,
  type Rule,
  rule,
  Unacceptable,
  WELL_FORMED,
  WITHOUT_CONTROLS,
} from './rule.ts';

/** Fields as a caller sent them. Their types are unknown. */
export type Unchecked<Field extends string> = { readonly [Name in Field]?: unknown };

/** The values of fields that have passed their rules. */
export type Checked<Rules> = { [Name in keyof Rules]: Rules[Name] extends Rule<infer T> ? T : never };

/** Returns the checked fields. @throws ServiceError `Validation failed` with all violations, else a rule's own error */
export function check<Rules extends Record<string, Rule<unknown>>>(
  fields: Unchecked<Extract<keyof Rules, string>>,
  rules: Rules,
): Checked<Rules> {
  if (checkedRules.hasSubscribers) checkedRules.publish(rules);
  const values: Record<string, unknown> = {};
  let violations: Violation[] | undefined;
  let ownError: ServiceError | undefined;
  for (const name in rules) {
    try {
      values[name] = rules[name]?.(fields[name]);
    } catch (error) {
      if (error instanceof ServiceError) {
        ownError = error;
      } else if (error instanceof Unacceptable) {
        violations ??= [];
        violations.push(...error.violations.map(({ field, message }) => ({ field: name + field, message })));
      } else {
        throw error;
      }
    }
  }
  if (violations) throw new ServiceError('VALIDATION_FAILED', { violations });
  if (ownError) throw ownError;
  // Each rule has returned the value of its name.
  return values as Checked<Rules>;
}

/** Returns a string. @throws Unacceptable for any other value */
function requireString(value: unknown): string {
  if (value === undefined) throw new Unacceptable('is required');
  if (typeof value !== 'string') throw new Unacceptable('must be a string');
  return value;
}

/** Returns text that Postgres and every client can hold. @throws Unacceptable for any other value */
export function requireText(value: unknown): string {
  const string = requireString(value);
  if (!string.isWellFormed() || string.includes('\0')) {
    throw new Unacceptable('must be well-formed Unicode without NUL');
  }
  return string;
}

/** Accepts any string that is not empty, for a field whose format has an error of its own. */
export const anyString: Rule<string> = rule({ type: 'string', minLength: 1 }, (value) => {
  const string = requireString(value);
  if (string.length === 0) throw new Unacceptable('is required');
  return string;
});

/** Accepts well-formed Unicode text. The length is counted in code points. */
export function text({ max, min = 1, format }: { max: number; min?: number; format?: string }): Rule<string> {
  const schema = {
    type: 'string',
    minLength: min,
    maxLength: max,
    pattern: WELL_FORMED,
    ...(format && { format }),
  } as const;
  return rule(schema, (value) => {
    const string = requireText(value);
    if (string.length === 0 && min > 0) throw new Unacceptable('is required');
    // Equivalent: guard, comparison: a code point has one or two code units, so most texts need no count
    if (string.length >= 2 * min && string.length <= max) return string;
    const length = countCodePoints(string);
    if (length < min || length > max) throw new Unacceptable(`must have ${min} to ${max} characters`);
    return string;
  });
}

export const MAX_IDENTIFIER = 255;
const identifierText = text({ max: MAX_IDENTIFIER });
/** Accepts text of 1 to 255 characters without control characters: identifiers and names. */
export const identifier: Rule<string> = rule({ ...identifierText.schema, pattern: WITHOUT_CONTROLS }, (value) => {
  const string = identifierText(value);
  if (/\p{Cc}/u.test(string)) throw new Unacceptable('must not have control characters');
  return string;
});

/** Accepts an identifier that a path can hold: URL clients drop the segments `.` and `..`, also percent-encoded. */
export const pathIdentifier: Rule<string> = rule(
  { ...identifier.schema, pattern: WITHOUT_CONTROLS.replace('^', '^(?!\\.{1,2}$)') },
  (value) => {
    const string = identifier(value);
    if (string === '.' || string === '..') throw new Unacceptable('must not be . or ..');
    return string;
  },
);

/** Accepts a UUID and returns it in lower case. */
export const uuid: Rule<string> = rule({ type: 'string', format: 'uuid' }, (value) => {
  const string = anyString(value);
  if (!UUID.test(string)) throw new Unacceptable('must be a UUID');
  return string.toLowerCase();
});

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Accepts an absolute http or https URL of 1 to 2048 characters. */
export const webUrl: Rule<string> = rule(
  { type: 'string', format: 'uri', maxLength: 2048, pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' },
  (value) => {
    const string = urlText(value);
    if (!/^https?:\/\/[\x21-\x7e]+$/i.test(string) || !URL.canParse(string)) {
      throw new Unacceptable('must be an absolute http or https URL');
    }
    return string;
  },
);
const urlText = text({ max: 2048 });

/**
 * Accepts text that looks like an e-mail address: 3 to 254 characters, without the specials of RFC 5322 and invisible
 * ones. Returns its canonical spelling.
 */
export const emailAddress: Rule<string> = rule(
  { type: 'string', format: 'email', minLength: 3, maxLength: 254 },
  (value) => {
    const string = emailText(value);
    const hasSpecials = /[\s\p{Cc}<>()[\]\\,;:"]/u.test(string);
    const canonical = hasSpecials || !/^[^@]+@[^@]+$/.test(string) ? undefined : canonicalizeEmail(string);
    if (canonical === undefined) throw new Unacceptable('must be an e-mail address');
    return canonical;
  },
);
const emailText = text({ min: 3, max: 254 });

/** Accepts text for which `accepts` returns true. `problem` is the message of the violation. */
export function textThat(
  accepts: (text: string) => boolean,
  problem: string,
  { max, format }: { max: number; format: string },
): Rule<string> {
  const anyText = text({ max });
  return rule({ type: 'string', format, minLength: 1, maxLength: max }, (value) => {
    const string = anyText(value);
    if (!accepts(string)) throw new Unacceptable(problem);
    return string;
  });
}

export function integer({ min, max }: { min: number; max: number }): Rule<number> {
  return rule({ type: 'integer', minimum: min, maximum: max }, (value) => {
    if (value === undefined) throw new Unacceptable('is required');
    // Equivalent: condition: nothing but a number is an integer
    if (typeof value !== 'number' || !Number.isInteger(value)) throw new Unacceptable('must be an integer');
    if (value < min || value > max) throw new Unacceptable(`must be ${min} to ${max}`);
    return value;
  });
}

export const boolean: Rule<boolean> = rule({ type: 'boolean' }, (value) => {
  if (value === undefined) throw new Unacceptable('is required');
  if (typeof value !== 'boolean') throw new Unacceptable('must be true or false');
  return value;
});

/** Returns an empty string for a missing or empty field. Any other value must pass the rule. */
export function textOrEmpty(inner: Rule<string>): Rule<string> {
  const schema = { ...inner.schema, minLength: 0 };
  return rule(schema, (value) => (value === undefined || value === '' ? '' : inner(value)), { isOptional: true });
}

/** Returns null for a field that is missing or null. Any other value must pass the rule. */
export function optional<T>(inner: Rule<T>): Rule<T | null> {
  return orDefault<T | null>(inner, null);
}

/** Returns the default for a field that is missing or null. Any other value must pass the rule. */
export function orDefault<T>(inner: Rule<T>, defaultValue: T): Rule<T> {
  const accept = (value: unknown) => (value === undefined || value === null ? defaultValue : inner(value));
  return rule(inner.schema, accept, { isOptional: true, isNullable: true });
}

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

/** Accepts an array of `min` to `max` items that pass the rule. */
export function listOf<T>(item: Rule<T>, { min, max }: { min: number; max: number }): Rule<T[]> {
  return rule({ type: 'array', items: item.schema, minItems: min, maxItems: max }, (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      throw new Unacceptable(`must be a list of ${min} to ${max}`);
    }
    return value.map((each, at) => {
      try {
        return item(each);
      } catch (error) {
        throw placeInside(`[${at}]`, error);
      }
    });
  });
}

/** Accepts an object whose fields pass their rules. Several of its fields may be violated at once. */
export function objectOf<Rules extends Record<string, Rule<unknown>>>(rules: Rules): Rule<Checked<Rules>> {
  const entries = Object.entries(rules);
  const required = entries.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  const properties = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema]));
  const schema = {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  } as const;
  return rule(schema, (value) => {
    if (!isObject(value)) throw new Unacceptable('must be an object');
    const fields: Readonly<Record<string, unknown>> = value;
    const values: Record<string, unknown> = {};
    const violations: Violation[] = [];
    // Without closures: a request may have hundreds of objects.
    for (const [name, accept] of entries) {
      try {
        values[name] = accept(fields[name]);
      } catch (error) {
        violations.push(...placeInside(`.${name}`, error, { isNamed: true }).violations);
      }
    }
    if (violations.length > 0) throw new Unacceptable('has violated fields', violations);
    // Each rule has returned the value of its name.
    return values as Checked<Rules>;
  });
}

/**
 * Adds the place of a value to the violations of its error. A violation of a list's item as a whole is one of the list.
 *
 * @throws the error if it is another one
 */
function placeInside(place: string, error: unknown, { isNamed = false } = {}): Unacceptable {
  if (!(error instanceof Unacceptable)) throw error;
  const inside = error.violations.map(({ field, message }) => ({
    field: isNamed || field !== '' ? place + field : field,
    message,
  }));
  return new Unacceptable(error.message, inside);
}
