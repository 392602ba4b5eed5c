/** Validation of requests: every field is checked, and all violations are reported at once. */
import { ServiceError, type Violation } from './errors.ts';

/** Fields as a caller sent them. Their types are unknown. */
export type Unchecked<Field extends string> = { readonly [Name in Field]?: unknown };

/** Returns an accepted value. @throws Unacceptable for any other */
export type Rule<T> = (value: unknown) => T;

type Checked<Rules> = { [Name in keyof Rules]: Rules[Name] extends Rule<infer T> ? T : never };

class Unacceptable extends Error {}

/** Returns the checked fields. @throws ServiceError `Validation failed` with every violation */
export function check<Rules extends Record<string, Rule<unknown>>>(
  fields: Unchecked<Extract<keyof Rules, string>>,
  rules: Rules,
): Checked<Rules> {
  const values: Record<string, unknown> = {};
  let violations: Violation[] | undefined;
  for (const name in rules) {
    try {
      values[name] = rules[name]?.(fields[name]);
    } catch (error) {
      if (!(error instanceof Unacceptable)) throw error;
      violations ??= [];
      violations.push({ field: name, message: error.message });
    }
  }
  if (violations) throw new ServiceError('VALIDATION_FAILED', { violations });
  // The rule of each name returned its value.
  return values as Checked<Rules>;
}

/** Accepts any string that is not empty, for a field whose format has an error of its own. */
export const anyString: Rule<string> = (value) => {
  const string = requireString(value);
  if (string.length === 0) throw new Unacceptable('is required');
  return string;
};

/** Accepts well-formed Unicode text. The length is counted in code points. */
export function text({ max, min = 1 }: { max: number; min?: number }): Rule<string> {
  return (value) => {
    const string = requireText(value);
    if (string.length === 0 && min > 0) throw new Unacceptable('is required');
    // A code point has one or two code units, so most texts need no count.
    const length = string.length <= max && string.length >= 2 * min ? max : countCodePoints(string);
    if (length < min || length > max) throw new Unacceptable(`must have ${min} to ${max} characters`);
    return string;
  };
}

/** Accepts text of 1 to 255 characters without control characters: identifiers and names. */
export const identifier: Rule<string> = (value) => {
  const string = identifierText(value);
  if (/\p{Cc}/u.test(string)) throw new Unacceptable('must not have control characters');
  return string;
};
const identifierText = text({ max: 255 });

/** Accepts an identifier that a path can hold: URL clients drop the segments `.` and `..`, also percent-encoded. */
export const pathIdentifier: Rule<string> = (value) => {
  const string = identifier(value);
  if (string === '.' || string === '..') throw new Unacceptable('must not be . or ..');
  return string;
};

/** Accepts well-formed Unicode text of 1 to `max` bytes in UTF-8. */
export function textOfBytes(max: number): Rule<string> {
  return (value) => {
    const string = requireText(value);
    if (string.length === 0) throw new Unacceptable('is required');
    if (Buffer.byteLength(string) > max) throw new Unacceptable(`must have 1 to ${max} bytes`);
    return string;
  };
}

/** Accepts a UUID and returns it in lower case. */
export const uuid: Rule<string> = (value) => {
  const string = anyString(value);
  if (!UUID.test(string)) throw new Unacceptable('must be a UUID');
  return string.toLowerCase();
};

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Accepts an absolute http or https URL of 1 to 2048 characters. */
export const webUrl: Rule<string> = (value) => {
  const string = urlText(value);
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(string) || !URL.canParse(string)) {
    throw new Unacceptable('must be an absolute http or https URL');
  }
  return string;
};
const urlText = text({ max: 2048 });

/** Accepts text that looks like an e-mail address: 3 to 254 characters, without the specials of RFC 5322. */
export const emailAddress: Rule<string> = (value) => {
  const string = emailText(value);
  const hasSpecials = /[\s\p{Cc}<>()[\]\\,;:"]/u.test(string);
  if (hasSpecials || !/^[^@]+@[^@]+$/.test(string)) throw new Unacceptable('must be an e-mail address');
  return string;
};
const emailText = text({ min: 3, max: 254 });

/** Accepts text that passes `accepts`. `problem` is the violation otherwise. */
export function textThat(accepts: (text: string) => boolean, problem: string, limits: { max: number }): Rule<string> {
  const rule = text(limits);
  return (value) => {
    const string = rule(value);
    if (!accepts(string)) throw new Unacceptable(problem);
    return string;
  };
}

/** Accepts a Date of the years 1 to 9999. */
export const instant: Rule<Date> = (value) => {
  if (value === undefined) throw new Unacceptable('is required');
  const isInstant = value instanceof Date && value >= FIRST_INSTANT && value <= LAST_INSTANT;
  if (!isInstant) throw new Unacceptable('must be a time');
  return value;
};
const FIRST_INSTANT = new Date('0001-01-01T00:00:00Z');
const LAST_INSTANT = new Date('9999-12-31T23:59:59.999Z');

/** Accepts an instant that is later than `now`. */
export function after(now: Date): Rule<Date> {
  return (value) => {
    const accepted = instant(value);
    if (accepted <= now) throw new Unacceptable('must be in the future');
    return accepted;
  };
}

/** Accepts an integer of `min` to `max`. */
export function integer({ min, max }: { min: number; max: number }): Rule<number> {
  return (value) => {
    if (value === undefined) throw new Unacceptable('is required');
    if (typeof value !== 'number' || !Number.isInteger(value)) throw new Unacceptable('must be an integer');
    if (value < min || value > max) throw new Unacceptable(`must be ${min} to ${max}`);
    return value;
  };
}

/** Accepts true and false. */
export const boolean: Rule<boolean> = (value) => {
  if (value === undefined) throw new Unacceptable('is required');
  if (typeof value !== 'boolean') throw new Unacceptable('must be true or false');
  return value;
};

/** Accepts an array of `min` to `max` items that pass the rule. */
export function listOf<T>(item: Rule<T>, { min, max }: { min: number; max: number }): Rule<T[]> {
  return (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      throw new Unacceptable(`must be a list of ${min} to ${max}`);
    }
    return value.map(item);
  };
}

/** Returns an empty string for a missing or empty field. Any other value must pass the rule. */
export function textOrEmpty(rule: Rule<string>): Rule<string> {
  return (value) => (value === undefined || value === '' ? '' : rule(value));
}

/** Returns null for a field that is missing or null. Any other value must pass the rule. */
export function optional<T>(rule: Rule<T>): Rule<T | null> {
  return (value) => (value === undefined || value === null ? null : rule(value));
}

/** Returns undefined for a missing field, which an update leaves as it is. Any other value must pass the rule. */
export function change<T>(rule: Rule<T>): Rule<T | undefined> {
  return (value) => (value === undefined ? undefined : rule(value));
}

function requireString(value: unknown): string {
  if (value === undefined) throw new Unacceptable('is required');
  if (typeof value !== 'string') throw new Unacceptable('must be a string');
  return value;
}

function requireText(value: unknown): string {
  const string = requireString(value);
  if (!string.isWellFormed() || string.includes('\0')) {
    throw new Unacceptable('must be well-formed Unicode without NUL');
  }
  return string;
}

function countCodePoints(string: string): number {
  let count = 0;
  for (const _ of string) count++;
  return count;
}
