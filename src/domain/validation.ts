/** Checks a request field by field and reports everything that is wrong with it at once. */
import { ServiceError, type Violation } from './errors.ts';

/** Fields as a caller sent them: nothing is known of their types yet. */
export type Unchecked<Field extends string> = { readonly [Name in Field]?: unknown };

/** Returns the value it accepts; throws Unacceptable for any other. */
export type Rule<T> = (value: unknown) => T;

type Checked<Rules> = { [Name in keyof Rules]: Rules[Name] extends Rule<infer T> ? T : never };

class Unacceptable extends Error {}

/** Throws a ServiceError `Validation failed` that lists every violation. */
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
  if (violations) throw new ServiceError('invalid_argument', 'Validation failed', { violations });
  // Each value is what the rule of that name returned.
  return values as Checked<Rules>;
}

/** Well-formed Unicode text, its length counted in code points. */
export function text({ max, min = 1 }: { max: number; min?: number }): Rule<string> {
  return (value) => {
    const string = requireText(value);
    if (string.length === 0 && min > 0) throw new Unacceptable('is required');
    // A code point takes one or two code units, so most texts need no count.
    const length = string.length <= max && string.length >= 2 * min ? max : countCodePoints(string);
    if (length < min || length > max) throw new Unacceptable(`must have ${min} to ${max} characters`);
    return string;
  };
}

/** Text of 1 to 255 characters, none of them a control character: identifiers and names. */
export const identifier: Rule<string> = (value) => {
  const string = identifierText(value);
  if (/\p{Cc}/u.test(string)) throw new Unacceptable('must not have control characters');
  return string;
};
const identifierText = text({ max: 255 });

/** Well-formed Unicode text of 1 to `max` bytes in UTF-8. */
export function textOfBytes(max: number): Rule<string> {
  return (value) => {
    const string = requireText(value);
    if (string.length === 0) throw new Unacceptable('is required');
    if (Buffer.byteLength(string) > max) throw new Unacceptable(`must have 1 to ${max} bytes`);
    return string;
  };
}

/** A UUID, in lower case. */
export const uuid: Rule<string> = (value) => {
  const string = requireString(value);
  if (string === '') throw new Unacceptable('is required');
  if (!UUID.test(string)) throw new Unacceptable('must be a UUID');
  return string.toLowerCase();
};

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** An absolute http or https URL of 1 to 2048 characters, as it was written. */
export const webUrl: Rule<string> = (value) => {
  const string = urlText(value);
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(string) || !URL.canParse(string)) {
    throw new Unacceptable('must be an absolute http or https URL');
  }
  return string;
};
const urlText = text({ max: 2048 });

/** Something of the shape of an e-mail address, 3 to 254 characters, none of them of RFC 5322's specials. */
export const emailAddress: Rule<string> = (value) => {
  const string = emailText(value);
  const hasSpecials = /[\s\p{Cc}<>()[\]\\,;:"]/u.test(string);
  if (hasSpecials || !/^[^@]+@[^@]+$/.test(string)) throw new Unacceptable('must be an e-mail address');
  return string;
};
const emailText = text({ min: 3, max: 254 });

/** Text that also passes `accepts`, or else the violation `problem`. */
export function textThat(accepts: (text: string) => boolean, problem: string, limits: { max: number }): Rule<string> {
  const rule = text(limits);
  return (value) => {
    const string = rule(value);
    if (!accepts(string)) throw new Unacceptable(problem);
    return string;
  };
}

/** An array of `min` to `max` items that pass the rule. */
export function listOf<T>(item: Rule<T>, { min, max }: { min: number; max: number }): Rule<T[]> {
  return (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      throw new Unacceptable(`must be a list of ${min} to ${max}`);
    }
    return value.map(item);
  };
}

/** Null for what is not given; all else, null included, must pass the rule. */
export function optional<T>(rule: Rule<T>): Rule<T | null> {
  return (value) => (value === undefined ? null : rule(value));
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
